"""What the posts and the result of a session with a critic say: answers, objections, what the judge makes of both."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from parley.client.protocols.critic.form import FORM
from parley.client.protocols.critic.setup import SETUP
from parley.client.show.answer import Told
from parley.client.show.card import Card, Chip, Part, Series, Tone, paragraphs, quotes_of, share
from parley.client.show.palette import seat_names
from parley.client.show.show import Show, passages, plain_card
from parley.client.text import count, line
from parley.client.untrusted import items, mapping, number, object_of, words
from parley.schemas.post import Post
from parley.schemas.result import Result

POSTS = (
    "question", "answer", "objection", "repeated", "judgement", "judgement_swapped", "tally", "verdict", "signature",
    "countersignature",
)  # fmt: skip
"""Kinds of posts."""
_WIDE = 300
_WHOLE = 2_000
"""Of an objection where all of it is told."""
REVERSED = "the verdict is the judge's own answer: nobody has attacked it, and confidence is that of the debated answer"
Body = Mapping[str, Any]


class CriticShow(Show):
    """Shows an answer, the objections to it, and what became of them."""

    setup = SETUP
    form = FORM
    certificate_names: ClassVar[Mapping[str, str]] = {
        "document": "document that all quote",
        "exhausted": "the critic had no new objection", "confidence": "judge's confidence, of 100",
        "label": "what the confidence is called", "label_note": "what this word is worth",
        "source": "who ruled in the last round", "threshold": "confidence that was wanted, of 100",
        "trend": "judge's confidence by round, of 100", "objections": "objections raised",
        "rounds_survived": "tested rounds with no objection left open",
        "open_objections": "numbers of those that are open",
        "worthless": "objections with nothing to them, closed at once",
        "duplicates": "objections that repeat others", "checked_rounds": "rounds in which the critic's check holds",
        "refused_by": "objections by which the answer is refused", "signed": "who signed the result",
        "unsigned": "why a verdict went back", "disputed": "objections that the critic says are not met",
        "unseen": "why the critic has not seen the answer as it stands",
        "judge_bias": "whom the judge favours by its place",
    }  # fmt: skip

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        super().__init__(settings)
        self._trend: tuple[Any, ...] = ()
        self._label = ""
        self._answer = ""
        self._answer_post: int | None = None

    @classmethod
    def knows(cls, post: Post) -> bool:
        """Whether its kind is one of this protocol's."""
        return post.kind in POSTS

    # -- posts
    def card(self, post: Post) -> Card:
        """A post."""
        body = object_of(post.body)
        match post.kind:
            case "question":
                return _question(post.seat, body)
            case "answer":
                answer, before = words(body.get("answer", "")), self._answer
                self._answer, self._answer_post = answer, post.n
                return Card(
                    head="answer", position=answer, confidence=share(body.get("confidence")), more=answer == before,
                    text=words(body.get("reasoning", "")), quotes=quotes_of(body.get("citations")),
                )  # fmt: skip
            case "objection":
                return _objection(body)
            case "repeated":
                what = f"repeats objection {words(body.get('repeats'))}"
                now, before = words(body.get("objection", "")), words(body.get("text", ""))
                return Card(place="note", head=what, text=paragraphs(f"Now: {now}", f"Before: {before}"), refused=what)
            case "judgement" | "judgement_swapped":
                swapped = ", the opposite order" if post.kind == "judgement_swapped" else ""
                met = (
                    f"Objection {words(m.get('objection'))} is met by: “{words(m.get('quote', ''))}”"
                    for m in map(mapping, items(body.get("met")))
                )
                holds = "The critic's calculation holds." if body.get("check_holds") else ""
                return Card(
                    place="note", more=True, head=f"{number(body.get('score')) or 0:g} of 100{swapped}",
                    text=paragraphs(words(body.get("comment", "")), *met, holds),
                )  # fmt: skip
            case "tally":
                self._trend, self._label = tuple(items(body.get("trend"))), words(body.get("label", ""))
                return _tally(body)
            case "verdict":
                ruling = words(body.get("ruling") or "")
                how = f", which {ruling} the answer" if ruling else ""
                return Card(
                    place="note", more=True, head=f"writes the verdict{how}",
                    position=words(body.get("answer") or ""), text=words(body.get("reasoning") or ""),
                )  # fmt: skip
            case "signature":
                signs, differs = body.get("states") == "yes", words(body.get("differs") or "")
                clause = f": “{differs}”" if differs and not signs else ""
                return Card(
                    place="line", more=signs, text=f"{'signs' if signs else 'does not sign'} the verdict{clause}"
                )
            case "countersignature":
                return _last_look(body)
        return plain_card(post)

    def series(self) -> tuple[Series, ...]:
        """The judge's confidence after each round, against the threshold."""
        values, threshold = tuple(number(score) for score in self._trend), number(self.settings.get("threshold"))
        return () if not values else (
            Series(
                name="confidence", label="Confidence, by the objections that are open", values=values,
                rounds=tuple(float(n) for n in range(1, len(values) + 1)), threshold=threshold,
                threshold_label=f"threshold {threshold:g}" if threshold is not None else "",
                stops="above" if threshold is not None else "", least=0.0, most=100.0,
            ),
        )  # fmt: skip

    def foot(self) -> str:
        """The judge's confidence so far."""
        return f"confidence {' → '.join(f'{s:.0f}' for s in self._trend) or '–'} {line(self._label)}".rstrip()

    # -- the result
    def told(self, result: Result) -> Told:
        """What it came to."""
        outcome = result.outcome
        answer, raised = words(outcome.get("answer") or ""), [mapping(o) for o in items(outcome.get("objections"))]
        still = [o for o in raised if not o.get("answered")]
        met = (
            "no objection was raised"
            if not raised
            else f"{len(raised) - len(still)} of {count(len(raised), 'objection')} met"
        )
        refused = items(outcome.get("refused_by")) or ([outcome["reversed_by"]] if outcome.get("reversed_by") else [])
        how = "reversed" if outcome.get("reversed_by") else "refused"
        word = "The judge's own answer" if outcome.get("reversed_by") else "Refused answer" if refused else "Answer"
        quote = next(iter(quotes_of(outcome.get("citations"))), None)
        why, before = words(outcome.get("reasoning") or ""), "the judge, before the critic's last look: "
        dissent = "; ".join(line(words(o.get("text")), 120) for o in still[:-3:-1])
        return Told(
            word=word, text=answer, behind=met + _moved(result) if answer else "", quote=quote,
            posts=() if self._answer_post is None else (self._answer_post,),
            why=f"{before}{why}" if why and _named_last(result) else why,
            open=f"{how} by {objection_words(outcome, refused[0])}{_dispute(outcome, refused[0])}" if refused else "",
            dissent=f"{count(len(still), 'objection')} open: {dissent}" if still else "nobody" if answer else "",
            weak=tuple(_weak(result)), parts=(*passages(result), *_parts(result)),
        )  # fmt: skip


