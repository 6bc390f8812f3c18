"""MADP tasks for the kill tests: one taken at once, and one that three experts claim from the floor. In each a lead
asks for support, hands over, and revises what the reviews find; in the first a lead is blocked too, and a debate
beneath the task decides.

The experts are of those that ship, and hear for themselves. What they and the helper say is written down here, by what
they are shown alone, so that a process that takes a turn on says the same.
"""

from typing import Any

import msgspec

from parley.agents.context import Shown
from parley.agents.protocols.madp.kinds import WorkReply, WorkStep
from parley.agents.tools.steps import Call
from parley.schemas.expert import queue_of
from parley.schemas.protocols.madp.work import (
    Finding,
    HandoffRequest,
    Review,
    ReviewBrief,
    Support,
    SupportBrief,
    SupportRequest,
    Work,
    WorkBrief,
)
from parley.schemas.routing import Candidate, Factors, Matched, Profile
from parley.schemas.session import OpenSession
from parley.stack.rows import AgentRow
from tests.chaos.harness import CONSENSUS, TURN_TIMEOUT_S, TURNS, Play

DBA, IMPL, SRE, AUDITOR, QA, GENERALIST = (
    "database-engineer", "implementation-engineer", "sre", "implementation-auditor", "qa-engineer", "generalist",
)  # fmt: skip
EXPERTS = (DBA, IMPL, SRE, AUDITOR, QA, GENERALIST)
AT_ONCE_PROMPT, BLOCKED = "Take it at once", "Which answer is it?"
replace = msgspec.structs.replace


def at_once(seeds: int = 1) -> Play:
    """Routed at once; blocked first, so that a session runs beneath it."""
    settings = {"deliberation": "consensus"}
    # match, work (blocked), work, support, work (handoff), then work and one review, twice
    return _play("at-once", AT_ONCE_PROMPT, 9, settings, seeds, 5, beneath=TURNS, queues=CONSENSUS.queues)


def claimed(seeds: int = 1) -> Play:
    """Three claim it and challenge each other, from the floor; two review."""
    return _play("claimed", "Claim it", 10, {"wording": "never"}, seeds, 8)


def _play(
    label: str, prompt: str, turns: int, settings: dict[str, Any], seeds: int, others: int, *,
    beneath: int = 0, queues: tuple[str, ...] = (),
) -> Play:  # fmt: skip
    # The window is beyond all that a few restarts of moderators can cost; who was killed himself is silent.
    given = {"claim_window_s": 4.0, "coordination_s": TURN_TIMEOUT_S, "item_s": 2.0, **settings}
    request = OpenSession(question=prompt, protocol="madp", settings=given, turn_timeout_s=TURN_TIMEOUT_S)
    own = ("helper", *(queue_of(x) for x in EXPERTS))
    return Play(
        request=request, turns=turns, queues=(*own, *queues), seeds=seeds, label=f"task-{label}", beneath=beneath,
        others=others, experts=len(EXPERTS),
    )  # fmt: skip


def rows(*plays: Play) -> tuple[AgentRow, ...]:
    """Every queue that one of them needs; experts' models count tokens, so that they are asked for their words. The
    helper, asked once a task, takes long enough to be killed amid it."""
    queues = dict.fromkeys(q for p in plays for q in p.queues)
    options: dict[str, dict[str, Any]] = {"expert": {"metered": True}, "helper": {"latency_s": 0.3}}
    return tuple(AgentRow(queue=q, room=16, options=options.get(q.partition("_")[0], {})) for q in queues)


# ---------------------------------------------------------------- what they say


def said(shown: Shown, mark: str) -> Any:
    """The reply to a turn; in words that nobody counts on stands the mark."""
    match shown.brief:
        case WorkBrief() as brief:
            return _work(brief, mark)
        case SupportBrief() as brief:
            return Support(summary="Here it is.", output=f"The part of it, having seen {mark}")
        case ReviewBrief() as brief:
            found = Finding(severity="major", description=f"{brief.expert} misses something, having seen {mark}")
            again = brief.iteration == 1
            return Review(verdict="revision_needed" if again else "approved", findings=(found,) if again else ())
    raise KeyError(shown.kind)


def _work(brief: WorkBrief, mark: str) -> Work:
    text = f"having seen {mark}"
    if brief.findings or brief.handoff:
        return Work(outcome="done", summary="It is done.", output=f"All of it, {text}")
    if brief.supported:
        to = DBA if brief.expert == IMPL else IMPL
        return Work(
            outcome="handoff", summary=f"It is for {to}, {text}",
            handoff=HandoffRequest(to_agent=to, reason="It is theirs.", completed=("a",), remaining=("b",)),
        )  # fmt: skip
    if brief.task.prompt == AT_ONCE_PROMPT and not brief.advice:
        return Work(outcome="blocked", summary=f"I am stuck, {text}", blocked=BLOCKED)
    to = IMPL if brief.expert == SRE else SRE
    return Work(
        outcome="request_support", summary=f"I need help, {text}",
        support=SupportRequest(agent_id=to, sub_task="A part of it."),
    )  # fmt: skip


async def matched(shown: Shown) -> Matched:
    """Of the experts that the helper has heard of, those that the prompt calls for."""
    assert shown.experts is not None
    await shown.experts.settled(shown.brief.experts)
    there = {spec.id: spec for spec in shown.experts.specs()}
    sure = {IMPL: 0.95} if shown.question == AT_ONCE_PROMPT else {DBA: 0.7, SRE: 0.65, IMPL: 0.6}
    named = tuple(Candidate(expert=x, relevance=c, confidence=c) for x, c in sure.items() if x in there)
    factors = Factors(
        candidate_count=len(named), confidence_variance=0.0, domain_overlap=True, action_clarity=True,
        scope_definition=True,
    )  # fmt: skip
    reviewers = tuple(x for x in (AUDITOR, QA) if x in there)
    profiles = tuple(Profile.of(there[x]) for x in (*(c.expert for c in named), *reviewers))
    general = GENERALIST if GENERALIST in there else ""
    return Matched(
        candidates=named, factors=factors, profiles=profiles, reviewers=reviewers, general=general, matcher="words"
    )


def seen(shown: Shown) -> list[Any]:
    """What a seat was shown, without what comes as it comes: the order of claims and findings, and the words that a
    session beneath ended with."""
    brief: dict[str, Any] = msgspec.to_builtins(shown.brief)
    for field in ("claims", "challenges", "findings"):
        if field in brief:
            brief[field] = sorted(brief[field], key=msgspec.json.encode)
    brief.pop("advice", None)
    return [shown.question, shown.seat, shown.kind, brief]


def edits(shown: Shown) -> Any:
    """A step of work with the tools that ship: the greeting is changed, and then it is said so."""
    if shown.steps is not None and shown.steps.did:
        return WorkReply(outcome="done", summary="It is done.", output="It says hello now.")
    arguments = msgspec.json.encode({"path": "app.py", "old": "hi", "new": "hello"}).decode()
    return WorkStep(outcome="use_tools", calls=(Call(server="files", tool="replace_in_file", arguments=arguments),))
