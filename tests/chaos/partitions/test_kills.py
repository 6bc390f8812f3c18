"""All five protocols at once on a log of four partitions, while processes are killed: what they come to is what they
come to undisturbed, and every log replays."""

import asyncio
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from parley.bus.storage.partitions import Partitions
from parley.stack.rows import AgentRow
from tests.chaos import competitions, tasks
from tests.chaos.faults import MODERATOR, NATS, SUPERVISOR, Faults
from tests.chaos.harness import CONSENSUS, Rig, critic, maci, make_stack, shown

pytestmark = [pytest.mark.serial, pytest.mark.slow, pytest.mark.timeout(180)]
SEED = 20_270
COUNT = 4
PLAYS = CONSENSUS, maci(), critic(), competitions.short(), tasks.at_once()


async def test_killed_at_random_moments_with_four_partitions(tmp_path: Path) -> None:
    kinds = (MODERATOR, NATS, MODERATOR, SUPERVISOR)
    rng = Random(SEED)
    known = {row.queue: row for row in tasks.rows(*PLAYS[-1:])}
    queues = dict.fromkeys(q for p in PLAYS for q in p.queues)
    rows = tuple(known.get(q) or AgentRow(queue=q, room=16) for q in queues)
    stack = make_stack(tmp_path, moderators=2, latency_s=0.05, agents=rows, partitions=COUNT)
    async with Rig(tmp_path, stack, PLAYS) as rig:
        await rig.learn()
        faults = Faults(rig.lease, rng)
        sids = [f"s{i}" for i in range(20)]
        sessions = asyncio.create_task(rig.play_all(sids, at_once=8))
        await faults.kill_each(kinds, rig.asking, sessions.done, (0.2, 0.8))
        await sessions
        found = await rig.findings()
        print(f"{kinds}: seed={SEED} kills={dict(faults.kills)} {shown(found)}")
        assert found.violations == []
        assert faults.kills == Counter(kinds), "the sessions were over before the kills"
        parts = Partitions(COUNT)
        assert {parts.of(sid).stream for sid in sids} == set(parts.streams), "each has some"
        for part in parts.all:
            info = await rig.bus.api(f"STREAM.INFO.{part.stream}")
            assert info["state"]["messages"] and info["config"]["subjects"] == [part.everything]
