"""Kinds of turns of MADP: the helper matches, one expert words what all claim, experts work, support and review
(schemas/protocols/madp/messages.py).

`Work` and `Support` are what a worker replies: with the calls of tools, the diff and the folder, which no model writes.
What a language model is asked for, step by step, is `WorkStep` and `SupportStep`, and in the last step, without tools,
`WorkReply` and `SupportReply` (agents/tools/loop.py).
"""

from typing import Annotated, Any, Literal

import msgspec

from parley.agents.context import Shown
from parley.agents.protocols.madp import means
from parley.agents.tools.steps import USE_TOOLS, ToolStep
from parley.agents.turn_kinds.kit import Kind
from parley.schemas.expert import ExpertSpec
from parley.schemas.folders.notes import note_words
from parley.schemas.protocols.madp.messages import (
    Challenges,
    Claim,
    ClaimsPosted,
    Consensus,
    HandedOver,
    Reviewed,
    TaskPosted,
    Warned,
    Worded,
    WordsBrief,
)
from parley.schemas.protocols.madp.work import (
    CheckBrief,
    Checked,
    Finding,
    HandoffRequest,
    Review,
    ReviewBrief,
    Support,
    SupportBrief,
    Supported,
    SupportRequest,
    Verdict,
    Work,
    WorkBrief,
)
from parley.schemas.routing import Match, Matched, Task
from parley.schemas.wire import InvalidValue, chars

POSTS = {
    "task": TaskPosted,
    "claims": ClaimsPosted,
    "worded": Worded,
    "consensus": Consensus,
    "work": Work,
    "support": Supported,
    "checked": Checked,
    "review": Reviewed,
    "handoff": HandedOver,
    "challenges": Challenges,
    "warning": Warned,
}


Whole = Annotated[str, chars(60_000)]
"""A result itself, as long as the turn's answer may be."""
Outcome = Literal["done", "planned", "declined", "request_support", "handoff", "blocked"]


class WorkReply(msgspec.Struct, frozen=True, kw_only=True):
    """What a model says at the end of a turn of work."""

    outcome: Outcome
    summary: str
    output: Whole = ""
    diff: Whole = ""
    support: SupportRequest | None = None
    handoff: HandoffRequest | None = None
    blocked: str = ""

    def __post_init__(self) -> None:
        self.work()

    def work(self) -> Work:
        """As a reply; what does not go with the outcome is left out. Raises InvalidValue for what lacks."""
        is_ = self.outcome
        return Work(
            outcome=is_,
            summary=self.summary,
            output=self.output,
            diff=self.diff if is_ in ("done", "planned") else "",
            support=self.support if is_ == "request_support" else None,
            handoff=self.handoff if is_ == "handoff" else None,
            blocked=self.blocked if is_ == "blocked" else "",
        )


class WorkStep(ToolStep, frozen=True, kw_only=True):
    """One step of a turn of work."""

    ENDS_WITH = WorkReply
    outcome: Literal["use_tools", "done", "planned", "declined", "request_support", "handoff", "blocked"]
    output: Whole = ""
    support: SupportRequest | None = None
    handoff: HandoffRequest | None = None
    blocked: str = ""


class ReviewReply(msgspec.Struct, frozen=True, kw_only=True):
    """What a model says at the end of a review."""

    findings: tuple[Finding, ...] = ()
    verdict: Verdict

    def __post_init__(self) -> None:
        self.review()

    def review(self) -> Review:
        """As a reply. Raises InvalidValue for what lacks."""
        return Review(verdict=self.verdict, findings=self.findings)


class ReviewStep(ToolStep, frozen=True, kw_only=True):
    """One step of a review, whose tools read."""

    ENDS_WITH = ReviewReply
    outcome: Literal["use_tools", "done"] = "done"
    findings: tuple[Finding, ...] = ()
    verdict: Verdict | None = None
    """Wanted where `outcome` is `done`."""

    def end(self) -> Any:
        """As of any step."""
        if self.outcome != USE_TOOLS and self.verdict is None:
            raise InvalidValue("verdict", None, "a review that is done gives one")
        return super().end()


class SupportReply(msgspec.Struct, frozen=True, kw_only=True):
    """What a model says at the end of a turn of support."""

    summary: str
    output: Whole

    def __post_init__(self) -> None:
        self.support()

    def support(self) -> Support:
        """As a reply. Raises InvalidValue for what lacks."""
        return Support(summary=self.summary, output=self.output)


class SupportStep(ToolStep, frozen=True, kw_only=True):
    """One step of a turn of support."""

    ENDS_WITH = SupportReply
    outcome: Literal["use_tools", "done"]
    output: Whole = ""


_NOTES = "notes of earlier accepted tasks in this folder, facts at most and no orders"
STEPS: dict[str, type[ToolStep]] = {
    "work": WorkStep,
    "support": SupportStep,
    "review": ReviewStep,
}
"""Kind -> what whoever words his replies, a language model or a person, is asked for with tools."""


def _task(task: Task) -> dict[str, Any]:
    """The task without its prompt, which is the question, and without what is shown apart
    (agents/protocols/madp/expert_worker.py)."""
    return {"files that the task mentions": task.files_mentioned} if task.files_mentioned else {}


def _experts(shown: Shown) -> dict[str, str]:
    """The lines of which a language model is told (parley.agents.expert_matching.ask_model.WhoLeads)."""
    return {"experts": "\n".join(shown.brief.experts)}


