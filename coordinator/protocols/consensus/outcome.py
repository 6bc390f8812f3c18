"""consensus: the result of a session, for its result frame."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import zip_longest
from typing import Any

import msgspec

from parley.coordinator.protocols.consensus.assessing import best_signed
from parley.coordinator.protocols.consensus.deciding import decision
from parley.coordinator.protocols.consensus.score import weighted_median
from parley.coordinator.protocols.consensus.signing import Backing, keeps_rival, tally
from parley.coordinator.protocols.consensus.state import (
    SAME,
    UNCHANGED,
    VOTED,
    Round,
    State,
    changes_by,
    groups,
    is_tied,
    position,
    sides,
    voters,
    weights,
)
from parley.coordinator.protocols.consensus.state import (
    counted as counts,
)
from parley.coordinator.signals.count_contradictions import all_of_one_mind
from parley.coordinator.table import Measured, Session, SessionCounts, View, seat_of
from parley.schemas import log
from parley.schemas.protocols.consensus import (
    Assessment,
    Conclusion,
    MinorityReport,
    Outcome,
    Position,
    Seating,
    SeatSignature,
    SignedShare,
)
from parley.schemas.text import Citation, plain, two_ways
from parley.schemas.voting import Poll
from parley.schemas.wire import decode

_MOST_PASSAGES = 5
_FULL_BYTES = 1_000_000
"""Bytes of all positions. Above it, the result names their posts and does not repeat them: it is one message."""


def outcome(state: State, view: View) -> tuple[dict[str, Any], tuple[dict[str, Any], ...]]:
    """(Outcome as builtins, one object a round).

    The answer is the best-signed sentence; where none was put, the words of whoever is surest of the answer with most
    weight, which that seat alone has said. A tie has none. Its confidence is that of the seats that said or signed it
    (their weighted median) times their share of the weight that counts."""
    answer_groups = sides(state, view)
    size = sum(len(bytes(view.posts[n].body)) for r in state.rounds for n in r.posts.values())
    rounds = tuple(_round(r, view, state.labels, size <= _FULL_BYTES) for r in state.rounds)
    flips = sum(len(r.bare_flips) for r in state.rounds)
    votes = voters(view, state.held)
    sentence, counted = best_signed(state, view) if state.puts else ("", None)
    tied = is_tied(answer_groups) and not (counted and counted.reached)
    common: dict[str, Any] = {
        "first_round_majority": first_round_majority(state, view),
        "flips_without_evidence": flips,
        "changed": changes_by(state),
        "departing": _departing(state, view),
        "saved": saved(state, view),
        "seating": seating(view),
    }
    if state.poll is not msgspec.UNSET:
        return _without_empty(_decided(state, view, state.poll, common)), rounds
    if tied or not answer_groups:
        nobody = Outcome(
            answer="",
            confidence=0.0,
            reasoning="",
            source="none",
            minority=tuple(_minority(view, seat, p) for seat, p in votes.items()),
            passages=() if answer_groups else _bearing(state, view),
            signatures=_stands(state, view, ""),
            tied=tuple(plain(g.answer) for g in answer_groups if math.isclose(g.weight, answer_groups[0].weight)),
            **common,
        )
        return _without_empty(nobody), rounds
    if counted is None or not counted.signers:
        sentence, counted = plain(answer_groups[0].answer), tally(state, view, plain(answer_groups[0].answer))
    put = next((p for p in reversed(state.puts) if p.sentence == sentence), None)
    own = {seat: votes[seat] for seat in counted.signers if seat in votes}
    spoken = _spokesman(own, put.worded_by if put else answer_groups[0].seats[0])
    by_analyst = put is not None and put.worded_by not in weights(view)
    result = Outcome(
        label=put.label if put else answer_groups[0].label,
        agree=counted.seats,
        answer=sentence,
        confidence=round(confidence(own, weights(view), counted), 4),
        reasoning=_worded(state, view, sentence) if by_analyst else spoken.reasoning if spoken else "",
        source="synthesis" if by_analyst else "seat",
        minority=tuple(_minority(view, seat, p) for seat, p in votes.items() if seat not in counted.signers),
        citations=_evidence(own.values()),
        signatures=_stands(state, view, sentence),
        signed=SignedShare(
            weight=counted.weight, of_weight=counted.of_weight, seats=counted.seats, of_seats=counted.of_seats
        ),
        two_ways=two_ways(sentence),
        **common,
    )
    return _without_empty(result), rounds


def _decided(state: State, view: View, poll: Poll, common: Mapping[str, Any]) -> Outcome:
    """What a rule chose, in the words of the surest of those who hold it; or that it chose nothing."""
    found, votes, every = decision(state, view), voters(view, state.held), weights(view)
    held = {c.name: c for c in poll.candidates}
    chosen = held.get(found.winner)
    own = {seat: votes[seat] for seat in chosen.seats} if chosen else {}
    minority = tuple(_minority(view, seat, p) for seat, p in votes.items() if seat not in own)
    if chosen is None:
        tied = tuple(held[name].answer for name in found.tied)
        return Outcome(
            answer="", confidence=0.0, reasoning="", source="none", minority=minority, tied=tied, decision=found,
            **common,
        )  # fmt: skip
    of = sum(every[seat] for seat in poll.heard)
    behind = Backing((), sum(every[seat] for seat in own), of, len(own), len(counts(state, view)), reached=False)
    return Outcome(
        label=chosen.name, agree=len(own), answer=chosen.answer, confidence=round(confidence(own, every, behind), 4),
        reasoning=own[chosen.seats[0]].reasoning, source="seat", minority=minority, citations=_evidence(own.values()),
        decision=found, two_ways=two_ways(chosen.answer), **common,
    )  # fmt: skip


def saved(state: State, view: View) -> dict[str, int]:
    """What made a call needless -> calls that were not made: comparisons, and signatures of seats that keep another
    answer."""
    counts = Counter(r.source for r in state.rounds if r.source in (SAME, UNCHANGED, VOTED))
    known = sum(keeps_rival(state, view, put, seat) for put in state.puts for seat in state.held)
    return dict(counts) | ({"known": known} if known else {})


def seating(view: View) -> tuple[Seating, ...]:
    """Who was chosen, joined and left, as it was posted."""
    return tuple(decode(p.body, Seating) for p in view.posts if p.kind == "seating")


def _stands(state: State, view: View, sentence: str) -> tuple[SeatSignature, ...]:
    """Where each seat stands to the answer; to none, who never answered and who has none."""
    return tally(state, view, sentence).stands


def _spokesman(own: Mapping[str, Position], worded_by: str) -> Position | None:
    """Whose reasoning stands for a seat's own words: the one who worded them, else the surest who signed."""
    return own.get(worded_by) or max(own.values(), key=lambda p: p.confidence, default=None)


