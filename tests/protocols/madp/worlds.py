"""The whole reachable state graph of MADP in small worlds: every edge is taken.

Alphabet: from the floor a claim (declared, deferring), a pass, an uncalled claim, challenges; of a turn
each outcome that it may have, a reply that was the last attempt, and nobody who serves it any more; the timer before it
is due and when the next is; each answer to an item; another expert named by a human; a deliberation with an answer and
one without; the check green, red and ended; a cancel. There is no cycle, an open task always waits for a turn, a window
or a session beneath it, `done` is the only sink, nobody leads who did not claim (but where the depth, a human, the time
or nobody's claim made him), only the lead's turn moves the accepted folder, and every cell of the table leads to each
of the phases that it names.
"""

import dataclasses
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec

from parley.coordinator.machine import Session
from parley.schemas import log
from parley.schemas.expert import queue_of
from parley.schemas.protocols.madp.messages import Challenges, Pass, Worded
from parley.schemas.protocols.madp.work import Checked, Work
from parley.schemas.result import Result
from parley.schemas.session import Budget, SessionEnded
from parley.schemas.wire import encode, raw
from tests.protocols.madp.play import (
    APPROVED,
    ARCH,
    AUDITOR,
    BLOCKED,
    GENERAL,
    IMPL,
    MADP,
    PLACED,
    QA,
    REVISE,
    SEC,
    SRE,
    TASK,
    Play,
    artifact,
    blocked,
    claim,
    done,
    hands,
    helps,
    matched,
    objection,
    spec,
    wants,
)
from tests.support.walk import Move, Walk, expect, replies

TWO, THREE = {SRE: 0.6, IMPL: 0.5}, {SRE: 0.6, IMPL: 0.6, ARCH: 0.5}


@dataclasses.dataclass(frozen=True)
class Small:
    """One small world: what the helper may reply, and what may be said after it."""

    matches: tuple[Any, ...]
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    experts: tuple[str, ...] = (SRE, IMPL, QA, GENERAL)
    floor: tuple[str, ...] = ("claim", "pass")
    """claim, pass, defer, uncalled"""
    objections: tuple[str, ...] = ("",)
    """What is proposed for the others; empty: nothing."""
    work: tuple[str, ...] = ("done",)
    """done, code, plan, support, handoff, blocked"""
    reviews: tuple[Any, ...] = (APPROVED,)
    misses: bool = True
    named: bool = False
    """Whether a human names another expert, once."""
    degraded: bool = False
    budget: Budget = dataclasses.field(default_factory=Budget)
    spent: int = 0
    """Tokens that each turn takes."""
    checks: tuple[tuple[Any, ...], ...] = ()
    """What the check may come to before the work, and after it."""
    task: str = TASK
    metered: bool = False
    """Whether experts have language models; they have them where tokens are bounded."""

    def opening(self) -> log.Opened:
        settings = {
            "attempts": 1, "max_support": 1, "max_handoffs": 1, "max_reviews": 1, "work_calls": 1,
            "max_input_tokens": 100, "max_output_tokens": 20, **self.settings,
        }  # fmt: skip
        play = Play(
            settings, experts=self.experts, degraded=self.degraded, budget=self.budget,
            metered=self.metered or self.budget.tokens is not None, helper_metered=self.budget.tokens is not None,
            checker=bool(self.checks), task=self.task,
        )  # fmt: skip
        return play.session.opened


CHECKED = {"check": "make test", "folder": "f" * 64}


def green(when: str) -> Checked:
    return Checked(when=when, command="make test", exit=0, passed=3, tests=3)  # type: ignore[arg-type]


def red(when: str) -> Checked:
    return Checked(when=when, command="make test", exit=1, passed=2, failed=("test_a",), tests=3)  # type: ignore[arg-type]


def unrun(when: str) -> Checked:
    return Checked(when=when, command="make test", ended="there is no sandbox", ran=False)  # type: ignore[arg-type]


def hung(when: str) -> Checked:
    return Checked(when=when, command="make test", ended="ended after 300 s")  # type: ignore[arg-type]


