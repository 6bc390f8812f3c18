"""What a panel's posts and result say: positions, the score of each round, who signed, who holds something else."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from parley.client.errors import BadInput
from parley.client.protocols.consensus import decided, stands
from parley.client.protocols.consensus.setup import SETUP
from parley.client.protocols.consensus.stands import Stand, stand_words, stands_of
from parley.client.show.answer import ResultSummary
from parley.client.show.card import Card, CardPart, Changed, Chip, Quote, Series, against_threshold, quotes_of
from parley.client.show.open_items import OpenItem
from parley.client.show.palette import seat_name, seat_names
from parley.client.show.show import FIELDS, Compared, Form, Show, passages, saved_part
from parley.client.show.words import all_of, thresholds_words
from parley.client.text import count, line
from parley.client.untrusted import number, object_of
from parley.coordinator.protocols.consensus.seating import ITEM
from parley.coordinator.signals.counting import CannotCount
from parley.coordinator.signals.reliability import trust
from parley.schemas import log
from parley.schemas.post import Post
from parley.schemas.presence import EXTRACTIVE
from parley.schemas.protocols.consensus import (
    Assessment,
    Comparison,
    Conclusion,
    Outcome,
    Position,
    Proposal,
    Put,
    Seating,
    Settled,
    Signed,
)
from parley.schemas.result import Result
from parley.schemas.session import EVERYBODY
from parley.schemas.stops import ONE_SOURCE
from parley.schemas.strategies import NONE
from parley.schemas.text import same
from parley.schemas.voting import Cast, Decision, Poll
from parley.schemas.wire import InvalidValue

if TYPE_CHECKING:
    from parley.coordinator.table import Session

_WIDE = 300
_NEXT = "mend or replace the seats that do not answer, then ask again"
_BY = {
    "quotation": "by what was quoted",
    "argument": "by argument",
    "signature": "by signing another answer",
    "unexplained": "without a reason that was found",
}
"""What moved a seat, in words."""
_SOURCES = {
    "same_words": "all answers are the same, no analyst was asked",
    "lexical_fallback": "words were compared, without an analyst",
    "unchanged": "no answer changed, no analyst was asked",
    "counted": "a vote: equal words were counted",
}
"""Where a score is from that is not the analyst's, in words."""
_BANDS = {
    "strong": "strong agreement",
    "moderate": "moderate agreement",
    "weak": "weak agreement",
    "none": "far from agreement",
    ONE_SOURCE: "one witness alone",
}
_DIRECTIONS = {"improving": "higher than before", "stable": "about as before", "diverging": "lower than before"}
_KEPT = "says that it kept its answer, but the comparison put it with another answer than before"


FORM = Form(
    asks={
        "answer": "Answer the question. Nobody sees your answer before this round is over.",
        "revise": "Read what the others hold, then keep your answer or change it.",
        "compare": "Say which answers are the same, and how close the rest are.",
        "conclude": "Word a sentence that all who hold this answer can sign.",
        "rank": "Rank the answers, the best first. Nobody sees your ballot before all are in.",
        "approve": "Say which answers you could accept. Nobody sees your ballot before all are in.",
        "score": "Score each answer. Nobody sees your ballot before all are in.",
        "judge": "Choose one of the answers, and name the argument that decides.",
        "sign": "Say which sentence states your answer, or that none does.",
    },
    fields={
        **FIELDS,
        "change": ("What became of your last answer", ""),
        "change_reason": ("What changed your mind", "Needed where your answer changed."),
        "moved_by": ("Quotations by others that moved you", "Words of their documents that were new to you."),
        "abstains": ("I have no answer", "You are counted as abstaining in this round."),
        "argument": ("An argument that moved you", ""),
        "argument.post": ("Whose argument", ""),
        "states": ("Which of these states your answer", "Other words or more detail make no difference."),
        "differs": (
            "Words that differ from your answer",
            "Of a sentence that you do not choose, exactly as they stand there.",
        ),
        "reason": ("Why", "In a sentence."),
        "because": ("The argument that decides", "In a sentence."),
        "order": ("Numbers of the answers", "All of them, the best first."),
        "approved": (
            "Numbers of the answers that you could accept",
            "Leave it empty if you can accept none, and say why.",
        ),
        "scores": ("Scores", "0 to 10 for each answer, in the order of their numbers."),
        "post": ("Where it stands", "The number of the post."),
        "choice": ("Number of the answer", ""),
        "reservation": ("What you hold beside it", "You sign all the same, and it is printed with the answer."),
    },
    choices={
        "change.kept": "I keep it",
        "change.partly": "I changed it in part",
        "change.adopted": "I took over another one",
        "states.both": "Both state it",
        "states.neither": "None of them states it",
    },
    later=frozenset({"change", "change_reason", "moved_by", "argument"}),
)
"""How a person is asked for a turn."""


