"""The coordination trace of a MADP task (source: seeds/madp.md 7.2, 8.1), as it is exported.

It is a fold over the session's log (parley/client/protocols/madp/trace.py): what the log keeps, the trace says.
"""

import msgspec

from parley.schemas.protocols.madp.messages import Challenge, Claim, Consensus, Exclusion, Pass
from parley.schemas.routing import Candidate, Depth, Factors


class Intake(msgspec.Struct, frozen=True, kw_only=True):
    """7.2's phases.intake."""

    candidates: tuple[str, ...] = ()
    complexity_factors: Factors | None = None
    coordination_depth: Depth | None = None
    matched: tuple[Candidate, ...] = ()
    """The candidates with relevance and confidence, 0 to 1."""
    matcher: str = ""


class Phases(msgspec.Struct, frozen=True, kw_only=True):
    """7.2's phases."""

    intake: Intake
    claims: tuple[Claim, ...] = ()
    challenges: tuple[Challenge, ...] = ()
    consensus: Consensus | None = None
    """The last one, where a human changed it before the work; null: there was none yet."""
    passed: tuple[Pass, ...] = ()
    silent: tuple[str, ...] = ()
    """Candidates that did not speak in time."""
    excluded: tuple[Exclusion, ...] = ()


class TokenUsage(msgspec.Struct, frozen=True, kw_only=True):
    """7.2's token_usage: input and output tokens of the coordination. Experts claim and challenge without a model; what
    one words of both, in one turn, counts as `claims`. The consensus is found by the moderator, which calls none."""

    intake: int = 0
    claims: int = 0
    challenges: int = 0
    consensus: int = 0
    total: int = 0


class PhaseUsage(msgspec.Struct, frozen=True, kw_only=True):
    """What a phase after the coordination took."""

    turns: int = 0
    """Turns that were answered."""
    tokens: int = 0
    """Input and output."""
    seconds: float = 0.0
    """From each turn's asking to its answer, added up."""


class TracedTurn(msgspec.Struct, frozen=True, kw_only=True):
    """One answered turn after the coordination."""

    round: int
    seat: str
    kind: str
    """work | support | review"""
    outcome: str
    """Of work: done, planned, declined, request_support, handoff or blocked; of a review its verdict; else empty."""
    tokens: int
    duration_ms: float


class CoordinationTrace(msgspec.Struct, frozen=True, kw_only=True):
    """7.2."""

    id: str
    """The deliberation's."""
    task_id: str
    """The session's."""
    timestamp: str
    """ISO 8601, UTC: when the task was taken."""
    duration_ms: float | None
    """From the task's being taken to the first assignment; null: nothing is assigned yet."""
    phases: Phases
    token_usage: TokenUsage
    execution: PhaseUsage = PhaseUsage()
    """Work and support."""
    review: PhaseUsage = PhaseUsage()
    deliberation: PhaseUsage = PhaseUsage()
    """Sessions beneath this one."""
    steps: tuple[TracedTurn, ...] = ()
    overrides: int = 0
    """Times that a human changed who leads, or named it beforehand: of an ended task as its result counts them, before
    that those by name alone."""
