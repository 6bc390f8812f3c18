"""consensus: a panel answers apart, sees everybody's answers, and revises until it agrees, is stuck, or meets its round
limit.

Source: seeds/iterative-debate.md. One round is: all panelists (`answer`, then `revise`), whose positions are posted
together when the last is in; the analyst (`compare`), who says which of them are the same answer; the moderator's
score, assessment and decision. Where too few answer the blind round because the others abstain, nothing is scored: who
abstained reads the answers in the next round.

    ANSWERING -> [REVISING ->] SCORING -> (REVISING -> SCORING)* -> SYNTHESIZING -> DONE

Positions live in posts; the state refers to them by number.
"""

from typing import Any

import msgspec

from parley.coordinator.commands import AskSeat, Finish, SayOn, Stop, Wish
from parley.coordinator.protocols.consensus.assessing import by_words, compared, figures
from parley.coordinator.protocols.consensus.check import check
from parley.coordinator.protocols.consensus.measures import COUNTED
from parley.coordinator.protocols.consensus.outcome import ends_round, outcome
from parley.coordinator.protocols.consensus.score import is_stuck
from parley.coordinator.protocols.consensus.seats import ROLES, seat
from parley.coordinator.protocols.consensus.state import (
    PANELIST,
    Phase,
    Round,
    State,
    position,
    shown_order,
    voters,
    weights,
)
from parley.coordinator.protocols.consensus.turns import (
    ANSWER,
    COMPARE,
    CONCLUDE,
    PUBLIC,
    REVISE,
    analyst,
    ask_analyst,
    ask_conclusion,
    ask_revise,
    caps,
)
from parley.coordinator.table import Answered, Missed, Plan, Planned, Protocol, Step, Table, Unaffordable, View, to
from parley.schemas.protocols.consensus import (
    Assessment,
    Comparison,
    Conclusion,
    PanelBrief,
    Position,
    Settings,
    SoFar,
)
from parley.schemas.wire import decode, raw

Says = tuple[Wish, ...]


# ---------------------------------------------------------------- asking


def _start(v: View) -> Step:
    """Round 1: everybody answers, and nobody is shown anything."""
    brief = raw(PanelBrief(iteration=1, round_limit=v.settings.round_limit))
    asks = (AskSeat(seat=s.seat, kind=ANSWER, round=1, brief=brief, caps=caps(v.settings)) for s in v.seats(PANELIST))
    return State(phase=Phase.ANSWERING), tuple(asks)


# ---------------------------------------------------------------- a round


def _on_position(s: State, e: Answered, v: View) -> Step:
    """A position came. It is kept back until the round's last seat has answered or missed."""
    s = msgspec.structs.replace(s, pending={**s.pending, e.seat: raw(e.body)})
    return (s, ()) if v.open_turns else _close_round(s, v)


def _on_absent(s: State, e: Missed, v: View) -> Step:
    """The seat keeps its last position, and is marked as missing."""
    s = msgspec.structs.replace(s, short=s.short or e.short)
    return (s, ()) if v.open_turns else _close_round(s, v)


def _close_round(s: State, v: View) -> Step:
    s, says, current = _reveal(s, v)
    speaking = {seat: p for seat, p in current.items() if not p.abstains}
    if len(speaking) < v.settings.quorum:
        if _reads_on(s, v, len(speaking), len(current)):
            s, asks = ask_revise(s, v, speaking, None)
            return s, (*says, *asks)
        measured = {**figures(s, v), "positions": len(speaking)}
        silent = not speaking and len(current) >= v.settings.quorum
        stop = Stop(reason="unanswered" if silent else "quorum", certificate=raw(measured))
        if s.short:
            stop = Stop(reason="budget", certificate=raw({**measured, "what": s.short}))
        return msgspec.structs.replace(s, phase=Phase.DONE), (*says, stop, Finish())
    return msgspec.structs.replace(s, phase=Phase.SCORING), (*says, ask_analyst(s, v, speaking))


def _reads_on(s: State, v: View, speaking: int, heard: int) -> bool:
    """Whether seats that abstained in the blind round may still make up the quorum once they read the others'
    quotations: with dealt documents one seat may hold the only one that answers."""
    settings: Settings = v.settings
    first = s.round == 1 and settings.round_limit > 1 and not s.short
    return first and 0 < speaking < heard and heard >= settings.quorum


def _reveal(s: State, v: View) -> tuple[State, Says, dict[str, Position]]:
    """Post all positions of this round at once. Returns (state, posts, current position of every seat that has one)."""
    fresh = [seat for seat in weights(v) if seat in s.pending]
    order = shown_order(v, s.round, "", fresh)
    posts = {seat: v.next_post + order.index(seat) for seat in fresh}
    before = {seat: position(v, post) for seat, post in s.held.items()}
    now = {seat: decode(s.pending[seat], Position) for seat in fresh}
    played = Round(
        number=s.round,
        posts=posts,
        missing=tuple(seat for seat in weights(v) if seat not in s.pending),
    )
    says = tuple(
        SayOn(channel=PUBLIC, kind="position", round=s.round, body=s.pending[seat], seat=seat) for seat in order
    )
    s = msgspec.structs.replace(s, pending={}, held={**s.held, **posts}, rounds=(*s.rounds, played))
    return s, says, {**before, **now}


