"""The consensus protocol's posts, rounds and result in words."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from parley.client.protocols.consensus import cards, signatures
from parley.client.protocols.consensus.cards import BY as _BY
from parley.client.protocols.consensus.cards import KEPT, PUT_ELSEWHERE, SOURCES, put_elsewhere
from parley.client.protocols.consensus.signatures import Stand, held_last, minority, stand_words, stands_of
from parley.client.show.cards import Card, Series
from parley.client.show.lines import Piece, StyledLine
from parley.client.show.presenter import SEAT_WORDS, PagePart, Presenter
from parley.client.show.saved import saved_words
from parley.client.show.words import WIDE, raw_post
from parley.client.text import count, line
from parley.client.untrusted import items, mapping, number, object_of, words
from parley.coordinator.signals.reliability import trust
from parley.schemas import log
from parley.schemas.post import Post
from parley.schemas.result import Result
from parley.schemas.stops import ONE_SOURCE
from parley.schemas.text import same

_BRIEF = 70
"""Characters of what is told in passing in a brief view."""
_REASON = 300
POSTS = ("position", "assessment", "analysis", "put", "signature", "synthesis")
"""Kinds of posts."""
Body = Mapping[str, Any]

_BANDS = {
    "strong": "strong agreement",
    "moderate": "moderate agreement",
    "weak": "weak agreement",
    "none": "no agreement",
}
_DIRECTIONS = {"improving": "higher than before", "stable": "about as before", "diverging": "lower than before"}
_NEXT = "mend or replace the seats that do not answer, then ask again"
"""What to do about an end as `incomplete`."""
_STANDS = {
    "said": "said it", "signed": "signed it", "reserved": "signed it with a reservation",
    "rival": "does not sign it", "neither": "does not sign it", "none": "gave no form",
    "abstains": "has no answer", "never": "never answered",
}  # fmt: skip
"""Where a seat stands, in words."""
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
        "document": "document that all quote",
        "groups": "number of seats that hold each answer",
        "changed": "changes of answer, by what explains them", "unexplained": "nothing", "quotation": "a quotation",
        "argument": "an argument", "quorum": "least number of positions that a round needs",
        "score": "last agreement score, of 100", "source": "who measured the agreement score",
        "threshold": "share of the weight that must sign, in percent", "trend": "agreement scores by round, of 100",
        "sentence": "sentence that was put to be signed", "signatures": "where each seat stands, and the hash it binds",
        "signature": "signing another answer", "signed": "what stands behind the sentence",
        "least": "least values that were wanted",
        **SOURCES,
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
        "states": ("Which of these states your answer", "Other words or more detail make no difference."),
        "differs": (
            "Words that differ from your answer", "Of a sentence that you do not choose, exactly as they stand there.",
        ),
        "reservation": ("What you hold beside it", "You sign all the same, and it is printed with the answer."),
    }  # fmt: skip
    choice_words: ClassVar[Mapping[str, str]] = {
        "change.kept": "I keep it",
        "change.partly": "I changed it in part",
        "change.adopted": "I took over another one",
        "states.both": "Both state it",
        "states.neither": "None of them states it",
    }
    asks: ClassVar[Mapping[str, str]] = {
        "answer": "Answer the question. Nobody sees your answer before this round is over.",
        "revise": "Read what the others hold, then keep your answer or change it.",
        "compare": "Say which answers are the same, and how close the rest are.",
        "conclude": "Word a sentence that all who hold this answer can sign.",
        "sign": "Say which sentence states your answer, or that none does.",
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
            case "put" | "signature":
                yield from self._signing(post, body, width)
            case "synthesis":
                yield "quiet", f"  {line(post.seat)} words a sentence: {line(str(body.get('answer', '')), width)}"
            case _:
                yield from raw_post(post, width)

    def _signing(self, post: Post, body: Body, width: int) -> Iterator[StyledLine]:
        """What is put to be signed, and what a seat says to it."""
        if post.kind == "signature":
            yield "seat", f"  {line(post.seat)} {signatures.signature_words(body, width)}"
        else:
            yield "score", f"  {signatures.put_words(body, width)}"

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
            groups = len(items(body.get("groups"))) if len(items(body.get("groups"))) > 1 else 1
            yield from ((style, f"      {line(text, _BRIEF)}") for style, text in more[:groups])
        elif post.kind in ("put", "signature"):
            yield from self._signing(post, body, _BRIEF)

    def missing(self, post: Post) -> tuple[str, ...] | None:
        """Seats without a position in the round that is scored."""
        if post.kind != "assessment":
            return None
        changes = mapping(object_of(post.body).get("changes"))
        return tuple(seat for seat, change in changes.items() if change == "missing")

    def is_reply(self, post: Post) -> bool:
        """Not where a seat gave no form: that is told under its name."""
        return post.kind != "signature" or object_of(post.body).get("states") != "none"

    def card(self, post: Post) -> Card:
        """A post as data."""
        return cards.card(post.kind, object_of(post.body)) or super().card(post)

    def signals(self) -> tuple[Series, ...]:
        """The scores so far."""
        return cards.signals(self._scores, self.settings)

    def cautions(self, opened: log.Opened) -> Iterator[str]:
        """That a few heavy seats would not do: more than half of the seats must sign all the same."""
        seats = [s for s in opened.seats if s.role == "panelist"]
        factors, threshold = trust(opened, seats), number(opened.settings.get("threshold")) or 0.0
        weights = {s.seat: s.weight * factors.get(s.seat, 1.0) for s in seats}
        total, heavy = sum(weights.values()), list[str]()
        for seat in sorted(weights, key=lambda name: -weights[name])[: len(seats) // 2]:
            heavy.append(seat)
            share = 100 * sum(weights[name] for name in heavy) / total
            if share >= threshold:
                has = f"{' and '.join(map(line, heavy))} {'has' if len(heavy) == 1 else 'have'}"
                yield f"weights: {has} {share:.0f} % of the weight; more than half of the seats must sign all the same"
                return

    def round_note(self, round_: int) -> str:
        """That the first one is blind."""
        return "blind, nobody saw another answer" if round_ == 1 else ""

    # -- the result

    def carried(self, result: Result, held: Mapping[str, tuple[int, str]]) -> tuple[int, ...]:
        """The last positions of those who said or signed the answer."""
        behind = {s.seat for s in stands_of(result) if s.signs}
        return tuple(n for seat, (n, _) in held.items() if seat in behind)

    def seats(self, result: Result) -> int:
        """The panel's."""
        absent = {words(seat) for played in result.rounds for seat in items(mapping(played).get("missing"))}
        known = self._panel | set(held_last(result)) | absent
        return len(stands_of(result)) or len(known) or super().seats(result)

    def dissent(self, result: Result) -> str:
        """Who was heard, and neither said nor signed the answer."""
        sure = {words(m.get("seat", "")): number(m.get("confidence")) or 0.0 for m in minority(result)}
        stands = stands_of(result)
        apart = [s for s in stands if not s.signs and s.stands != "never"]
        held = [_dissenting(s, sure[s.seat]) if s.holds else stand_words(s) for s in apart]
        nobody = result.stop.converged and stands and not apart
        return "; ".join(held) or ("nobody" if nobody else "")

    def in_short(self, result: Result) -> str:
        """Who said or signed it, how sure they are, who did not and why, and what is open."""
        stands, answer = stands_of(result), self.answer(result)
        if result.stop.reason == "incomplete":
            return (
                f"no consensus: {'; '.join([self.why_stopped(result.stop), *_away(result, stands), f'next: {_NEXT}'])}"
            )
        if result.stop.reason == ONE_SOURCE:
            return self.from_one_source(result, signatures.not_signing(stands))
        if equal := signatures.tied(result):
            held = ", ".join(f"{n} {'holds' if n == 1 else 'hold'} “{line(a, _BRIEF)}”" for a, n in equal)
            even = "; their weights are equal" if len({n for _, n in equal}) > 1 else ""
            return f"no answer: {held}{even}{_open(result)}"
        if not answer or not stands:
            return super().in_short(result)
        parts = [self._behind(result, stands, answer), signatures.weights_told(stands), *signatures.two_ways(result)]
        told = "; ".join(part for part in parts if part)
        return told + (_changes(result) if result.stop.converged else _open(result))

    def _behind(self, result: Result, stands: Sequence[Stand], answer: str) -> str:
        """Who is behind the answer, with its confidence, and who is not."""
        n, seats, how = sum(s.signs for s in stands), len(stands), signatures.how_signed(stands)
        apart, confidence = signatures.not_signing(stands), self.confidence(result)
        if not result.stop.converged:
            verb = "sign" if how else "holds" if n == 1 else "hold"
            short = below if (below := signatures.below_least(result.stop.certificate)) else ""
            return "; ".join(filter(None, (
                f"no consensus: {n} of {seats} {verb} “{line(answer, _BRIEF)}”, {confidence}", how, apart, short,
            )))  # fmt: skip
        if n == seats:
            who = "both" if seats == 2 else f"all {seats}"
            return f"{who} agree{f' ({how})' if how else ''}, {confidence}"
        return "; ".join(filter(None, (f"agreed by {n} of {seats}", apart, how, f"confidence {confidence}")))

    def kept_apart(self, certificate: Mapping[str, Any]) -> str:
        """A least value of the user's that was not met."""
        return signatures.below_least(certificate)

    def reasoning(self, result: Result) -> str:
        """What it rests on; before it, where the analyst worded the answer, what a seat that signed it said itself."""
        own, reasons = _own_words(result), super().reasoning(result)
        return f"{own}  The analyst's reasons: {reasons}" if own and reasons else own or reasons

    def beside(self, result: Result) -> Iterator[StyledLine]:
        """Where each seat stands to the answer, and what bears on it."""
        stands = stands_of(result)
        if self.answer(result) and stands:
            yield "", signatures.all_stands(stands, _REASON)
        if told := signatures.reservations(stands):
            yield "score", told
        for answer, n in signatures.tied(result):
            yield "", f"Tied: {line(answer, 300)} ({count(n, 'seat')})"
        for text in signatures.two_ways(result):
            yield "score", f"{text[:1].upper()}{text[1:]}"
        if result.stop.reason == "incomplete":
            yield "score", f"Next: {_NEXT}"
        if told := saved_words(result.outcome):
            yield "quiet", told

    def brief_beside(self, result: Result) -> Iterator[StyledLine]:
        """Where each seat stands, unless all said the answer themselves; reservations at length."""
        stands = stands_of(result)
        if self.answer(result) and any(s.stands != "said" for s in stands):
            yield "", signatures.all_stands(stands)
        if told := signatures.reservations(stands):
            yield "score", told
        for answer, n in signatures.tied(result):
            yield "", f"Tied: {line(answer, _BRIEF)} ({count(n, 'seat')})"
        if told := saved_words(result.outcome):
            yield "quiet", told

    def closing_lines(self, result: Result) -> Iterator[StyledLine]:
        """Who held out, and what the first round's majority was, where it was another."""
        outcome = result.outcome
        for other in minority(result):
            held = f"{line(words(other.get('seat')))} holds “{line(words(other.get('answer')), 300)}”"
            yield "", f"Minority: {held} ({number(other.get('confidence')) or 0:.2f})"
        if outcome.get("departing"):
            wording = line(str(outcome["departing"]), 300)
            yield (
                "score",
                f"The analyst's wording was not put, as it words another answer or says that all agree: “{wording}”",
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
        """What stands behind the sentence, the last score, the scores by round, and what else there is."""
        score, threshold, signed = certificate.get("score"), certificate.get("threshold"), certificate.get("signed")
        if signed and threshold is not None:
            yield f"“{line(words(certificate.get('sentence')), 300)}” was put to be signed."
            yield f"{_signed_words(mapping(signed))}; wanted are {threshold:g} %, and more than half of the seats."
        if score is not None:
            yield f"The last agreement score is {score:g} of 100 ({_band(certificate.get('band'))})."
        trend = certificate.get("trend") or []
        if trend:
            yield "Agreement scores by round: " + " → ".join(f"{s:g}" for s in trend) + "."
        told = ("trend", "score", "band", "signatures", *(("signed", "sentence", "threshold") if signed else ()))
        yield from self.certificate_figures(certificate, told)

    def certificate_rows(self, certificate: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Signatures and their sum in words of their own."""
        given = dict(certificate)
        if signed := mapping(given.get("signed")):
            given["signed"] = _signed_words(signed)
        if stands := mapping(given.get("signatures")):
            given["signatures"] = "; ".join(_bound(str(seat), mapping(held)) for seat, held in stands.items())
        return super().certificate_rows(given)

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
            "signed_another": [seat for seat, p in positions.items() if p.get("moved") == "signature"],
            "put_elsewhere": [seat for seat, p in positions.items() if put_elsewhere(p.get("moved"), p.get("change"))],
            "missing": figures.get("missing") or [],
        }

    def round_words(self, figures: Mapping[str, Any]) -> Iterator[str]:
        """Its score, who moved and how, who was missing, what was in dispute."""
        if figures["score"] is None:
            yield f"Round {figures['round']}: not scored."
        else:
            source = "" if figures["source"] == "analyst" else f"; {_source(figures['source'])}"
            moved = _moved(figures["direction"]) if figures["round"] != 1 else ""
            score = f"agreement score {figures['score']:g} of 100"
            yield f"Round {figures['round']}: {score} ({_band(figures['band'])}{source}){moved}."
        for seat, change in figures["changes"].items():
            bare = ", and nothing that was found explains it" if seat in figures["flips_without_evidence"] else ""
            why = line(str(figures["reasons"].get(seat) or ""), 300)
            yield f"  {line(seat)} {_CHANGED.get(change, line(str(change)))}{bare}{': ' + why if why else ''}"
        for seat in figures["signed_another"]:
            yield f"  {line(str(seat))} changed its answer {_BY['signature']}"
        for seat in figures["put_elsewhere"]:
            yield f"  {line(str(seat))} {PUT_ELSEWHERE}"
        for seat in figures["missing"]:
            yield f"  {line(str(seat))} gave no position"
        for disagreement in figures["key_disagreements"]:
            yield f"  in dispute: {line(str(disagreement), 300)}"

    def concluded(self, result: Result) -> Iterator[str]:
        """Where each seat stands, with the hash that it binds; who held out; the first round's plain majority."""
        stands = stands_of(result)
        if stands:
            yield "Where each seat stands:"
        for s in stands:
            yield f"  {stand_words(s, _REASON)}" + (f" [{line(s.binds)}]" if s.binds else "")
        if told := signatures.reservations(stands):
            yield f"{told}."
        for answer, n in signatures.tied(result):
            yield f"Tied: {line(answer, 300)} ({count(n, 'seat')})."
        yield from (f"{text}." for text in signatures.two_ways(result))
        if result.stop.reason == "incomplete":
            yield f"Next: {_NEXT}."
        for other in minority(result):
            yield f"Minority: {line(words(other.get('seat')))} held {line(words(other.get('answer')), 300)}."
        if "first_round_majority" in result.outcome:
            first = result.outcome["first_round_majority"]
            yield f"First round's plain majority: {line(first, 300)}." if first else "The first round had no majority."

    # -- the page and the live view

    def page(self, posts: Any, result: Result | None) -> PagePart:
        """Signatures and the minority below the answer."""
        facts: dict[str, Any] = {"minority": [], "signatures": []}
        if result is not None:
            facts["signatures"] = [text for _, text in self.beside(result)]
            facts["minority"] = [{"seat": m["seat"], "answer": m["answer"]} for m in minority(result)]
        return PagePart(template=Path(__file__).with_name("templates") / "consensus.html", facts=facts)

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
        if len(result.rounds) > 1:
            return "; nobody changed its answer"
        alike = all(s.stands in ("said", "never") for s in stands_of(result))
        return "; all the same from the start" if alike else ""
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
    return len(came - {seat for seat, p in held_last(result).items() if p.get("abstains")})


def _own_words(result: Result) -> str:
    """The answer as its surest holder gave it, where the analyst gave it in other words; else empty. No program can
    tell whether both mean the same, so the reader sees both."""
    behind = {s.seat for s in stands_of(result) if s.signs}
    held = [
        (number(p.get("confidence")) or 0.0, seat, words(p.get("answer", "")))
        for seat, p in held_last(result).items()
        if seat in behind and not p.get("abstains")
    ]
    worded = words(result.outcome.get("answer", ""))
    if result.outcome.get("source") != "synthesis" or any(same(worded, said) for _, _, said in held) or not held:
        return ""
    confidence, seat, said = max(held, key=lambda one: one[0])
    return f"The analyst worded this answer. {line(seat)} ({confidence:.2f}) said: “{line(said, 300)}”"


def _dissenting(s: Stand, confidence: float) -> str:
    """`panelist_2 holds Kaunas (0.80), and does not sign: “Vilnius”`: a seat with an answer of its own."""
    held = f"{line(s.seat)} holds “{line(s.holds, _BRIEF)}” ({confidence:.2f})"
    if s.stands in ("rival", "neither"):
        return f"{held}, and does not sign" + (f": “{line(s.differs, _BRIEF)}” differs" if s.differs else "")
    return f"{held}, and gave no form" if s.binds else held


def _away(result: Result, stands: Sequence[Stand]) -> Iterator[str]:
    """Seats that never answered, and those that were missing in the last round."""
    never = [s for s in stands if s.stands == "never"]
    if told := signatures.not_signing(never):
        yield told
    last = mapping(result.rounds[-1] if result.rounds else {})
    missing = [words(seat) for seat in items(last.get("missing"))]
    for seat in missing:
        if seat not in {s.seat for s in never}:
            why = line(words(mapping(last.get("why_missing")).get(seat, "")), _BRIEF)
            yield f"{line(seat)} is missing" + (f": {why}" if why else "")


def _open(result: Result) -> str:
    """What was disputed to the end, in one clause."""
    disputed = items(result.rounds[-1].get("key_disagreements")) if result.rounds else []
    return f"; open: {line(words(disputed[0]), _BRIEF)}" if disputed else ""


def _signed_words(signed: Mapping[str, Any]) -> str:
    """`2 of 3 seats signed it, 2 of 3 of the weight (66.7 %)`."""
    weight, of = number(signed.get("weight")) or 0.0, number(signed.get("of_weight")) or 0.0
    share = f" ({_points(100 * weight / of)} %)" if of else ""
    seats = f"{line(words(signed.get('seats')))} of {line(words(signed.get('of_seats')))} seats said or signed it"
    return f"{seats}, weight {weight:g} of {of:g}{share}"


def _bound(seat: str, held: Mapping[str, Any]) -> str:
    """`panelist_1: said it, 3813…`: where a seat stands by the certificate, and the hash that it binds."""
    stands = words(held.get("stands", ""))
    told = [_STANDS.get(stands, stands), words(held.get("binds", ""))]
    return f"{seat}: {', '.join(filter(None, told))}"


def _source(source: Any) -> str:
    """Who measured a score, in words."""
    return SOURCES.get(source, line(str(source))) if isinstance(source, str) else line(str(source))


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
    source = "" if body.get("source") == "analyst" else f" ({_source(body.get('source'))})"
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
