"""The whole reachable state graph of critic with small example events: every edge is taken.

Shown on the way: every edge makes progress (so there is no cycle), an open session always waits for somebody by an
armed timer, `done` is the only sink, and every cell of the table leads to each of the phases that it names.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

from parley.coordinator.machine import Session
from parley.schemas import log
from parley.schemas.protocols.critic import NO_NEW_OBJECTION, Critique, Judgement, Rewritten, Similarities, Verdict
from parley.schemas.session import Budget
from tests.protocols.critic.play import ASKED, CRITIC, REWRITTEN, Play, answer
from tests.support.walk import Move, Walk, attempts, expect, key_with_posts, replies, ticks, waits_for_turns

UNLIMITED = Budget()


@dataclasses.dataclass(frozen=True)
class Small:
    """One small world: its settings, and what may be said in it."""

    settings: dict[str, Any]
    scores: tuple[float, ...] = (20,)
    similar: tuple[float, ...] = (0.1, 0.9)
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
    "rounds": Small({"round_limit": 2, "threshold": 60}, scores=(20, 100)),
    "same words": Small({"round_limit": 2}, similar=(0.1,), objections=("it burns",)),
    "late press": Small({"round_limit": 2, "min_rounds": 1, "quorum": 1, "attempts": 2}),
    "bias": Small({"round_limit": 2, "min_rounds": 1, "measure_bias": True}, scores=(20, 100)),
    "seconds": Small(
        {"round_limit": 2, "min_rounds": 2, "measure_bias": True}, similar=(0.1,), budget=Budget(seconds=5), late=True
    ),
    "no second judgement": Small(
        {"round_limit": 1, "measure_bias": True}, budget=Budget(tokens=480 + 120 * 3), usages=(120,)
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
            yield answer()
        case "critique" | "press":
            yield Critique(objection=NO_NEW_OBJECTION)
            yield from (Critique(objection=text or f"objection of round {ask.round}") for text in world.objections)
        case "compare":
            yield from (Similarities(values=(x,) * len(profile)) for x in world.similar)
        case "judge":
            numbers = tuple(o.number for o in profile)
            for score in world.scores:
                yield Judgement(score=score)
                if numbers:
                    yield Judgement(score=score, answered=numbers)
        case "verdict":
            yield Verdict(answer="Tape", reasoning="r", ruling="upholds")
            yield Verdict(answer="Disk", reasoning="r", ruling="reverses")


def moves(world: Small, session: Session) -> Iterator[Move]:
    """Everything that may happen next, and when."""
    now = session.at_ns
    for turn in session.turns.values():
        for tokens in world.usages:
            yield from replies(turn, bodies(world, session, turn.ask), now, tokens=tokens, late=world.late)
    yield from ticks(session)


ORDER = ("rewriting", "answering", "critiquing", "comparing", "pressing", "judging", "rejudging", "concluding", "done")


def rank(session: Session) -> tuple[int, ...]:
    """Grows with every event that is not an idle tick, and is bounded."""
    s = session.inner
    pressed, said = (s.now.pressed, len(s.now.raised)) if s.rounds else (False, 0)
    phase = ORDER.index(s.phase) - 2 * (s.phase == "pressing" and said < 1)
    again = s.phase == "comparing" and said > 1
    ended = session.stopped is not None
    return (session.closed, ended, 0 if ended else len(s.rounds), pressed, said, phase + again, attempts(session))


def waits(session: Session) -> None:
    """One seat speaks at a time."""
    waits_for_turns(session)
    assert len(session.turns) == 1


EXPECTED = {
    "rounds": expect("objections_exhausted", "quorum", "round_limit", states=25),
    "same words": expect("objections_exhausted", "quorum", "round_limit", states=25),
    "late press": expect("confidence", "objections_exhausted", "quorum", "round_limit", states=25),
    "bias": expect("confidence", "objections_exhausted", "quorum", "round_limit", states=25),
    "seconds": expect("budget", "confidence", "objections_exhausted", "quorum", "round_limit", states=25),
    "no second judgement": expect("budget", "quorum", "round_limit", states=25),
    "no second attempt": expect("budget", "quorum", states=25),
    "8 turns": expect("budget", "objections_exhausted", "quorum", states=25),
}
WALK = Walk(CRITIC, WORLDS, EXPECTED, moves, rank, key_with_posts, waits)
