"""The consensus protocol's posts, rounds and result in words."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from parley.client.protocols.consensus import cards
from parley.client.protocols.consensus.cards import BY as _BY
from parley.client.protocols.consensus.cards import KEPT, PUT_ELSEWHERE, put_elsewhere
from parley.client.show.cards import Card, Series
from parley.client.show.lines import Piece, StyledLine
from parley.client.show.presenter import SEAT_WORDS, PagePart, Presenter
from parley.client.show.words import WIDE, raw_post
from parley.client.text import count, line
from parley.client.untrusted import items, mapping, number, object_of, words
from parley.schemas.post import Post
from parley.schemas.result import Result
from parley.schemas.text import normalise

_BRIEF = 70
"""Characters of what is told in passing in a brief view."""
POSTS = ("position", "assessment", "analysis", "synthesis")
"""Kinds of posts."""
Body = Mapping[str, Any]

_BANDS = {
    "strong": "strong agreement",
    "moderate": "moderate agreement",
    "weak": "weak agreement",
    "none": "no agreement",
}
_DIRECTIONS = {"improving": "higher than before", "stable": "about as before", "diverging": "lower than before"}
_CHANGED = {"adopted": "took over another answer", "partly": "changed its answer in part"}


def _band(band: Any) -> str:
    """What a score is called, in words."""
    return _BANDS.get(band, line(str(band))) if isinstance(band, str) else "not scored"


def _moved(direction: Any) -> str:
    """How a score compares with the one before it, behind a comma."""
    return f", {_DIRECTIONS.get(direction, line(str(direction)))}" if isinstance(direction, str) else ""


class ConsensusPresenter(Presenter):
    """Shows a panel: positions, the score of each round, who held out."""

    agreement = "consensus"
    certificate_names: ClassVar[Mapping[str, str]] = {
        "band": "what the score is called", "flips": "changes of answer in all rounds",
        "flips_without_evidence": "changes of answer that nothing explains",
        "groups": "number of seats that hold each answer",
        "changed": "changes of answer, by what explains them", "unexplained": "nothing", "quotation": "a quotation",
        "argument": "an argument", "quorum": "least number of positions that a round needs",
        "score": "last agreement score, of 100", "source": "who measured the agreement score",
        "threshold": "agreement score that was wanted, of 100", "trend": "agreement scores by round, of 100",
        "weights": "weight of each seat",
        "stuck_rounds": "rounds without progress that end it",
        "stuck_progress": "least rise of the score that counts as progress, in points",
    }  # fmt: skip

    seat_words: ClassVar[Mapping[str, tuple[str, str]]] = {
        **SEAT_WORDS,
        "change": ("What became of your last answer", ""),
        "change_reason": ("What changed your mind", "Needed where your answer changed."),
        "moved_by": ("Quotations by others that moved you", "Words of their documents that were new to you."),
        "moved_by.document": ("Document", ""), "moved_by.quote": ("Quoted words", ""),
        "abstains": ("I have no answer", "You are counted as abstaining in this round."),
        "argument": ("An argument that moved you", ""),
        "argument.post": ("Whose argument", ""), "argument.claim": ("What it says", ""),
    }  # fmt: skip
    choice_words: ClassVar[Mapping[str, str]] = {
        "change.kept": "I keep it",
        "change.partly": "I changed it in part",
        "change.adopted": "I took over another one",
    }
    asks: ClassVar[Mapping[str, str]] = {
        "answer": "Answer the question. Nobody sees your answer before this round is over.",
        "revise": "Read what the others hold, then keep your answer or change it.",
        "compare": "Say which answers are the same, and how close the rest are.",
        "conclude": "Word the answer that the panel agreed on.",
    }

    @classmethod
    def not_asked(cls, kind: str, *, first: bool) -> frozenset[str]:
        """Before its first answer a seat has changed nothing."""
        return frozenset({"change", "change_reason", "moved_by", "argument"}) if first else frozenset()

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        super().__init__(settings)
        self._trend: tuple[float, ...] = ()
        self._scores: dict[int, Any] = {}
        """Round -> its score, of rounds that were scored."""
        self._band = ""
        self._direction = ""
        self._held: dict[str, str] = {}
        """Seat -> the answer that it gave last."""
        self._seats: dict[int, str] = {}
        """Number of a position -> whose it is."""
        self._panel: set[str] = set()
        """Seats that gave a position."""
        self._reasons: dict[str, str] = {}
        """Seat -> what it said last of why it changed its answer."""

    # -- posts

    def take(self, post: Post) -> None:
        """Fold one post."""
        body = object_of(post.body)
        if post.kind == "assessment":
            self._trend = tuple(items(body.get("trend")))
            if body.get("score") is not None:
                self._scores[post.round] = body["score"]
            self._band, self._direction = words(body.get("band", "")), words(body.get("direction", ""))
        elif post.kind == "position":
            self._seats[post.n] = post.seat
            self._panel.add(post.seat)
            self._reasons[post.seat] = self._reason(body)

    def _reason(self, body: Body) -> str:
        """The claim that a position names as what moved it, and whose it is; else its own words."""
        argument = mapping(body.get("argument"))
        post = number(argument.get("post"))
        whose = None if post is None else self._seats.get(int(post))
        if whose is None:
            return words(body.get("change_reason", ""))
        return f"{whose} says: {words(argument.get('claim', ''))}"

    def lines(self, post: Post, width: int) -> Iterator[Piece]:
        """A post in lines."""
        body = object_of(post.body)
        if self.brief and post.kind in POSTS:
            yield from self._brief_post(post, body)
            return
        match post.kind:
            case "position":
                yield from _position(post.seat, body, width)
            case "assessment":
                yield from _assessment(post.round, body, self._reasons, width)
            case "analysis":
                if body.get("comment"):
                    yield "quiet", f"  {line(post.seat)}: {line(str(body['comment']), width)}"
            case "synthesis":
                yield "quiet", f"  {line(post.seat)} words the result: {line(str(body.get('answer', '')), width)}"
            case _:
                yield from raw_post(post, width)

    def _brief_post(self, post: Post, body: Body) -> Iterator[StyledLine]:
        """Positions of the first round, those that moved later, and the score of each round."""
        if post.kind == "position":
            answer = "" if body.get("abstains") else str(body.get("answer", ""))
            kept = body.get("change") == "kept"  # the words of a kept answer may change freely
            if post.seat not in self._held or (self._held[post.seat] != answer and not kept):
                yield from list(_position(post.seat, body, _BRIEF))[:1]
            self._held[post.seat] = answer
        elif post.kind == "assessment":
            first, *more = _assessment(post.round, body, {}, _BRIEF)
            yield first
            yield from ((style, f"      {line(text, _BRIEF)}") for style, text in more[:1])

    def missing(self, post: Post) -> tuple[str, ...] | None:
        """Seats without a position in the round that is scored."""
        if post.kind != "assessment":
            return None
        changes = mapping(object_of(post.body).get("changes"))
        return tuple(seat for seat, change in changes.items() if change == "missing")

    def card(self, post: Post) -> Card:
        """A post as data."""
        return cards.card(post.kind, object_of(post.body)) or super().card(post)

    def signals(self) -> tuple[Series, ...]:
        """The scores so far."""
        return cards.signals(self._scores, self.settings)

    def round_note(self, round_: int) -> str:
        """That the first one is blind."""
        return "blind, nobody saw another answer" if round_ == 1 else ""

    # -- the result

    def carried(self, result: Result, held: Mapping[str, tuple[int, str]]) -> tuple[int, ...]:
        """The last positions of those who hold the answer."""
        apart = {words(mapping(m).get("seat")) for m in items(result.outcome.get("minority"))}
        silent = _abstaining(result)
        return tuple(n for seat, (n, _) in held.items() if seat in self._panel and seat not in apart | silent)

    def seats(self, result: Result) -> int:
        """The panel's."""
        absent = {words(seat) for played in result.rounds for seat in items(mapping(played).get("missing"))}
        known = self._panel | set(_last(result)) | absent
        return len(mapping(result.stop.certificate.get("weights"))) or len(known) or super().seats(result)

    def dissent(self, result: Result) -> str:
        """The minority."""
        held = [
            f"{line(str(m['seat']))} holds {line(str(m['answer']), _BRIEF)} ({float(m['confidence']):.2f})"
            for m in result.outcome.get("minority") or ()
        ]
        return "; ".join(held) or ("nobody" if result.stop.converged else "")

    def in_short(self, result: Result) -> str:
        """How many agreed from when on, how sure they are, and what is open."""
        answer, confidence = self.answer(result), self.confidence(result)
        if not answer:
            return super().in_short(result)
        seats = self.seats(result)
        silent, unheard = _silent(result), max(0, seats - len(_last(result)))
        holding = max(0, seats - len(items(result.outcome.get("minority"))) - silent - unheard)
        who = ("both" if seats == 2 else f"all {seats}") if holding == seats else f"{holding} of {seats}"
        rest = f"; {silent} {'has' if silent == 1 else 'have'} no answer" if silent else ""
        rest += f"; {unheard} {'was' if unheard == 1 else 'were'} missing" if unheard else ""
        held = f"hold {line(words(result.outcome.get('label', answer)), _BRIEF)}, {confidence}"
        if not result.stop.converged:
            disputed = items(result.rounds[-1].get("key_disagreements")) if result.rounds else []
            still = f"; open: {line(words(disputed[0]), _BRIEF)}" if disputed else ""
            return f"no consensus: {who} {held}{rest}{still}"
        return f"{who} agree, {confidence}{rest}{_changes(result)}"

    def reasoning(self, result: Result) -> str:
        """What it rests on; before it, where the analyst worded the answer, what a seat that holds it said itself."""
        return "  ".join(filter(None, (_own_words(result), super().reasoning(result))))

    def beside(self, result: Result) -> Iterator[StyledLine]:
        """Nothing: a minority is told in other words here and there."""
        return iter(())

    def closing_lines(self, result: Result) -> Iterator[StyledLine]:
        """Who held out, and what the first round's majority was, where it was another."""
        outcome = result.outcome
        for other in outcome.get("minority") or ():
            held = f"{line(str(other['seat']))} holds {line(str(other['answer']), 300)}"
            yield "", f"Minority: {held} ({other['confidence']:.2f})"
        if outcome.get("departing"):
            yield (
                "score",
                f"The analyst words another answer, which nobody agreed on: {line(str(outcome['departing']), 300)}",
            )
        first = outcome.get("first_round_majority")
        if first and first != outcome.get("label", self.answer(result)):
            yield "quiet", f"First round's majority: {line(str(first), 300)}"

    def findings(self, result: Result) -> Iterator[str]:
        """The reasoning, the minority's, and what was disputed to the end."""
        yield from super().findings(result)
        for other in result.outcome.get("minority") or ():
            why = f" Its reasoning: {line(str(other['reasoning']))}" if other.get("reasoning") else ""
            yield f"A minority held: {line(str(other['answer']))}.{why}"
        for disagreement in (result.rounds[-1].get("key_disagreements") or ()) if result.rounds else ():
            yield f"Disputed to the end: {line(str(disagreement))}"

    # -- the explanation

    def certificate_words(self, certificate: Mapping[str, Any]) -> Iterator[str]:
        """The last score against its threshold, the scores by round, and what else there is."""
        score, threshold = certificate.get("score"), certificate.get("threshold")
        if score is not None and threshold is not None:
            relation = "reached" if score >= threshold else "is below"
            band = _band(certificate.get("band"))
            last = f"The last agreement score is {score:g} of 100 ({band})"
            yield f"{last}. It {relation} the threshold of {threshold:g}."
        trend = certificate.get("trend") or []
        if trend:
            yield "Agreement scores by round: " + " → ".join(f"{s:g}" for s in trend) + "."
        fields = ("trend", "score", "band", *(("threshold",) if score is not None else ()))
        yield from self.certificate_figures(certificate, fields)

    def round_figures(self, figures: dict[str, Any]) -> dict[str, Any]:
        """A round without the texts of its positions: its score, and who moved."""
        positions = figures.get("positions") or {}
        return {
            "round": figures.get("round"),
            "score": figures.get("score"),
            "band": figures.get("band"),
            "direction": figures.get("direction"),
            "source": figures.get("source"),
            "key_disagreements": figures.get("key_disagreements") or [],
            "changes": {
                seat: p.get("change") for seat, p in positions.items() if p.get("change") not in (None, "kept")
            },
            "reasons": {
                seat: p.get("change_reason") for seat, p in positions.items() if p.get("change") not in (None, "kept")
            },
            "flips_without_evidence": [seat for seat, p in positions.items() if p.get("flip_without_evidence")],
            "put_elsewhere": [seat for seat, p in positions.items() if put_elsewhere(p.get("moved"), p.get("change"))],
            "missing": figures.get("missing") or [],
        }

    def round_words(self, figures: Mapping[str, Any]) -> Iterator[str]:
        """Its score, who moved and how, who was missing, what was in dispute."""
        if figures["score"] is None:
            yield f"Round {figures['round']}: not scored."
        else:
            source = "" if figures["source"] == "analyst" else f", measured by {line(str(figures['source']))}"
            moved = _moved(figures["direction"]) if figures["round"] != 1 else ""
            score = f"agreement score {figures['score']:g} of 100"
            yield f"Round {figures['round']}: {score} ({_band(figures['band'])}{source}){moved}."
        for seat, change in figures["changes"].items():
            bare = ", and nothing that was found explains it" if seat in figures["flips_without_evidence"] else ""
            why = line(str(figures["reasons"].get(seat) or ""), 300)
            yield f"  {line(seat)} {_CHANGED.get(change, line(str(change)))}{bare}{': ' + why if why else ''}"
        for seat in figures["put_elsewhere"]:
            yield f"  {line(str(seat))} {PUT_ELSEWHERE}"
        for seat in figures["missing"]:
            yield f"  {line(str(seat))} gave no position"
        for disagreement in figures["key_disagreements"]:
            yield f"  in dispute: {line(str(disagreement), 300)}"

    def concluded(self, result: Result) -> Iterator[str]:
        """Who held out, and the first round's plain majority."""
        for other in result.outcome.get("minority") or ():
            yield f"Minority: {line(other['seat'])} held {line(other['answer'], 300)}."
        if "first_round_majority" in result.outcome:
            first = result.outcome["first_round_majority"]
            yield f"First round's plain majority: {line(first, 300)}." if first else "The first round had no majority."

    # -- the page and the live view

    def page(self, posts: Any, result: Result | None) -> PagePart:
        """The minority below the answer."""
        minority = result.outcome.get("minority") if result is not None else None
        return PagePart(
            template=Path(__file__).with_name("templates") / "consensus.html",
            facts={"minority": [{"seat": m["seat"], "answer": m["answer"]} for m in minority or ()]},
        )

    def foot(self, round_: int) -> str:
        """The scores so far."""
        trend = " → ".join(map(_points, self._trend)) or "–"
        return f"{super().foot(round_)} · score {trend} {line(self._band)} {line(self._direction)}"


