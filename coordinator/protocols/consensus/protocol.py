"""consensus: a panel answers apart, sees everybody's answers, and revises until it agrees, is stuck, or meets its round
limit.

Source: seeds/iterative-debate.md. One round is: all panelists (`answer`, then `revise`), whose positions are posted
together when the last is in; the analyst (`score`); the moderator's assessment and decision. Where too few answer the
blind round because the others abstain, nothing is scored: who abstained reads the answers in the next round.

    ANSWERING -> [REVISING ->] SCORING -> (REVISING -> SCORING)* -> SYNTHESIZING -> DONE

Positions live in posts; the state refers to them by number.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from coordinator.commands import AskSeat, Finish, SayOn, Stop, Wish
from coordinator.protocols.consensus import lexical
from coordinator.protocols.consensus.check import check
from coordinator.protocols.consensus.outcome import ends_round, outcome
from coordinator.protocols.consensus.score import band, direction, is_stuck
from coordinator.protocols.consensus.seats import ROLES, seat
from coordinator.protocols.consensus.state import (
    ANALYST,
    PANELIST,
    Phase,
    Round,
    State,
    disagreements,
    groups,
    is_flip,
    position,
    round_limit_names,
    shown_order,
    voters,
    weighted,
    weights,
)
from coordinator.table import Answered, Missed, Plan, Planned, Protocol, Step, Table, Unaffordable, View, to
from schemas.protocols.consensus import (
    DIMENSIONS,
    Analysis,
    Assessment,
    PanelBrief,
    Position,
    ScoreBrief,
    Settings,
    Status,
    Synthesis,
    SynthesisBrief,
)
from schemas.stops import STOPS
from schemas.turn import Caps
from schemas.wire import decode, raw

ANSWER, REVISE, SCORE, SYNTHESIZE = "answer", "revise", "score", "synthesize"
PUBLIC = "public"
TELLS_ROUNDS = 3
"""Since this version a panelist is told how many rounds there may be."""
Says = tuple[Wish, ...]


# ---------------------------------------------------------------- asking


def _caps(settings: Settings) -> Caps:
    return Caps(input_tokens=settings.max_input_tokens, output_tokens=settings.max_output_tokens)


def _analyst(v: View) -> str:
    return v.seats(ANALYST)[0].seat


def _round_limit(v: View) -> int | msgspec.UnsetType:
    return v.settings.round_limit if v.opened.version >= TELLS_ROUNDS else msgspec.UNSET


def _start(v: View) -> Step:
    """Round 1: everybody answers, and nobody is shown anything."""
    brief = raw(PanelBrief(iteration=1, round_limit=_round_limit(v)))
    asks = (AskSeat(seat=s.seat, kind=ANSWER, round=1, brief=brief, caps=_caps(v.settings)) for s in v.seats(PANELIST))
    return State(phase=Phase.ANSWERING), tuple(asks)


def _ask_revise(s: State, v: View, speaking: Iterable[str], status: Status | None) -> Step:
    """The next round: every seat is shown every other's current position, without names, its own, and the status.

    Parameters
    ----------
    speaking
        Seats that hold an answer.
    status
        None: the round before was not scored.
    """
    n = s.round + 1
    brief = raw(PanelBrief(iteration=n, consensus_status=status, round_limit=_round_limit(v)))
    speaking = tuple(speaking)
    asks = []
    for me in weights(v):
        peers = shown_order(v, n, me, (other for other in speaking if other != me))
        asks.append(
            AskSeat(
                seat=me, kind=REVISE, round=n, brief=brief, sees=tuple(s.held[p] for p in peers), own=s.held.get(me),
                caps=_caps(v.settings), stream=v.settings.stream,
            )
        )  # fmt: skip
    return msgspec.structs.replace(s, phase=Phase.REVISING, round=n), tuple(asks)


def _ask_score(s: State, v: View, speaking: list[str]) -> AskSeat:
    order = shown_order(v, s.round, _analyst(v), speaking)
    brief = ScoreBrief(
        iteration=s.round,
        positions=weighted(v, s.held, order),
        shares={name: getattr(v.settings, name) for name in DIMENSIONS},
        trend=s.trend(),
        key_disagreements=s.rounds[-2].key_disagreements if len(s.rounds) > 1 else (),
    )
    return AskSeat(
        seat=_analyst(v), kind=SCORE, round=s.round, brief=raw(brief), sees=tuple(s.held[p] for p in order),
        caps=_caps(v.settings),
    )  # fmt: skip


def _ask_synthesis(s: State, v: View, reason: str) -> AskSeat:
    speaking = voters(v, s.held)
    order = shown_order(v, len(s.rounds) + 1, _analyst(v), speaking)
    brief = SynthesisBrief(
        reason=reason,
        converged=STOPS[reason].converged,
        positions=weighted(v, s.held, order),
        answer=groups(speaking, weights(v))[0].answer,
        key_disagreements=s.rounds[-1].key_disagreements,
    )
    return AskSeat(
        seat=_analyst(v), kind=SYNTHESIZE, round=len(s.rounds), brief=raw(brief), sees=tuple(s.held[p] for p in order),
        caps=_caps(v.settings), stream=v.settings.stream, final=True,
    )  # fmt: skip


# ---------------------------------------------------------------- a round


def _on_position(s: State, e: Answered, v: View) -> Step:
    """Kept back until the round's last seat has answered or missed."""
    s = msgspec.structs.replace(s, pending={**s.pending, e.seat: raw(e.body)})
    return (s, ()) if v.open_turns else _close_round(s, v)


