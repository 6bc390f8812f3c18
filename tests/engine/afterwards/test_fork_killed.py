"""Forks whose moderator or agents are killed come to what an undisturbed fork comes to, and their logs recompute."""

import re
from pathlib import Path
from random import Random

import pytest

from parley.client.records import record_of
from parley.client.what_if import verify
from parley.schemas.past_sessions.fork import FORK
from parley.schemas.session import ForkSession
from tests.chaos.harness import CONSENSUS, Rig, calm_arrivals, make_stack
from tests.chaos.verify import Text, transcript
from tests.support import crash

pytestmark = [pytest.mark.serial, pytest.mark.timeout(120)]
FORKS = 8


async def said(rig: Rig, sid: str) -> list[Text]:
    rig.played[sid] = CONSENSUS, 0
    told = {c: [p for p in posts if p.kind != FORK] for c, posts in (await rig.history(sid)).items()}
    return [(*of, re.sub(r'"shift_ns":\d+', "", body)) for *of, body in transcript(told)]  # type: ignore[misc]


@pytest.mark.parametrize("point", crash.POINTS)
async def test_a_fork_that_is_killed_ends_as_one_that_is_not(point: str, tmp_path: Path) -> None:
    """Between model and submitting, step and append, append and effects, effects and answer."""
    first = calm_arrivals(point, (CONSENSUS,)) + 12
    deeds = sorted(Random(point).sample(range(first, first + 24), 3))
    stack = make_stack(tmp_path, crash=" ".join(f"{point}:{n}" for n in deeds))
    async with Rig(tmp_path, stack) as rig:
        await rig.learn()
        parent = next(iter(rig.played))
        client = rig.client
        changed = ForkSession(of=parent, round=1, settings={"round_limit": 3})
        await client.fork(changed, "calm-fork")
        await client.result("calm-fork")
        wanted = await said(rig, "calm-fork")
        assert crash.done(rig.crashes) == {}
        for i in range(FORKS):
            await client.fork(changed, f"f{i}")
        for i in range(FORKS):
            await client.result(f"f{i}")
            assert await said(rig, f"f{i}") == wanted
            found = verify(record_of(f"f{i}", await client.log(f"f{i}")))
            assert found["closed"] and found["recomputed"]
        assert len(crash.done(rig.crashes)) == 3, "every deed was done"