def _changes(result: Result) -> str:
    """Who changed its answer in which round, and by what: in one clause."""
    changes: dict[str, list[str]] = {}
    for played in result.rounds:
        for p in mapping(played.get("positions")).values():
            if by := mapping(p).get("moved"):
                kept = put_elsewhere(by, mapping(p).get("change"))
                changes.setdefault(KEPT if kept else words(by), []).append(str(played.get("round")))
    came = _came_to_one(result)
    if not changes and not came:
        return "; all the same from the start" if len(result.rounds) < 2 else "; nobody changed its answer"
    texts = [f"{came} came to an answer later"] if came else []
    for by, rounds in changes.items():
        n = "one changed its answer" if len(rounds) == 1 else f"{len(rounds)} changed their answers"
        n = f"{n} {_BY.get(by, line(by))}"
        if by == KEPT:
            n = f"{count(len(rounds), 'answer')} said to be kept counted as another one"
        texts.append(f"{n} in round {' and '.join(dict.fromkeys(rounds))}")
    return "; " + ", ".join(texts)


def _came_to_one(result: Result) -> int:
    """How many had no answer at first, and one later."""
    silent, came = set[str](), set[str]()
    for played in result.rounds:
        for seat, position in mapping(played.get("positions")).items():
            if mapping(position).get("abstains"):
                silent.add(str(seat))
            elif seat in silent:
                came.add(str(seat))
    return len(came - _abstaining(result))