def _on_absent(s: State, e: Missed, v: View) -> Step:
    """The seat keeps its last position, and is marked missing."""
    s = msgspec.structs.replace(s, short=s.short or e.short)
    return (s, ()) if v.open_turns else _close_round(s, v)


def _close_round(s: State, v: View) -> Step:
    s, says, current = _reveal(s, v)
    speaking = [seat for seat, p in current.items() if not p.abstains]
    if len(speaking) < v.settings.quorum:
        if _reads_on(s, v, len(speaking), len(current)):
            s, asks = _ask_revise(s, v, speaking, None)
            return s, (*says, *asks)
        figures = {**_figures(s, v), "positions": len(speaking)}
        silent = not speaking and len(current) >= v.settings.quorum and v.opened.version > 2
        stop = Stop(reason="unanswered" if silent else "quorum", certificate=raw(figures))
        if s.short:
            stop = Stop(reason="budget", certificate=raw({**figures, "what": s.short}))
        return msgspec.structs.replace(s, phase=Phase.DONE), (*says, stop, Finish())
    return msgspec.structs.replace(s, phase=Phase.SCORING), (*says, _ask_score(s, v, speaking))


def _reads_on(s: State, v: View, speaking: int, heard: int) -> bool:
    """Whether seats that abstained in the blind round may make up the quorum once they read what the others quote: with
    documents that are dealt, one seat may hold the only one that answers. Versions 1 and 2 did not wait for them."""
    settings: Settings = v.settings
    first = s.round == 1 and settings.round_limit > 1 and not s.short
    return v.opened.version > 2 and first and 0 < speaking < heard and heard >= settings.quorum


def _reveal(s: State, v: View) -> tuple[State, Says, dict[str, Position]]:
    """Posts what came in this round, all at once; (state, posts, current position of every seat that has one)."""
    fresh = [seat for seat in weights(v) if seat in s.pending]
    posts = {seat: v.next_post + i for i, seat in enumerate(fresh)}
    before = {seat: position(v, post) for seat, post in s.held.items()}
    now = {seat: decode(s.pending[seat], Position) for seat in fresh}
    flips = tuple(seat for seat in fresh if is_flip(before.get(seat), now[seat]))
    played = Round(
        number=s.round,
        posts=posts,
        missing=tuple(seat for seat in weights(v) if seat not in s.pending),
        flips=flips,
        bare_flips=tuple(seat for seat in flips if not now[seat].moved_by),
    )
    says = tuple(
        SayOn(channel=PUBLIC, kind="position", round=s.round, body=s.pending[seat], seat=seat) for seat in fresh
    )
    s = msgspec.structs.replace(s, pending={}, held={**s.held, **posts}, rounds=(*s.rounds, played))
    return s, says, {**before, **now}


# ---------------------------------------------------------------- the score


