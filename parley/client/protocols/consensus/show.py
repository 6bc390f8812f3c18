"""What a panel's posts and result say: positions, the score of each round, who signed, who holds something else."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from parley.client.protocols.consensus import stands
from parley.client.protocols.consensus.form import FORM
from parley.client.protocols.consensus.setup import SETUP
from parley.client.protocols.consensus.stands import Stand, held_last, stand_words, stands_of
from parley.client.show.answer import Told
from parley.client.show.card import Card, Changed, Chip, Part, Quote, Series, quotes_of, share
from parley.client.show.palette import seat_name, seat_names
from parley.client.show.saved import saved_part
from parley.client.show.show import Show, passages, plain_card
from parley.client.text import count, line
from parley.client.untrusted import items, mapping, number, object_of, words
from parley.coordinator.signals.reliability import trust
from parley.schemas import log
from parley.schemas.post import Post
from parley.schemas.result import Result
from parley.schemas.text import same

POSTS = ("position", "assessment", "analysis", "put", "signature", "synthesis")
"""Kinds of posts."""
_WIDE = 300
_NEXT = "mend or replace the seats that do not answer, then ask again"
Body = Mapping[str, Any]
_BY = {
    "quotation": "by what was quoted", "argument": "by argument", "signature": "by signing another answer",
    "unexplained": "without a reason that was found",
}  # fmt: skip
"""What moved a seat, in words."""
_SOURCES = {
    "same_words": "all answers are the same, no analyst was asked",
    "lexical_fallback": "words were compared, without an analyst",
    "unchanged": "no answer changed, no analyst was asked",
    "counted": "a vote: equal words were counted",
}
"""Where a score is from that is not the analyst's, in words."""
_BANDS = {"strong": "strong agreement", "moderate": "moderate agreement", "weak": "weak agreement",
          "none": "no agreement", "one_source": "one witness, no agreement"}  # fmt: skip
_DIRECTIONS = {"improving": "higher than before", "stable": "about as before", "diverging": "lower than before"}
_STANDS = {
    "said": "said it", "signed": "signed it", "reserved": "signed it with a reservation",
    "rival": "does not sign it", "neither": "does not sign it", "none": "gave no form",
    "abstains": "has no answer", "never": "never answered",
}  # fmt: skip
_KEPT = "says that it kept its answer, but the comparison put it with another answer than before"


