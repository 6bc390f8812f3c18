"""Competitions under kills, and twenty at once: every transcript is what an undisturbed one is, on every channel."""

import asyncio
import time
from collections import Counter
from pathlib import Path
from random import Random

import psutil
import pytest

from tests.chaos.competitions import READERS, queues, short, whole
from tests.chaos.faults import CON, JUDGE, MODERATOR, NATS, PRO, Faults
from tests.chaos.harness import Play, Rig, make_stack, shown

pytestmark = [pytest.mark.serial, pytest.mark.slow, pytest.mark.timeout(120)]
SEED = 20_261
KINDS = (MODERATOR, PRO, CON, JUDGE, NATS, MODERATOR, CON, JUDGE, PRO)


async def test_six_competitions_while_anything_is_killed(tmp_path: Path) -> None:
    """One of them whole. What is said on a team's channel, and the judge's notes, are followed and read by those who
    may, and compared like the rest."""
    rng = Random(SEED)
    plays = await made()
    async with Rig(tmp_path, make_stack(tmp_path, latency_s=0.05, queues=queues(*plays)), plays) as rig:
        await rig.learn()
        faults = Faults(rig.lease, rng)
        sessions = asyncio.gather(
            rig.play("whole", 0, plays[1]), *(rig.play(f"s{i}", i % 2, plays[0]) for i in range(5))
        )
        await faults.kill_each(KINDS, rig.asking, sessions.done, (0.2, 0.6))
        await sessions
        found = await rig.findings()
    print(f"competitions: seed={SEED} kills={dict(faults.kills)} {shown(found)}")
    assert found.violations == []
    assert faults.kills == Counter(KINDS), "the sessions were over before the kills"
    assert found.sessions == 3 + 6
    assert found.turns == 7 * plays[0].turns + 2 * plays[1].turns
    assert found.extra_calls, "nothing was lost with those that were killed"
    said = rig.expected
    for play in plays:
        assert {channel for channel, *_ in said[play.name, 0]} == {"public", "scores", "control", *READERS}
    assert said[plays[0].name, 0] != said[plays[0].name, 1], "sessions of different seeds differ"


@pytest.mark.alone
async def test_twenty_at_once(tmp_path: Path) -> None:
    """Every fourth one whole."""
    plays = await made()
    sids = [f"s{i}" for i in range(20)]
    async with Rig(tmp_path, make_stack(tmp_path, latency_s=0.0, queues=queues(*plays)), plays) as rig:
        await rig.learn()
        before, started = cpu_s(rig), time.monotonic()
        await asyncio.gather(
            *(rig.play(sid, i // 4 % plays[0].seeds if i % 4 else 0, plays[not i % 4]) for i, sid in enumerate(sids))
        )
        seconds, used = time.monotonic() - started, cpu_s(rig) - before
        memory_mb = max(psutil.Process(pid).memory_info().rss for pid in rig.lease.pids().values()) / 1e6
        found = await rig.findings()
    turns = 15 * plays[0].turns + 5 * plays[1].turns
    print(f"20 at once: {seconds:.1f} s, CPU {used:.1f} s, largest process {memory_mb:.0f} MB, {turns} turns")
    assert found.violations == []
    assert found.turns == turns + 2 * plays[0].turns + plays[1].turns
    assert found.extra_calls == 0 and found.redelivered_turns == 0
    assert used < 0.05 * turns, "CPU seconds, the extractive model's own among them"
    assert memory_mb < 300


async def made() -> tuple[Play, Play]:
    """A short one and a whole one: counting their turns plays them, on an event loop of its own."""
    return await asyncio.to_thread(lambda: (short(), whole()))


def cpu_s(rig: Rig) -> float:
    """User and system time of the stack's processes so far."""
    times = (psutil.Process(pid).cpu_times() for pid in rig.lease.pids().values())
    return sum(t.user + t.system for t in times)