def _worded(state: State, view: View, sentence: str) -> str:
    """The reasoning that the analyst gave with a sentence; empty where it says that all agree, and not all signed."""
    posts = (decode(p.body, Conclusion) for p in reversed(view.posts) if p.kind == "synthesis")
    told = next((c.reasoning for c in posts if plain(c.answer) == sentence), "")
    counted = tally(state, view, sentence)
    return "" if counted.seats != counted.of_seats and all_of_one_mind(told) else told


def _departing(state: State, view: View) -> str:
    """What the analyst worded in place of the answer that it was asked for; empty: it did not."""
    return "" if state.departing is None else decode(view.posts[state.departing].body, Conclusion).answer


_LEFT_OUT = ("passages", "tied", "two_ways", "saved", "seating")
"""Fields that are left out where they are empty."""


def _without_empty(outcome: Outcome) -> dict[str, Any]:
    """As builtins, without what is empty and says nothing then."""
    fields: dict[str, Any] = msgspec.to_builtins(outcome)
    return {name: value for name, value in fields.items() if value or name not in _LEFT_OUT}


def _bearing(state: State, view: View) -> tuple[Citation, ...]:
    """Quotations of seats without an answer: the first of each seat, then the second of each; each once."""
    quoted = [position(view, post).citations for post in state.held.values()]
    ranked = (c for layer in zip_longest(*quoted) for c in layer if c is not None)
    return tuple({(c.document, c.quote): c for c in ranked}.values())[:_MOST_PASSAGES]