class ConsensusShow(Show):
    """Shows a panel."""

    setup = SETUP
    form = FORM
    certificate_names: ClassVar[Mapping[str, str]] = {
        "document": "document that all quote",
        "band": "what the score is called", "flips": "changes of answer in all rounds",
        "flips_without_evidence": "changes of answer that nothing explains",
        "groups": "number of seats that hold each answer",
        "changed": "changes of answer, by what explains them", "unexplained": "nothing", "quotation": "a quotation",
        "argument": "an argument", "quorum": "least number of positions that a round needs",
        "score": "last agreement score, of 100", "source": "who measured the agreement score",
        "threshold": "share of the weight that must sign, in percent", "trend": "agreement scores by round, of 100",
        "sentence": "sentence that was put to be signed", "signatures": "where each seat stands, and the hash it binds",
        "signature": "signing another answer", "signed": "what stands behind the sentence",
        "least": "least values that were wanted", "weights": "weight of each seat",
        "stuck_rounds": "rounds without progress that end it",
        "stuck_progress": "least rise of the score that counts as progress, in points",
        **_SOURCES,
    }  # fmt: skip

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        super().__init__(settings)
        self._scores: dict[int, Any] = {}
        """Round -> its score, of rounds that were scored."""
        self._band = ""
        self._held: dict[str, tuple[str, int]] = {}
        """Seat -> the answer that it gave last, and the number of its post."""

    @classmethod
    def knows(cls, post: Post) -> bool:
        """Whether its kind is one of a panel's."""
        return post.kind in POSTS

    @classmethod
    def alone(cls, result: Result) -> dict[str, tuple[str, ...]]:
        """Of the first round: what the analyst called a seat's answer, and its own words."""
        positions = result.rounds[0].get("positions", {}) if result.rounds else {}
        return {
            seat: tuple(name for name in (p.get("label"), p["answer"]) if name)
            for seat, p in positions.items()
            if not p["abstains"]
        }

    @classmethod
    def answered(cls, result: Result) -> tuple[str, ...]:
        """What the analyst called the answer, and its words."""
        return tuple(name for name in (result.outcome.get("label"), result.outcome.get("answer")) if name)

    @classmethod
    def tells_why(cls, say: log.Say) -> str:
        """A seat that gave no form to sign: its post says why."""
        gave_none = say.kind == "signature" and object_of(say.body).get("states") == "none"
        return say.seat if gave_none else ""

    # -- posts
    def card(self, post: Post) -> Card:
        """A post."""
        body = object_of(post.body)
        match post.kind:
            case "position":
                return self._position(post, body)
            case "assessment":
                return self._assessment(post.round, body)
            case "analysis":
                said = words(body.get("comment", ""))
                return Card(place="note" if said else "hidden", more=True, text=said)
            case "synthesis":
                return Card(
                    place="note", more=True, head="words a sentence", position=words(body.get("answer", "")),
                    text=words(body.get("reasoning", "")),
                )  # fmt: skip
            case "put":
                asked = seat_names(body.get("asked"))
                return Card(
                    place="note", more=True, head="put to be signed", position=words(body.get("sentence", "")),
                    text=f"Asked: {asked}" if asked else "Nobody need be asked.",
                )  # fmt: skip
            case "signature":
                return _signature(body)
        return plain_card(post)

    def _position(self, post: Post, body: Body) -> Card:
        text, quotes = words(body.get("reasoning", "")), quotes_of(body.get("citations"))
        before, _ = self._held.get(post.seat, ("", 0))
        if body.get("abstains"):
            self._held[post.seat] = "", post.n
            return Card(
                head="abstains", text=text, quotes=quotes, more=post.round > 1 and not before,
                chips=(Chip(text="no answer", tone="quiet"),),
            )  # fmt: skip
        answer, change = words(body.get("answer", "")), words(body.get("change", "kept"))
        self._held[post.seat] = answer, post.n
        argument, by = mapping(body.get("argument")), quotes_of(body.get("moved_by"))
        moved_by = number(argument.get("post"))
        changed = None
        if change in ("partly", "adopted") and not (before and same(before, answer)):
            moved = "argument" if moved_by is not None else "quotation" if by else "unexplained"
            changed = Changed(
                by=_BY[moved], why=words(argument.get("claim") or body.get("change_reason", "")),
                post=None if moved_by is None else int(moved_by), explained=moved != "unexplained",
            )  # fmt: skip
        return Card(
            position=answer, confidence=share(body.get("confidence")), text=text, quotes=quotes, changed=changed,
            refers=() if moved_by is None else (int(moved_by),),
            more=post.round > 1 and bool(before) and (change == "kept" or same(before, answer)),
        )  # fmt: skip

    def _assessment(self, round_: int, body: Body) -> Card:
        score, moved, said = number(body.get("score")), mapping(body.get("moved")), mapping(body.get("changes"))
        if score is not None:
            self._scores[round_] = score
        self._band = words(body.get("band", ""))
        told = [
            f"{words(g.get('label'))}: {seat_names(g.get('seats'))}" for g in map(mapping, items(body.get("groups")))
        ]
        told += [f"They disagree: {words(d)}" for d in items(body.get("key_disagreements"))]
        told += [
            f"{seat_name(words(seat))} {_KEPT if _put_elsewhere(by, said.get(seat)) else _changed_words(by)}"
            for seat, by in moved.items()
        ]
        chips = [Chip(text=_BANDS.get(self._band, self._band))] if self._band else []
        if round_ > 1 and (direction := words(body.get("direction", ""))):
            chips.append(Chip(text=_DIRECTIONS.get(direction, direction)))
        if body.get("source") not in (None, "analyst"):
            source = words(body["source"])
            chips.append(Chip(text=_SOURCES.get(source, source), tone="quiet"))
        return Card(
            place="score", head="agreement" if score is None else f"agreement {_points(score)} of 100",
            text="\n\n".join(told), chips=tuple(chips),
            missing=tuple(seat for seat, change in said.items() if change == "missing"),
        )  # fmt: skip

    def series(self) -> tuple[Series, ...]:
        """The score by round, against the threshold."""
        values = tuple(number(score) for score in self._scores.values())
        threshold = number(self.settings.get("threshold"))
        return () if not values else (
            Series(
                name="score", label="Agreement", rounds=tuple(float(n) for n in self._scores), values=values,
                threshold=threshold, threshold_label=f"threshold {threshold:g}" if threshold is not None else "",
                stops="above" if threshold is not None else "", least=0.0, most=100.0,
            ),
        )  # fmt: skip

    def round_note(self, round_: int) -> str:
        """That the first one is blind."""
        return "blind, nobody saw another answer" if round_ == 1 else ""

    def foot(self) -> str:
        """The scores so far."""
        trend = " → ".join(map(_points, self._scores.values())) or "–"
        return f"agreement {trend} {line(_BANDS.get(self._band, self._band))}".rstrip()

    def cautions(self, opened: log.Opened) -> Iterator[str]:
        """That a few heavy seats would not do: more than half of the seats must sign all the same."""
        seats = [s for s in opened.seats if s.role == "panelist"]
        factors, threshold = trust(opened, seats), number(opened.settings.get("threshold")) or 0.0
        weights = {s.seat: s.weight * factors.get(s.seat, 1.0) for s in seats}
        total, heavy = sum(weights.values()), list[str]()
        for seat in sorted(weights, key=lambda name: -weights[name])[: len(seats) // 2]:
            heavy.append(seat)
            part = 100 * sum(weights[name] for name in heavy) / total
            if part >= threshold:
                has = f"{' and '.join(map(seat_name, heavy))} {'has' if len(heavy) == 1 else 'have'}"
                yield f"weights: {has} {part:.0f} % of the weight; more than half of the seats must sign all the same"
                return

    # -- the result
    def told(self, result: Result) -> Told:
        """What it came to."""
        outcome, signed = result.outcome, stands_of(result)
        answer, behind = words(outcome.get("answer") or ""), {s.seat for s in signed if s.signs}
        n, of, how = len(behind), len(signed), stands.how_signed(signed)
        told = "" if not of else f"all {of} agree" if n == of else f"agreed by {n} of {of}"
        if not result.stop.converged:
            told = f"{n} of {of} hold it" if answer and of else _ties(result)
        equal = [f"tied: {line(a, _WIDE)} ({count(k, 'seat')})" for a, k in stands.tied(result)]
        why, quote = _reason(result)
        apart = stands.dissenting(signed)
        return Told(
            text=answer, behind=f"{told} ({how})" if told and how else told,
            open="; ".join(filter(None, (stands.below_least(result.stop.certificate), _disputed(result)))),
            why=why, quote=quote, dissent=apart or ("nobody" if answer and of and n else ""),
            posts=tuple(post for seat, (_, post) in self._held.items() if seat_name(seat) in behind),
            weak=tuple(_weak(result, signed)),
            next=_NEXT if result.stop.reason == "incomplete" else "",
            parts=(*passages(result), *_parts(result, signed, equal), *saved_part(outcome)),
        )  # fmt: skip

    def certificate(self, result: Result) -> Iterator[tuple[str, str]]:
        """Signatures and their sum in words of their own."""
        given = dict(result.stop.certificate)
        if signed := mapping(given.get("signed")):
            given["signed"] = _signed_words(signed)
        if held := mapping(given.get("signatures")):
            given["signatures"] = "; ".join(
                f"{seat_name(str(seat))}: "
                + ", ".join(
                    filter(
                        None, (_STANDS.get(words(s.get("stands")), words(s.get("stands"))), words(s.get("binds", "")))
                    )
                )
                for seat, s in ((k, mapping(v)) for k, v in held.items())
            )
        return self.certificate_rows(given)


def _changed_words(by: Any) -> str:
    return f"changed its answer {_BY.get(str(by), words(by))}"


def _put_elsewhere(moved: Any, change: Any) -> bool:
    """Whether a position counts as another answer though its seat says that it kept its own: the comparison of the
    answers may be wrong, so nobody is said to have changed its mind."""
    return bool(moved == "unexplained" and change == "kept")


def _signature(body: Body) -> Card:
    """What a seat says to a sentence."""
    differs, reservation = words(body.get("differs", "")), words(body.get("reservation", ""))
    clause = f": “{differs}” differs" if differs else ""
    match body.get("states"):
        case "sentence":
            text = f"signs with a reservation: {reservation}" if reservation else "signs"
        case "rival":
            text = f"does not sign, another sentence states its answer{clause}"
        case "none":
            why = words(body.get("why", ""))
            text = "gave no form" + (f": {why}" if why else "")
        case _:
            text = f"does not sign{clause}"
    return Card(place="line", text=text, more=text == "signs", reply=body.get("states") != "none")


def _ties(result: Result) -> str:
    """`1 holds “A”, 1 holds “B”`; empty: one is in front."""
    equal = stands.tied(result)
    held = ", ".join(f"{n} {'holds' if n == 1 else 'hold'} “{line(a, 70)}”" for a, n in equal)
    return held + ("; their weights are equal" if len({n for _, n in equal}) > 1 else "")


def _disputed(result: Result) -> str:
    """What was disputed to the end."""
    disputed = items(result.rounds[-1].get("key_disagreements")) if result.rounds else []
    return f"in dispute: {words(disputed[0])}" if disputed and not result.stop.converged else ""


def _reason(result: Result) -> tuple[str, Quote | None]:
    """The reason that carried the answer, and the quotation: of its surest signer where the analyst worded it."""
    cited = next(iter(quotes_of(result.outcome.get("citations"))), None)
    own = _own_words(result)
    return own or words(result.outcome.get("reasoning") or ""), cited


def _own_words(result: Result) -> str:
    """The answer as its surest holder gave it, where the analyst gave it in other words; else empty. No program can
    tell whether both mean the same, so the reader sees both."""
    behind = {s.seat for s in stands_of(result) if s.signs}
    held = [
        (number(p.get("confidence")) or 0.0, seat_name(seat), words(p.get("answer", "")))
        for seat, p in held_last(result).items()
        if seat_name(seat) in behind and not p.get("abstains")
    ]
    worded = words(result.outcome.get("answer", ""))
    if result.outcome.get("source") != "synthesis" or any(same(worded, said) for _, _, said in held) or not held:
        return ""
    confidence, seat, said = max(held, key=lambda one: one[0])
    return f"the analyst worded it; {seat} ({confidence:.2f}) said “{line(said, _WIDE)}”"


def _weak(result: Result, signed: Sequence[Stand]) -> Iterator[str]:
    """What speaks against trusting it, the weightiest first."""
    away = (
        {seat_name(words(seat)) for seat in items(mapping(result.rounds[-1]).get("missing"))}
        if result.rounds
        else set()
    )
    never = [s.seat for s in signed if s.stands == "never" and s.seat not in away]
    if never:
        yield f"{', '.join(never)} never answered"
    none = sum(s.signs and not s.own for s in signed)
    if none:
        yield f"{none} signed without an answer of {'its' if none == 1 else 'their'} own"
    if weights := stands.weights_told(signed):
        yield weights
    if kept := [s for s in signed if s.stands == "reserved"]:
        yield f"{kept[0].seat} signs with a reservation: “{line(kept[0].reservation, 120)}”"
    bare = sum(
        mapping(p).get("moved") == "unexplained" and not _put_elsewhere("unexplained", mapping(p).get("change"))
        for played in result.rounds
        for p in mapping(played.get("positions")).values()
    )
    if bare:
        yield f"{count(bare, 'change')} of answer without a reason that was found"
    yield from stands.two_ways(result)


def _parts(result: Result, signed: Sequence[Stand], equal: Sequence[str]) -> Iterator[Part]:
    """Where each seat stands, and the reasons in full."""
    outcome = result.outcome
    rows = [f"{stand_words(s, _WIDE)}" + (f" [{line(s.binds)}]" if s.binds else "") for s in signed]
    rows += [f"{text[:1].upper()}{text[1:]}" for text in (*equal, *stands.two_ways(result))]
    if outcome.get("departing"):
        rows.append(
            "The analyst's wording was not put, as it words another answer or says that all agree: "
            f"“{line(str(outcome['departing']), _WIDE)}”"
        )
    if "first_round_majority" in outcome:
        first = outcome["first_round_majority"]
        rows.append(
            f"First round's plain majority: {line(str(first), _WIDE)}" if first else "The first round had no majority."
        )
    if rows:
        yield Part(name="signatures", title="Where each seat stands", lines=tuple(rows))
    if others := stands.minority(result):
        told = []
        for m in others:
            sure = number(m.get("confidence")) or 0.0
            told.append(f"{seat_name(words(m.get('seat')))} holds “{line(words(m.get('answer')), _WIDE)}” ({sure:.2f})")
            told += [f"  {line(words(m['reasoning']))}"] if m.get("reasoning") else []
        yield Part(name="minority", title="The minority", lines=tuple(told), finding=True)


def _signed_words(signed: Mapping[str, Any]) -> str:
    """`2 of 3 seats said or signed it, weight 2 of 3 (66.6 %)`."""
    weight, of = number(signed.get("weight")) or 0.0, number(signed.get("of_weight")) or 0.0
    part = f" ({_points(100 * weight / of)} %)" if of else ""
    seats = f"{words(signed.get('seats'))} of {words(signed.get('of_seats'))} seats said or signed it"
    return f"{seats}, weight {weight:g} of {of:g}{part}"


def _points(score: Any) -> str:
    """A score to one decimal, cut and not rounded: what is below a threshold never looks like it."""
    return f"{math.floor(float(score) * 10) / 10:g}"


SHOW = ConsensusShow