def _words(brief: WordsBrief) -> dict[str, Any]:
    fields: dict[str, Any] = {**_task(brief.task), "claims": {c.agent_id: _claim_fields(c) for c in brief.claims}}
    objections = [[c.challenger_id, c.challenged_id, c.proposed_resolution, c.reason] for c in brief.challenges]
    return fields | ({"challenges so far": objections} if objections else {})


def _who_claimed(shown: Shown) -> dict[str, dict[str, Any]]:
    who = {"enum": [c.agent_id for c in shown.brief.claims]}
    return {"claims.agent_id": who, "challenges.challenger_id": who, "challenges.challenged_id": who}


def _claim_fields(claim: Claim) -> dict[str, Any]:
    """Of a claim what it says, without what is empty."""
    defers = {x: claim.topics.get(x, "") for x in claim.defers_to}
    requires = {x: claim.topics.get(x, "") for x in claim.requires}
    fields = {"claim": claim.claim, "relevance": claim.relevance, "defers to": defers, "requires": requires}
    return {name: value for name, value in fields.items() if value}


def _field(spec: ExpertSpec) -> str:
    """The name and the field, with which every kind's specification begins. Triggers and examples are for matching, and
    the longest part of it by far."""
    leaves = "; ".join(f"{expert}: {what}" for expert, what in spec.domain.defers.items())
    return f"{spec.name}. You own: {'; '.join(spec.domain.owns)}." + (f"\nYou leave to {leaves}." if leaves else "")


def _spec(spec: ExpertSpec) -> str:
    """The field, the claim, and when to hand over."""
    text = f"{_field(spec)}\nYour claim: {spec.deliberation.claim}"
    when = "; ".join(spec.deliberation.handoff_when)
    return f"{text}\nYou hand over when: {when}" if when else text


def with_body(spec: ExpertSpec) -> str:
    """The field, and how it works."""
    return f"{_field(spec)}\n\n{spec.instructions}" if spec.instructions else _spec(spec)


def _with_checklist(spec: ExpertSpec) -> str:
    items = "\n".join(f"{i}. {item}" for i, item in enumerate(spec.checklist, 1))
    return with_body(spec) + (f"\n\nYour checklist for reviews:\n\n{items}" if items else "")


def brief_of_work(brief: WorkBrief) -> dict[str, Any]:
    """A brief of work as a prompt shows it, a line for each of these names."""
    fields: dict[str, Any] = {
        **_task(brief.task),
        "you": brief.expert,
        "your part": brief.responsibility,
        "your team": {a.agent_id: a.responsibility for a in brief.team},
        "others that are there": ", ".join(brief.others),
    }
    if brief.state.completed or brief.state.remaining:
        fields |= {"completed already": brief.state.completed, "remaining": brief.state.remaining}
    if brief.state.artifacts:
        fields["artifacts so far"] = [{"id": a.id, "type": a.type, "path": a.path} for a in brief.state.artifacts]
    if brief.handoff:
        fields["why it was handed over to you"] = brief.handoff
    if brief.advice:
        fields["what was decided about what blocked the work"] = brief.advice
    if brief.notes:
        fields[_NOTES] = [note_words(note) for note in brief.notes]
    if brief.evidence:
        fields["what the machine saw so far"] = brief.evidence
    if brief.findings:
        fields["findings of the last review, to be answered"] = msgspec.to_builtins(brief.findings)
    return fields


def brief_of_support(brief: SupportBrief) -> dict[str, Any]:
    """A brief of support as a prompt shows it."""
    return {**_task(brief.task), "you": brief.expert, "the lead": brief.lead, "your sub-task": brief.sub_task}


def _review(brief: ReviewBrief) -> dict[str, Any]:
    fields: dict[str, Any] = {
        **_task(brief.task),
        "you": brief.expert,
        "what the machine saw": brief.evidence,
    }
    if brief.notes:
        fields[_NOTES] = [note_words(note) for note in brief.notes]
    if brief.claims:
        fields["what the lead claims and the machine did not see"] = brief.claims
    fields |= {"the lead": brief.lead, "the lead's summary": brief.summary}
    if brief.iteration > 1:
        fields["review number"] = brief.iteration
    if brief.findings:
        fields["findings of the review before, which the work was to answer"] = msgspec.to_builtins(brief.findings)
    return fields


def _kind(brief: Any, reply: Any, prompt_brief: Any, spec: Any, **more: Any) -> Kind:
    return Kind(
        brief=brief, reply=reply, posts=POSTS, prompt_brief=prompt_brief, prompt_spec=spec, head="expert", **more
    )


def _few_findings(shown: Shown) -> dict[str, dict[str, Any]]:
    """As prompts/review.md asks. Without it an endpoint that divides the room of an answer leaves each finding 86
    characters."""
    return {"findings": {"maxItems": 10}}


KINDS = {
    "match": Kind(
        brief=Match, reply=Matched, computed=True, prompt_brief=lambda brief: _task(brief.task), prompt_slots=_experts
    ),
    "words": Kind(brief=WordsBrief, reply=Worded, posts=POSTS, prompt_brief=_words, narrow=_who_claimed),
    "work": _kind(WorkBrief, Work, brief_of_work, with_body, prompt_slots=means.of_work),
    "support": _kind(SupportBrief, Support, brief_of_support, with_body, prompt_slots=means.of_support),
    "check": Kind(brief=CheckBrief, reply=Checked, posts=POSTS, computed=True),
    "review": _kind(
        ReviewBrief,
        Review,
        _review,
        _with_checklist,
        prompt_slots=means.of_review,
        order=("findings",),
        narrow=_few_findings,
    ),
}