ONCE = {**CHECKED, "max_reviews": 0}
DOUBTED = matched({SRE: 0.6, IMPL: 0.6}, reviewers=(), overlap=True)
ARGUED = matched(TWO, reviewers=(), overlap=True)
EXTENDED = matched(THREE, reviewers=(), overlap=True)
WORKING = matched({SRE: 0.95}, reviewers=(AUDITOR, QA))
WORDED = {"wording": "standard"}
REVIEWERS = (SRE, IMPL, AUDITOR, QA)
WORLDS: dict[str, Small] = {
    "intake": Small(
        (matched({}), matched({}, general=""), matched({SRE: 0.95}, reviewers=()), matched(TWO, reviewers=()),
         matched({}, security=True, reviewers=()), matched({SRE: 0.95}, security=True, reviewers=()),
         matched({SRE: 0.4}, security=True, reviewers=())),
    ),
    "intake, nobody": Small((matched({}, reviewers=(), general=""),), experts=()),
    "intake, security": Small((matched({SRE: 0.95}, reviewers=(AUDITOR,)),), experts=(SRE, AUDITOR, SEC, GENERAL),
                              task="add a login with JWT", reviews=(APPROVED, REVISE)),
    "intake, general, security": Small((matched({}),), experts=(GENERAL,), task="add a login with JWT"),
    "code": Small((WORKING,), experts=REVIEWERS, work=("done", "code"), reviews=(APPROVED, REVISE)),
    "override": Small((matched({}), matched(TWO, reviewers=())), {"expert": QA}),
    "degraded": Small((matched({}), matched(TWO, reviewers=()), matched(TWO, security=True)), degraded=True),
    "quick": Small((matched({SRE: 0.8, IMPL: 0.75}, reviewers=()),), floor=("claim", "pass", "uncalled"), named=True),
    "claims": Small((matched(TWO, reviewers=()),), WORDED, floor=("claim", "pass"), named=True),
    "extended": Small(
        (EXTENDED,), experts=(SRE, IMPL, ARCH, GENERAL), floor=("claim", "defer"), objections=("", "exclude")
    ),
    "resolutions": Small(
        (matched({SRE: 0.6, IMPL: 0.6}, reviewers=(), overlap=True),), floor=("claim",),
        objections=("", "lead", "support", "collaborate", "exclude"),
    ),
    "challenges": Small((matched(TWO, reviewers=(), overlap=True),), floor=("claim",),
                        objections=("", "exclude"), named=True),
    "conflict, security": Small((matched({SRE: 0.6, IMPL: 0.6}, reviewers=(), overlap=True, security=True),),
                                {"security_confidence": 0.9}, floor=("claim",), objections=("exclude",)),
    "work": Small((WORKING,), experts=REVIEWERS, work=("done", "support", "handoff"), reviews=(APPROVED, REVISE)),
    "plan": Small((WORKING,), experts=REVIEWERS, work=("done", "plan", "declined"),
                  reviews=(APPROVED, REVISE)),
    "blocked": Small((WORKING,), experts=REVIEWERS, work=("done", "blocked"), reviews=(APPROVED, BLOCKED), named=True),
    "deliberation": Small((WORKING,), {"deliberation": "maci"}, experts=REVIEWERS,
                          work=("done", "support", "blocked"), reviews=(APPROVED, BLOCKED), named=True),
    "two reviewers": Small(
        (matched(TWO, reviewers=(AUDITOR, QA)),), {"max_reviews": 1}, experts=REVIEWERS, floor=("claim",),
        reviews=(APPROVED, REVISE, BLOCKED), misses=True,
    ),
    "two reviewers, deliberation": Small(
        (matched(TWO, reviewers=(AUDITOR, QA)),), {"max_reviews": 1, "deliberation": "maci"}, experts=REVIEWERS,
        floor=("claim",), reviews=(APPROVED, BLOCKED), misses=True,
    ),
    "seconds": Small(
        (EXTENDED, WORKING), {"item_s": 300}, experts=(SRE, IMPL, ARCH, AUDITOR), budget=Budget(seconds=5),
        floor=("claim",), objections=("",), work=("done", "support", "blocked"), misses=False),
    "seconds, claims": Small((EXTENDED,), {"claim_window_s": 10, "coordination_s": 30}, experts=(SRE, IMPL, ARCH),
                             budget=Budget(seconds=5), floor=("claim",), misses=False),
    "2 attempts": Small((WORKING,), {"attempts": 2}, experts=REVIEWERS, budget=Budget(tokens=240 * 3), spent=240,
                        work=("done", "support")),
    "checked": Small((WORKING,), CHECKED, experts=REVIEWERS, work=("done", "plan"), reviews=(APPROVED, PLACED),
                     checks=((red("before"),), (green("after"), red("after"), unrun("after")))),
    "checked, not run": Small((WORKING,), {**CHECKED, "max_reviews": 1}, experts=REVIEWERS,
                              checks=((red("before"), unrun("before"), hung("before")),
                                      (green("after"), hung("after"), unrun("after")))),
    "worded": Small((ARGUED,), WORDED, experts=(SRE, IMPL, GENERAL), floor=("claim", "pass"),
                    objections=("exclude",), named=True, metered=True),
    "worded, challenges": Small((ARGUED, matched(TWO, reviewers=(), overlap=True, security=True)),
                                {"security_confidence": 0.9}, experts=(SRE, IMPL, GENERAL), floor=("claim",),
                                objections=("", "exclude"), named=True, metered=True),
    "worded, checked": Small((ARGUED,), {**ONCE, "coordination_s": 1.5}, experts=(SRE, IMPL, GENERAL),
                             floor=("claim",), objections=("exclude",), metered=True, named=True,
                             checks=((red("before"),), (green("after"),))),
    "worded, seconds": Small((ARGUED,), experts=(SRE, IMPL, GENERAL), floor=("claim",), objections=("exclude",),
                             budget=Budget(seconds=5), metered=True, misses=False),
    "checked, override": Small((matched({}),), {**ONCE, "expert": QA}, experts=REVIEWERS,
                               checks=((green("before"),), (green("after"),))),
    "checked, in doubt": Small((matched({SRE: 0.4}, security=True, reviewers=()), DOUBTED), ONCE,
                               experts=(SRE, IMPL), floor=("claim",), objections=("exclude",), misses=False,
                               checks=((red("before"),), (green("after"),))),
    "checked, standard": Small((matched(TWO, reviewers=()), matched({})), {**ONCE, "wording": "standard"},
                               floor=("claim", "pass"),
                               checks=((red("before"),), (green("after"),))),
    "checked, deliberation": Small((WORKING,), {**ONCE, "deliberation": "maci"}, experts=(SRE, IMPL), named=True,
                                   work=("done", "blocked"), misses=False,
                                   checks=((green("before"),), (green("after"),))),
    "checked, seconds": Small((WORKING,), CHECKED, experts=REVIEWERS, budget=Budget(seconds=5),
                              checks=((red("before"),), (green("after"),))),
    **{
        f"{n} turns": Small(
            # with all three matches the third world has more states than a walk sees in ten minutes
            (WORKING,) if n == 3 else (EXTENDED, WORKING, matched(TWO, reviewers=())),
            {**WORDED, "deliberation": "maci"},
            experts=(SRE, IMPL, ARCH, AUDITOR), floor=("claim", "pass"), objections=("",),
            work=("done", "support", "handoff", "blocked"), reviews=(APPROVED, REVISE), budget=Budget(tokens=240 * n),
            spent=240,
        )
        for n in range(1, 4)
    },
}  # fmt: skip


