"""A store that cannot write, whatever the cause: moderator, metrics service and the container's check say so, and
once it can be written again it is started anew without hands."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from parley.bus import accounts, subjects
from parley.bus.connection import Connection, connect
from parley.bus.embedded import EmbeddedServer
from parley.bus.errors import BusError
from parley.coordinator.moderator import Moderator
from parley.coordinator.outcomes.bus_state import BusState
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.sessions.token_keys import TokenKeys
from parley.observability.metrics import Metrics
from parley.observability.outcomes import Outcomes
from parley.stack.disk_watch import DiskWatch
from tests.outcomes.played import values
from tests.outcomes.test_bus_state import free_port
from tests.support.engine import KEY, until
from tests.support.small_disk import SmallDisk, small_disk

USERS = accounts.table({"panel_1": "panelist"}, observers=("metrics",))
KEYS = accounts.mint(USERS)
CHECK = Path(__file__).parents[2] / "deploy/nats-health.sh"
BUSYBOX = shutil.which("busybox")

pytestmark = [pytest.mark.slow, pytest.mark.serial, pytest.mark.timeout(120)]


@pytest.fixture(params=["bytes", "inodes"])
def small(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[SmallDisk, str]]:
    with small_disk(tmp_path / "small", 160, inodes=700) as found:
        yield found, request.param


async def _store(connection: Connection, count: int = 1) -> bool:
    """Whether so many megabytes were stored."""
    try:
        for number in range(count):
            await connection.store(subjects.log(f"s{number}-{os.urandom(4).hex()}", "opened"), os.urandom(1_000_000))
    except BusError:
        return False
    return True


def _fill(disk: SmallDisk, what: str) -> None:
    if what == "bytes":
        disk.fill()
    else:
        disk.fill_inodes()


def _checked(server: EmbeddedServer, port: int, *more: str) -> int:
    """The exit status of the container's check, of a container whose first process is this server."""
    assert BUSYBOX is not None
    tools = server.folder.parent.parent / "bin"
    if not tools.exists():
        tools.mkdir()
        for name in ("nc", "dd"):
            (tools / name).symlink_to(BUSYBOX)
    environ = {
        "PATH": f"{tools}:{os.environ['PATH']}", "NATS_MONITOR": str(port), "NATS_PID": str(server.pid)
    }  # fmt: skip
    command = [BUSYBOX, "sh", str(CHECK), str(server.folder), *more]
    return subprocess.run(command, env=environ, timeout=20, check=False).returncode


@pytest.mark.skipif(BUSYBOX is None, reason="NOT CHECKED: busybox, as NATS's image has it, is not installed")
async def test_it_is_said_and_mended(small: tuple[SmallDisk, str], tmp_path: Path) -> None:
    disk, what = small
    port = free_port()
    publics = accounts.publics(KEYS)
    with EmbeddedServer(disk.path / "bus", USERS, publics, extra={"http": f"127.0.0.1:{port}"}) as server:
        watch = DiskWatch(server.folder, server.log_path)
        watch.started()
        async with (
            await connect(server.url, KEYS["moderator"], name="m") as connection,
            await connect(server.url, KEYS["metrics"], name="o") as observer,
            Moderator(
                connection, token_keys=TokenKeys(KEY), metrics=Metrics(CollectorRegistry()), protocols=PROTOCOLS
            ) as moderator,
        ):
            outcomes = Outcomes(CollectorRegistry())
            look = BusState(observer, outcomes, f"http://127.0.0.1:{port}").look
            await look()
            assert values(outcomes, "nats_stores") == {(): 1.0} and _checked(server, port) == 0
            assert moderator.ready is None
            _fill(disk, what)
            assert not await _store(connection, 40)

            async def said() -> bool:
                await _store(connection)
                return moderator.ready is not None

            await until(said, 20.0)
            assert str(moderator.ready).startswith("the bus has not stored everything for ")
            await look()
            assert values(outcomes, "nats_up") == {(): 1.0} and values(outcomes, "nats_stores") == {}
            assert _checked(server, port) == 1 and _checked(server, port, "alive") == 0
            assert server.running and not watch.restart_due()
            disk.clear()
            assert not await _store(connection), "room alone mends nothing"
            assert watch.restart_due(), "the supervisor of a stack would start it anew"
            assert _checked(server, port) == 1
            await until(lambda: not server.running, 10.0)
            server.start()
            await until(lambda: _store(connection), 20.0)
            assert _checked(server, port) == 0 and moderator.ready is None
