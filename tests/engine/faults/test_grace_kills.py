"""Moderators are killed around the end of a grace: rounds come out as undisturbed.

`GRACE_KILLS` says how many kills; each is amid eight sessions at once."""

import asyncio
import os
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from parley.agents.context import Shown
from parley.agents.model.base import Completion, Emit, tell_retrying
from parley.coordinator.replay import replay
from parley.schemas.result import Result
from parley.schemas.wire import decode
from tests.chaos.harness import pause
from tests.engine.faults.test_leaving import LOST, OTHERS, SOON
from tests.support.engine import Engine, engine
from tests.support.model import StubModel

KILLS = int(os.environ.get("GRACE_KILLS", "20"))
IN_TIME, NEVER = "Who is in time?", "Who never answers?"
SLOW_S = 0.8
"""The grace ends a second after the others' answers."""


class Failing(StubModel):
    """The stub, whose call fails, and then succeeds within the grace, or never."""

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        tell_retrying(emit, "HTTP 429", SLOW_S)
        await pause(SLOW_S if shown.question == IN_TIME else 60.0)
        return await super().reply(shown, emit)


async def played(bare: Engine, batch: int, kill_after_s: float) -> list[str]:
    """Eight sessions amid which the only moderator is killed and followed by another; what came out otherwise."""
    first = await bare.moderator(SOON)
    sids = {f"s{batch}-{i}": IN_TIME if i % 2 else NEVER for i in range(8)}
    await asyncio.gather(*(bare.open(sid, question=question, turn_timeout_s=120.0) for sid, question in sids.items()))
    await pause(kill_after_s)
    await first._connection.close()
    await pause(0.2)
    second = await bare.moderator(SOON)
    found = []
    for sid, question in sids.items():
        result = decode((await bare.closed(sid, 60.0)).body, Result)
        missing = [] if question == IN_TIME else [LOST]
        if result.rounds[0]["missing"] != missing or result.stop.reason != "threshold":
            found.append(f"{sid}: {question} killed after {kill_after_s:.2f} s: {result.rounds[0]['missing']}")
        stored = [entry.encode() for entry in await bare.log(sid)]
        assert len(replay(SOON.get, sid, stored).entries) == len(stored)
    await second.__aexit__(None, None, None)
    return found


@pytest.mark.timeout(60 + 30 * KILLS)
async def test_rounds_are_as_undisturbed_though_moderators_are_killed(tmp_path: Path) -> None:
    options: Mapping[str, Any] = {"agree_from": 1}
    dice = random.Random(20_261)
    async with engine(tmp_path) as bare:
        for queue in OTHERS:
            await bare.worker(queue, options, room=16)
        await bare.worker(LOST, model=Failing(options), room=32)
        found = [x for batch in range(KILLS) for x in await played(bare, batch, dice.uniform(0.0, 1.4))]
    print(f"{KILLS} kills, {8 * KILLS} sessions")
    assert found == []