class ConsensusShow(Show):
    """Shows a panel."""

    setup = SETUP
    form = FORM
    kinds: ClassVar[Mapping[str, type]] = {
        "position": Position, "assessment": Assessment, "analysis": Comparison, "put": Put, "signature": Signed,
        "synthesis": Conclusion, "ballot": Cast, "seating": Seating, "proposal": Proposal, "settled": Settled,
    }  # fmt: skip
    decisions: ClassVar[Mapping[str, str]] = {
        "seat": "add NAME: a member joins in the next round. remove NAME: a seat is asked no more",
    }
    certificate_names: ClassVar[Mapping[str, str]] = {
        "band": "what the score is called", "flips": "changes of answer in all rounds",
        "signed": "what stands behind the sentence", "least": "least values that were wanted", **_SOURCES,
    }  # fmt: skip

    def __init__(self, settings: Mapping[str, Any] | None = None) -> None:
        super().__init__(settings)
        self._scores: dict[int, float] = {}
        """Round -> its score, of rounds that were scored."""
        self._band = ""
        self._held: dict[str, tuple[str, int]] = {}
        """Seat -> the answer that it gave last, and the number of its post."""
        self._moved: dict[str, Changed] = {}
        """Name of a seat -> the argument that moved it last."""
        self._quoted: dict[int | None, tuple[Quote, ...]] = {}
        """Number of a post -> what it quotes."""
        self._compared, self._misses = Compared(), ""

    @classmethod
    def recount(cls, session: "Session", rule: str) -> dict[str, Any]:
        """By a rule of `consensus.decide`."""
        from parley.coordinator.protocols.consensus.protocol import PROTOCOL
        from parley.coordinator.protocols.consensus.recount import recount

        try:
            poll, found = recount(PROTOCOL, session, rule)
        except (InvalidValue, CannotCount) as error:
            raise BadInput("--decide", str(error).removeprefix("--decide: ")) from error
        told: dict[str, Any] = msgspec.to_builtins({"recorded": poll.rule, "poll": poll, "decision": found})
        return {**told, "words": list(decided.recounted(poll, found, rule))}

    @classmethod
    def alone(cls, result: Result) -> dict[str, tuple[str, ...]]:
        """Of the first round: what the analyst called a seat's answer, and its own words."""
        rounds = cls.held(result)
        return rounds[0] if rounds else {}

    @classmethod
    def held(cls, result: Result) -> tuple[dict[str, tuple[str, ...]], ...]:
        """Of each round."""
        held: dict[str, tuple[str, ...]] = {}
        rounds = []
        for played in result.rounds:
            for seat, p in played.get("positions", {}).items():
                held[seat] = () if p["abstains"] else tuple(name for name in (p.get("label"), p["answer"]) if name)
            rounds.append({seat: names for seat, names in held.items() if names})
        return tuple(rounds)

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
    def said(self, post: Post, body: Any) -> Card:
        """A post."""
        match body:
            case Position():
                return self._position(post, body)
            case Assessment():
                return self._assessment(post.round, body)
            case Comparison():
                self._misses = body.missing
                return Card(place="note" if body.comment else "hidden", more=True, text=body.comment)
            case Conclusion():
                return Card(place="note", more=True, head="words a sentence", position=body.answer, text=body.reasoning)
            case Put():
                asked = f"Asked: {seat_names(body.asked)}" if body.asked else "Nobody need be asked."
                return Card(place="note", more=True, head="put to be signed", position=body.sentence, text=asked)
            case Cast():
                return decided.ballot(body, self._held if self.settings.get("decide") == "ranking" else {})
            case Seating():
                return Card(place="line", more=body.does == "sits", text=self.seated(body))
            case Proposal():
                return _proposal(body)
            case Settled():
                return Card(place="line", text=f"{body.author} answered: {body.choice}", settles=ITEM)
        return _signature(body)

    @classmethod
    def seated(cls, chosen: Seating) -> str:
        """`Ada, base rates, joins from round 3 on, by client: databases are missing`."""
        seat, by = seat_name(chosen.seat), f", by {line(chosen.by)}" if chosen.by else ""
        seat = stands.working(seat, chosen.strategy)
        does = {
            "sits": "sits",
            "joins": f"joins from round {chosen.round} on{by}",
            "leaves": f"leaves before round {chosen.round}{by}",
            "stays": f"does not join{by}",
        }[chosen.does]
        return f"{seat} {does}" + (f": {line(chosen.why, _WIDE)}" if chosen.why else "")

    def _position(self, post: Post, body: Position) -> Card:
        before, _ = self._held.get(post.seat, ("", 0))
        quotes, again = quotes_of(body.citations), post.round > 1
        self._quoted[post.n] = quotes
        if body.abstains:
            self._held[post.seat] = "", post.n
            more = again and not before
            return Card(head="abstains: no answer", text=body.reasoning, quotes=quotes, more=more)
        self._held[post.seat] = body.answer, post.n
        alike, argument, changed = bool(before) and same(before, body.answer), body.argument, None
        if body.change in ("partly", "adopted") and not alike:
            moved = "argument" if argument is not None else "quotation" if body.moved_by else "unexplained"
            changed = Changed(
                by=_BY[moved],
                why=argument.claim if argument is not None else body.change_reason,
                post=argument.post if argument is not None else None,
                explained=moved != "unexplained",
            )
            if argument is not None:
                self._moved[seat_name(post.seat)] = changed
        return Card(
            position=body.answer,
            confidence=body.confidence,
            text=body.reasoning,
            quotes=quotes,
            changed=changed,
            refers=(argument.post,) if argument is not None else (),
            more=again and bool(before) and (body.change == "kept" or alike),
        )

    def _assessment(self, round_: int, body: Assessment) -> Card:
        self._scores[round_], self._band = body.score, body.band
        self._compared = Compared(
            agreements=body.agreements, disagreements=body.key_disagreements, open=body.comment, missing=self._misses
        )
        told = ["; ".join(f"{g.label}: {seat_names(g.seats)}" for g in body.groups)]
        told += [f"They disagree: {d}" for d in body.key_disagreements]
        told += [
            f"{seat_name(seat)} "
            + (
                _KEPT
                if (by, body.changes.get(seat)) == ("unexplained", "kept")
                else f"changed its answer {_BY.get(by, by)}"
            )
            for seat, by in body.moved.items()
        ]
        chips = [Chip(text=_BANDS.get(body.band, body.band))]
        chips += [Chip(text=_DIRECTIONS.get(body.direction, body.direction))] if round_ > 1 and body.direction else []
        chips += [Chip(text=stands.weakest(body.dimensions, self.settings.get("least") or {}), tone="warn")]
        if body.source != "analyst":
            chips.append(Chip(text=_SOURCES.get(body.source, body.source), tone="quiet"))
        return Card(
            place="score",
            head=f"{self._measured} {_points(body.score)} of 100",
            text="\n\n".join(told),
            chips=tuple(c for c in chips if c.text),
            missing=tuple(seat for seat, change in body.changes.items() if change == "missing"),
        )

    def compared(self) -> Compared:
        """As the last assessment has it."""
        return self._compared

    @property
    def _measured(self) -> str:
        """What the score measures: copies of one reader agree with nobody."""
        return "score" if self._band == ONE_SOURCE else "agreement"

    def series(self) -> tuple[Series, ...]:
        """The score by round, against the threshold."""
        threshold = number(self.settings.get("threshold"))
        return against_threshold("score", "Agreement", self._scores, threshold)

    def round_note(self, round_: int) -> str:
        """That the first one is blind."""
        return "blind, nobody saw another answer" if round_ == 1 else ""

    def foot(self) -> str:
        """The scores so far."""
        trend = " → ".join(map(_points, self._scores.values())) or "–"
        return f"{self._measured} {trend} {line(_BANDS.get(self._band, self._band))}".rstrip()

    def cautions(self, opened: log.Opened) -> Iterator[str]:
        """The seats' strategies; that settings were learned; that a few heavy seats would not do: more than
        half must sign all the same."""
        seats = [s for s in opened.seats if s.role == "panelist"]
        if by := [f"{seat_name(s.seat)} {line(s.strategy.name)}" for s in seats if s.strategy]:
            yield f"strategies: {', '.join(by)}"
        styles = opened.settings.get("styles") or {}
        wanted = styles.get(EVERYBODY, NONE) != NONE or (opened.settings.get("own_strategies") and not styles)
        if without := [s.seat for s in seats if wanted and s.family == EXTRACTIVE and s.seat not in styles]:
            yield f"strategies: {seat_names(without)} without a language model, so by none"
        yield from super().cautions(opened)
        yield from thresholds_words(opened)
        factors, threshold = trust(opened, seats), number(opened.settings.get("threshold")) or 0.0
        weights = {s.seat: s.weight * factors.get(s.seat, 1.0) for s in seats}
        if len(set(weights.values())) > 1:
            yield "weights: " + ", ".join(f"{seat_name(seat)} {weight:.3g}" for seat, weight in weights.items())
        total, heavy = sum(weights.values()), list[str]()
        for seat in sorted(weights, key=lambda name: -weights[name])[: len(seats) // 2]:
            heavy.append(seat)
            part = 100 * sum(weights[name] for name in heavy) / total
            if part >= threshold:
                has = f"{' and '.join(map(seat_name, heavy))} {'has' if len(heavy) == 1 else 'have'}"
                yield f"weights: {has} {part:.0f} % of the weight; more than half of the seats must sign all the same"
                return

    # -- the result
    def told(self, result: Result) -> ResultSummary:
        """What it came to."""
        outcome = msgspec.convert(result.outcome, Outcome)
        if outcome.decision is not msgspec.UNSET:
            return self._decided(result, outcome, outcome.decision)
        signed, answer, tied = stands_of(result, outcome), outcome.answer, stands.tied(result, outcome)
        behind = {s.seat for s in signed if s.signs}
        n, of, how = len(behind), sum(s.given.stands != "left" for s in signed), stands.how_signed(signed)
        told = "" if not of else f"{all_of(of)} agree" if n == of else f"agreed by {n} of {of}"
        if not result.stop.converged:
            told = f"{n} of {of} hold it" if answer and of else _ties(tied)
        disputed = result.rounds[-1]["key_disagreements"][:1] if result.rounds and not result.stop.converged else []
        open_ = (stands.below_least(result.stop.certificate), *(f"in dispute: {d}" for d in disputed))
        own = _own_words(result, outcome, behind)
        argued, shown = self._argued(behind) if not own else ("", ())
        return ResultSummary(
            text=answer,
            behind=f"{told} ({how})" if told and how else told,
            open="; ".join(filter(None, open_)),
            why=own or argued or outcome.reasoning,
            quote=next(iter((*shown, *quotes_of(outcome.citations))), None),
            dissent=(stands.dissenting(signed) or ("nobody" if of and n else "")) if answer else "",
            posts=tuple(post for seat, (_, post) in self._held.items() if seat_name(seat) in behind),
            weak=tuple(_weak(result, outcome, signed)),
            next=_next(result),
            parts=(*passages(result), *_parts(outcome, signed), *saved_part(result.outcome)),
        )

    def _decided(self, result: Result, outcome: Outcome, found: Decision) -> ResultSummary:
        """What a rule came to."""
        poll = msgspec.convert(result.stop.certificate["poll"], Poll)
        apart = [
            f"{stands.working(seat_name(m.seat), m.strategy)} holds “{line(m.answer, _WIDE)}”" for m in outcome.minority
        ]
        behind = next((c.seats for c in poll.candidates if c.name == found.winner), ())
        held, said = stands.held_last(result), outcome.answer
        return ResultSummary(
            text=said, behind=decided.decision_line(poll, found, poll.rule),
            why=decided.ruling(poll) or outcome.reasoning,
            quote=next(iter(quotes_of(outcome.citations)), None),
            dissent=("; ".join(apart) or "nobody") if said else "",
            posts=tuple(post for seat, (_, post) in self._held.items() if seat in behind),
            weak=(
                *decided.weak(poll, held), *_unexplained(result), *_came_and_went(outcome), *stands.two_ways(outcome),
            ),
            parts=(
                CardPart(name="ballots", title="How it was counted", lines=tuple(decided.rows(poll, found, poll.rule))),
                _minority_part(outcome), *saved_part(result.outcome),
            ),
        )  # fmt: skip

    def _argued(self, behind: Collection[str]) -> tuple[str, tuple[Quote, ...]]:
        """The argument that moved a seat to the answer, and what its post quotes; empty: none did."""
        moved = [(seat, changed) for seat, changed in self._moved.items() if seat in behind]
        if not moved:
            return "", ()
        seat, changed = moved[-1]
        return f"what moved {seat}: {changed.why}", self._quoted.get(changed.post, ())

    def certificate(self, result: Result) -> Iterator[tuple[str, str]]:
        """Signatures and their sum in words of their own."""
        given = dict(result.stop.certificate)
        if signed := given.get("signed"):
            weight, of = signed["weight"], signed["of_weight"]
            share = f" ({_points(100 * weight / of)} %)" if of else ""
            seats = f"{signed['seats']} of {signed['of_seats']} seats said or signed it"
            given["signed"] = f"{seats}, weight {weight:g} of {of:g}{share}"
        elsewhere = ("signatures", "poll", "decision", *(("threshold",) if "poll" in given else ()))
        for told in elsewhere:  # parts of their own tell them, and a rule asks nobody to sign
            given.pop(told, None)
        return self.certificate_rows(given)


def _next(result: Result) -> str:
    """What to do where too few seats are left: of those that do not answer; who left was told to."""
    failing = bool(result.rounds) and bool(result.rounds[-1]["missing"])
    return _NEXT if failing and result.stop.reason == "incomplete" else ""


def _proposal(body: Proposal) -> Card:
    """The question whether a member joins that knows what the analyst misses."""
    question = f"The analyst misses somebody who knows {body.expertise}, as {body.seat} does. Shall {body.seat} join?"
    return Card(
        place="note", tone="warn", text=question, asks=OpenItem(
            item=ITEM, kind="seat", question=question, choices=(f"add {body.seat}", "no"), default="no",
            deadline_ns=body.deadline_ns,
        ),
    )  # fmt: skip


def _signature(body: Signed) -> Card:
    """What a seat says to a sentence."""
    clause = f" and rejects “{body.differs}”" if body.differs else ""
    match body.states:
        case "sentence":
            text = f"signs with a reservation: {body.reservation}" if body.reservation else "signs"
        case "rival":
            text = f"disagrees{clause}: another sentence states its answer"
        case "none":
            text = "gave no signature" + (f": {body.why}" if body.why else "")
        case _:
            text = f"disagrees{clause}"
    return Card(place="line", text=text, more=text == "signs", reply=body.states != "none")


def _ties(tied: Sequence[tuple[str, int]]) -> str:
    """`1 holds “A”, 1 holds “B”`; empty: one is in front."""
    held = ", ".join(f"{n} {'holds' if n == 1 else 'hold'} “{line(a, 70)}”" for a, n in tied)
    return held + ("; their weights are equal" if len({n for _, n in tied}) > 1 else "")


def _own_words(result: Result, outcome: Outcome, behind: Collection[str]) -> str:
    """The answer as its surest holder gave it, where the analyst gave it in other words; else empty. No program can
    tell whether both mean the same, so the reader sees both."""
    last = ((seat_name(seat), held) for seat, held in stands.held_last(result).items() if not held.abstains)
    held = [(held.confidence, seat, held.answer) for seat, held in last if seat in behind]
    if outcome.source != "synthesis" or any(same(outcome.answer, said) for _, _, said in held) or not held:
        return ""
    confidence, seat, said = max(held, key=lambda one: one[0])
    return f"the analyst worded it; {seat} ({confidence:.2f}) said “{line(said, _WIDE)}”"


def _weak(result: Result, outcome: Outcome, signed: Sequence[Stand]) -> Iterator[str]:
    """What speaks against trusting it, the weightiest first."""
    away = {seat_name(seat) for seat in result.rounds[-1]["missing"]} if result.rounds else set()
    never = [s.seat for s in signed if s.given.stands == "never" and s.seat not in away]
    if never and result.rounds:
        yield f"{', '.join(never)} never answered"
    if none := sum(s.signs and not s.own for s in signed):
        yield f"{none} signed without an answer of {'its' if none == 1 else 'their'} own"
    if weights := stands.weights_told(signed):
        yield weights
    if kept := [s for s in signed if s.given.stands == "reserved"]:
        yield f"{kept[0].seat}'s reservation: “{line(kept[0].given.reservation, 120)}”"
    yield from _unexplained(result)
    yield from _came_and_went(outcome)
    yield from stands.two_ways(outcome)


def _came_and_went(outcome: Outcome) -> Iterator[str]:
    """Who joined and who left."""
    told = {"joins": "joined in", "leaves": "left before"}
    yield from (f"{seat_name(x.seat)} {told[x.does]} round {x.round}" for x in outcome.seating if x.does in told)


def _unexplained(result: Result) -> Iterator[str]:
    """Changes of answer that nothing explains."""
    every = [held for played in result.rounds for held in stands.positions(played).values()]
    if bare := sum(held.moved == "unexplained" and held.change != "kept" for held in every):
        yield f"{count(bare, 'change')} of answer without a reason that was found"


def _parts(outcome: Outcome, signed: Sequence[Stand]) -> Iterator[CardPart]:
    """Where each seat stands, and the minority."""
    rows = [f"{stand_words(s, _WIDE)}" + (f" [{line(s.given.binds)}]" if s.given.binds else "") for s in signed]
    if outcome.departing:
        rows.append(
            "The analyst's wording was not put, as it words another answer or says that all agree: "
            f"“{line(outcome.departing, _WIDE)}”"
        )
    first = outcome.first_round_majority
    rows.append(f"First round's plain majority: {line(first, _WIDE)}" if first else "The first round had no majority.")
    yield CardPart(name="signatures", title="Where each seat stands", lines=tuple(rows))
    yield _minority_part(outcome)


def _minority_part(outcome: Outcome) -> CardPart:
    """What the others hold."""
    told: list[str] = []
    for m in outcome.minority:
        told.append(f"{seat_name(m.seat)} holds “{line(m.answer, _WIDE)}” ({m.confidence:.2f})")
        told += [f"  {line(m.reasoning)}"] if m.reasoning else []
    return CardPart(name="minority", title="The minority", lines=tuple(told), finding=True)


def _points(score: float) -> str:
    """A score to one decimal, cut and not rounded: what is below a threshold never looks like it."""
    return f"{math.floor(score * 10) / 10:g}"


SHOW = ConsensusShow
