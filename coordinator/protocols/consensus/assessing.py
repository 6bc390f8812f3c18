"""consensus: evaluates a round: which seats hold the same answer, which changed and why, and the score."""

from typing import Any

import msgspec

from parley.coordinator.commands import SayOn, Wish
from parley.coordinator.protocols.consensus import lexical
from parley.coordinator.protocols.consensus.score import band, direction, facts, score
from parley.coordinator.protocols.consensus.state import (
    State,
    changes_by,
    disagreements,
    labels_by_words,
    last_held,
    position,
    sides,
    voters,
    weights,
)
from parley.coordinator.protocols.consensus.turns import PUBLIC, moves
from parley.coordinator.table import View
from parley.schemas.protocols.consensus import SHARES, Assessment, Comparison, Side
from parley.schemas.text import normalise, squeeze
from parley.schemas.wire import raw

QUOTATION, ARGUMENT, UNEXPLAINED = "quotation", "argument", "unexplained"
"""What a change of position rests on."""
Says = tuple[Wish, ...]


def by_words(s: State, v: View) -> tuple[State, Says, Assessment]:
    """Assess the round without an analyst."""
    current, w = voters(v, s.held), weights(v)
    parts = lexical.dimensions(list(current.values()), [w[seat] for seat in current])
    labels = labels_by_words(s, v, {seat: s.held[seat] for seat in current})
    s = msgspec.structs.replace(s, labels={**s.labels, **labels})
    answer_groups = sides(s, v)
    return compared(
        s, v, Comparison(
            comment="words were compared: no analyst",
            agreements=(answer_groups[0].answer[:1_000],) if len(answer_groups) == 1 else (),
            key_disagreements=tuple(d[:1_000] for d in disagreements(answer_groups)[:20]),
            groups=(), approach=parts["approach"], priority=parts["priority"],
            argued=tuple(m.post for m in moves(s, current)),
        ), "lexical_fallback", (),
    )  # fmt: skip


def compared(s: State, v: View, c: Comparison, source: str, before: Says) -> tuple[State, Says, Assessment]:
    """Name the answers, compute the score, and post the assessment of the round after `before`. Returns (state, posts,
    assessment)."""
    spelled = {normalise(label): label for label in s.labels.values()}
    named = {str(post): spelled.setdefault(normalise(g.label), squeeze(g.label)) for g in c.groups for post in g.posts}
    s = msgspec.structs.replace(s, labels={**s.labels, **named})
    moved = {
        seat: QUOTATION if position(v, post).moved_by else ARGUMENT if post in c.argued else UNEXPLAINED
        for seat, post in s.rounds[-1].posts.items()
        if _changed(s, seat, post)
    }
    played = msgspec.structs.replace(
        s.rounds[-1], flips=tuple(moved), bare_flips=tuple(x for x, by in moved.items() if by == UNEXPLAINED),
        moved=moved,
    )  # fmt: skip
    s = msgspec.structs.replace(s, rounds=(*s.rounds[:-1], played))
    answer_groups, w = sides(s, v), weights(v)
    parts = {
        "facts": facts([[w[seat] for seat in g.seats] for g in answer_groups]),
        "approach": c.approach,
        "priority": c.priority,
    }
    scored = score(parts, SHARES)
    trend = (*s.trend(), scored)
    changes = {seat: position(v, post).change for seat, post in played.posts.items()}
    assessment = Assessment(
        score=scored,
        band=band(scored),
        direction=direction(trend, v.settings.stuck_progress),
        source=source,
        dimensions={name: round(value, 2) for name, value in parts.items()},
        agreements=c.agreements,
        key_disagreements=c.key_disagreements,
        trend=trend,
        changes={**changes, **dict.fromkeys(played.missing, "missing")},
        flips_without_evidence=played.bare_flips,
        comment=c.comment,
        groups=tuple(Side(label=g.label, seats=g.seats, weight=g.weight) for g in answer_groups),
        moved=played.moved,
    )
    assessment_post = SayOn(channel=PUBLIC, kind="assessment", round=s.round, body=raw(assessment))
    n = v.next_post + len(before)
    played = msgspec.structs.replace(
        played, assessment=n, score=scored, source=source, key_disagreements=c.key_disagreements
    )
    return msgspec.structs.replace(s, rounds=(*s.rounds[:-1], played)), (*before, assessment_post), assessment


def _changed(s: State, seat: str, post: int) -> bool:
    """Whether a seat's answer differs from the one before. To abstain, or to answer again after that, is no change."""
    earlier = last_held(s, seat)
    before, now = "" if earlier is None else s.label(earlier), s.label(post)
    return bool(before and now) and before != now


def figures(s: State, v: View) -> dict[str, Any]:
    """What every certificate holds."""
    trend = s.trend()
    more: dict[str, Any] = {}
    if all(post < v.next_post for post in s.held.values()):  # else they are posted in this very step
        answer_groups = sides(s, v)
        more = {"groups": {g.label: len(g.seats) for g in answer_groups}, "changed": changes_by(s)}
    return {
        **more,
        "score": trend[-1] if trend else None,
        "threshold": v.settings.threshold,
        "band": band(trend[-1]) if trend else None,
        "round": len(s.rounds),
        "trend": trend,
        "source": s.rounds[-1].source if s.rounds else "",
        "quorum": v.settings.quorum,
        "weights": weights(v),
        "missing": s.rounds[-1].missing if s.rounds else (),
        "flips": sum(len(r.flips) for r in s.rounds),
        "flips_without_evidence": sum(len(r.bare_flips) for r in s.rounds),
    }
