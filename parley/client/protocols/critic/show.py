"""What the posts and the result of a session with a critic say: answers, objections, what the judge makes of both."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import msgspec

from parley.client.protocols.critic.setup import SETUP
from parley.client.show.answer import ResultSummary
from parley.client.show.card import Card, CardPart, Chip, Series, Tone, against_threshold, paragraphs, quotes_of
from parley.client.show.palette import seat_names
from parley.client.show.show import FIELDS, Form, Show, passages
from parley.client.text import count, line
from parley.client.untrusted import number
from parley.schemas.post import Post
from parley.schemas.protocols.critic import (
    Answer,
    Countersignature,
    Judgement,
    Objection,
    Outcome,
    Question,
    Raised,
    Repeated,
    RoundTally,
    Signature,
    Verdict,
)
from parley.schemas.result import Result

_WIDE = 300
REVERSED = "the verdict is the judge's own answer: nobody has attacked it, and confidence is that of the debated answer"


FORM = Form(
    asks={
        "answer": "Answer the question, and meet the objections that were raised so far.",
        "critique": "Object to the answer, or say that you find nothing new.",
        "judge": "Say how well the answer stands, and which objections it meets.",
        "verdict": "Give the final answer and your reasons.",
        "sign": "Say whether the verdict claims less than your answer, and nothing else.",
        "countersign": "Look at what is to be the result, and say what stands against it.",
    },
    fields={
        **FIELDS,
        "objection": ("Your objection", "What is wrong with the answer, or missing from it."),
        "checked": ("What you checked", "For example what you computed."),
        "score": ("Your confidence in the answer", "0 to 100."),
        "repeats": ("The earlier objection that this one repeats", "Its number; 0 if it is new."),
        "met": ("Objections that the answer meets", ""),
        "met.objection": ("Number of the objection", ""),
        "met.quote": ("The sentence that meets it", "Word for word."),
        "check_holds": ("The critic's calculation holds", ""),
        "contradicts": ("Objections that the answer contradicts", "Their numbers."),
        "assumptions": ("What the answer takes for granted", ""),
        "ruling": ("Your ruling", "upholds, narrows or reverses."),
        "reversed_by": ("The objection that reverses the answer", "Its number; 0 if none does."),
        "states": ("The verdict states your answer", "yes or no."),
        "differs": ("What differs", "The clause of the verdict, word for word."),
        "open": ("Objections that are open", "Their numbers; also those that the judge calls open."),
        "reason": ("Why", "For each that the judge does not call open."),
        "fatal": ("A fault that leaves nothing of the answer", "Nothing, if there is none beside the objections."),
    },
)
"""How a person is asked for a turn."""


class CriticShow(Show):
    """Shows an answer, the objections to it, and what became of them."""

    setup = SETUP
    form = FORM
    kinds: ClassVar[Mapping[str, type]] = {
        "question": Question,
        "answer": Answer,
        "objection": Raised,
        "repeated": Repeated,
        "judgement": Judgement,
        "judgement_swapped": Judgement,
        "tally": RoundTally,
        "verdict": Verdict,
        "signature": Signature,
        "countersignature": Countersignature,
    }
    certificate_names: ClassVar[Mapping[str, str]] = {
        "exhausted": "the critic had no new objection",
        "worthless": "objections with nothing to them, closed at once",
        "unseen": "why the critic has not seen the answer as it stands",
    }

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        super().__init__(settings)
        self._trend: tuple[float, ...] = ()
        self._label = ""
        self._answer = ""
        self._answer_post: int | None = None

    # -- posts
    def said(self, post: Post, body: Any) -> Card:
        """A post."""
        match body:
            case Question():
                return _question(post.seat, body)
            case Answer():
                same, self._answer, self._answer_post = body.answer == self._answer, body.answer, post.n
                return Card(
                    head="answer",
                    position=body.answer,
                    confidence=body.confidence,
                    more=same,
                    text=body.reasoning,
                    quotes=quotes_of(body.citations),
                )
            case Raised():
                checked = f"It computed: {body.checked}" if body.checked else ""
                if not body.number:
                    return Card(place="note", more=True, head="no new objection", text=checked)
                return Card(
                    head=f"objection {body.number}",
                    text=paragraphs(body.objection, checked),
                    quotes=quotes_of(body.citations),
                )
            case Repeated():
                what = f"repeats objection {body.repeats}"
                text = paragraphs(f"Now: {body.objection}", f"Before: {body.text}")
                return Card(place="note", head=what, text=text, refused=what)
            case Judgement():
                swapped = ", the opposite order" if post.kind == "judgement_swapped" else ""
                met = (f"Objection {m.objection} is answered by: “{m.quote}”" for m in body.met)
                holds = "The critic's calculation holds." if body.check_holds else ""
                text = paragraphs(body.comment, *met, holds)
                return Card(place="note", more=True, head=f"{body.score:g} of 100{swapped}", text=text)
            case RoundTally():
                self._trend, self._label = body.trend, body.label
                return _tally(body)
            case Verdict():
                how = f", which {body.ruling} the answer" if body.ruling else ""
                return Card(
                    place="note", more=True, head=f"writes the verdict{how}", position=body.answer, text=body.reasoning
                )
            case Signature():
                signs = body.states == "yes"
                clause = f": “{body.differs}”" if body.differs and not signs else ""
                return Card(place="line", more=signs, text=f"{'signs' if signs else 'rejects'} the verdict{clause}")
        return _last_look(body)

    def series(self) -> tuple[Series, ...]:
        """The judge's confidence after each round, against the threshold."""
        threshold = number(self.settings.get("threshold"))
        at = dict(enumerate(self._trend, 1))
        return against_threshold("confidence", "Confidence, by the objections that are open", at, threshold)

    def foot(self) -> str:
        """The judge's confidence so far."""
        return f"confidence {' → '.join(f'{s:.0f}' for s in self._trend) or '–'} {line(self._label)}".rstrip()

    # -- the result
    def told(self, result: Result) -> ResultSummary:
        """What it came to."""
        outcome = msgspec.convert(result.outcome, Outcome)
        raised, still = outcome.objections, [o for o in outcome.objections if not o.answered]
        met = f"{len(raised) - len(still)} of {count(len(raised), 'objection')} answered"
        refused = outcome.refused_by or ((outcome.reversed_by,) if outcome.reversed_by else ())
        how = "reversed" if outcome.reversed_by else "refused"
        word = "The judge's own answer" if outcome.reversed_by else "Refused answer" if refused else "Answer"
        before = (
            "the judge, before the critic's last look: " if outcome.reasoning and _named_last(result, outcome) else ""
        )
        nobody = "nobody" if outcome.answer else ""
        several = f", {len(still)} objections open" if len(still) > 1 else ""
        dissent = f"the critic{several}: {'; '.join(line(o.text, 120) for o in still[:-3:-1])}"
        return ResultSummary(
            word=word,
            text=outcome.answer,
            quote=next(iter(quotes_of(outcome.citations)), None),
            behind=(met if raised else "no objection was raised") + _moved(result, outcome) if outcome.answer else "",
            posts=() if self._answer_post is None else (self._answer_post,),
            why=before + outcome.reasoning,
            open=f"{how} by objection {_weighed(outcome, refused[0])}" if refused else "",
            dissent=dissent if still else nobody,
            weak=tuple(_weak(result, outcome)),
            parts=(*passages(result), *_parts(outcome)),
        )