def _on_scored(s: State, e: Answered, v: View) -> Step:
    """The analyst's score counts; what it thinks of going on is shown."""
    analysis: Analysis = e.body
    shown = SayOn(channel=PUBLIC, kind="analysis", round=s.round, body=raw(analysis), seat=e.seat)
    s, says, assessment = _assess(s, v, analysis, "analyst", (shown,))
    return _decide(s, v, assessment, says)


def _on_unscored(s: State, e: Missed, v: View) -> Step:
    """The analyst failed: a lexical score, marked as such, and the session goes on."""
    s, says, assessment = _assess(s, v, _lexical(s, v), "lexical_fallback", ())
    return _decide(s, v, assessment, says)


def _lexical(s: State, v: View) -> Analysis:
    current = voters(v, s.held)
    w = weights(v)
    parts = lexical.dimensions(list(current.values()), [w[seat] for seat in current])
    found = groups(current, w)
    return Analysis(
        score=lexical.score(parts, {name: getattr(v.settings, name) for name in DIMENSIONS}),
        dimensions={name: round(value, 2) for name, value in parts.items()},
        agreements=(found[0].answer,) if len(found) == 1 else (),
        key_disagreements=disagreements(found),
        comment="lexical score: no analyst",
    )


def _assess(s: State, v: View, a: Analysis, source: str, before: Says) -> tuple[State, Says, Assessment]:
    """The moderator's reading of the round, posted behind `before`; (state, posts, assessment)."""
    played = s.rounds[-1]
    trend = (*s.trend(), a.score)
    changes = {seat: position(v, post).change for seat, post in played.posts.items()}
    assessment = Assessment(
        score=a.score,
        band=band(a.score),
        direction=direction(trend, v.settings.stuck_progress),
        source=source,
        dimensions=a.dimensions,
        agreements=a.agreements,
        key_disagreements=a.key_disagreements,
        trend=trend,
        changes={**changes, **dict.fromkeys(played.missing, "missing")},
        flips_without_evidence=played.bare_flips,
        comment=a.comment,
        should_continue=a.should_continue if source == "analyst" else None,
    )
    said = SayOn(channel=PUBLIC, kind="assessment", round=s.round, body=raw(assessment))
    n = v.next_post + len(before)
    played = msgspec.structs.replace(
        played, assessment=n, score=a.score, source=source, key_disagreements=a.key_disagreements
    )
    return msgspec.structs.replace(s, rounds=(*s.rounds[:-1], played)), (*before, said), assessment


def _decide(s: State, v: View, a: Assessment, says: Says) -> Step:
    """Agreement, stuck, the last round, or another one: in this order."""
    settings: Settings = v.settings
    if a.score >= settings.threshold:
        return _conclude(s, v, "threshold", says, {})
    if is_stuck(a.trend, settings):
        limits = {"stuck_rounds": settings.stuck_rounds, "stuck_progress": settings.stuck_progress}
        return _conclude(s, v, "stuck", says, limits)
    if s.round >= settings.round_limit:
        reason, setting = round_limit_names(v)
        return _conclude(s, v, reason, says, {setting: settings.round_limit})
    status = Status(
        current_score=a.score, trend=a.trend, direction=a.direction, band=a.band, key_disagreements=a.key_disagreements
    )
    s, asks = _ask_revise(s, v, voters(v, s.held), status)
    return s, (*says, *asks)


# ---------------------------------------------------------------- the end


def _conclude(s: State, v: View, reason: str, says: Says, more: dict[str, Any]) -> Step:
    """The stop decision with its certificate, and the one turn that words the result."""
    stop = Stop(reason=reason, certificate=raw({**_figures(s, v), **more}))
    return msgspec.structs.replace(s, phase=Phase.SYNTHESIZING), (*says, stop, _ask_synthesis(s, v, reason))


