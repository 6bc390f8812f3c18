"""madp: the state of a task.

Work, support and reviews live in posts, to which it refers by number. Of a specification it keeps what the coordination
needs: whole ones come with the helper's reply, which the log has.
"""

from collections.abc import Iterable
from enum import StrEnum, auto
from typing import Literal, TypeVar

import msgspec

from parley.coordinator.commands import SayOn, Wish
from parley.coordinator.table import View
from parley.schemas.expert import Known, queue_of
from parley.schemas.log import Opened
from parley.schemas.protocols.madp.messages import Challenge, Claim, Exclusion, Item, Reviewed, Settings
from parley.schemas.protocols.madp.work import Assignment, Checked, Finding, TaskState, Work
from parley.schemas.routing import Candidate, Depth, Factors, Profile, Task
from parley.schemas.session import MAX_SEATS
from parley.schemas.turn import Caps
from parley.schemas.wire import decode, raw

HELPER, CHECK = "helper", "check"
PUBLIC, INBOX = "public", "inbox"
COORDINATION = "coordination"
"""The window that is 9.1's time budget."""
BREAKER = "madp-breaker"
"""The standing session that counts coordination failures (9.2)."""
OVERRIDE = "expert"
"""The item by which a human says, at any time, who leads (9.3)."""
GIVE_UP, STOP_HERE = "give up", "stop"
APPROVE, LEAVE = "approve", "leave"
MOST_BLOCKED = 3
"""How often a blocking question may be put to others in one task."""
MOST_TASK = 1_000_000
"""Bytes of a task as JSON. It stands in the opening, in a post and in every brief, and each must fit one message."""
MOST_SEATED = MAX_SEATS - 8
"""Seats from which on no further expert is asked for support, to lead, or for its words."""
MOST_NAMED = 20
"""Ids in one error, at most."""

Says = tuple[Wish, ...]
T = TypeVar("T")


class Phase(StrEnum):
    """Where a task stands."""

    INTAKE = auto()
    """The helper matches it."""
    CLAIMING = auto()
    """Experts that hear the task claim it, or pass."""
    CHALLENGING = auto()
    """Claimants say what they make of the others' claims."""
    WORDING = auto()
    """One model words all of it, in one turn."""
    WORKING = auto()
    """The lead works."""
    SUPPORTING = auto()
    """A supporter works on a part."""
    CHECKING = auto()
    """The check runs: before the work on what the task began with, after it on what was accepted."""
    REVIEWING = auto()
    DELIBERATING = auto()
    """A child session decides what blocks the task."""
    WAITING = auto()
    """A question to a human is open."""
    DONE = auto()


class AgentState(StrEnum):
    """2.3."""

    IDLE = auto()
    CANDIDATE = auto()
    LEAD = auto()
    SUPPORT = auto()
    EXCLUDED = auto()


class WorkTurn(msgspec.Struct, frozen=True, kw_only=True):
    """One turn of work."""

    lead: str
    outcome: str
    """The outcome of its Work; `missed`: the turn came to nothing; `withdrawn`: a human gave it to somebody else."""
    post: int | None = None
    reviews: dict[str, int] = {}
    """Reviewer -> post."""
    silent: tuple[str, ...] = ()
    """Reviewers without a verdict."""


