"""The MADP protocol's messages (source: seeds/madp.md, whose sections are cited by their numbers; docs/madp.md).

Relevance and confidence are 0 to 1. A task is one session; its experts are seats named by their ids.
"""

from typing import Annotated, Any, Literal

import msgspec

from parley.schemas.expert import ID, ExpertSpec, Relevance
from parley.schemas.folders.notes import PROJECT
from parley.schemas.protocols.madp.work import (
    Assignment,
    Finding,
    TaskState,
)
from parley.schemas.routing import Candidate, Depth, Factors, Message, Task
from parley.schemas.tools import ToolCall
from parley.schemas.wire import InvalidValue, Limited, between, chars, items

CLAIMS, CHALLENGES, ITEM = "claims", "challenges", "item"
"""Windows: of claims, of challenges, and `item <n>` of an open item."""
WORK_S = 900.0
"""Seconds that whoever works in a folder with tools has, unless the request says otherwise."""


class Settings(Limited, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parameters of one task."""

    where = "madp."
    files_mentioned: Annotated[tuple[Annotated[str, chars(1_000, least=1)], ...], items(200)] = ()  # 3.1
    code_snippets: Annotated[tuple[Annotated[str, chars(50_000)], ...], items(50)] = ()
    prior_conversation: Annotated[tuple[Message, ...], items(200)] = ()
    expert: str = ""
    """Who leads, whatever intake finds: a human's override (9.3), counted."""
    depth: Depth | Literal[""] = ""
    """How deep it is coordinated, whatever 4.1 says; empty: as deep as 4.1 says."""
    folder: str = ""
    """The artifact that the task's folder begins as; empty: it begins empty."""
    project: str | None = None
    """What the folder is called in what is remembered of tasks; None: nothing is."""
    ask_below: Annotated[float, between(0, 1)] = 0.97
    """Where the helper has a language model: the confidence of the best candidate below which it is asked who leads;
    0: never."""
    wording: Literal["never", "extended", "standard"] = "extended"
    """From which depth on a language model words claims and challenges, all in one turn, where a challenge is open;
    else they are as specifications declare them."""
    claim_window_s: Annotated[float, between(0.25, 600)] = 1.0
    """For claims, and for challenges. Who was called and has not spoken is waited for longer, until it is gone."""
    coordination_s: Annotated[float, between(0.25, 3_600)] = 10.0
    """9.1's time budget: past it the most confident expert leads. The helper's language model has its own, 30 s."""
    security_confidence: Annotated[float, between(0, 1)] = 0.5
    """9.3: a security-critical task whose lead's confidence is below this is a human's to confirm."""
    max_support: Annotated[int, between(0, 50)] = 4
    """Requests of support in one task."""
    max_handoffs: Annotated[int, between(0, 50)] = 3
    max_reviews: Annotated[int, between(0, 50)] = 3  # 9.1: more than 3 iterations
    """Reviews that ask for a revision; after the last the work is emitted with a warning."""
    deliberation: Literal["", "consensus", "critic", "maci", "competition"] = ""
    """What a blocked lead's question is put to, as a child session; empty: to a human, as an open item."""
    deliberation_settings: dict[str, Any] = msgspec.field(default_factory=dict)
    item_s: Annotated[float, between(0, 30 * 86_400)] = 300.0
    """So long an open item waits for a human; then its default holds. 0: nobody is there, and it holds at once."""
    tool_calls: Annotated[int, between(0, 1_000)] = 200
    """Of one turn of work."""
    work_calls: Annotated[int, between(1, 1_000)] = 100
    """Model calls of one turn of work, each of which may use tools, at most: where none are allowed it takes two."""
    check: Annotated[str, chars(1_000)] = ""
    """A command that is run in a sandbox, in copies of the folder, before and after the work; empty: none."""
    check_s: Annotated[float, between(1, 86_400)] = 300.0
    """It is ended after so many seconds."""
    check_goal: Literal["green", "regressions"] = "green"
    """What the work is approved with: that the check succeeds after it, or that the failures which the task names are
    gone and no new one is there; or only that nothing fails which did not fail before."""
    max_input_tokens: Annotated[int, between(100, 10_000_000)] = 24_000
    max_output_tokens: Annotated[int, between(20, 1_000_000)] = 4_000

    @property
    def least_turn_s(self) -> float:
        """Seconds that a turn has at least, where the request names no time of its own: the check runs within one, and
        whoever works in a folder takes many steps."""
        return max(self.check_s + 30 if self.check else 0.0, WORK_S if self.folder and self.tool_calls else 0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.expert and not ID.fullmatch(self.expert):
            raise InvalidValue("madp.expert", self.expert, "it is no expert's id")
        if self.project and not PROJECT.fullmatch(self.project):
            raise InvalidValue("madp.project", self.project[:80], "it is up to 80 letters, digits and . : / @ + - _")


# ---------------------------------------------------------------- claims and challenges (the floor)


class Claim(Limited, frozen=True, kw_only=True):
    """4.3. Spoken in the window `claims` as kind `claim`."""

    where = "claim."
    agent_id: str
    claim: Annotated[str, chars(600, least=1)]
    """One sentence."""
    relevance: Relevance
    defers_to: Annotated[tuple[str, ...], items(12)] = ()
    """Better suited for parts of the task."""
    requires: Annotated[tuple[str, ...], items(12)] = ()
    """Needed for collaboration."""
    topics: dict[str, str] = msgspec.field(default_factory=dict)
    """Of those deferred to or required: for what."""
    confidence: Annotated[float, between(0, 1)] = 0.0
    """The expert's own, by its specification and matcher, 0 to 1."""
    spec: ExpertSpec | None = None
    """Its specification, where intake did not name it a candidate."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in ("defers_to", "requires"):
            for expert in getattr(self, field):
                if not ID.fullmatch(expert):
                    raise InvalidValue(f"claim.{field}", expert, "it is no expert's id")


class Pass(Limited, frozen=True, kw_only=True):
    """Spoken in the window `claims` as kind `pass`: the task is not this expert's."""

    where = "pass."
    agent_id: str
    why: Annotated[str, chars(600)] = ""


Resolution = Literal["lead", "support", "collaborate", "exclude"]
"""4.4: what the challenged one should be: the lead in the challenger's place; support; a peer, both keeping their part;
nothing."""


class Challenge(Limited, frozen=True, kw_only=True):
    """4.4."""

    where = "challenge."
    challenger_id: str
    challenged_id: str
    reason: Annotated[str, chars(600, least=1)]
    proposed_resolution: Resolution


class Challenges(Limited, frozen=True, kw_only=True):
    """What one expert objects to, maybe nothing: spoken in the window `challenges` as kind `challenges`."""

    challenges: Annotated[tuple[Challenge, ...], items(8)] = ()


class WordsBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Brief of the turn `words`: word what all of them claim and object to. Who is asked claims nothing itself."""

    task: Task
    claims: tuple[Claim, ...]
    challenges: tuple[Challenge, ...] = ()
    """As declared."""


class WordedClaim(Limited, frozen=True, kw_only=True):
    """One expert's claim in the words of a model."""

    where = "claims."
    agent_id: str
    claim: Annotated[str, chars(600, least=1)]
    relevance: Relevance


class Worded(Limited, frozen=True, kw_only=True):
    """Reply to `words`, and post `worded` on `public`: its claims take the place of the declared ones, as far as it
    has them, and its challenges of all of them."""

    claims: Annotated[tuple[WordedClaim, ...], items(24)] = ()
    challenges: Annotated[tuple[Challenge, ...], items(24)] = ()


# ---------------------------------------------------------------- consensus


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


How = Literal["implicit", "explicit", "override", "degraded", "timeout", "general", "human", "preference"]
"""How it was found who leads."""


class Consensus(msgspec.Struct, frozen=True, kw_only=True):
    """4.5's ConsensusResult."""

    task_id: str
    deliberation_id: str
    outcome: Outcome
    rationale: str
    token_cost: int
    how: How = "explicit"
    instead_of: str = ""
    """With `preference`: who would lead if nothing had been learned."""
    conflict: str = ""
    """Why it is in doubt (9.3); empty: it is not."""
    notes: tuple[str, ...] = ()
    """Ties broken, deferrals that went in a circle, warnings."""


# ---------------------------------------------------------------- posts


class TaskPosted(msgspec.Struct, frozen=True, kw_only=True):
    """Post `task` on `public`: what every expert process hears."""

    task: Task
    depth: Depth
    candidates: tuple[Candidate, ...]
    factors: Factors
    claims: Literal["none", "brief", "full"]
    """How long a claim is wanted, if any (4.2)."""
    everyone: bool = False
    """Whether everybody who hears it says something, a pass at least: then the window need not stay open for whoever
    intake did not name."""
    matcher: str = ""
    override: str = ""
    """Whom a human named."""
    degraded: bool = False
    unmatched: bool = False
    """Nobody matched it: whoever has any of its words claims it."""


class ClaimsPosted(msgspec.Struct, frozen=True, kw_only=True):
    """Post `claims` on `public`: all of them, when their window closed; challenges may follow."""

    claims: tuple[Claim, ...]
    passed: tuple[Pass, ...] = ()
    silent: tuple[str, ...] = ()
    """Candidates that did not speak in time."""
    challenges: bool = False
    """Whether the window of challenges is open now."""


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
    calls: tuple[ToolCall, ...] = ()
    offered: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()


ItemKind = Literal["review_limit", "conflict", "security", "invalid", "blocked", "unchecked"]


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


class Deliberated(msgspec.Struct, frozen=True, kw_only=True):
    """Post `deliberation` on `public`: a session beneath this one, as it begins, and once it ended."""

    session: str
    protocol: str
    question: str = ""
    """What it is to decide; empty once it ended."""
    status: str = ""
    """finished | failed | cancelled | refused | erased; empty: it begins."""
    reason: str = ""
    why: str = ""
    """In words, where there is no result."""
    result: dict[str, Any] = {}
    """The outcome of its result frame."""


# Other posts on `public`: `worded` (Worded), `consensus` (Consensus), `work` (Work), `support` (Supported),
# `challenges` (Challenges of one expert), `checked` (Checked).
