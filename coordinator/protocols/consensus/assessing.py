"""consensus: evaluates a round: which seats hold the same answer, which changed and why, and the score."""

from collections import Counter
from collections.abc import Collection
from typing import Any

import msgspec

from parley.coordinator.commands import SayOn
from parley.coordinator.protocol_parts import say
from parley.coordinator.protocols.consensus.score import band, direction, facts, score
from parley.coordinator.protocols.consensus.signing import Backing, as_signed, tally
from parley.coordinator.protocols.consensus.state import (
    ANALYST,
    ARGUMENT,
    LEXICAL,
    PANELIST,
    QUOTATION,
    UNCHANGED,
    UNEXPLAINED,
    State,
    changes_by,
    disagreements,
    distinct,
    labels_by_words,
    last_held,
    position,
    sides,
    voters,
    weights,
)
from parley.coordinator.protocols.consensus.turns import moves
from parley.coordinator.signals.witnesses import one_source
from parley.coordinator.table import View
from parley.schemas.protocols.consensus import SHARES, AnswerGroup, AnswerSide, Assessment, Comparison, Position
from parley.schemas.stops import ONE_SOURCE
from parley.schemas.text import Citation, answer_key, same, squeeze, tokens
from parley.schemas.wire import decode

replace = msgspec.structs.replace

Posts = tuple[SayOn, ...]
_CONTENT = 4
"""Characters from which a word bears on something; figures always do."""
_LITTLE = frozenset(
    tokens(
        "about after also because been before being between both could does each every from have here into just many"
        " more most much only other over same should some such than that their them then there these they this those"
        " under very were what when where which while whom whose will with would your"
    )
)
"""Words of that length that bear on nothing."""


def by_words(s: State, v: View, source: str) -> tuple[State, Posts, Assessment]:
    """Assess a round in which equal words are one answer: all say the same (SAME), a vote is counted (VOTED), or the
    analyst failed (LEXICAL)."""
    s = _labelled_by_words(s, v)
    answer_groups = sides(s, v)
    found = Comparison(
        comment="words were compared: no analyst" if source == LEXICAL else "",
        agreements=(answer_groups[0].answer[:1_000],) if len(answer_groups) == 1 else (),
        key_disagreements=tuple(d[:1_000] for d in disagreements(answer_groups)[:20]),
        groups=(),
        approach=0,
        priority=0,
        argued=tuple(m.post for m in moves(s, voters(v, s.held))),
    )
    return assess_answers(s, v, found, source, ())


def is_unchanged(s: State, v: View) -> bool:
    """Whether the analyst has compared these very answers: no seat's words are others since then."""
    if len(s.rounds) < 2 or s.rounds[-2].source not in (ANALYST, UNCHANGED):
        return False
    pairs = ((last_held(s, seat), post) for seat, post in s.rounds[-1].posts.items())
    return all(before is not None and _says_as(position(v, before), position(v, post)) for before, post in pairs)


def _says_as(one: Position, other: Position) -> bool:
    return one.speaks == other.speaks and (not one.speaks or same(one.answer, other.answer))


def unchanged(s: State, v: View) -> tuple[State, Posts, Assessment]:
    """Assess a round in which no answer changed: what the analyst found stands."""
    n = s.rounds[-2].assessment
    assert n is not None, "a round that the analyst compared is assessed"
    before = decode(v.posts[n].body, Assessment)
    found = Comparison(
        comment=before.comment,
        agreements=before.agreements,
        key_disagreements=before.key_disagreements,
        groups=(),
        approach=before.dimensions["approach"],
        priority=before.dimensions["priority"],
    )
    return assess_answers(_labelled_by_words(s, v), v, found, UNCHANGED, ())


def corrected(s: State, v: View) -> State:
    """The score of a round by its groups as the seats have signed: the trend tells what changed in the debate, and not
    what was found out about its groups."""
    played = s.rounds[-1]
    if played.assessment is None:
        return s
    before = decode(v.posts[played.assessment].body, Assessment)
    w = weights(v)
    found = facts([[w[seat] for seat in g.seats] for g in sides(s, v)])
    if round(found, 2) == before.dimensions["facts"]:
        return s
    scored = score({**before.dimensions, "facts": found}, SHARES)
    played = replace(played, score=scored, band=_called(s, v, scored), facts=round(found, 2))
    return replace(s, rounds=(*s.rounds[:-1], played))


def _labelled_by_words(s: State, v: View) -> State:
    labels = labels_by_words(s, v, {seat: s.held[seat] for seat in voters(v, s.held)})
    return replace(s, labels={**s.labels, **labels})