def _moved(result: Result) -> str:
    """What became of the answer on the way."""
    given = [words(mapping(r["answer"]).get("answer")) for r in result.rounds if r.get("answer")]
    ruling = words(result.outcome.get("ruling") or "")
    if ruling == "reverses" or (ruling == "narrows" and len(items(result.outcome.get("signed"))) > 1):
        return f"; the verdict {ruling} the answer of the debate"
    others = len({g for g in given if g != given[-1]}) if given else 0
    return f"; it changed {count(others, 'time')}" if others else ""


def _question(seat: str, body: Body) -> Card:
    kept = not seat or body.get("note") == "kept as asked"
    told = [
        f"{what}: {', '.join(map(words, items(body[name])))}"
        for name, what in (("left_out", "Left out of the question as it was asked"), ("added", "Added to it"))
        if body.get(name)
    ]
    note = words(body.get("note") or "")
    return Card(
        place="line" if kept and not told else "note", more=kept and not told, tone="warn" if told else "plain",
        head="the question stands as it was asked" if kept else "rewrites the question",
        text=paragraphs(words(body.get("question", "")), "" if note == "kept as asked" else note, *told),
    )  # fmt: skip


def _objection(body: Body) -> Card:
    checked = f"It computed: {words(body['checked'])}" if body.get("checked") else ""
    if not body.get("number"):
        return Card(place="note", more=True, head="no new objection", text=checked)
    return Card(
        head=f"objection {words(body['number'])}", text=paragraphs(words(body.get("objection", "")), checked),
        quotes=quotes_of(body.get("citations")),
    )  # fmt: skip


def _last_look(body: Body) -> Card:
    """The critic's, at what is to be the result."""
    still, fault, reason = items(body.get("open")), words(body.get("fatal") or ""), words(body.get("reason") or "")
    head = f"last look: holds {_named(still)} against it" if still else "last look: no objection against it"
    if fault:
        return Card(
            place="note",
            tone="warn",
            head="last look: names a fault that nobody has ruled on",
            text=paragraphs(fault, reason),
        )
    return Card(
        place="line", more=not still, tone="warn" if still else "plain", head=head, text=reason if still else ""
    )


def _tally(body: Body) -> Card:
    def chip(text: str, tone: Tone = "plain") -> None:
        chips.append(Chip(text=text, tone=tone))

    chips: list[Chip] = []
    if body.get("label"):
        chip(words(body["label"]))
    if body.get("source") not in ("judge", "nothing", None):
        chip(words(body["source"]), "quiet")
    for n in items(body.get("answered")):
        chip(f"meets objection {words(n)}", "good")
    for n in items(body.get("reopened")):
        chip(f"no longer meets {words(n)}", "warn")
    if found := body.get("found"):
        closed = any(o.get("number") == found and o.get("closed") for o in map(mapping, items(body.get("profile"))))
        judged = (
            f"weight {number(body.get('weight')) or 0:.2f}"
            if body.get("source") == "judge"
            else "nobody judged it: it counts as 0.50"
        )
        chip(
            f"objection {words(found)}: {'there is nothing to it, closed' if closed else judged}",
            "quiet" if closed else "warn",
        )
    if bias := mapping(body.get("bias")):
        chip(f"order makes a difference of {number(bias.get('difference')) or 0:+.0f}", "quiet")
    if body.get("missing"):
        chip(f"missing: {seat_names(body['missing'])}", "warn")
    confidence = number(body.get("confidence"))
    head = "confidence" if confidence is None else f"confidence {confidence:.0f} of 100"
    return Card(place="score", head=head, chips=tuple(chips), missing=tuple(map(words, items(body.get("missing")))))


