"""A MADP task played by hand: admitted, matched, claimed, worked on, without a bus."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import msgspec

from parley.coordinator.admission import admit
from parley.coordinator.protocols import PROTOCOLS
from parley.schemas import log
from parley.schemas.artifact import Artifact
from parley.schemas.expert import Deliberation, Domain, ExpertSpec, Known, Relevance, Triggers, pin, queue_of
from parley.schemas.past_sessions.learned import Learned
from parley.schemas.presence import Announcement
from parley.schemas.protocols.madp.messages import Challenge, Challenges, Claim, Pass, Resolution
from parley.schemas.protocols.madp.work import Finding, HandoffRequest, Review, Support, SupportRequest, Work
from parley.schemas.result import Result
from parley.schemas.routing import Candidate, Factors, Matched, Profile
from parley.schemas.session import Budget, Document, OpenSession, Seat, SessionEnded
from parley.schemas.wire import decode, encode, raw
from tests.support.play import BasePlay, tried

MADP = PROTOCOLS["madp"]
ARCH, IMPL, SRE, SEC = "systems-architect", "implementation-engineer", "sre", "security-architect"
AUDITOR, QA, GENERAL = "implementation-auditor", "qa-engineer", "generalist"
PRIORITIES = {ARCH: 1, IMPL: 2, SRE: 3, SEC: 4, AUDITOR: 5, QA: 6, GENERAL: 99}
EXPERTS = tuple(PRIORITIES)
TASK = "Improve the performance of our API"


@cache
def spec(expert: str, **more: Any) -> ExpertSpec:
    """A small specification."""
    return ExpertSpec(
        id=expert, name=expert.title(), priority=PRIORITIES.get(expert, 50),
        category={GENERAL: "general", SEC: "security"}.get(expert, "engineering"),
        triggers=Triggers(primary=(expert,)), domain=Domain(owns=(f"what {expert} owns",)),
        deliberation=Deliberation(claim=f"{expert} takes what is its own."), **more,
    )  # fmt: skip


def known(expert: str, metered: bool = False, tools: bool = False) -> Known:
    return Known(
        expert,
        pin(spec(expert)),
        "stub",
        "stub",
        metered,
        general=expert == GENERAL,
        tools=tools,
        category=spec(expert).category,
    )


def matched(
    candidates: Mapping[str, float], *, reviewers: Sequence[str] = (AUDITOR, QA, SEC), overlap: bool = False,
    clear: bool = True, general: str = GENERAL, security: bool = False, specs: Sequence[ExpertSpec] | None = None,
) -> Matched:  # fmt: skip
    """What the helper replies: expert -> confidence."""
    ids = dict.fromkeys((*candidates, *reviewers))
    return Matched(
        candidates=tuple(Candidate(expert=x, relevance=c, confidence=c) for x, c in candidates.items()),
        factors=Factors(
            candidate_count=len(candidates), confidence_variance=0.0, domain_overlap=overlap, action_clarity=clear,
            scope_definition=True,
        ),
        profiles=tuple(map(Profile.of, map(spec, ids) if specs is None else specs)),
        reviewers=tuple(reviewers), general=general, security=security, matcher="words",
    )  # fmt: skip


def claim(expert: str, relevance: Relevance = "high", confidence: float = 0.0, **more: Any) -> Claim:
    more.setdefault("claim", f"{expert} should lead.")
    return Claim(agent_id=expert, relevance=relevance, confidence=confidence, **more)


def objection(by: str, to: str, resolution: Resolution, reason: str = "It is not theirs.") -> Challenge:
    return Challenge(challenger_id=by, challenged_id=to, reason=reason, proposed_resolution=resolution)


def artifact(n: int, **more: Any) -> Artifact:
    return Artifact(id=f"{n:064x}", **more)


def done(text: str = "It is done.", folder: Artifact | None = None, **more: Any) -> Work:
    return Work(outcome="done", summary=text, output=f"In full: {text}", folder=folder, **more)


def wants(expert: str, sub_task: str = "look at the queries", **more: Any) -> Work:
    return Work(
        outcome="request_support", summary="I need help.", support=SupportRequest(agent_id=expert, sub_task=sub_task),
        **more,
    )  # fmt: skip


def hands(expert: str, reason: str = "It is yours.", **more: Any) -> Work:
    request = HandoffRequest(to_agent=expert, reason=reason, **more)
    return Work(outcome="handoff", summary="I hand over.", handoff=request)


def blocked(question: str = "Postgres or SQLite?", **more: Any) -> Work:
    return Work(outcome="blocked", summary="I am stuck.", blocked=question, **more)


def helps(text: str = "Here it is.", folder: Artifact | None = None, **more: Any) -> Support:
    return Support(summary=text, output=f"In full: {text}", folder=folder, **more)


APPROVED = Review(verdict="approved")
REVISE = Review(verdict="revision_needed", findings=(Finding(severity="major", description="It leaks."),))
PLACED = Review(
    verdict="revision_needed", findings=(Finding(severity="major", description="It leaks.", location="app.py:3"),)
)
"""The same, with the place in the folder that is reviewed."""
BLOCKED = Review(verdict="blocked", findings=(Finding(severity="critical", description="Which law holds?"),))


RESULT: dict[str, Any] = {
    "protocol": "maci", "status": "finished", "rounds": [], "duration_s": 1.0,
    "stop": {"reason": "plateau", "converged": True, "certificate": {}},
    "usage": {
        "turns": 1, "calls": 1, "input_tokens": 5, "output_tokens": 0, "estimated": False, "cost_usd": 0.0,
        "unaccounted_turns": 0, "unaccounted_tokens": 0, "by_seat": {},
    },
}  # fmt: skip
"""Of a session beneath a task."""


class Play(BasePlay):
    """Plays events one after another and keeps every log entry."""

    STEP_S = 0.01

    def __init__(
        self,
        settings: Mapping[str, Any] | None = None,
        *,
        experts: Sequence[str] = EXPERTS,
        metered: bool = False,
        helper_metered: bool = False,
        tools: bool = False,
        task: str = TASK,
        degraded: bool = False,
        budget: Budget | None = None,
        seats: Sequence[Seat] = (),
        documents: Sequence[Document] = (),
        there: Sequence[Announcement] | None = None,
        turn_timeout_s: float = 120.0,
        checker: bool = False,
        fits: bool = False,
        learned: Learned | msgspec.UnsetType = msgspec.UNSET,
    ) -> None:
        protocol, given = tried(MADP, settings)
        request = OpenSession(
            question=task, protocol="madp", settings=given, budget=budget or Budget(),
            seats=tuple(seats), documents=tuple(documents), turn_timeout_s=turn_timeout_s, learned=learned,
        )  # fmt: skip
        if there is None:
            helper = Announcement(
                instance="i",
                queue="helper",
                roles=("helper",),
                model="none",
                family="none",
                metered=helper_metered,
            )
            there = [helper]
        if checker:
            there = [*there, Announcement(instance="c", queue="check", roles=("check",), model="none", family="none")]
        opened = admit(
            protocol, request, tuple(there), 7, "client",
            experts=tuple(known(x, metered, tools) for x in sorted(experts)), known={"degraded": degraded}, fits=fits,
        )  # fmt: skip
        super().__init__(protocol, opened)

    # -- events
    def expire(self) -> log.Entry:
        """What is due next, is."""
        ends = [*(t.ask.deadline_ns for t in self.session.turns.values()), *self.session.windows.values()]
        return self.at(min(ends))

    def vanish(self, *seats: str) -> log.Entry:
        """Nobody serves the queues of these seats any more."""
        queues = {s.seat: s.queue for s in self.session.opened.seats}
        return self.event(log.TimerFired(gone=tuple(queues[x] for x in seats)), "in:9")

    def match(self, candidates: Mapping[str, float], **more: Any) -> "Play":
        self.reply("helper", matched(candidates, **more))
        return self

    def speak(self, expert: str, window: str, kind: str, body: object, channel: str = "public") -> log.Entry:
        author = queue_of(expert)
        return self.event(
            log.Spoke(author=author, channel=channel, window=window, kind=kind, body=raw(body)), f"say:{author}"
        )

    def claims(self, expert: str, relevance: Relevance = "high", confidence: float = 0.0, **more: Any) -> "Play":
        self.speak(expert, "claims", "claim", claim(expert, relevance, confidence, **more))
        return self._rest_pass()

    def passes(self, expert: str, why: str = "Not mine.") -> "Play":
        self.speak(expert, "claims", "pass", Pass(agent_id=expert, why=why))
        return self._rest_pass()

    def _rest_pass(self) -> "Play":
        """Once every candidate has spoken, everybody else passes, as their processes do."""
        s = self.session.inner
        spoken = {*s.claims, *s.passed}
        if s.phase == "claiming" and not s.unmatched and all(c.expert in spoken for c in s.candidates):
            for expert in [k.id for k in self.session.opened.experts if not k.general and k.id not in spoken]:
                if "claims" in self.session.windows:
                    self.speak(expert, "claims", "pass", Pass(agent_id=expert))
        return self

    def challenges(self, expert: str, *challenges: Challenge) -> "Play":
        self.speak(expert, "challenges", "challenges", Challenges(challenges=challenges))
        return self

    def decide(self, item: str, choice: str, note: str = "", author: str = "client") -> log.Entry:
        return self.event(log.Decided(item=item, choice=choice, note=note, author=author), "in:5")

    def child_ends(self, session: str = "", outcome: Any = None, status: str = "finished", **more: Any) -> log.Entry:
        child = session or next(iter(self.session.children))
        result = None if outcome is None else decode(encode({**RESULT, "session": child, "outcome": outcome}), Result)
        ended = SessionEnded(protocol="maci", status=status, result=result, **{"reason": "plateau", **more})
        return self.event(log.ChildEnded(session=child, ended=ended), f"ended:{child}")

    # -- shortcuts
    def working(self, expert: str = SRE, **more: Any) -> "Play":
        """Matched by one alone, who has the task."""
        return self.match({expert: 0.95}, **more)

    def approve(self) -> "Play":
        """All reviewers do; and a human, who is asked where nothing was run."""
        for seat in [seat for seat, kind in self.asked() if kind == "review"]:
            self.reply(seat, APPROVED)
        if self.session.inner.phase == "waiting" and self.session.inner.items[-1].kind == "unchecked":
            self.decide(self.session.inner.items[-1].id, "approve")
        return self

    # -- looking
    def commands(self, kind: type) -> list[Any]:
        return [c for e in self.entries for c in e.commands if isinstance(c, kind)]

    def told(self) -> list[Any]:
        """What the breaker was told."""
        return [msgspec.json.decode(c.body) for c in self.commands(log.Tell)]

    @property
    def warnings(self) -> str:
        return "\n".join(b["text"] for b in self.bodies("warning"))

    @property
    def lead(self) -> str:
        return str(self.session.inner.lead)

    @property
    def consensus(self) -> Any:
        return self.last("consensus")

    def support(self) -> list[str]:
        return [a["agent_id"] for a in self.consensus["outcome"]["support"]]

    def excluded(self) -> dict[str, str]:
        return {x["agent_id"]: x["reason"] for x in self.consensus["outcome"]["excluded"]}