def _silent(result: Result) -> int:
    """How many were heard and hold no answer at the end."""
    return len(_abstaining(result))


def _abstaining(result: Result) -> set[str]:
    """Seats that were heard and hold no answer at the end."""
    return {seat for seat, p in _last(result).items() if p.get("abstains")}


def _own_words(result: Result) -> str:
    """The answer as its surest holder gave it, where the analyst gave it in other words; else empty. No program can
    tell whether both mean the same, so the reader sees both."""
    apart = {words(mapping(m).get("seat")) for m in items(result.outcome.get("minority"))}
    held = [
        (number(p.get("confidence")) or 0.0, seat, words(p.get("answer", "")))
        for seat, p in _last(result).items()
        if seat not in apart and not p.get("abstains")
    ]
    worded = normalise(words(result.outcome.get("answer", "")))
    if result.outcome.get("source") != "synthesis" or not held or worded in {normalise(said) for _, _, said in held}:
        return ""
    confidence, seat, said = max(held, key=lambda one: one[0])
    return f"The analyst worded this answer. {line(seat)} ({confidence:.2f}) said: “{line(said, 300)}”"


def _last(result: Result) -> dict[str, Mapping[str, Any]]:
    """Seat -> what it held at the end, of seats that were heard."""
    last: dict[str, Mapping[str, Any]] = {}
    for played in result.rounds:
        last |= {str(seat): mapping(p) for seat, p in mapping(played.get("positions")).items()}
    return last