def _moved(result: Result, outcome: Outcome) -> str:
    """What became of the answer on the way."""
    given = [r["answer"]["answer"] for r in result.rounds if r.get("answer")]
    if outcome.ruling == "reverses" or (outcome.ruling == "narrows" and len(outcome.signed or ()) > 1):
        return f"; the verdict {outcome.ruling} the answer of the debate"
    others = len({g for g in given if g != given[-1]})
    return f"; revised {count(others, 'time')}" if others else ""


def _question(seat: str, body: Question) -> Card:
    kept = not seat or body.note == "kept as asked"
    told = [
        f"{what}: {', '.join(names)}"
        for names, what in ((body.left_out, "Left out of the question as it was asked"), (body.added, "Added to it"))
        if names
    ]
    return Card(
        place="line" if kept and not told else "note",
        more=kept and not told,
        tone="warn" if told else "plain",
        head="the question stands as it was asked" if kept else "rewrites the question",
        text=paragraphs(body.question, "" if body.note == "kept as asked" else body.note, *told),
    )


def _last_look(body: Countersignature) -> Card:
    """The critic's, at what is to be the result."""
    if body.fatal:
        head = "last look: names a fault that nobody has ruled on"
        return Card(place="note", tone="warn", head=head, text=paragraphs(body.fatal, body.reason))
    if not body.open:
        return Card(place="line", more=True, head="last look: no objection against it")
    named = f"objection{'s' if len(body.open) > 1 else ''} {', '.join(map(str, body.open))}"
    return Card(place="line", tone="warn", head=f"last look: holds {named} against it", text=body.reason)