# ---------------------------------------------------------------- the score


def _on_scored(s: State, e: Answered, v: View) -> Step:
    """Post what the analyst found, and assess the round by it."""
    shown = SayOn(channel=PUBLIC, kind="analysis", round=s.round, body=raw(e.body), seat=e.seat)
    s, says, assessment = compared(s, v, e.body, "analyst", (shown,))
    return _decide(s, v, assessment, says)


def _on_unscored(s: State, e: Missed, v: View) -> Step:
    """The analyst failed: words are compared, marked as such, and the session goes on."""
    s, says, assessment = by_words(s, v)
    return _decide(s, v, assessment, says)


def _decide(s: State, v: View, a: Assessment, says: Says) -> Step:
    """Decide, in this order: agreement, stuck, the last round, or another round."""
    settings: Settings = v.settings
    if a.score >= settings.threshold:
        return _conclude(s, v, "threshold", says, {})
    if is_stuck(a.trend, settings):
        limits = {"stuck_rounds": settings.stuck_rounds, "stuck_progress": settings.stuck_progress}
        return _conclude(s, v, "stuck", says, limits)
    if s.round >= settings.round_limit:
        return _conclude(s, v, "round_limit", says, {"round_limit": settings.round_limit})
    so_far = SoFar(agreements=a.agreements, key_disagreements=a.key_disagreements, comment=a.comment)
    s, asks = ask_revise(s, v, voters(v, s.held), so_far)
    return s, (*says, *asks)


# ---------------------------------------------------------------- the end


def _conclude(s: State, v: View, reason: str, says: Says, more: dict[str, Any]) -> Step:
    """Post the stop decision with its certificate, and ask the one turn that words the result."""
    stop = Stop(reason=reason, certificate=raw({**figures(s, v), **more}))
    return msgspec.structs.replace(s, phase=Phase.SYNTHESIZING), (*says, stop, ask_conclusion(s, v, reason))


def _on_unaffordable(s: State, e: Unaffordable, v: View) -> Step:
    """The next round does not fit, or the time is over within one: post what came, and end the session."""
    says: Says = ()
    if s.pending:
        s, says, _ = _reveal(s, v)
    return _out_of_budget(s, e, v, says)


def _on_score_unaffordable(s: State, e: Unaffordable, v: View) -> Step:
    """Measure the last round without the analyst, for the record; then the session ends."""
    s, says, _ = by_words(s, v)
    return _out_of_budget(s, e, v, says)


def _out_of_budget(s: State, e: Unaffordable, v: View, says: Says) -> Step:
    """The synthesis is still asked, from the budget that was held back for it; but not if the time is over."""
    if not e.seconds:
        return _conclude(s, v, "budget", says, {"what": e.what})
    stop = Stop(reason="budget", certificate=raw({**figures(s, v), "what": e.what}))
    return msgspec.structs.replace(s, phase=Phase.DONE), (*says, stop, Finish())


def _on_synthesized(s: State, e: Answered, v: View) -> Step:
    post = SayOn(channel=PUBLIC, kind="synthesis", round=e.round, body=raw(e.body), seat=e.seat)
    return msgspec.structs.replace(s, phase=Phase.DONE, synthesis=v.next_post), (post, Finish())


def _on_no_synthesis(s: State, e: Missed | Unaffordable, v: View) -> Step:
    """The synthesis failed: the result is the most confident position of the plurality."""
    return msgspec.structs.replace(s, phase=Phase.DONE), (Finish(),)


def _plan(v: View) -> Plan:
    """One round: every panelist, the analyst's comparison, its conclusion."""
    most, rounds, attempts = caps(v.settings), v.settings.round_limit, v.settings.attempts
    panel = [s.seat for s in v.seats(PANELIST)]
    last = analyst(v)
    ends = (Planned(last, COMPARE, most), Planned(last, CONCLUDE, most))
    return Plan(
        rounds=rounds,
        least=(*(Planned(seat, ANSWER, most) for seat in panel), *ends),
        most=(
            *(Planned(seat, ANSWER, most, attempts) for seat in panel),
            *(Planned(seat, REVISE, most, (rounds - 1) * attempts) for seat in panel),
            Planned(last, COMPARE, most, rounds * attempts),
            Planned(last, CONCLUDE, most, attempts),
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
    version=1,
    settings=Settings,
    state=State,
    table=TABLE,
    done=Phase.DONE,
    replies={
        ANSWER: Position,
        REVISE: Position,
        COMPARE: Comparison,
        CONCLUDE: Conclusion,
    },
    roles=ROLES,
    channel=PUBLIC,
    seat=seat,
    start=_start,
    final=lambda v: ((analyst(v), caps(v.settings)),),
    check=check,
    outcome=outcome,
    stops=("threshold", "stuck", "round_limit", "budget", "unanswered", "quorum"),
    attempts=lambda settings: int(settings.attempts),
    plan=_plan,
    counted=COUNTED,
    shows_refused=True,
    ends_round=ends_round,
    trusts=PANELIST,
)
