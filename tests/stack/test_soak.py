"""A stack at work for an hour: its processes' memory and handles, and its disk, come to a level and stay there.

    python -m pytest -s tests/stack/test_soak.py

Sessions of three protocols run one after the other, four at once, and the log keeps them for two minutes, so that it
has a level to come to. What is measured at the end of the run is compared with the middle of it.
"""

import asyncio
import statistics
import time
from pathlib import Path
from random import Random
from typing import NamedTuple

import msgspec
import psutil
import pytest

from tests.chaos.harness import CONSENSUS, QUEUES, Rig, critic, maci, make_stack, pause

MINUTES = 60.0
KEPT_S = 120.0
AT_ONCE = 4
LOOK_S = 5.0
MB = 2**20
ROOM = {"memory": 12 * MB, "handles": 6, "disk": 24 * MB}
"""So much more than 5 % may be measured at the end than in the middle: what caches and the store's files come to."""


class Level(NamedTuple):
    """What one thing had at the start, in the middle and at the end, as medians."""

    what: str
    start: float
    middle: float
    end: float

    @property
    def grows(self) -> bool:
        return self.end > self.middle * 1.05 + ROOM[self.what.split()[0]]


def level(what: str, samples: list[float]) -> Level:
    """Of samples in the order in which they were taken."""
    n = len(samples)
    parts = samples[: max(1, n // 12)], samples[n // 3 : n // 2], samples[-max(1, n // 6) :]
    return Level(what, *(statistics.median(part) for part in parts))


class Soak:
    """One run."""

    def __init__(self, folder: Path) -> None:
        plays = CONSENSUS, maci(), critic()
        queues = dict.fromkeys((*QUEUES, *(q for p in plays for q in p.queues)))
        stack = make_stack(folder, moderators=2, queues=queues)
        self.rig = Rig(folder, msgspec.structs.replace(stack, log_max_age_s=KEPT_S), plays)
        self.samples: dict[str, list[float]] = {}
        self.sessions = 0

    async def run(self, minutes: float) -> list[Level]:
        """Play, and look; the levels, or AssertionError where a process was another one at the end."""
        async with self.rig as rig:
            pids = rig.lease.pids() | {"supervisor": rig.lease.running().supervisor}
            ends = time.monotonic() + 60 * minutes
            looking = asyncio.create_task(self._look(pids))
            try:
                await asyncio.gather(*(self._play(lane, ends) for lane in range(AT_ONCE)))
            finally:
                looking.cancel()
                await asyncio.gather(looking, return_exceptions=True)
            assert rig.lease.pids() | {"supervisor": rig.lease.running().supervisor} == pids, "one was started again"
        return [level(what, samples) for what, samples in self.samples.items()]

    async def _play(self, lane: int, ends: float) -> None:
        random = Random(lane)
        n = 0
        while time.monotonic() < ends:
            sid, play = f"s{lane}-{n}", self.rig.plays[n % len(self.rig.plays)]
            await self.rig.play(sid, random.randrange(play.seeds), play)
            del self.rig.played[sid], self.rig.followed[sid]
            n += 1
            self.sessions += 1

    async def _look(self, pids: dict[str, int]) -> None:
        while True:
            await pause(LOOK_S)
            for name, pid in pids.items():
                process = psutil.Process(pid)
                self._note(f"memory of {name}", process.memory_info().rss)
                self._note(f"handles of {name}", process.num_fds())
            self._note("disk", await asyncio.to_thread(size, self.rig.lease.state))

    def _note(self, what: str, value: float) -> None:
        self.samples.setdefault(what, []).append(value)


def size(folder: Path) -> int:
    """Bytes on disk of a folder whose files come and go."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_blocks * 512
        except FileNotFoundError:
            continue
    return total


def test_what_grows_is_found() -> None:
    flat, leak = [100.0 * MB] * 60, [100.0 * MB + i * MB for i in range(60)]
    assert not level("memory of x", flat).grows and level("memory of x", leak).grows
    assert level("handles of x", [10.0 + i for i in range(60)]).grows and not level("handles of x", [10.0] * 60).grows


@pytest.mark.timeout(2 * 60 * MINUTES)
async def test_an_hour_at_work_leaves_nothing_behind(tmp_path: Path) -> None:
    soak = Soak(tmp_path)
    levels = await soak.run(MINUTES)
    print(f"{soak.sessions} sessions in {MINUTES:g} minutes", *levels, sep="\n")
    assert soak.sessions > 1_000 and not [found for found in levels if found.grows]
