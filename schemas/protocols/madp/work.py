"""MADP's work and reviews: what leads, support experts and reviewers are asked, and what they reply (source:
seeds/madp.md, chapters 5 and 6). The rest of the protocol's messages is schemas/protocols/madp/messages.py."""

from typing import Annotated, Literal

import msgspec

from parley.schemas.artifact import Artifact
from parley.schemas.folders.notes import Note
from parley.schemas.routing import Task
from parley.schemas.tools import ToolCall
from parley.schemas.wire import InvalidValue, Limited, chars, items


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """4.5."""

    agent_id: str
    responsibility: str


class TaskState(msgspec.Struct, frozen=True, kw_only=True):
    """5.2's task_state."""

    completed: tuple[str, ...] = ()
    remaining: tuple[str, ...] = ()
    artifacts: tuple[Artifact, ...] = ()


class SupportRequest(Limited, frozen=True, kw_only=True):
    """5.1's request_support: a scoped sub-task for somebody else."""

    where = "support."
    agent_id: str
    sub_task: Annotated[str, chars(8_000, least=1)]


class HandoffRequest(Limited, frozen=True, kw_only=True):
    """5.2. `from_agent` is the seat that says it."""

    where = "handoff."
    to_agent: str
    reason: Annotated[str, chars(2_000, least=1)]
    completed: Annotated[tuple[str, ...], items(40)] = ()
    remaining: Annotated[tuple[str, ...], items(40)] = ()


class Supported(msgspec.Struct, frozen=True, kw_only=True):
    """What a support expert gave back."""

    agent_id: str
    sub_task: str
    output: str
    summary: str = ""
    artifacts: tuple[Artifact, ...] = ()
    diff: str = ""
    """Unified, of its folder against the lead's, as that was then: the lead takes of it what it wants, by its tools."""
    calls: tuple[ToolCall, ...] = ()
    """In the post alone, not in briefs; the same holds for `offered` and `shown`."""
    offered: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()


Severity = Literal["critical", "major", "minor", "suggestion"]


class Finding(Limited, frozen=True, kw_only=True):
    """6.2."""

    where = "findings."
    severity: Severity
    description: Annotated[str, chars(4_000, least=1)]
    location: Annotated[str, chars(400)] = ""
    suggested_fix: Annotated[str, chars(4_000)] = ""


MOST_OUTPUT = 8_000
"""Characters of what a check printed, cut in the middle."""
MOST_FAILED = 500
"""Names of failures that a check's result holds."""
MOST_RESTORED = 40
"""Files that it names which were for the check as before the work."""
MOST_WEAKENED = 200
"""Tests that it names which the work took away or changed."""


class CheckBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of the turn `check`: run a command in a sandbox, in a fresh copy of the folder. No model is asked."""

    when: Literal["before", "after"]
    """The work."""
    command: str
    seconds: float
    """It is ended after so long."""
    folder: str = ""
    """The artifact that the folder is a copy of; empty: it is empty."""
    base: str = ""
    """The artifact that the task began as; empty: an empty folder. After the work, files that decide what the check
    runs are taken from it."""


class Checked(Limited, frozen=True, kw_only=True):
    """Reply to `check`, and the post `checked`: what a command came to."""

    where = "checked."
    when: Literal["before", "after"]
    command: Annotated[str, chars(1_000, least=1)]
    exit: int | None = None
    """Its exit status, 0 to 255; None: it did not end by itself, or could not be run."""
    ended: Annotated[str, chars(1_000)] = ""
    """Without an exit status: what ended it, or why it could not be run."""
    passed: int | None = None
    """Tests that passed; None: the output does not say it in a form that is known."""
    failed: Annotated[tuple[str, ...], items(MOST_FAILED)] = ()
    """Names of tests that failed, where the output has them."""
    output: Annotated[str, chars(MOST_OUTPUT)] = ""
    """What it printed, cut in the middle."""
    seconds: float = 0.0
    ran: bool = True
    """False: it could not be run, or nobody ran it; true: it ran, and may have been ended."""
    tests: int | None = None
    """Tests that passed or failed; None: they cannot be counted."""
    restored: Annotated[tuple[str, ...], items(MOST_RESTORED)] = ()
    """After the work: changed files that were for this run as before the work, since they decide what the check
    runs."""
    weakened: Annotated[tuple[str, ...], items(MOST_WEAKENED)] = ()
    """After the work: tests that it took away, skipped, emptied or changed, as `removed: tests/test_a.py::test_b`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.exit is None) != bool(self.ended):
            raise InvalidValue("checked.ended", self.ended, "it is given where there is no exit status, and else not")

    @property
    def green(self) -> bool:
        """Whether it succeeded: its exit status says so, and its output names and counts no failure."""
        return self.exit == 0 and not self.failed and (self.passed is None or self.tests in (None, self.passed))