def claims(world: Small, session: Session) -> Iterator[log.Spoke]:
    """What is said in the window of claims."""
    s = session.inner

    def says(expert: str, kind: str, body: object) -> log.Spoke:
        return log.Spoke(author=queue_of(expert), channel="public", window="claims", kind=kind, body=raw(body))

    experts = [c.expert for c in s.candidates if c.expert not in s.claims and c.expert not in s.passed]
    for expert in experts[:1] or ():
        first = next(c.expert for c in s.candidates if c.expert != expert) if len(s.candidates) > 1 else ""
        claimed = {
            "claim": (claim(expert, "high"), claim(expert, "medium")),
            "defer": (claim(expert, "high", defers_to=(first,)),) if first else (),
        }
        for kind in world.floor:
            if kind == "pass":
                yield says(expert, "pass", Pass(agent_id=expert))
            yield from (says(expert, "claim", body) for body in claimed.get(kind, ()))
    if "uncalled" in world.floor and QA not in s.claims:
        yield says(QA, "claim", claim(QA, "high", 0.9, spec=spec(QA)))
    spoken = {*s.claims, *s.passed, *s.heard}
    others = [x for x in world.experts if x not in (GENERAL, *spoken, *(c.expert for c in s.candidates))]
    if not experts and s.candidates:
        yield from (says(x, "pass", Pass(agent_id=x)) for x in others[:1])


