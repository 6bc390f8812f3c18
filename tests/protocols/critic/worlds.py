"""The whole reachable state graph of critic with small example events: every edge is taken.

Shown on the way: every edge makes progress (so there is no cycle), an open session always waits for somebody by an
armed timer, `done` is the only sink, and every cell of the table leads to each of the phases that it names.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

import msgspec

from parley.coordinator.machine import Session
from parley.schemas import log
from parley.schemas.protocols.critic import (
    NO_NEW_OBJECTION,
    Countersignature,
    Critique,
    Rewritten,
    Signature,
    Verdict,
)
from parley.schemas.result import Result
from parley.schemas.session import Budget
from parley.schemas.stops import STOPS
from parley.schemas.wire import decode
from tests.protocols.critic.play import ASKED, CRITIC, REWRITTEN, Play, answer, judgement
from tests.support.walk import Move, Walk, attempts, expect, key_with_posts, replies, ticks, waits_for_turns

UNLIMITED = Budget()


@dataclasses.dataclass(frozen=True)
class Small:
    """One small world: its settings, and what may be said in it."""

    settings: dict[str, Any]
    scores: tuple[float, ...] = (20,)
    repeats: bool = False
    """Whether an objection may repeat the first one."""
    checks: bool = False
    """Whether the critic may show a check."""
    verdicts: tuple[tuple[str, str], ...] = (("", "upholds"),)
    """Answers of the verdict, and what each does."""
    signs: bool = False
    """Whether somebody may not sign."""
    objections: tuple[str, ...] = ("",)
    """The empty one differs by round."""
    questions: tuple[str, ...] = (REWRITTEN,)
    budget: Budget = UNLIMITED
    usages: tuple[int, ...] = (0,)
    late: bool = False
    """Whether replies may also come at the very end of their deadline."""

    def opening(self) -> log.Opened:
        caps = {"max_input_tokens": 100, "max_output_tokens": 20, "attempts": 1, **self.settings}
        play = Play(caps, budget=self.budget, metered=bool(self.budget.tokens), rewritten=False)
        return play.session.opened


WORLDS = {
    "rounds": Small({"round_limit": 2, "min_rounds": 2, "threshold": 60}, scores=(20,)),
    "worthless": Small({"round_limit": 2, "min_rounds": 1, "threshold": 99}, scores=(100,), repeats=True),
    "same words": Small({"round_limit": 2, "min_rounds": 2}, scores=(60,), objections=("it burns",)),
    "repeats": Small({"round_limit": 2, "min_rounds": 2}, scores=(60,), repeats=True),
    "absent critic": Small({"round_limit": 2, "min_rounds": 1, "quorum": 1}),
    "attempts": Small({"round_limit": 1, "attempts": 2}, repeats=True, checks=True),
    "checks": Small({"round_limit": 1}, scores=(60,), checks=True),
    "bias": Small({"round_limit": 2, "min_rounds": 1, "measure_bias": True}),
    "signing": Small(
        {"round_limit": 1, "min_rounds": 1},
        scores=(20, 60, 90),
        signs=True,
        verdicts=(("", "upholds"), ("Some tape", "narrows"), ("A little tape", "narrows"), ("Disk", "reverses")),
    ),
    "no time to sign": Small(
        {"round_limit": 1, "min_rounds": 1},
        scores=(60, 90),
        verdicts=(("Some tape", "narrows"),),
        budget=Budget(seconds=5),
        late=True,
        signs=True,
    ),
    "no tokens to sign": Small(
        {"round_limit": 1, "min_rounds": 1},
        scores=(60, 90),
        verdicts=(("Some tape", "narrows"),),
        budget=Budget(tokens=480 + 120 * 3),
        usages=(120,),
    ),
    "seconds": Small({"round_limit": 2, "min_rounds": 2, "measure_bias": True}, budget=Budget(seconds=5), late=True),
    "no second judgement": Small(
        {"round_limit": 1, "measure_bias": True}, budget=Budget(tokens=480 + 120 * 2), usages=(120,)
    ),
    "no second attempt": Small({"round_limit": 1, "attempts": 2}, budget=Budget(tokens=480 + 120 * 2), usages=(120,)),
    "no second rewriting": Small(
        {"round_limit": 1, "attempts": 2}, questions=(REWRITTEN, ASKED), budget=Budget(tokens=480), usages=(120,)
    ),
    **{
        f"{n} turns": Small(
            {"round_limit": 3, "min_rounds": 3, "measure_bias": True},
            budget=Budget(tokens=480 + 120 * (n - 1)),
            usages=(120,),
        )
        for n in range(1, 9)
    },
}


def bodies(world: Small, session: Session, ask: log.Ask) -> Iterator[object]:
    profile = session.inner.profile
    match ask.kind:
        case "rewrite":
            yield from (Rewritten(question=text) for text in world.questions)
        case "answer":
            yield answer("Tape", *(o.number for o in profile))
        case "critique":
            yield Critique(objection=NO_NEW_OBJECTION)
            if world.checks:
                yield Critique(objection=NO_NEW_OBJECTION, checked="2 + 2 = 4")
            yield from (Critique(objection=text or f"objection of round {ask.round}") for text in world.objections)
        case "judge":
            numbers = tuple(o.number for o in profile)
            for score in world.scores:
                yield judgement(score, check_holds=world.checks)
                if numbers:
                    yield judgement(score, *(o.number for o in profile if not o.closed))
                if numbers and world.repeats:
                    yield judgement(score, repeats=1)
            if world.checks:
                yield judgement(world.scores[0])
        case "verdict":
            weighty = next((o.number for o in profile if not o.answered), 0)
            for text, ruling in world.verdicts:
                by = weighty if ruling == "reverses" else 0
                yield Verdict(answer=text, reasoning="r", ruling=ruling, reversed_by=by)
        case "sign":
            yield Signature(states="yes")
            if world.signs:
                yield Signature(states="no", differs="ape")
        case "countersign":
            yield Countersignature()
            if world.signs:
                yield Countersignature(open=(1,))
                yield Countersignature(fatal="it rots")


def moves(world: Small, session: Session) -> Iterator[Move]:
    """Everything that may happen next, and when."""
    now = session.at_ns
    for turn in session.turns.values():
        for tokens in world.usages:
            yield from replies(turn, bodies(world, session, turn.ask), now, tokens=tokens, late=world.late)
    yield from ticks(session)


ORDER = (
    "rewriting", "answering", "critiquing", "judging", "rejudging", "concluding", "signing", "countersigning", "done",
)  # fmt: skip


def rank(session: Session) -> tuple[int, ...]:
    """Grows with every event that is not an idle tick, and is bounded."""
    s = session.inner
    over = ORDER.index(s.phase) >= ORDER.index("concluding")
    signed = (bool(s.unsigned), s.verdict or 0, ORDER.index(s.phase)) if over else (False, 0, 0)
    phase = 0 if over else ORDER.index(s.phase)
    return (session.closed, over, *signed, len(s.rounds) * (not over), phase, attempts(session))


def waits(session: Session) -> None:
    """One seat speaks at a time."""
    waits_for_turns(session)
    assert len(session.turns) == 1


def hold(session: Session) -> None:
    """Exit status 0 says that nothing stands against the answer, and that the critic has seen it as it stands: no open
    objection is unjudged or overturns it, no verdict reversed it, and confidence is no less than doubt."""
    if not session.closed or session.stopped is None or STOPS[session.stopped.reason].exit_code:
        return
    s = session.inner
    still = [o for o in s.profile if not o.answered]
    assert all(o.weight is not msgspec.UNSET and o.weight < 0.8 for o in still)
    assert s.now.source != "unjudged" and s.confidence >= 50 and not s.reversed_by
    assert s.countersigned is not None or (not s.profile and s.seen == s.answer)
    answer = decode(session.closing.body, Result).outcome["answer"]
    assert answer == "Tape" or (answer in ("Some tape", "A little tape") and len(s.signed) == 2)


EXPECTED = {
    "rounds": expect(
        "confidence", "objections_exhausted", "overturned", "quorum", "round_limit", "unsettled", states=25
    ),
    "no second judgement": expect("budget", "objections_exhausted", "quorum", "round_limit", states=25),
    "no second attempt": expect("budget", "objections_exhausted", "quorum", "round_limit", states=25),
}
WALK = Walk(CRITIC, WORLDS, EXPECTED, moves, rank, key_with_posts, waits, hold)