MOST_RECORDED = 100
"""Entries of one kind in the record of a task."""


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """A command that an expert ran with a tool."""

    by: str
    command: str
    ended: str
    """`exit 1`, or `stopped: ` or `not run: ` and why."""
    tests: str = ""
    """What its output counts, where it is a test runner's."""
    stale: bool = False
    """Files may have been changed after it."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """The record of what the machine saw in a task, whatever anybody says of it. Each list holds 100 entries at most.
    The runs of the check stand in `Checked`."""

    commands: tuple[Ran, ...] = ()
    read: tuple[str, ...] = ()
    """The session's documents, and files of the folder that an expert's turn was shown, or that a tool read."""
    written: tuple[str, ...] = ()
    """Files that the task has changed, by the folder's diff."""
    tests: int = 0
    """Tests that the diff adds."""
    offered: tuple[str, ...] = ()
    """Tools that were there, as `server.tool`."""
    refused: tuple[str, ...] = ()
    """Calls that were not made, or failed: who, what, and why."""
    unasked: tuple[str, ...] = ()
    """What the work touches although the task speaks of none of it: fields of harm, and tests that were there."""
    claims: tuple[str, ...] = ()
    """What the lead, or a text that it changed, claims to have been run, tested, read, added or changed, and the
    machine did not see."""


class WorkBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of the turn `work`, for the lead."""

    task: Task
    expert: str
    responsibility: str
    team: tuple[Assignment, ...] = ()
    """Whom it may ask for support; it may also ask any other expert that is there."""
    others: tuple[str, ...] = ()
    """Further experts that it may ask, or hand over to."""
    state: TaskState = TaskState()
    handoff: str = ""
    """Why it was handed over, and by whom."""
    supported: tuple[Supported, ...] = ()
    advice: str = ""
    """What a deliberation, or a human, said to what blocked it."""
    findings: tuple[Finding, ...] = ()
    """Of the last review."""
    previous: str = ""
    """The work that the findings are about."""
    base: str = ""
    """The artifact that the task began as; empty: an empty folder. The diff is against it."""
    folder: str = ""
    """The artifact that the task's folder is a fresh copy of; empty: it begins empty."""
    tool_calls: int = 0
    model_calls: int = 1
    diff: str = ""
    """Unified, of what the task has changed in its folder so far."""
    seen: tuple[str, ...] = ()
    """Files that the last turn of this lead read, in the order of their first reading."""
    checks: tuple[Checked, ...] = ()
    """The check before the work, and the last one after it."""
    evidence: tuple[str, ...] = ()
    """The record of the task in words, the weightiest first."""
    notes: tuple[Note, ...] = ()
    """What is remembered of accepted tasks in this folder."""


