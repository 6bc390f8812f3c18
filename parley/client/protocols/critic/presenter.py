"""How one session of the critic protocol is shown."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from parley.client.protocols.critic import cards, transcript
from parley.client.show.cards import Card, Series
from parley.client.show.lines import Piece, StyledLine
from parley.client.show.presenter import SEAT_WORDS, Presenter
from parley.client.show.words import raw_post
from parley.client.text import clean, count, line
from parley.client.untrusted import items, object_of, words
from parley.schemas.post import Post
from parley.schemas.result import Result
from parley.schemas.stops import ONE_SOURCE

_BRIEF = 80
"""Characters of what is told in passing in a brief view."""
_ROW = 120
_OPEN = 2
"""Objections that are told where the answer alone is wanted."""


def _cut(text: str) -> str:
    """A row of a brief view, with its indent."""
    bare = text.lstrip()
    return text[: len(text) - len(bare)] + line(bare, _ROW)


class CriticPresenter(Presenter):
    """Shows an answer, the objections to it and what the judge makes of both."""

    certificate_names: ClassVar[Mapping[str, str]] = {
        "document": "document that all quote",
        "exhausted": "the critic had no new objection", "confidence": "judge's confidence, of 100",
        "label": "what the confidence is called",
        "label_note": "what this word is worth", "source": "who ruled in the last round",
        "threshold": "confidence that was wanted, of 100", "trend": "judge's confidence by round, of 100",
        "objections": "objections raised",
        "rounds_survived": "tested rounds with no objection left open",
        "open_objections": "numbers of those that are open",
        "worthless": "objections with nothing to them, closed at once",
        "duplicates": "objections that repeat others", "checked_rounds": "rounds in which the critic's check holds",
        "refused_by": "objections by which the answer is refused", "signed": "who signed the result",
        "unsigned": "why a verdict went back",
        "disputed": "objections that the critic says are not met",
        "unseen": "why the critic has not seen the answer as it stands",
        "judge_bias": "whom the judge favours by its place",
    }  # fmt: skip

    seat_words: ClassVar[Mapping[str, tuple[str, str]]] = {
        **SEAT_WORDS,
        "objection": ("Your objection", "What is wrong with the answer, or missing from it."),
        "checked": ("What you checked", "For example what you computed."),
        "score": ("Your confidence in the answer", "0 to 100."),
        "repeats": ("The earlier objection that this one repeats", "Its number; 0 if it is new."),
        "met": ("Objections that the answer meets", ""),
        "met.objection": ("Number of the objection", ""), "met.quote": ("The sentence that meets it", "Word for word."),
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
    }  # fmt: skip
    asks: ClassVar[Mapping[str, str]] = {
        "answer": "Answer the question, and meet the objections that were raised so far.",
        "critique": "Object to the answer, or say that you find nothing new.",
        "judge": "Say how well the answer stands, and which objections it meets.",
        "verdict": "Give the final answer and your reasons.",
        "sign": "Say whether the verdict claims less than your answer, and nothing else.",
        "countersign": "Look at what is to be the result, and say what stands against it.",
    }

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        super().__init__(settings)
        self._trend: tuple[float, ...] = ()
        self._label = ""
        self._direction = ""
        self._answer = ""
        """The last one."""

    def take(self, post: Post) -> None:
        """Fold one post."""
        if post.kind == "tally":
            body = object_of(post.body)
            self._trend = tuple(items(body.get("trend")))
            self._label, self._direction = words(body.get("label", "")), words(body.get("direction", ""))

    def lines(self, post: Post, width: int) -> Iterator[Piece]:
        """A post in lines."""
        if self.brief and post.kind in transcript.POSTS:
            yield from self._brief_post(post)
        elif post.kind in transcript.POSTS:
            yield from transcript.POSTS[post.kind](post.seat, post.round, object_of(post.body), width)
        else:
            yield from raw_post(post, width)

    def _brief_post(self, post: Post) -> Iterator[StyledLine]:
        """The question and what it leaves out, answers that are new, objections, repetitions, and confidence by
        round."""
        body = object_of(post.body)
        first, *more = transcript.POSTS[post.kind](post.seat, post.round, body, _BRIEF)
        lines = [first, *(x for x in more if post.kind == "question" and x[0] == "score")]
        answer = words(body.get("answer", ""))
        shown = {
            "question": True,
            "answer": answer != self._answer,
            "objection": bool(body.get("number")),
            "repeated": True,
            "tally": True,
            "countersignature": bool(body.get("open") or body.get("fatal")),
        }.get(post.kind, False)
        if post.kind == "answer":
            self._answer = answer
        if shown:
            yield from ((style, _cut(text)) for style, text in lines)

    def card(self, post: Post) -> Card:
        """A post as data."""
        return cards.card(post.kind, object_of(post.body)) or super().card(post)

    def signals(self) -> tuple[Series, ...]:
        """The judge's confidence so far."""
        return cards.signals(self._trend, self.settings)

    def missing(self, post: Post) -> tuple[str, ...] | None:
        """Seats that the tally of a round counts as missing."""
        return tuple(items(object_of(post.body).get("missing"))) if post.kind == "tally" else None

    def brief_beside(self, result: Result) -> Iterator[StyledLine]:
        """What the verdict does and assumes, and what the confidence is worth."""
        yield from transcript.ruling_lines(result.outcome)
        yield from transcript.untried(result)
        yield from transcript.capped(result)

    def answer_words(self, result: Result, usual: str) -> str:
        """How the answer is called: one that an objection overturns is none."""
        if result.outcome.get("reversed_by"):
            return "The judge's own answer"
        return "Refused answer" if result.outcome.get("refused_by") else usual

    def reasoning(self, result: Result) -> str:
        """The judge's, marked as such where the critic named something after it."""
        text = super().reasoning(result)
        return f"The judge, before the critic's last look: {text}" if text and transcript.named_last(result) else text

    def not_settled(self, result: Result) -> Iterator[str]:
        """The answer that was refused, with the objection; else the first objection that nobody has settled."""
        outcome = result.outcome
        if outcome.get("reversed_by") or outcome.get("refused_by"):
            yield f"{self.answer_words(result, 'Answer')}: {clean(self.answer(result))}"
            yield from transcript.refusal_lines(outcome)
            return
        yield from super().not_settled(result)
        yield from transcript.unseen(outcome)
        for number in items(outcome.get("open_objections"))[:_OPEN]:
            yield f"Open: {transcript.objection_words(outcome, number)}"
            yield from transcript.dispute_lines(outcome, number)

    def beside_answer(self, result: Result) -> Iterator[str]:
        """What the rewritten question lacks of the one that was asked."""
        return transcript.rewritten(result.outcome)

    def dissent(self, result: Result) -> str:
        """Objections that the answer does not meet."""
        unanswered = [o for o in items(result.outcome.get("objections")) if not o.get("answered")]
        if not unanswered:
            return "no objection is open" if self.answer(result) else ""
        return f"{count(len(unanswered), 'objection')} open: " + "; ".join(
            line(str(o.get("text")), _BRIEF) for o in unanswered[:2]
        )

    def in_short(self, result: Result) -> str:
        """The answer, how sure the judge is, and what became of the objections."""
        answer = self.answer(result)
        if not answer:
            return super().in_short(result)
        if result.stop.reason == ONE_SOURCE:
            return self.from_one_source(result)
        raised = items(result.outcome.get("objections"))
        still = sum(not o.get("answered") for o in raised)
        met = (
            "no objection was raised"
            if not raised
            else f"{len(raised) - still} of {count(len(raised), 'objection')} met"
        )
        answers = [str(r["answer"].get("answer")) for r in result.rounds if r.get("answer")]
        others = len({g for g in answers if g != answers[-1]})
        be = "was" if others == 1 else "were"
        moved = f"there {be} {count(others, 'other answer')} on the way" if others else "the answer never changed"
        ruling = str(result.outcome.get("ruling", ""))
        if ruling == "reverses" or (ruling == "narrows" and len(items(result.outcome.get("signed"))) > 1):
            moved = f"the verdict {ruling} the answer of the debate"
        following = f"; {count(still, 'objection')} open" if still and still < len(raised) else ""
        called = self.answer_words(result, "")
        answer = f"{called}: {answer}" if called else answer
        return f"{line(answer, _BRIEF)}, {self.confidence(result)}; {met}; {moved}{following}"

    def beside(self, result: Result) -> Iterator[StyledLine]:
        """The label and the objections."""
        yield from transcript.outcome_lines(result.outcome)
        yield from transcript.untried(result)
        yield from transcript.capped(result)

    def findings(self, result: Result) -> Iterator[str]:
        """The reasoning, what it assumes, and the objections."""
        yield from super().findings(result)
        for assumption in result.outcome.get("assumptions") or ():
            yield f"Assumes: {line(str(assumption))}"
        for o in result.outcome.get("objections") or ():
            state = "nothing to it" if o.get("closed") else "met" if o.get("answered") else "open"
            yield f"Objection {o.get('number')} ({state}): {line(str(o.get('text', '')))}"

    def certificate_words(self, certificate: Mapping[str, Any]) -> Iterator[str]:
        """The scores by round, and the figures."""
        trend = certificate.get("trend") or []
        if trend:
            yield "The judge's confidence by round, of 100: " + " → ".join(f"{s:g}" for s in trend) + "."
        left = items(certificate.get("open_objections"))
        yield f"Open at the end: {transcript.named(left) if left else 'no objection'}."
        yield from self.certificate_figures(certificate, ("trend", "open_objections"))

    def round_words(self, figures: Mapping[str, Any]) -> Iterator[str]:
        """What was answered, objected and compared."""
        return transcript.round_words(figures)

    def foot(self, round_: int) -> str:
        """The judge's confidence so far."""
        trend = " → ".join(f"{s:.0f}" for s in self._trend) or "–"
        return f"{super().foot(round_)} · score {trend} {line(self._label)} {line(self._direction)}"
