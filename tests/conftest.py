"""What tests on the bus share: a real nats-server per test module, with every account on."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from parley.bus import accounts, streams
from parley.bus.accounts import Credentials, User
from parley.bus.connection import Connection, connect
from parley.bus.embedded import EmbeddedServer
from parley.process import one_thread
from tests.support.walk import Walks

_ROOT = Path(__file__).parents[1]
TIERS = tuple(
    tuple(line.split(maxsplit=1))
    for line in (_ROOT / "tests" / "tiers.txt").read_text().splitlines()
    if line and not line.startswith("#")
)
"""(tier, folder, module or test), in the file's order."""


def tiers_of(test: str) -> set[str]:
    """What tests/tiers.txt says of a test, by its id. Of what is landing, nothing else is said."""
    found = {
        tier for tier, place in TIERS if test == place or test.startswith((f"{place}/", f"{place}::", f"{place}["))
    }
    return {"slow", "landing"} if "landing" in found else found


LONGEST = frozenset({
    "tests/docs/test_pages.py", "tests/protocols/test_walks.py", "tests/house/test_stops.py",
    "tests/stack/test_full_disk.py", "tests/house/test_deploy.py",
    "research/research_tests/test_live_cells.py",
})  # fmt: skip
"""They come first: the process that has them is at work on them while the others take over what comes behind. A long
test at the end would be waited for by all."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what stands in tiers.txt, and begin with what takes longest."""
    for item in items:
        for tier in sorted(tiers_of(item.nodeid)):
            item.add_marker(tier)
    items.sort(key=lambda item: item.nodeid.partition("::")[0] not in LONGEST)


settings.register_profile("drawn", deadline=None)
settings.register_profile("fixed", deadline=None, derandomize=True)
settings.load_profile("fixed")  # the same examples in each run; `make fuzz` draws new ones

one_thread()  # threads of numpy's that wait for a processor which another test has take ten times as long
QUEUES = {"panel_1": "panelist", "panel_2": "panelist", "panel_3": "panelist", "analyst": "analyst"}

Dial = Callable[[str], Awaitable[Connection]]
Eventually = Callable[[Callable[[], Any]], Awaitable[Any]]


class Bus:
    """A running server with its table of users and their keys; streams and queues exist."""

    def __init__(self, folder: Path) -> None:
        self.users: tuple[User, ...] = accounts.table(
            QUEUES, clients=("client", "bob"), readers={"audit": ("client",), "auditor": ("*",)}
        )
        self.keys: dict[str, Credentials] = accounts.mint(self.users)
        self.server = EmbeddedServer(folder, self.users, accounts.publics(self.keys))

    @property
    def url(self) -> str:
        return self.server.url

    async def set_up(self) -> None:
        """Make the streams, and the queues with one second of ack_wait."""
        async with await connect(self.url, self.keys["moderator"], name="set-up") as conn:
            await streams.ensure_streams(conn, ack_wait_s=1.0)
            for queue in QUEUES:
                await streams.ensure_queue(conn, queue, ack_wait_s=1.0)


@pytest.fixture(scope="module")
def bus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bus]:
    """A fresh server per test module: users `moderator`, `client`, `owner`, `operator` and the queues of QUEUES."""
    found = Bus(tmp_path_factory.mktemp("nats"))
    with found.server:
        asyncio.run(found.set_up())
        yield found


@pytest.fixture
async def dial(bus: Bus) -> AsyncIterator[Dial]:
    """Connect as a user of the table; closed at the end of the test."""
    opened: list[Connection] = []

    async def as_user(name: str) -> Connection:
        opened.append(await connect(bus.url, bus.keys[name], name=f"test-{name}"))
        return opened[-1]

    yield as_user
    for connection in opened:
        await connection.close()


@pytest.fixture
def eventually() -> Eventually:
    """Wait until a condition (plain or async) holds, ten seconds at most; its value is returned."""

    async def wait(check: Callable[[], Any]) -> Any:
        deadline = time.monotonic() + 10
        while True:
            found = check()
            if isinstance(found, Awaitable):
                found = await found
            if found:
                return found
            assert time.monotonic() < deadline, "the condition did not come true within 10 s"
            await asyncio.sleep(0.01)

    return wait


@pytest.fixture(scope="session")
def walked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Walks:
    """Walks through the protocols' worlds, each gone once a run: processes of the same run share what they found."""
    parallel = hasattr(request.config, "workerinput")
    return Walks(tmp_path_factory.getbasetemp().parent / "walks" if parallel else None)


def pytest_configure() -> None:
    """A shell lets what it runs in the background ignore interrupts, and `nohup` the terminal's end. Children inherit
    that; ours hear both."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Show the server's log with a failed test."""
    report = yield
    found = getattr(item, "funcargs", {}).get("bus")
    if report.failed and isinstance(found, Bus) and found.server.log_path.exists():
        report.sections.append(("nats-server", found.server.log_path.read_text(errors="replace")[-8_000:]))
    return report