def ends_round(post: log.Say) -> str:
    """The score that ends a round, in words; empty for another post."""
    return f"score {decode(post.body, Assessment).score:g}" if post.kind == "assessment" else ""


def confidence(own: Mapping[str, Position], weight: Mapping[str, float], counted: Backing) -> float:
    """The confidence of those who said or signed the answer, times their share of the weight that counts, 0 to 1.
    `own`: seat -> its position, of the signers that hold an answer."""
    if not own or not counted.of_weight:
        return 0.0
    sure = weighted_median([p.confidence for p in own.values()], [weight[seat] for seat in own])
    return sure * min(1.0, counted.weight / counted.of_weight)


def first_round_majority(state: State, view: View) -> str | None:
    """The answer that more than half of the answering seats gave in the first round, word for word, one vote for each
    seat."""
    first = voters(view, state.rounds[0].posts) if state.rounds else {}
    for g in groups(first, dict.fromkeys(first, 1.0), {}):
        if 2 * len(g.seats) > len(first):
            return plain(g.answer)
    return None


def _minority(view: View, seat: str, p: Position) -> MinorityReport:
    strategy = seat_of(view.opened, seat).strategy
    return MinorityReport(
        seat=seat,
        answer=p.answer,
        reasoning=p.reasoning,
        confidence=p.confidence,
        citations=p.citations,
        strategy=strategy.name if strategy else msgspec.UNSET,
    )


def _evidence(positions: Iterable[Position]) -> tuple[Citation, ...]:
    """What they cite, each quotation once."""
    return tuple({(c.document, c.quote): c for p in positions for c in p.citations}.values())


def _round(r: Round, view: View, labels: Mapping[str, str], full: bool) -> dict[str, Any]:
    assessed = None if r.assessment is None else decode(view.posts[r.assessment].body, Assessment)
    positions: dict[str, Any] = {}
    for seat, post in r.posts.items():
        p = position(view, post)
        positions[seat] = {
            "answer": p.answer if full else p.answer[:200],
            "confidence": p.confidence,
            "change": p.change,
            "abstains": not p.speaks,
            "flip_without_evidence": seat in r.bare_flips,
            "post": post,
        }
        if str(post) in labels:
            positions[seat]["label"] = labels[str(post)]
        if seat in r.moved:
            positions[seat]["moved"] = r.moved[seat]
        if full:
            positions[seat] |= {
                "change_reason": p.change_reason,
                "reasoning": p.reasoning,
                "citations": msgspec.to_builtins(p.citations),
                "moved_by": msgspec.to_builtins(p.moved_by),
            }
    return {
        "round": r.number,
        "score": r.score,
        "band": r.band or None,
        "direction": assessed.direction if assessed else None,
        "source": assessed.source if assessed else None,
        "dimensions": {**(assessed.dimensions if assessed else {}), **({} if r.facts is None else {"facts": r.facts})},
        "key_disagreements": list(assessed.key_disagreements) if assessed else [],
        "positions": positions,
        "missing": list(r.missing),
        "why_missing": r.why,
    }


# ---------------------------------------------------------------- figures that are counted


_BECAUSE = {"quotation": "quoted", "argument": "argued", "unexplained": "unexplained"}


def measured(session: Session, view: View) -> Measured:
    """Agreement is the last score; disagreement the share of the weight that stands against the leading answer."""
    s: State = session.inner
    scores, answer_groups = s.trend(), sides(s, view)
    weight = sum(g.weight for g in answer_groups)
    return Measured(
        agreement=scores[-1] / 100 if scores else None,
        disagreement=1 - answer_groups[0].weight / weight if weight else None,
        plateau=session.stopped is not None and session.stopped.reason == "stuck",
        flips=_flips(s),
    )


def _flips(s: State) -> dict[str, int]:
    counts = Counter(_BECAUSE[by] for r in s.rounds for by in r.moved.values())
    return {because: n for because, n in counts.items() if n}


COUNTED = SessionCounts(measured=measured)
