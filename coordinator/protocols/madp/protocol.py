"""madp: every task through one coordination protocol: experts claim it, one leads, others support and review.

Source: seeds/madp.md, whose sections are cited by their numbers; docs/madp.md. The helper matches the task with the
announced experts; how many of the phases between are taken depends on the depth (4.1, 4.2).

    INTAKE -> [CLAIMING -> [CHALLENGING -> [WORDING]]] -> [CHECKING] ->
        (WORKING [-> SUPPORTING | DELIBERATING] [-> CHECKING] -> REVIEWING)* -> DONE

A question to a human (WAITING) may come before the work, and wherever it goes on no more by itself.
"""

import functools
from collections.abc import Callable
from typing import Any

import msgspec

from parley.coordinator.protocols.madp.check import check
from parley.coordinator.protocols.madp.claims import (
    awaited,
    on_challenge_heard,
    on_challenges_over,
    on_claim_heard,
    on_claims_over,
    on_intake_late,
    on_matched,
    on_unmatched,
    start,
)
from parley.coordinator.protocols.madp.human import on_decided, on_item_decided, on_item_over
from parley.coordinator.protocols.madp.lead_changes import on_not_worded, on_worded, on_words_late
from parley.coordinator.protocols.madp.outcome import COUNTED, outcome
from parley.coordinator.protocols.madp.seats import ROLES, beneath, seat
from parley.coordinator.protocols.madp.state import BREAKER, CHECK, HELPER, PUBLIC, Phase, State
from parley.coordinator.protocols.madp.turns import (
    MATCH,
    REVIEW,
    RUN_CHECK,
    SUPPORT,
    WORDS,
    WORK,
    plan,
    usual,
)
from parley.coordinator.protocols.madp.work import (
    on_checked,
    on_deliberated,
    on_not_checked,
    on_not_reviewed,
    on_not_supported,
    on_not_worked,
    on_reviewed,
    on_stray_child,
    on_supported,
    on_unaffordable,
    on_worked,
)
from parley.coordinator.table import (
    Answered,
    ChildEnded,
    Decided,
    Missed,
    Protocol,
    Spoke,
    Step,
    Table,
    Unaffordable,
    View,
    WindowClosed,
    to,
)
from parley.schemas.expert import ROLE
from parley.schemas.protocols.madp.messages import Settings, Worded
from parley.schemas.protocols.madp.work import Checked, Review, Support, Work
from parley.schemas.routing import Matched

Handler = Callable[[State, Any, View], Step]


def spent(s: State, v: View) -> State:
    """8.1: what was used since the last event is the running phase's."""
    used = v.ledger.used().tokens
    if used <= s.counted:
        return s
    tokens = {**s.tokens, str(s.phase): s.tokens.get(s.phase, 0) + used - s.counted}
    return msgspec.structs.replace(s, tokens=tokens, counted=used)


def counted(handler: Handler) -> Handler:
    """The handler, with the tokens of each phase counted."""

    @functools.wraps(handler)
    def count(s: State, e: Any, v: View) -> Step:
        return handler(spent(s, v), e, v)

    return count


ASSIGNED = (Phase.CHECKING, Phase.WORKING, Phase.WAITING)
"""A lead is agreed: it works, or the check is run or a human asked first."""
CLAIMED = (*ASSIGNED, Phase.DONE)
"""How claims end; DONE: nobody takes it."""