def objection_words(outcome: Body, n: Any, most: int = _WIDE) -> str:
    """`objection 1 (weight 0.90): it burns`."""
    found = next((o for o in map(mapping, items(outcome.get("objections"))) if o.get("number") == n), {})
    weight = number(found.get("weight"))
    judged = "nobody judged its weight" if weight is None else f"weight {weight:.2f}"
    return f"objection {words(n)} ({judged}): {line(words(found.get('text', '')), most)}"


def _dispute(outcome: Body, n: Any) -> str:
    """What the judge went by where the critic disputes that an objection is met, and why it does."""
    found = next((o for o in map(mapping, items(outcome.get("objections"))) if o.get("number") == n), {})
    if not found.get("disputed"):
        return ""
    met = f"it is met by “{line(words(found['met_by']), _WIDE)}”" if found.get("met_by") else "there is nothing to it"
    return f"; disputed: the judge says that {met}; the critic says: {line(words(found['disputed']), _WIDE)}"


def _named_last(result: Result) -> bool:
    """Whether the critic's last look named something that the judge did not call open."""
    raised = {mapping(r.get("raised") or {}).get("number") for r in result.rounds}
    every = map(mapping, items(result.outcome.get("objections")))
    return any(o.get("disputed") or o.get("number") not in raised for o in every)


def _weak(result: Result) -> Iterator[str]:
    """What speaks against trusting it, the weightiest first."""
    outcome, unread = result.outcome, result.keyless is True
    raised = [mapping(r["raised"]) for r in result.rounds if r.get("raised")]
    confirmed = any(mapping(r.get("judgement") or {}).get("check_holds") for r in result.rounds)
    if outcome.get("ruling") == "reverses":
        yield REVERSED
    if outcome.get("departing"):
        yield f"the verdict departs from the debate and was not taken: {line(words(outcome['departing']), _WIDE)}"
    if outcome.get("unseen"):
        yield f"the critic has not seen the answer as it stands: {line(words(outcome['unseen']), _WIDE)}"
    if raised and not unread and not confirmed and not any(o.get("number") for o in raised):
        yield "nothing was said against it, which does not mean that it was tried"
    for name, what in (("left_out", "leaves out"), ("added", "adds")):
        if outcome.get(name):
            yield f"the question that was debated {what}: {', '.join(line(words(w)) for w in items(outcome[name]))}"
    trend = [number(points) for points in items(result.stop.certificate.get("trend"))]
    last, told = trend[-1] if trend else None, number(outcome.get("confidence"))
    if not unread and last is not None and told is not None and last > 100 * told + 0.5 and not _named_last(result):
        yield f"nothing but the judge's scores speaks for the {last:.0f} of the last round, so it is {told:.2f}"


def _parts(result: Result) -> Iterator[Part]:
    """The objections and what became of them; what the verdict does and assumes."""
    outcome, told = result.outcome, list[str]()
    for o in map(mapping, items(outcome.get("objections"))):
        state = "nothing to it" if o.get("closed") else "met" if o.get("answered") else "open"
        known = objection_words(outcome, o.get("number"), _WHOLE).removeprefix("objection ")
        told.append(f"{state}, {known}{_dispute(outcome, o.get('number'))}")
    if told:
        yield Part(name="objections", title="Objections", lines=tuple(told), finding=True)
    ruling = []
    if outcome.get("reversed_by"):
        ruling.append(f"The answer that was debated: {line(words(outcome.get('debated', '')), _WIDE)}")
    _, _, why = words(outcome.get("departs") or "").partition(": ")
    ruling += [f"Why it was not taken: {line(why, _WIDE)}"] if why else []
    if signed := seat_names(outcome.get("signed")):
        ruling.append(
            f"Signed by {signed}"
            + (f"; the verdict {words(outcome['ruling'])} the answer" if outcome.get("ruling") else "")
        )
    ruling += [f"Assumes: {line(words(a), _WIDE)}" for a in items(outcome.get("assumptions"))]
    if outcome.get("label"):
        ruling.append(f"Confidence is called {words(outcome['label'])} ({words(outcome.get('label_note'))})")
    if ruling:
        yield Part(name="verdict", title="The verdict", lines=tuple(ruling), finding=True)


def _named(numbers: list[Any]) -> str:
    """`objection 1`, `objections 1, 2`."""
    return f"objection{'s' if len(numbers) > 1 else ''} {', '.join(map(words, numbers))}"


SHOW = CriticShow
