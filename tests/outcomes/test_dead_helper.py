"""The game day of the helper: it is killed, and its alert alone fires in a real Prometheus until another is there.

It waits more than it does, so it does not run alone as the rest of the game day does.
"""

from pathlib import Path

import pytest

from parley.schemas.presence import ALIVE_S
from tests.outcomes.prometheus import MISSING, PROMETHEUS
from tests.outcomes.test_game_day import watched, worker_apart
from tests.protocols.madp.play import EXPERTS, spec
from tests.support.engine import until
from tests.support.madp import Crew

TASK = "Look at the deployment of the service"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.serial,
    pytest.mark.timeout(300),
    pytest.mark.skipif(PROMETHEUS is None, reason=MISSING),
]


async def test_a_dead_helper_is_told_of_until_another_one_has_matched_some_tasks(tmp_path: Path) -> None:
    """Tasks find somebody by their words alone, and after four of them coordination counts as degraded."""
    async with Crew(tmp_path, map(spec, EXPERTS)) as bus:
        moderator = await bus.moderator()
        await bus.experts()

        async def helpers(count: int) -> None:
            async def so() -> bool:
                return moderator.presence.workers().get("helper") == count

            await until(so, 2 * ALIVE_S)

        async def tasks(name: str, count: int) -> None:
            for n in range(count):
                await bus.task(f"{name}{n}", TASK)
                assert (await bus.result(f"{name}{n}"))["status"] == "finished"

        async with watched(tmp_path, bus, [moderator._metrics]) as found:
            async with worker_apart(bus, tmp_path, "helper") as helper:
                await bus.know(moderator)
                await helpers(1)
                await tasks("before", 1)
                await found.wait()
                helper.kill()
                await helpers(0)
            await tasks("without", 4)
            await found.wait("ParleyCoordinationDegraded")
            async with worker_apart(bus, tmp_path, "helper"):
                await helpers(1)
                await tasks("after", 5)
                await found.wait()
