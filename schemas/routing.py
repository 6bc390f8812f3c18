"""Which expert a task goes to: the task, the candidates that a matcher finds, and what is told of how it went.

Relevance and confidence are 0 to 1.
"""

from typing import Literal

import msgspec

from parley.schemas.expert import ExpertSpec, pin
from parley.schemas.wire import at_most, few, in_range, not_empty


class Message(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One message of an earlier conversation."""

    role: str
    text: str

    def __post_init__(self) -> None:
        not_empty("prior_conversation.role", self.role, 40)
        at_most("prior_conversation.text", self.text, 20_000)


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """3.1's task, as it is matched, posted and worked on."""

    prompt: str
    files_mentioned: tuple[str, ...] = ()
    code_snippets: tuple[str, ...] = ()
    prior_conversation: tuple[Message, ...] = ()


Depth = Literal["instant", "quick", "standard", "extended"]


DEPTHS: tuple[Depth, ...] = ("instant", "quick", "standard", "extended")


MOST_CANDIDATES = 12


ASKED = ", asked "
"""In the name of a matcher: the language model of this name was asked, and who leads is its answer."""


NOT_ASKED, NOT_ANSWERED = "no model asked: ", "the model that was asked: "
"""Beginnings of a match's flags: the match is the computed one, though it was unsure, and why."""


class Asking(msgspec.Struct, frozen=True, kw_only=True):
    """When the helper's language model, if it has one, is asked who should lead."""

    below: float
    """Where the confidence of the best candidate is below this, or there is none."""
    within_s: float
    """How long its answer may take."""
    refused: str = ""
    """Why it is not asked all the same; at most 160 characters."""

    def __post_init__(self) -> None:
        in_range("asking.below", self.below, 0, 1)
        at_most("asking.refused", self.refused, 160)


class Match(msgspec.Struct, frozen=True, kw_only=True):
    """Brief: which of the announced experts does this task call for?"""

    task: Task
    experts: int
    """How many were announced when the session was opened."""
    keyword: bool = False
    """9.2's degraded mode: the word-in-prompt score of 3.3 alone."""
    asking: Asking | msgspec.UnsetType = msgspec.UNSET
    """Absent: no language model is asked."""


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """An expert that may be relevant."""

    expert: str
    relevance: float
    """How much of the task its specification speaks to (matcher's score), 0 to 1."""
    confidence: float
    """Estimated probability that it is a right lead for this task, 0 to 1 (docs/madp.md)."""
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


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """What of an expert's specification the coordination needs."""

    expert: str
    pin: str
    """Of the specification that was matched: held against the one that the expert was announced with."""
    claim: str
    priority: int
    general: bool = False

    @classmethod
    def of(cls, spec: ExpertSpec) -> "Profile":
        """From the specification."""
        return cls(
            expert=spec.id, pin=pin(spec), claim=spec.deliberation.claim, priority=spec.priority, general=spec.general
        )


class Matched(msgspec.Struct, frozen=True, kw_only=True):
    """Reply: candidates, the most confident first; none: it abstains."""

    candidates: tuple[Candidate, ...]
    factors: Factors
    profiles: tuple[Profile, ...] = ()
    """Of candidates, reviewers and the general-purpose expert."""
    reviewers: tuple[str, ...] = ()
    """Experts that review such work, the most fitting first (6.1)."""
    general: str = ""
    """The general-purpose expert that is there; empty: none is (9.1)."""
    security: bool = False
    """The task is security-critical (9.3)."""
    matcher: str = ""
    """Which matcher it was: `words`, `better` or `keyword`, with the encoder; and the language model that was asked."""

    def __post_init__(self) -> None:
        few("matched.candidates", self.candidates, MOST_CANDIDATES)
        few("matched.reviewers", self.reviewers, MOST_CANDIDATES)
        few("matched.profiles", self.profiles, 3 * MOST_CANDIDATES)


MOST_WHY = 600
"""Characters of what failed."""


class TaskOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a task's session tells the breaker, as `outcome`, once."""

    session: str
    ok: bool
    """Whether its coordination went well; in degraded mode, whether the task found its lead."""
    why: str = ""
    """What failed."""
    counts: bool = True
    """False: the failure may be the asker's own settings' doing, and says nothing of anybody else's tasks."""

    def __post_init__(self) -> None:
        at_most("outcome.session", self.session, 64)
        at_most("outcome.why", self.why, MOST_WHY)

    @classmethod
    def of(cls, session: str, failure: str, counts: bool = True) -> "TaskOutcome":
        """Of a task's session; without a failure it went well, and a long one is cut."""
        return cls(session=session, ok=not failure, why=failure[:MOST_WHY], counts=counts)