def _position(seat: str, body: Body, width: int) -> Iterator[StyledLine]:
    if body.get("abstains"):
        yield "seat", f"  {line(seat)} abstains: {line(str(body.get('reasoning', '')), width)}"
        return
    change = body.get("change", "kept")
    moved = "" if change == "kept" else f" [{line(str(change))}: {line(str(body.get('change_reason', '')), width)}]"
    yield (
        "seat",
        f"  {line(seat)} ({float(body.get('confidence', 0)):.2f}): {line(str(body.get('answer', '')), width)}{moved}",
    )
    if body.get("reasoning"):
        yield "quiet", f"      {line(str(body['reasoning']), width)}"


def _points(score: Any) -> str:
    """A score to one decimal, cut and not rounded: what is below a threshold never looks like it."""
    return f"{math.floor(float(score) * 10) / 10:g}"


def _assessment(round_: int, body: Body, reasons: Mapping[str, str], width: int) -> Iterator[StyledLine]:
    """The score of a round, what divides them, who holds what, and who changed its answer by what."""
    trend = " → ".join(map(_points, items(body.get("trend"))))
    source = "" if body.get("source") == "analyst" else f" ({line(str(body.get('source')))})"
    yield (
        "score",
        f"  round {round_}: score {_points(body.get('score', 0))}{source}, {line(str(body.get('band')))}, "
        f"trend {trend}, {line(str(body.get('direction')))}",
    )
    for disagreement in body.get("key_disagreements") or ():
        yield "quiet", f"      they disagree: {line(str(disagreement), WIDE)}"
    for side in items(body.get("groups")):
        label, holders = words(mapping(side).get("label")), items(mapping(side).get("seats"))
        yield "quiet", f"      {line(label, WIDE)}: {', '.join(line(str(x)) for x in holders)}"
    for seat, by in mapping(body.get("moved")).items():
        if put_elsewhere(by, mapping(body.get("changes")).get(seat)):
            yield "quiet", f"      {line(str(seat))} {PUT_ELSEWHERE}"
            continue
        why = line(reasons.get(str(seat), ""), width)
        reason = f": {why}" if why and by in ("quotation", "argument") else ""
        yield "quiet", f"      {line(str(seat))} changed its answer {_BY.get(by, line(str(by)))}{reason}"
