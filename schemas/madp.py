"""The MADP protocol's messages (source: seeds/madp.md, whose sections are cited by their numbers; docs/madp.md).

Relevance and confidence are 0 to 1. A task is one session; its experts are seats named by their ids.
"""

from typing import Any, Literal

import msgspec

from schemas.consensus import at_most, few
from schemas.expert import ID, ExpertSpec, Relevance
from schemas.wire import InvalidValue, in_range, not_empty

Depth = Literal["instant", "quick", "standard", "extended"]
DEPTHS: tuple[Depth, ...] = ("instant", "quick", "standard", "extended")
MOST_CANDIDATES = 12
CLAIMS, CHALLENGES, ITEM = "claims", "challenges", "item"
"""Windows: of claims, of challenges, and `item <n>` of an open item."""


class Message(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One message of an earlier conversation."""

    role: str
    text: str

    def __post_init__(self) -> None:
        not_empty("prior_conversation.role", self.role, 40)
        at_most("prior_conversation.text", self.text, 20_000)


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parameters of one task."""

    files_mentioned: tuple[str, ...] = ()  # 3.1
    code_snippets: tuple[str, ...] = ()
    prior_conversation: tuple[Message, ...] = ()
    expert: str = ""
    """Who leads, whatever intake finds: a human's override (9.3), counted."""
    folder: str = ""
    """The artifact that the task's folder begins as; empty: it begins empty."""
    wording: Literal["never", "extended", "standard"] = "extended"
    """From which depth on claims and challenges of experts with a language model are worded by it; else as their
    specifications declare them."""
    claim_window_s: float = 1.0
    """For claims, and for challenges; a worded one has the session's turn time-out on top."""
    coordination_s: float = 10.0
    """9.1's time budget: past it the most confident expert leads."""
    tie_variance: float = 1e-4
    """9.1: confidences whose variance is not above this are equal, and priority decides."""
    security_confidence: float = 0.5
    """9.3: a security-critical task whose lead's confidence is below this is a human's to confirm."""
    max_support: int = 4
    """Requests of support in one task."""
    max_handoffs: int = 3
    max_reviews: int = 3  # 9.1: more than 3 iterations
    """Reviews that ask for a revision; after the last the work is emitted with a warning."""
    deliberation: Literal["", "consensus", "critic", "maci", "competition"] = ""
    """What a blocked lead's question is put to, as a child session; empty: to a human, as an open item."""
    deliberation_settings: dict[str, Any] = {}
    item_s: float = 300.0
    """So long an open item waits for a human; then its default holds."""
    attempts: int = 2  # 9.1: retry once
    tool_calls: int = 24
    """Of one turn of work."""
    work_calls: int = 12
    """Model calls of one turn of work: each may use tools."""
    max_input_tokens: int = 24_000
    max_output_tokens: int = 4_000

    def __post_init__(self) -> None:
        few("madp.files_mentioned", self.files_mentioned, 200)
        for name in self.files_mentioned:
            not_empty("madp.files_mentioned", name, 1_000)
        few("madp.code_snippets", self.code_snippets, 50)
        for text in self.code_snippets:
            at_most("madp.code_snippets", text, 50_000)
        few("madp.prior_conversation", self.prior_conversation, 200)
        if self.expert and not ID.fullmatch(self.expert):
            raise InvalidValue("madp.expert", self.expert, "it is no expert's id")
        in_range("madp.claim_window_s", self.claim_window_s, 0.25, 600)
        in_range("madp.coordination_s", self.coordination_s, 0.25, 3_600)
        in_range("madp.tie_variance", self.tie_variance, 0, 0.25)
        in_range("madp.security_confidence", self.security_confidence, 0, 1)
        in_range("madp.max_support", self.max_support, 0, 50)
        in_range("madp.max_handoffs", self.max_handoffs, 0, 50)
        in_range("madp.max_reviews", self.max_reviews, 0, 50)
        in_range("madp.item_s", self.item_s, 1, 30 * 86_400)
        in_range("madp.attempts", self.attempts, 1, 10)
        in_range("madp.tool_calls", self.tool_calls, 0, 1_000)
        in_range("madp.work_calls", self.work_calls, 1, 200)
        in_range("madp.max_input_tokens", self.max_input_tokens, 100, 10_000_000)
        in_range("madp.max_output_tokens", self.max_output_tokens, 20, 1_000_000)


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """3.1's task, as it is matched, posted and worked on."""

    prompt: str
    files_mentioned: tuple[str, ...] = ()
    code_snippets: tuple[str, ...] = ()
    prior_conversation: tuple[Message, ...] = ()


# ---------------------------------------------------------------- match (helper)


class Match(msgspec.Struct, frozen=True, kw_only=True):
    """Brief: which of the announced experts does this task call for?"""

    task: Task
    experts: int
    """How many were announced when the session was opened."""
    keyword: bool = False
    """9.2's degraded mode: the word-in-prompt score of 3.3 alone."""


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """An expert that may be relevant."""

    expert: str
    relevance: float
    """How much of the task its specification speaks to (matcher's score), 0 to 1."""
    confidence: float
    """Estimated probability that it is a right lead for this task, 0 to 1 (docs/decisions)."""
    why: str = ""
    """What matched, for whoever asks; at most 200 characters."""

    def __post_init__(self) -> None:
        in_range("candidates.relevance", self.relevance, 0, 1)
        in_range("candidates.confidence", self.confidence, 0, 1)
        at_most("candidates.why", self.why, 200)


class Factors(msgspec.Struct, frozen=True, kw_only=True):
    """3.2's complexity factors."""

    candidate_count: int
    confidence_variance: float
    domain_overlap: bool
    action_clarity: bool
    scope_definition: bool


class Matched(msgspec.Struct, frozen=True, kw_only=True):
    """Reply: candidates, the most confident first; none: it abstains."""

    candidates: tuple[Candidate, ...]
    factors: Factors
    specs: tuple[ExpertSpec, ...] = ()
    """Of candidates and reviewers."""
    reviewers: tuple[str, ...] = ()
    """Experts that review such work, the most fitting first (6.1)."""
    general: str = ""
    """The general-purpose expert that is there; empty: none is (9.1)."""
    security: bool = False
    """The task is security-critical (9.3)."""
    matcher: str = ""
    """Which matcher it was: `words`, `better` or `keyword`, with the encoder."""

    def __post_init__(self) -> None:
        few("matched.candidates", self.candidates, MOST_CANDIDATES)
        few("matched.reviewers", self.reviewers, MOST_CANDIDATES)
        few("matched.specs", self.specs, 3 * MOST_CANDIDATES)


# ---------------------------------------------------------------- claims and challenges (the floor, or turns)


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """4.3. Spoken in the window `claims` as kind `claim`; or the reply to the turn `claim`."""

    agent_id: str
    claim: str
    """One sentence."""
    relevance: Relevance
    defers_to: tuple[str, ...] = ()
    """Better suited for parts of the task."""
    requires: tuple[str, ...] = ()
    """Needed for collaboration."""
    topics: dict[str, str] = {}
    """Of those deferred to or required: for what."""
    confidence: float = 0.0
    """The expert's own, by its specification and matcher, 0 to 1."""
    reword: bool = False
    """From the floor only: its model is to word it, so it asks for the turn."""
    spec: ExpertSpec | None = None
    """Its specification, where intake did not name it a candidate."""

    def __post_init__(self) -> None:
        not_empty("claim", self.claim, 600)
        in_range("claim.confidence", self.confidence, 0, 1)
        for field in ("defers_to", "requires"):
            few(f"claim.{field}", getattr(self, field), 12)
            for expert in getattr(self, field):
                if not ID.fullmatch(expert):
                    raise InvalidValue(f"claim.{field}", expert, "it is no expert's id")


class Pass(msgspec.Struct, frozen=True, kw_only=True):
    """Spoken in the window `claims` as kind `pass`: the task is not this expert's."""

    agent_id: str
    why: str = ""

    def __post_init__(self) -> None:
        at_most("pass.why", self.why, 600)


Resolution = Literal["lead", "support", "collaborate", "exclude"]
"""4.4: what the challenged one should be: the lead in the challenger's place; support; a peer, both keeping their part;
nothing."""


class Challenge(msgspec.Struct, frozen=True, kw_only=True):
    """4.4."""

    challenger_id: str
    challenged_id: str
    reason: str
    proposed_resolution: Resolution

    def __post_init__(self) -> None:
        not_empty("challenge.reason", self.reason, 600)


class Challenges(msgspec.Struct, frozen=True, kw_only=True):
    """What one expert objects to: spoken in the window `challenges` as kind `challenges`, maybe none; or the reply to
    the turn `challenge`."""

    challenges: tuple[Challenge, ...] = ()
    reword: bool = False
    """From the floor only: its model is to word them, so it asks for the turn."""

    def __post_init__(self) -> None:
        few("challenges", self.challenges, 8)


class ClaimBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of the turn `claim`: word your claim."""

    task: Task
    expert: str
    declared: Claim
    candidates: tuple[str, ...]


class ChallengeBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of the turn `challenge`: do others claim what is yours, or is theirs what you claim?"""

    task: Task
    expert: str
    claims: tuple[Claim, ...]


# ---------------------------------------------------------------- consensus


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """4.5."""

    agent_id: str
    responsibility: str


class Exclusion(msgspec.Struct, frozen=True, kw_only=True):
    """4.5."""

    agent_id: str
    reason: str


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """4.5."""

    lead: Assignment | None
    """None: nobody takes it."""
    support: tuple[Assignment, ...] = ()
    excluded: tuple[Exclusion, ...] = ()


class Consensus(msgspec.Struct, frozen=True, kw_only=True):
    """4.5's ConsensusResult."""

    task_id: str
    deliberation_id: str
    outcome: Outcome
    rationale: str
    token_cost: int
    how: Literal["implicit", "explicit", "override", "degraded", "timeout", "general", "human"] = "explicit"
    conflict: str = ""
    """Why it is in doubt (9.3); empty: it is not."""
    notes: tuple[str, ...] = ()
    """Ties broken, deferrals that went in a circle, warnings."""


# ---------------------------------------------------------------- work


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a tool, for the log."""

    server: str
    tool: str
    arguments: str
    """As JSON, cut to 2,000 characters."""
    ok: bool
    result: str = ""
    """Cut to 2,000 characters."""
    seconds: float = 0.0


class Artifact(msgspec.Struct, frozen=True, kw_only=True):
    """What stands in the object store."""

    id: str
    """SHA-256 of its bytes, hex."""
    type: str = "folder"
    """`folder` (a tar archive of the task's folder) or the media type of one file."""
    path: str = ""
    size: int = 0
    """Bytes."""

    def __post_init__(self) -> None:
        if len(self.id) != 64 or not set(self.id) <= set("0123456789abcdef"):
            raise InvalidValue("artifact.id", self.id, "wanted are 64 hex digits")
        at_most("artifact.type", self.type, 100)
        at_most("artifact.path", self.path, 1_000)


class TaskState(msgspec.Struct, frozen=True, kw_only=True):
    """5.2's task_state."""

    completed: tuple[str, ...] = ()
    remaining: tuple[str, ...] = ()
    artifacts: tuple[Artifact, ...] = ()


class SupportRequest(msgspec.Struct, frozen=True, kw_only=True):
    """5.1's request_support: a scoped sub-task for somebody else."""

    agent_id: str
    sub_task: str

    def __post_init__(self) -> None:
        not_empty("support.sub_task", self.sub_task, 8_000)


class HandoffRequest(msgspec.Struct, frozen=True, kw_only=True):
    """5.2. `from_agent` is the seat that says it."""

    to_agent: str
    reason: str
    completed: tuple[str, ...] = ()
    remaining: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        not_empty("handoff.reason", self.reason, 2_000)
        few("handoff.completed", self.completed, 40)
        few("handoff.remaining", self.remaining, 40)


class Supported(msgspec.Struct, frozen=True, kw_only=True):
    """What a support expert gave back."""

    agent_id: str
    sub_task: str
    output: str
    artifacts: tuple[Artifact, ...] = ()


Severity = Literal["critical", "major", "minor", "suggestion"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """6.2."""

    severity: Severity
    description: str
    location: str = ""
    suggested_fix: str = ""

    def __post_init__(self) -> None:
        not_empty("findings.description", self.description, 4_000)
        at_most("findings.location", self.location, 400)
        at_most("findings.suggested_fix", self.suggested_fix, 4_000)


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
    folder: str = ""
    """The artifact that the task's folder is a fresh copy of; empty: it begins empty."""
    tool_calls: int = 0
    model_calls: int = 1


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """Reply to `work`. `request_support`, `handoff` and `blocked` end the turn."""

    outcome: Literal["done", "request_support", "handoff", "blocked"]
    summary: str
    """One or two sentences."""
    output: str = ""
    """The result, in full; of `done`."""
    support: SupportRequest | None = None
    handoff: HandoffRequest | None = None
    blocked: str = ""
    """The question that has to be decided; of `blocked`."""
    folder: Artifact | None = None
    """The task's folder after it, where tools changed it."""
    diff: str = ""
    """Unified, of the folder against the one that it began with; cut to 60,000 characters."""
    calls: tuple[ToolCall, ...] = ()

    def __post_init__(self) -> None:
        not_empty("work.summary", self.summary, 2_000)
        at_most("work.output", self.output, 60_000)
        at_most("work.diff", self.diff, 60_000)
        at_most("work.blocked", self.blocked, 8_000)
        few("work.calls", self.calls, 1_000)
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


class Support(msgspec.Struct, frozen=True, kw_only=True):
    """Reply to `support`: what goes back to the lead. Its folder is its own; the lead's stays as it is."""

    summary: str
    output: str
    folder: Artifact | None = None
    diff: str = ""
    calls: tuple[ToolCall, ...] = ()

    def __post_init__(self) -> None:
        not_empty("support.summary", self.summary, 2_000)
        at_most("support.output", self.output, 60_000)
        at_most("support.diff", self.diff, 60_000)
        few("support.calls", self.calls, 1_000)


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


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """Reply to `review` (6.2)."""

    verdict: Literal["approved", "revision_needed", "blocked"]
    findings: tuple[Finding, ...] = ()

    def __post_init__(self) -> None:
        few("review.findings", self.findings, 40)
        if self.verdict != "approved" and not self.findings:
            raise InvalidValue("review.findings", [], f"the verdict {self.verdict} names at least one finding")


# ---------------------------------------------------------------- posts


class TaskPosted(msgspec.Struct, frozen=True, kw_only=True):
    """Post `task` on `public`: what every expert process hears."""

    task: Task
    depth: Depth
    candidates: tuple[Candidate, ...]
    factors: Factors
    claims: Literal["none", "brief", "full"]
    """How long a claim is wanted, if any (4.2)."""
    reword: bool = False
    """Whether experts with a language model may ask for a turn that words it."""
    matcher: str = ""
    override: str = ""
    """Whom a human named."""
    degraded: bool = False


class ClaimsPosted(msgspec.Struct, frozen=True, kw_only=True):
    """Post `claims` on `public`: all of them, when their window closed; challenges may follow."""

    claims: tuple[Claim, ...]
    passed: tuple[Pass, ...] = ()
    silent: tuple[str, ...] = ()
    """Candidates that did not speak in time."""
    challenges: bool = False
    """Whether the window of challenges is open now."""
    reword: bool = False


class HandedOver(msgspec.Struct, frozen=True, kw_only=True):
    """Post `handoff` (5.2's HandoffRequest)."""

    from_agent: str
    to_agent: str
    reason: str
    task_state: TaskState


class Reviewed(msgspec.Struct, frozen=True, kw_only=True):
    """Post `review` (6.2's ReviewResult)."""

    reviewer_id: str
    verdict: str
    findings: tuple[Finding, ...]
    iteration: int


ItemKind = Literal["review_limit", "conflict", "security", "invalid", "blocked", "override"]


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """Post `item` on `inbox`: a question to a human, open until its deadline (9.3)."""

    id: str
    """`1`, `2`, ... in its session."""
    kind: ItemKind
    question: str
    choices: tuple[str, ...]
    """What may be answered; an answer to `blocked` is free text."""
    default: str
    """What holds if nobody answers in time."""
    deadline_ns: int


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """Post `answered` on `inbox`."""

    id: str
    choice: str
    note: str = ""
    author: str = ""
    """Empty: nobody answered in time, and the default holds."""


class Warned(msgspec.Struct, frozen=True, kw_only=True):
    """Post `warning` on `public`."""

    text: str


# Other posts on `public`: `consensus` (Consensus), `work` (Work, without `folder` bytes), `support` (Supported),
# `challenges` (Challenges of one expert), `deliberation` (a child session: {"session", "protocol", "question"} and,
# once it ended, {"session", "result"}).