def assess_answers(s: State, v: View, c: Comparison, source: str, before: Posts) -> tuple[State, Posts, Assessment]:
    """Name the answers, compute the score, and post the assessment of the round after `before`. Returns (state, posts,
    assessment)."""
    s = as_signed(replace(s, labels={**s.labels, **_named(s, v, c)}), v)
    moved = {
        seat: _because(v, position(v, post), argued=post in c.argued)
        for seat, post in s.rounds[-1].posts.items()
        if _changed(s, v, seat, post)
    }
    played = replace(
        s.rounds[-1],
        flips=tuple(moved),
        bare_flips=tuple(x for x, by in moved.items() if by == UNEXPLAINED),
        moved=moved,
    )
    s = replace(s, rounds=(*s.rounds[:-1], played))
    answer_groups, w = sides(s, v), weights(v)
    parts = {"facts": facts([[w[seat] for seat in g.seats] for g in answer_groups])}
    if source in (ANALYST, UNCHANGED):
        parts |= {"approach": c.approach, "priority": c.priority}
    scored = score(parts, SHARES)
    trend = (*s.trend(), scored)
    changes = {seat: position(v, post).change for seat, post in played.posts.items()}
    assessment = Assessment(
        score=scored,
        band=_called(s, v, scored),
        direction=direction(trend),
        source=source,
        dimensions={name: round(value, 2) for name, value in parts.items()},
        agreements=c.agreements,
        key_disagreements=c.key_disagreements,
        trend=trend,
        changes={**changes, **dict.fromkeys(played.missing, "missing")},
        flips_without_evidence=played.bare_flips,
        comment=c.comment,
        groups=tuple(AnswerSide(label=g.label, seats=g.seats, weight=g.weight) for g in answer_groups),
        moved=played.moved,
    )
    assessment_post = say("assessment", s.round, assessment)
    n = v.next_post + len(before)
    played = replace(
        played,
        assessment=n,
        score=scored,
        band=assessment.band,
        source=source,
        key_disagreements=c.key_disagreements,
    )
    return replace(s, rounds=(*s.rounds[:-1], played)), (*before, assessment_post), assessment


def _called(s: State, v: View, scored: float) -> str:
    """What a score is called. Copies of one reader that quote one document do not agree, however alike they are."""
    name = band(scored)
    return ONE_SOURCE if name != "none" and sole_source(s, v, sides(s, v)[0].seats) else name


def sole_source(s: State, v: View, seats: Collection[str]) -> Citation | None:
    """The quotation that is all that stands behind the answer of these seats; None: there is more."""
    held = {seat: p.citations for seat, p in voters(v, s.held).items() if seat in seats}
    return one_source(v.seats(PANELIST), held, v.opened.documents)


def _named(s: State, v: View, c: Comparison) -> dict[str, str]:
    """Number of a post -> the name of its answer. A group that holds an answer which had a name keeps that name: a new
    label for the same answer is nobody's change. Of two groups that could keep it, the one with more posts does. A
    group of new answers is called as the analyst calls it, in the spelling that was used before."""
    known = {answer_key(position(v, int(post)).answer): label for post, label in s.labels.items()}
    spelt = {answer_key(label): label for label in s.labels.values()}
    kept: dict[AnswerGroup, str] = {}
    for g in sorted(c.groups, key=lambda g: -len(g.posts)):
        before = Counter(filter(None, (known.get(answer_key(position(v, post).answer)) for post in g.posts)))
        if label := next((label for label, _ in before.most_common() if label not in kept.values()), ""):
            kept[g] = label
    for g in c.groups:
        if g not in kept:
            label = squeeze(g.label)
            kept[g] = distinct(spelt.get(answer_key(label), label), kept.values())
    return {str(post): label for g, label in kept.items() for post in g.posts}


def _changed(s: State, v: View, seat: str, post: int) -> bool:
    """Whether a seat's answer differs from the one before. To abstain, or to answer again after that, is no change, and
    neither are the same words in another group."""
    earlier = last_held(s, seat)
    if earlier is None or same(position(v, earlier).answer, position(v, post).answer):
        return False
    before, now = s.label(earlier), s.label(post)
    return bool(before and now) and before != now


def _because(v: View, p: Position, *, argued: bool) -> str:
    """What a change rests on, as far as the record shows it."""
    if any(_bears(v, p, c) for c in p.moved_by):
        return QUOTATION
    return ARGUMENT if argued else UNEXPLAINED


def _bears(v: View, p: Position, c: Citation) -> bool:
    """Whether a passage bears on the question or the answer: it shares a figure or a longer word with them."""
    about = {*tokens(v.opened.question), *tokens(p.answer)} - _LITTLE
    return any((len(w) >= _CONTENT or w[-1].isdigit()) and w in about for w in tokens(c.quote))


def figures(s: State, v: View) -> dict[str, Any]:
    """What every certificate holds."""
    trend = s.trend()
    more: dict[str, Any] = {}
    if all(post < v.next_post for post in s.held.values()):  # else they are posted in this very step
        answer_groups = sides(s, v)
        more = {"groups": {g.label: len(g.seats) for g in answer_groups}, "changed": changes_by(s)}
        if s.puts:
            more |= certified(s, v)
    return {
        **more,
        "score": trend[-1] if trend else None,
        "threshold": v.settings.threshold,
        "band": next((r.band for r in reversed(s.rounds) if r.score is not None), None),
        "round": len(s.rounds),
        "trend": trend,
        "source": s.rounds[-1].source if s.rounds else "",
        "quorum": v.settings.quorum,
        "weights": weights(v),
        "missing": s.rounds[-1].missing if s.rounds else (),
        "flips": sum(len(r.flips) for r in s.rounds),
        "flips_without_evidence": sum(len(r.bare_flips) for r in s.rounds),
    }


def certified(s: State, v: View) -> dict[str, Any]:
    """The best-signed sentence, with what each signature binds and what stands against it."""
    sentence, counted = best_signed(s, v)
    return {
        "sentence": sentence,
        "signatures": {x.seat: {"stands": x.stands, "binds": x.binds} for x in counted.stands},
        "signed": {
            "weight": counted.weight,
            "of_weight": counted.of_weight,
            "seats": counted.seats,
            "of_seats": counted.of_seats,
        },
    }


def best_signed(s: State, v: View) -> tuple[str, Backing]:
    """Of the sentences that were put, the one with most weight behind it; of equal ones the last."""
    counted = [(text, tally(s, v, text)) for text in (p.sentence for p in s.puts)]
    return max(reversed(counted), key=lambda one: (one[1].reached, one[1].weight))
