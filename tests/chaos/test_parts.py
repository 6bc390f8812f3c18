"""A question of several parts under kills: each part and the synthesis come once, whatever process is killed when."""

import asyncio
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from parley.schemas.session import OpenSession
from tests.chaos.faults import ANALYST, MODERATOR, NATS, PANELIST, Faults
from tests.chaos.harness import CONSENSUS, TURN_TIMEOUT_S, TURNS, Play, Rig, calm_arrivals, make_stack, shown
from tests.support import crash

pytestmark = [pytest.mark.serial, pytest.mark.timeout(120)]
SEED = 20_263
PARTS = Play(
    request=OpenSession(
        question="Which one? And where?", protocol="compound", settings={"panel": 3}, turn_timeout_s=TURN_TIMEOUT_S
    ),
    turns=1 + 1 + 3,  # a split, a synthesis, three signatures
    queues=CONSENSUS.queues,
    seeds=1,
    beneath=TURNS,
    children=2,
    others=1 + 2 + 2,  # its opening, the ends of its parts, and their openings
)
SESSIONS = 6


@pytest.mark.parametrize("kinds", [(MODERATOR,) * 3, (NATS,) * 2, (PANELIST, ANALYST) * 2], ids="-".join)
async def test_killed_at_random_moments(kinds: tuple[str, ...], tmp_path: Path) -> None:
    async with Rig(tmp_path, make_stack(tmp_path, latency_s=0.06), (PARTS,)) as rig:
        await rig.learn()
        faults = Faults(rig.lease, Random(f"{SEED} {kinds[0]}"))
        sessions = asyncio.create_task(rig.play_all([f"s{i}" for i in range(SESSIONS)], at_once=3))
        await faults.kill_each(kinds, rig.asking, sessions.done, (0.1, 0.5))
        await sessions
        found = await rig.findings()
        print(f"{kinds}: seed={SEED} kills={dict(faults.kills)} {shown(found)}")
        assert found.violations == []
        assert faults.kills == Counter(kinds), "the sessions were over before the kills"
        _whole(found.sessions, found.turns)


@pytest.mark.parametrize("point", crash.POINTS)
async def test_killed_at_a_named_point(point: str, tmp_path: Path) -> None:
    """Between model and submitting, step and append, append and effects, effects and answer: at five places each."""
    calm = calm_arrivals(point, (PARTS,))
    deeds = sorted(calm + n for n in Random(f"{SEED} {point}").sample(range(1, 90), 5))
    stack = make_stack(tmp_path, crash=" ".join(f"{point}:{n}" for n in deeds))
    async with Rig(tmp_path, stack, (PARTS,)) as rig:
        await rig.learn()
        assert crash.done(rig.crashes) == {}
        await rig.play_all([f"s{i}" for i in range(SESSIONS)], at_once=3)
        found = await rig.findings()
        print(f"{point}: seed={SEED} arrivals={deeds} {shown(found)}")
        assert found.violations == []
        assert len(crash.done(rig.crashes)) == len(deeds), "every deed was done"
        _whole(found.sessions, found.turns)


def _whole(sessions: int, turns: int) -> None:
    assert sessions == (1 + SESSIONS) * (1 + PARTS.children)
    assert turns == (1 + SESSIONS) * (PARTS.turns + PARTS.children * PARTS.beneath)