# Which event is legal in which phase is decided here and nowhere else. A pair that is absent is illegal.
_TABLE: Table = {
    Phase.INTAKE: {
        Answered: to(on_matched, Phase.CLAIMING, *CLAIMED),
        Missed: to(on_unmatched, Phase.CLAIMING, *CLAIMED),
        WindowClosed: to(on_intake_late, Phase.CLAIMING, *CLAIMED),
        Unaffordable: to(on_unaffordable, Phase.DONE),
    },
    Phase.CLAIMING: {
        Spoke: to(on_claim_heard, Phase.CLAIMING, Phase.CHALLENGING, *CLAIMED),
        WindowClosed: to(on_claims_over, Phase.CHALLENGING, *CLAIMED),
        Unaffordable: to(on_unaffordable, Phase.DONE),
        Decided: to(on_decided, Phase.CHECKING, Phase.WORKING),
    },
    Phase.CHALLENGING: {
        Spoke: to(on_challenge_heard, Phase.CHALLENGING, Phase.WORDING, *ASSIGNED),
        WindowClosed: to(on_challenges_over, Phase.WORDING, *ASSIGNED),
        Unaffordable: to(on_unaffordable, Phase.DONE),
        Decided: to(on_decided, Phase.CHECKING, Phase.WORKING),
    },
    Phase.WORDING: {
        Answered: to(on_worded, *ASSIGNED),
        Missed: to(on_not_worded, *ASSIGNED),
        WindowClosed: to(on_words_late, *ASSIGNED),
        Unaffordable: to(on_unaffordable, Phase.DONE),
        Decided: to(on_decided, Phase.CHECKING, Phase.WORKING),
    },
    Phase.WORKING: {
        Answered: to(
            on_worked,
            Phase.WORKING,
            Phase.SUPPORTING,
            Phase.CHECKING,
            Phase.REVIEWING,
            Phase.DELIBERATING,
            Phase.WAITING,
            Phase.DONE,
        ),
        Missed: to(on_not_worked, Phase.WORKING, Phase.WAITING, Phase.DONE),
        Unaffordable: to(on_unaffordable, Phase.DONE),
        Decided: to(on_decided, Phase.WORKING),
        ChildEnded: to(on_stray_child, Phase.WORKING),
    },
    Phase.SUPPORTING: {
        Answered: to(on_supported, Phase.WORKING),
        Missed: to(on_not_supported, Phase.WORKING, Phase.DONE),
        Unaffordable: to(on_unaffordable, Phase.DONE),
        Decided: to(on_decided, Phase.WORKING),
        ChildEnded: to(on_stray_child, Phase.SUPPORTING),
    },
    Phase.CHECKING: {
        Answered: to(on_checked, Phase.WORKING, Phase.REVIEWING, Phase.WAITING, Phase.DONE),
        Missed: to(on_not_checked, Phase.REVIEWING, Phase.DONE),
        Unaffordable: to(on_unaffordable, Phase.DONE),
        Decided: to(on_decided, Phase.CHECKING, Phase.WORKING),
        ChildEnded: to(on_stray_child, Phase.CHECKING),
    },
    Phase.REVIEWING: {
        Answered: to(on_reviewed, Phase.REVIEWING, Phase.WORKING, Phase.DELIBERATING, Phase.WAITING, Phase.DONE),
        Missed: to(on_not_reviewed, Phase.REVIEWING, Phase.WORKING, Phase.DELIBERATING, Phase.WAITING, Phase.DONE),
        Unaffordable: to(on_unaffordable, Phase.DONE),
        Decided: to(on_decided, Phase.WORKING),
        ChildEnded: to(on_stray_child, Phase.REVIEWING),
    },
    Phase.DELIBERATING: {
        ChildEnded: to(on_deliberated, Phase.DELIBERATING, Phase.WORKING, Phase.WAITING),
        Unaffordable: to(on_unaffordable, Phase.DONE),
        Decided: to(on_decided, Phase.WORKING),
    },
    Phase.WAITING: {
        Decided: to(on_item_decided, Phase.CHECKING, Phase.WORKING, Phase.DONE),
        WindowClosed: to(on_item_over, Phase.CHECKING, Phase.WORKING, Phase.WAITING, Phase.DONE),
        Unaffordable: to(on_unaffordable, Phase.DONE),
        ChildEnded: to(on_stray_child, Phase.WAITING),
    },
    Phase.DONE: {},
}

TABLE: Table = {
    phase: {event: to(counted(cell.handler), *cell.targets) for event, cell in row.items()}
    for phase, row in _TABLE.items()
}

PROTOCOL = Protocol(
    name="madp",
    version=1,
    settings=Settings,
    state=State,
    table=TABLE,
    done=Phase.DONE,
    replies={
        MATCH: Matched,
        WORDS: Worded,
        WORK: Work,
        SUPPORT: Support,
        RUN_CHECK: Checked,
        REVIEW: Review,
    },
    roles=ROLES,
    channel=PUBLIC,
    seat=seat,
    start=start,
    final=lambda v: (),
    check=check,
    outcome=outcome,
    stops=(
        "approved",
        "reviewed",
        "unreviewed",
        "unchecked",
        "needs_human",
        "unproven",
        "no_check",
        "planned",
        "declined",
        "review_limit",
        "rejected",
        "nobody",
        "budget",
    ),
    plan=plan,
    usual=usual,
    readers=(ROLE,),
    reads=(BREAKER,),
    awaited=awaited,
    counted=COUNTED,
    answers={
        "claims": ("task",),
        "challenges": ("claims",),
        "consensus": ("claims", "challenges"),
        "work": ("consensus", "support", "review"),
        "review": ("work",),
        "handoff": ("work",),
    },
    beneath=beneath,
    beneath_by=("deliberation", "deliberation_settings"),
    experts=True,
    spares=(HELPER, ROLE, CHECK),
    opens_without=(HELPER,),
    needs_model=(ROLE,),
    shows_refused=True,
)