def objections(world: Small, session: Session) -> Iterator[log.Spoke]:
    """What is said in the window of challenges."""
    s = session.inner
    for expert in [x for x in s.claims if x not in s.spoken][:1]:
        other = next(x for x in s.claims if x != expert)
        for proposed in world.objections:
            some = (objection(expert, other, proposed),) if proposed else ()  # type: ignore[arg-type]
            body = Challenges(challenges=some)
            yield log.Spoke(
                author=queue_of(expert), channel="public", window="challenges", kind="challenges", body=raw(body)
            )


def bodies(world: Small, session: Session, ask: log.Ask) -> Iterator[object]:
    s = session.inner
    match ask.kind:
        case "match":
            yield from world.matches
        case "words":
            yield Worded()
            first, second, *_ = s.claims
            yield Worded(challenges=(objection(first, second, "exclude"), objection(second, first, "exclude")))
        case "work":
            other = next((x for x in world.experts if x not in (ask.seat, GENERAL)), "")
            folder = artifact(len(s.rounds) + 1)
            for kind in world.work:
                if kind == "done":
                    yield done(folder=folder)
                elif kind == "code":
                    yield done(folder=folder, diff="diff --git a/a.py b/a.py\n")
                elif kind == "plan":
                    yield done(folder=folder, performed=False)
                elif kind == "declined":
                    yield Work(outcome="declined", summary="Nobody can.")
                elif kind == "support" and not s.supports:
                    yield wants(other, folder=folder)
                elif kind == "handoff" and not s.handoffs:
                    yield hands(other)
                elif kind == "blocked" and not s.blocks:
                    yield blocked(folder=folder)
        case "support":
            yield helps(folder=artifact(99))
        case "check":
            before, after = world.checks
            yield from after if s.rounds else before
        case "review":
            yield from world.reviews


def humans(world: Small, session: Session) -> Iterator[log.Decided]:
    """What people decide."""
    s = session.inner
    if s.phase == "waiting":
        item = s.items[-1]
        for choice in item.choices or ("an answer",):
            if choice not in ("revise", s.lead) or len(s.items) < 2:
                yield log.Decided(item=item.id, choice=choice, author="client")
    if world.named and not s.overrides and s.phase != "intake":
        other = next(x for x in reversed(world.experts) if x not in (s.lead, GENERAL))
        yield log.Decided(item="expert", choice=other, author="client")


def moves(world: Small, session: Session) -> Iterator[Move]:
    """Everything that may happen next, and when. Of turns that are open at once the first moves first."""
    now = session.at_ns
    for turn in list(session.turns.values())[:1]:
        yield from replies(turn, bodies(world, session, turn.ask), now, tokens=world.spent, misses=world.misses)
        if world.misses:
            yield log.TimerFired(gone=(next(s.queue for s in session.opened.seats if s.seat == turn.ask.seat),)), now
    if "claims" in session.windows:
        yield from ((event, now) for event in claims(world, session))
    if "challenges" in session.windows:
        yield from ((event, now) for event in objections(world, session))
    for child in session.children:
        for outcome in ({"answer": "42"}, None):
            yield _ended(child, outcome), now
    yield from ((event, now) for event in humans(world, session))
    dues = [*(t.ask.deadline_ns for t in session.turns.values()), *session.windows.values()]
    if world.budget.seconds:
        dues.append(session.opened_ns + int(world.budget.seconds * 1e9))
    for at_ns in {now, *([min(dues)] if dues else [])}:
        yield log.TimerFired(), at_ns


@cache
def cancelled() -> Result:
    play = Play()
    play.event(log.Cancelled(author="client"))
    return play.result


def _ended(child: str, outcome: Any) -> log.ChildEnded:
    result = msgspec.structs.replace(cancelled(), outcome=outcome) if outcome else None
    status = "finished" if outcome else "failed"
    ended = SessionEnded(protocol="maci", status=status, reason="plateau", result=result)
    return log.ChildEnded(session=child, ended=ended)


def body(session: Session, post: int) -> Any:
    """What a post says."""
    return msgspec.json.decode(session.posts[post].body)