class Work(Limited, frozen=True, kw_only=True):
    """Reply to `work`. `request_support`, `handoff` and `blocked` end the turn."""

    where = "work."
    outcome: Literal["done", "planned", "declined", "request_support", "handoff", "blocked"]
    """`done`: the task is done, or the output is the text that it asks for; `planned`: the output says what would be
    done; `declined`: nobody can do it, and the summary says why."""
    summary: Annotated[str, chars(2_000, least=1)]
    """One or two sentences."""
    output: Annotated[str, chars(60_000)] = ""
    """The result, in full; of `done` and `planned`. Of `declined`: why, in full."""
    performed: bool = True
    """False: nothing was changed, and nothing was looked up by a tool. As the machine posts it: neither is it a text
    that the task asks for."""
    support: SupportRequest | None = None
    handoff: HandoffRequest | None = None
    blocked: Annotated[str, chars(8_000)] = ""
    """The question that has to be decided; of `blocked`."""
    folder: Artifact | None = None
    """The task's folder after it, where tools changed it."""
    diff: Annotated[str, chars(60_000)] = ""
    """Unified, of the folder against the one that the task began with; cut to 60,000 characters."""
    calls: Annotated[tuple[ToolCall, ...], items(1000)] = ()
    results: Artifact | None = None
    """A folder with the whole results of calls that are cut in `calls`; a call names its file."""
    offered: Annotated[tuple[str, ...], items(MOST_RECORDED)] = ()
    """Tools that were there, as `server.tool`."""
    shown: Annotated[tuple[str, ...], items(MOST_RECORDED)] = ()
    """Files of the folder that the turn was shown without a call."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for field, wanted in (("support", "request_support"), ("handoff", "handoff")):
            if (getattr(self, field) is not None) != (self.outcome == wanted):
                raise InvalidValue(
                    f"work.{field}", self.outcome, f"it goes with the outcome {wanted}, and with no other"
                )
        if bool(self.blocked.strip()) != (self.outcome == "blocked"):
            raise InvalidValue("work.blocked", self.outcome, "it goes with the outcome blocked, and with no other")


class SupportBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of the turn `support`: a scoped sub-task, not the whole task's ownership."""

    task: Task
    expert: str
    lead: str
    sub_task: str
    folder: str = ""
    tool_calls: int = 0
    model_calls: int = 1


class Support(Limited, frozen=True, kw_only=True):
    """Reply to `support`: what goes back to the lead. Its folder is its own; the lead's stays as it is."""

    where = "support."
    summary: Annotated[str, chars(2_000, least=1)]
    output: Annotated[str, chars(60_000)]
    folder: Artifact | None = None
    diff: Annotated[str, chars(60_000)] = ""
    """Unified, of its folder against the lead's, of which it was a copy; cut to 60,000 characters."""
    calls: Annotated[tuple[ToolCall, ...], items(1000)] = ()
    results: Artifact | None = None
    """A folder with the whole results of calls that are cut in `calls`; a call names its file."""
    offered: Annotated[tuple[str, ...], items(MOST_RECORDED)] = ()
    """Tools that were there, as `server.tool`."""
    shown: Annotated[tuple[str, ...], items(MOST_RECORDED)] = ()
    """Files of the folder that the turn was shown without a call."""


class ReviewBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of the turn `review`."""

    task: Task
    expert: str
    lead: str
    summary: str
    output: str
    diff: str = ""
    iteration: int
    """From 1."""
    findings: tuple[Finding, ...] = ()
    """Of the review before, which the work was to answer."""
    base: str = ""
    """The artifact that the task began as; empty: an empty folder."""
    folder: str = ""
    """The artifact that is reviewed: of it a reviewer reads a fresh copy, and changes nothing."""
    performed: bool = True
    """False: the result is a plan."""
    checks: tuple[Checked, ...] = ()
    """The check before the work, and the one after it."""
    tool_calls: int = 0
    model_calls: int = 1
    evidence: tuple[str, ...] = ()
    """The record of the task in words, the weightiest first."""
    claims: tuple[str, ...] = ()
    """What the lead claims, and the machine did not see."""
    notes: tuple[Note, ...] = ()
    """Pitfalls and conventions that are remembered of accepted tasks in this folder."""


Verdict = Literal["approved", "revision_needed", "blocked"]


class Review(Limited, frozen=True, kw_only=True):
    """Reply to `review` (6.2)."""

    where = "review."
    verdict: Verdict
    findings: Annotated[tuple[Finding, ...], items(40)] = ()
    calls: Annotated[tuple[ToolCall, ...], items(1000)] = ()
    """Of tools that read."""
    results: Artifact | None = None
    offered: Annotated[tuple[str, ...], items(MOST_RECORDED)] = ()
    """Tools that were there, as `server.tool`."""
    shown: Annotated[tuple[str, ...], items(MOST_RECORDED)] = ()
    """Files of the folder that the turn was shown without a call."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.verdict != "approved" and not self.findings:
            raise InvalidValue("review.findings", [], f"the verdict {self.verdict} names at least one finding")