class State(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a task remembers beside its posts."""

    phase: Phase
    depth: Depth | Literal[""] = ""
    factors: Factors | None = None
    candidates: tuple[Candidate, ...] = ()
    """The most confident first."""
    profiles: dict[str, Profile] = {}
    """Of candidates, reviewers and claimants."""
    reviewers: tuple[str, ...] = ()
    general: str = ""
    security: bool = False
    matcher: str = ""
    unmatched: str = ""
    """Why nobody matched the task: its words then call experts, who claim it. Empty: it was matched."""
    claims: dict[str, Claim] = {}
    passed: dict[str, str] = {}
    """Candidate -> why it passed."""
    heard: tuple[str, ...] = ()
    """Others that passed."""
    silent: tuple[str, ...] = ()
    """Candidates that did not speak while claims were heard."""
    spoken: tuple[str, ...] = ()
    """Claimants that have said what they make of the others' claims."""
    challenges: tuple[Challenge, ...] = ()
    consensus: int | None = None
    """Post."""
    conflict: str = ""
    lead: str = ""
    responsibility: str = ""
    team: tuple[Assignment, ...] = ()
    excluded: tuple[Exclusion, ...] = ()
    folder: str = ""
    """The accepted artifact: only the lead's work changes it."""
    task_state: TaskState = TaskState()
    handoff: str = ""
    """Why the lead has the task, if it was handed over."""
    supported: tuple[int, ...] = ()
    """Posts of what support gave back to this lead."""
    sub_task: str = ""
    """What the supporter works on."""
    helping: str = ""
    """The supporter."""
    advice: str = ""
    findings: tuple[Finding, ...] = ()
    """Of the last review."""
    work: int | None = None
    """Post of the last finished work."""
    changed: int | None = None
    """Post of the last accepted work that says what has changed in the folder."""
    checks: tuple[Checked, ...] = ()
    """The check before the work, and the last one after it, as far as they were run."""
    iteration: int = 0
    """Reviews so far."""
    revisions: int = 0
    """Those of them after which the lead was to revise."""
    question: str = ""
    """The question that blocks the task."""
    child: str = ""
    items: tuple[Item, ...] = ()
    failed: tuple[str, ...] = ()
    """Leads whose turn came to nothing."""
    supports: int = 0
    handoffs: int = 0
    blocks: int = 0
    overrides: int = 0
    warnings: tuple[str, ...] = ()
    learned: tuple[str, ...] = ()
    """What past tasks of the folder changed in this one, in words."""
    rounds: tuple[WorkTurn, ...] = ()
    tokens: dict[str, int] = {}
    """Tokens used, by phase (8.1)."""
    counted: int = 0
    """Tokens that are counted in `tokens` already."""

    @property
    def round(self) -> int:
        """Number of the turn of work that runs, waits or is reviewed, from 1; 0 before the first."""
        return len(self.rounds) + (self.phase == Phase.WORKING) if self.lead else 0


def task_of(v: View) -> Task:
    """3.1's task."""
    s: Settings = v.settings
    return Task(
        prompt=v.opened.question,
        files_mentioned=s.files_mentioned,
        code_snippets=s.code_snippets,
        prior_conversation=s.prior_conversation,
    )


def announced_experts(v: View) -> dict[str, Known]:
    """Experts that were announced when the task came, by id."""
    return {k.id: k for k in v.opened.experts}


def own_queue(opened: Opened, expert: str) -> str:
    """The queue of an expert in this session."""
    queue = queue_of(expert)
    return (opened.queues or {}).get(queue, queue)


def degraded(v: View) -> bool:
    """9.2: whether coordination is skipped."""
    return bool(v.opened.known.get("degraded"))


def room(v: View, expert: str) -> bool:
    """Whether an expert has a seat, or may get one."""
    return len(v.opened.seats) < MOST_SEATED or any(x.seat == expert for x in v.opened.seats)


def expert_list(experts: Iterable[str]) -> str:
    """Ids for an error, not more than a reader takes in."""
    ids = sorted(experts)
    more = f" and {len(ids) - MOST_NAMED} more" if len(ids) > MOST_NAMED else ""
    return (", ".join(ids[:MOST_NAMED]) or "none") + more


def say(s: State, kind: str, body: object, seat: str = "", channel: str = PUBLIC) -> SayOn:
    """A post of the running round."""
    return SayOn(channel=channel, kind=kind, round=s.round, body=raw(body), seat=seat)


def number(v: View, says: Says) -> int:
    """The number of the next post."""
    return v.next_post + sum(isinstance(w, SayOn) for w in says)


def body_of(v: View, post: int, as_type: type[T]) -> T:
    """The body of a post."""
    return decode(v.posts[post].body, as_type)


def read_said(v: View, says: Says, post: int, as_type: type[T]) -> T:
    """The same of a post that this transition may say first."""
    new_posts = [w for w in says if isinstance(w, SayOn)]
    return body_of(v, post, as_type) if post < v.next_post else decode(new_posts[post - v.next_post].body, as_type)


def diff_so_far(s: State, v: View, says: Says = ()) -> str:
    """The diff of all that the task has changed, as the last turn that handed in its folder has it."""
    return read_said(v, says, s.changed, Work).diff if s.changed is not None else ""


def verdicts(r: WorkTurn, v: View) -> dict[str, str]:
    """Reviewer -> what it found, of those whose posts the view has."""
    return {x: body_of(v, n, Reviewed).verdict for x, n in r.reviews.items() if n < len(v.posts)}


def confidence(s: State, expert: str) -> float:
    """The confidence that an expert is the right lead: the lower of the matcher's and the expert's own estimate; 0
    without either."""
    own = [s.claims[expert].confidence] if expert in s.claims and s.claims[expert].confidence else []
    return min([*own, *(c.confidence for c in s.candidates if c.expert == expert)], default=0.0)


def revisions(s: State) -> str:
    """`1 revision`."""
    return f"{s.revisions} revision{'' if s.revisions == 1 else 's'}"


def agent_state(s: State, expert: str) -> AgentState:
    """2.3: the role of an expert in this task."""
    if expert == s.lead:
        return AgentState.LEAD
    if any(a.agent_id == expert for a in s.team):
        return AgentState.SUPPORT
    if any(x.agent_id == expert for x in s.excluded):
        return AgentState.EXCLUDED
    if any(c.expert == expert for c in s.candidates) or expert in s.claims:
        return AgentState.CANDIDATE
    return AgentState.IDLE


def caps(v: View, calls: int = 2) -> Caps:
    """Caps of a turn that may take so many model calls."""
    return Caps(input_tokens=v.settings.max_input_tokens, output_tokens=v.settings.max_output_tokens, calls=calls)
