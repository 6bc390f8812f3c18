"""Sessions of four protocols on three servers while those are killed, frozen, cut off, emptied, slowed and upgraded,
one or two at a time: they wait, and go on as if nothing had been."""

import asyncio
import time
from itertools import count
from pathlib import Path

import pytest

from tests.chaos.cluster.faults import KILL, ClusterFaults, every
from tests.chaos.cluster.rig import ClusterRig, plays
from tests.chaos.harness import Play, shown
from tests.support.engine import until
from tests.support.links import Links

pytestmark = [pytest.mark.alone, pytest.mark.timeout(3_600)]
AT_ONCE = 5
SESSION_S = 240.0
"""A session that is not over by then is lost."""
HEARD_S = 1.5
"""A case begins, and is over, once every user of a session under way has heard something so lately."""


@pytest.fixture
def kinds() -> tuple[Play, ...]:
    return plays()


async def test_sessions_outlive_whatever_one_or_two_servers_suffer(kinds: tuple[Play, ...], tmp_path: Path) -> None:
    with Links() as links:
        async with ClusterRig(tmp_path, links, kinds) as rig:
            faults, over = ClusterFaults(rig, links), asyncio.Event()
            await until(faults.settled, 60.0, "the cluster did not come up")
            await rig.learn()

            async def plays_on(lane: int) -> None:
                for n in count():
                    play = kinds[(lane + n) % len(kinds)]
                    await rig.attempt(f"s{lane}-{n}", n % play.seeds, play, SESSION_S, print)
                    if over.is_set():
                        return

            def all_heard() -> bool:
                return rig.waiting(time.monotonic()) < HEARD_S

            async with asyncio.TaskGroup() as lanes:
                for lane in range(AT_ONCE):
                    lanes.create_task(plays_on(lane))
                for case in every():
                    await until(all_heard, SESSION_S, "a session under way is not heard of")
                    since, to = await faults.do(case)
                    await until(all_heard, SESSION_S, f"{case}: a session under way is not heard of")
                    silence = rig.silence(since, max(to, time.monotonic()))
                    print(f"{case}: {silence:.1f} s silent, settled after {to - since:.1f} s")
                    if case.what == KILL and len(case.who) == 2:
                        assert silence >= 5.0, "with two of three gone nothing may be said"
                over.set()
            found = await rig.findings(60.0)
            print(shown(found))
            assert found.violations == []