def key(world: Small, session: Session) -> bytes:
    """What a task's future depends on, and how long from now things are due; not what was said in which words."""
    s, now = session.inner, session.at_ns
    rounds = [[r.lead, r.outcome, list(r.reviews), list(r.silent)] for r in s.rounds]
    verdicts = [session.posts[n].body for n in s.rounds[-1].reviews.values()] if s.rounds else []
    asks = [[t.ask.seat, t.ask.kind, t.ask.attempt, t.ask.deadline_ns - now] for t in session.turns.values()]
    windows = {name: end - now for name, end in session.windows.items()}
    items = [[i.kind, i.choices] for i in s.items]
    planned = "plan" in world.work and s.work is not None and not body(session, s.work)["performed"]
    code = "code" in world.work and s.changed is not None and bool(body(session, s.changed).get("diff"))
    agreed = s.phase in ("working", "checking") or s.rounds  # then it no longer matters what was said to come there
    said = None if agreed else [s.claims, s.passed, s.heard, s.spoken, s.challenges]
    past = [
        s.phase, s.candidates, s.lead, s.team, s.folder, said,
        len(s.supported), s.helping, s.findings, s.work is None, planned, code, s.revisions, s.failed, s.supports,
        s.handoffs, s.blocks, s.overrides, s.child, s.security, s.general, s.checks,
    ]  # fmt: skip
    spent = session.ledger if world.budget.tokens else None
    age = now - session.opened_ns if world.budget.seconds else None
    return encode(
        [past, rounds, verdicts, asks, windows, items, list(session.children), spent, age, session.closed,
         session.stopped.reason if session.stopped else None]
    )  # fmt: skip


def watch(phase: str, event: str, before: Any, after: Any, wishes: object) -> None:
    """Only the lead's turn moves the folder."""
    turns = phase == "working" and event == "Answered"
    assert after.folder == before.folder or turns or not before.lead


def waits(session: Session) -> None:
    """A task waits for a turn, a window or a session beneath it."""
    assert session.turns or session.windows or session.children


def hold(session: Session) -> None:
    """What is true in every state."""
    s = session.inner
    names = [x.seat for x in session.opened.seats]
    assert len(names) == len(set(names))
    if s.lead and s.consensus is not None and not s.handoffs and not s.overrides and not s.failed:
        how = body(session, s.consensus)["how"]
        assert s.lead in s.claims or how in ("implicit", "override", "degraded", "timeout", "general", "human")
        if how in ("implicit", "explicit") and s.depth != "instant":
            assert s.lead in s.claims, "nobody is made to lead who did not claim"
    parts = [s.lead, *(a.agent_id for a in s.team), *(x.agent_id for x in s.excluded)]
    assert len(parts) == len(set(parts)), parts
    if s.consensus is not None and s.lead:
        assert {c.expert for c in s.candidates} <= set(parts), "every candidate has a part, or a reason why not"


EXPECTED = {
    "intake": expect("reviewed", "nobody", "rejected", "unreviewed", states=150),
    "quick": expect("rejected", "unreviewed", states=500),
    "extended": expect("rejected", "unreviewed", states=500),
    "checked, not run": expect("approved", "unproven", "no_check", "unreviewed", "nobody", "rejected"),
    "worded": expect("rejected", "unreviewed"),
    "checked": expect(
        "approved", "unreviewed", "unproven", "no_check", "planned", "review_limit", "rejected", "nobody"
    ),
    "code": expect("approved", "reviewed", "unchecked", "unreviewed", "review_limit", "rejected", "nobody"),
    "intake, security": expect("approved", "reviewed", "needs_human", "rejected", "review_limit"),
    "plan": expect("reviewed", "unreviewed", "planned", "declined", "review_limit", "rejected", "nobody"),
    "work": expect("reviewed", "nobody", "rejected", "review_limit", "unreviewed", states=500),
    "blocked": expect("reviewed", "nobody", "rejected", "review_limit", "unreviewed", states=500),
    "two reviewers": expect("reviewed", "nobody", "rejected", "review_limit", "unreviewed", states=5_000),
    "seconds": expect("reviewed", "budget", "unreviewed", states=400),
    "seconds, claims": expect("budget", "unreviewed"),
    "2 turns": expect("budget", "nobody", "rejected", "unreviewed", states=1_000),
}
WALK = Walk(MADP, WORLDS, EXPECTED, moves, key=key, waits=waits, hold=hold, watch=watch)