def _tally(body: RoundTally) -> Card:
    told: list[tuple[str, Tone]] = [(body.label, "plain")]
    told += [(body.source, "quiet")] if body.source not in ("judge", "nothing") else []
    told += [(f"answers objection {n}", "good") for n in body.answered]
    told += [(f"no longer answers {n}", "warn") for n in body.reopened]
    if body.found:
        closed = any(o.number == body.found and o.closed for o in body.profile)
        judged = f"weight {body.weight:.2f}" if body.source == "judge" else "nobody judged it: it counts as 0.50"
        told.append(
            (
                f"objection {body.found}: {'there is nothing to it, closed' if closed else judged}",
                "quiet" if closed else "warn",
            )
        )
    told += [(f"order makes a difference of {body.bias.difference:+.0f}", "quiet")] if body.bias is not None else []
    told += [(f"missing: {seat_names(body.missing)}", "warn")] if body.missing else []
    return Card(
        place="score",
        head=f"confidence {body.confidence:.0f} of 100",
        missing=body.missing,
        chips=tuple(Chip(text=text, tone=tone) for text, tone in told if text),
    )


def _weighed(outcome: Outcome, n: int) -> str:
    """`1 (weight 0.90): it burns`, and what the judge went by where the critic disputes that it is met."""
    found = next((o for o in outcome.objections if o.number == n), Objection(number=n, round=0, text=""))
    judged = "nobody judged its weight" if found.weight is msgspec.UNSET else f"weight {found.weight:.2f}"
    told = f"{n} ({judged}): {line(found.text)}"
    if not found.disputed:
        return told
    met = f"it is answered by “{line(found.met_by, _WIDE)}”" if found.met_by else "there is nothing to it"
    return f"{told}; disputed: the judge says that {met}; the critic says: {line(found.disputed, _WIDE)}"


def _named_last(result: Result, outcome: Outcome) -> bool:
    """Whether the critic's last look named something that the judge did not call open."""
    raised = {(r.get("raised") or {}).get("number") for r in result.rounds}
    return any(o.disputed or o.number not in raised for o in outcome.objections)


def _weak(result: Result, outcome: Outcome) -> Iterator[str]:
    """What speaks against trusting it, the weightiest first."""
    raised = [r["raised"] for r in result.rounds if r.get("raised")]
    confirmed = any((r.get("judgement") or {}).get("check_holds") for r in result.rounds)
    if outcome.ruling == "reverses":
        yield REVERSED
    if outcome.departing:
        yield f"the verdict departs from the debate and was not taken: {line(outcome.departing, _WIDE)}"
    if outcome.unseen:
        yield f"the critic has not seen the answer as it stands: {line(outcome.unseen, _WIDE)}"
    if raised and not confirmed and not any(o.get("number") for o in raised):
        yield "nothing was said against it, which does not mean that it was tried"
    for names, what in ((outcome.left_out, "leaves out"), (outcome.added, "adds")):
        if names:
            yield f"the question that was debated {what}: {', '.join(map(line, names))}"
    *_, last = result.stop.certificate.get("trend") or [0.0]
    told = outcome.confidence
    if last > 100 * told + 0.5 and not _named_last(result, outcome):
        yield f"nothing but the judge's scores speaks for the {last:.0f} of the last round, so it is {told:.2f}"


def _parts(outcome: Outcome) -> Iterator[CardPart]:
    """The objections and what became of them; what the verdict does and assumes."""
    told = tuple(
        f"{'nothing to it' if o.closed else 'answered' if o.answered else 'open'}, {_weighed(outcome, o.number)}"
        for o in outcome.objections
    )
    yield CardPart(name="objections", title="Objections", lines=told, finding=True)
    _, _, why = (outcome.departs or "").partition(": ")
    ruled = f"; the verdict {outcome.ruling} the answer" if outcome.ruling else ""
    ruling = (
        f"The answer that was debated: {line(outcome.debated or '', _WIDE)}" if outcome.reversed_by else "",
        f"Why it was not taken: {line(why, _WIDE)}" if why else "",
        f"Signed by {seat_names(outcome.signed)}{ruled}" if outcome.signed else "",
        *(f"Assumes: {line(a, _WIDE)}" for a in outcome.assumptions or ()),
        f"Confidence is called {outcome.label} ({outcome.label_note})",
    )
    yield CardPart(name="verdict", title="The verdict", lines=tuple(filter(None, ruling)), finding=True)


SHOW = CriticShow