def _figures(s: State, v: View) -> dict[str, Any]:
    """What every certificate holds."""
    trend = s.trend()
    return {
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


def _on_unaffordable(s: State, e: Unaffordable, v: View) -> Step:
    """The next round cannot be had, or time is over in the middle of one: what came is posted, and the session ends."""
    says: Says = ()
    if s.pending:
        s, says, _ = _reveal(s, v)
    return _out_of_budget(s, e, v, says)


def _on_score_unaffordable(s: State, e: Unaffordable, v: View) -> Step:
    """The round just played is measured without the analyst, for the record; then the session ends."""
    s, says, _ = _assess(s, v, _lexical(s, v), "lexical_fallback", ())
    return _out_of_budget(s, e, v, says)


def _out_of_budget(s: State, e: Unaffordable, v: View, says: Says) -> Step:
    """Synthesis is still asked, from what was held back for it; when time is over nothing is."""
    if not e.seconds:
        return _conclude(s, v, "budget", says, {"what": e.what})
    stop = Stop(reason="budget", certificate=raw({**_figures(s, v), "what": e.what}))
    return msgspec.structs.replace(s, phase=Phase.DONE), (*says, stop, Finish())


def _on_synthesized(s: State, e: Answered, v: View) -> Step:
    said = SayOn(channel=PUBLIC, kind="synthesis", round=e.round, body=raw(e.body), seat=e.seat)
    return msgspec.structs.replace(s, phase=Phase.DONE, synthesis=v.next_post), (said, Finish())


def _on_no_synthesis(s: State, e: Missed | Unaffordable, v: View) -> Step:
    """The result falls back on the plurality's most confident position."""
    return msgspec.structs.replace(s, phase=Phase.DONE), (Finish(),)


def _plan(v: View) -> Plan:
    """One round: every panelist, the analyst's score, its synthesis."""
    caps, rounds, again = _caps(v.settings), v.settings.round_limit, v.settings.attempts
    panel = [s.seat for s in v.seats(PANELIST)]
    analyst = _analyst(v)
    ends = (Planned(analyst, SCORE, caps), Planned(analyst, SYNTHESIZE, caps))
    return Plan(
        rounds=rounds,
        least=(*(Planned(seat, ANSWER, caps) for seat in panel), *ends),
        most=(
            *(Planned(seat, ANSWER, caps, again) for seat in panel),
            *(Planned(seat, REVISE, caps, (rounds - 1) * again) for seat in panel),
            Planned(analyst, SCORE, caps, rounds * again),
            Planned(analyst, SYNTHESIZE, caps, again),
        ),
    )


# Which event is legal in which phase is decided here and nowhere else. A pair that is absent is illegal.
TABLE: Table = {
    Phase.ANSWERING: {
        Answered: to(_on_position, Phase.ANSWERING, Phase.REVISING, Phase.SCORING, Phase.DONE),
        Missed: to(_on_absent, Phase.ANSWERING, Phase.REVISING, Phase.SCORING, Phase.DONE),
        Unaffordable: to(_on_unaffordable, Phase.DONE),
    },
    Phase.REVISING: {
        Answered: to(_on_position, Phase.REVISING, Phase.SCORING, Phase.DONE),
        Missed: to(_on_absent, Phase.REVISING, Phase.SCORING, Phase.DONE),
        Unaffordable: to(_on_unaffordable, Phase.SYNTHESIZING, Phase.DONE),
    },
    Phase.SCORING: {
        Answered: to(_on_scored, Phase.REVISING, Phase.SYNTHESIZING),
        Missed: to(_on_unscored, Phase.REVISING, Phase.SYNTHESIZING),
        Unaffordable: to(_on_score_unaffordable, Phase.SYNTHESIZING, Phase.DONE),
    },
    Phase.SYNTHESIZING: {
        Answered: to(_on_synthesized, Phase.DONE),
        Missed: to(_on_no_synthesis, Phase.DONE),
        Unaffordable: to(_on_no_synthesis, Phase.DONE),
    },
    Phase.DONE: {},
}

PROTOCOL = Protocol(
    name="consensus",
    version=3,
    oldest=1,
    renamed={"max_rounds": "round_limit"},
    settings=Settings,
    state=State,
    table=TABLE,
    done=Phase.DONE,
    replies={ANSWER: Position, REVISE: Position, SCORE: Analysis, SYNTHESIZE: Synthesis},
    roles=ROLES,
    channel=PUBLIC,
    seat=seat,
    start=_start,
    final=lambda v: ((_analyst(v), _caps(v.settings)),),
    check=check,
    outcome=outcome,
    stops=("threshold", "stuck", "round_limit", "budget", "unanswered", "quorum"),
    attempts=lambda settings: int(settings.attempts),
    plan=_plan,
    ends_round=ends_round,
)
