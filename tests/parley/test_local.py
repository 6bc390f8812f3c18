"""The library on a real stack of its own, and the stack's hooks."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, cast

import msgspec
import psutil
import pytest
from nats.aio.msg import Msg

import parley
from parley.bus import subjects
from parley.bus.accounts import load_credentials
from parley.bus.channels import CONTROL, PUBLIC
from parley.bus.connection import Connection, connect
from parley.bus.posts import Reader
from parley.client.errors import BadInput
from parley.schemas.post import Live, Post
from parley.schemas.result import Result as ClosedResult
from parley.schemas.wire import decode, encode
from parley.stack.lease import OWNER, Lease, Stack, read_running
from parley.stack.rows import rows_of
from tests.parley.support import ANSWER, QUESTION, TEXTS
from tests.support.engine import until as comes_true

MODEL = "tests.support.model:make"
LATENCY = {"latency_s": 0.05}


@pytest.fixture(scope="module")
def lease(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lease]:
    """A stack with the stub model."""
    stack = Stack(agents=rows_of("consensus", 3, model=MODEL, options=LATENCY), ack_wait_s=1.0)
    with Lease(stack, tmp_path_factory.mktemp("state"), wait_ready=True) as found:
        yield found


@pytest.fixture
async def front(lease: Lease) -> AsyncIterator[parley.Parley]:
    async with parley.connect(lease.url, lease.credentials(OWNER), protocol="consensus") as found:
        yield found


async def test_ask_on_a_stack_of_ones_own(tmp_path: Path) -> None:
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    async with parley.local(protocol="consensus") as p:
        result = await p.ask(QUESTION, evidence=tmp_path, settings={"threshold": 60})
        assert p.lease is not None
        folder, pids = p.lease.state, p.lease.pids()
    assert (result.outcome["answer"], result.stop.reason) == (ANSWER, "threshold"), "two documents say it"
    assert not folder.exists()
    assert not [name for name, pid in pids.items() if psutil.pid_exists(pid) and _lives(pid)]


async def test_a_stack_that_is_slow_to_start_is_waited_for(tmp_path: Path) -> None:
    late = rows_of("consensus", 3, model="tests.support.model:late", options={"until": str(tmp_path / "now")})
    async with parley.local(stack=Stack(agents=late), state=tmp_path / "state") as p:
        asking = asyncio.ensure_future(p.ask(QUESTION, protocol="consensus"))
        await comes_true(p.client.workers)
        assert not asking.done()
        (tmp_path / "now").touch()
        assert (await asking).status == "finished"
        assert [row.status for row in await p.client.sessions()] == ["finished"]


def _lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def test_a_session_is_followed_and_its_result_is_the_last_post(front: parley.Parley) -> None:
    session = await front.start("q")
    live: list[Live] = []
    posts = [post async for post in session.posts(live.append)]
    assert [p.k for p in posts if p.channel == PUBLIC] == list(range(sum(p.channel == PUBLIC for p in posts)))
    assert [p.kind for p in posts if p.channel == CONTROL] == ["stop", "closed"]
    assert posts[-1].kind == "closed"
    result = await session.result()
    told = decode(posts[-1].body, ClosedResult)
    assert (result.session, result.outcome, result.stop) == (told.session, told.outcome, told.stop)
    assert [p.n for p in result.posts] == [p.n for p in posts]
    assert await front.client.finished(session.sid) == told


async def test_the_reader_drops_doubles(front: parley.Parley, lease: Lease) -> None:
    """Posts are said again, and then one that is next: only that is new."""
    session = await front.start("q")
    await session.result()
    reader = front.client._reader
    wanted = await reader.history(session.sid, PUBLIC)
    assert len(wanted) > 4
    following = reader.follow(session.sid, [PUBLIC])
    seen = [await anext(following) for _ in range(len(wanted))]
    credentials = load_credentials(lease.credentials("moderator-1"))
    async with await connect(lease.url, credentials, name="echo") as moderator:
        subject = subjects.post(session.sid, PUBLIC, "said")
        for post in (wanted[0], wanted[-1]):
            await moderator.publish(subject, encode(post), confirm=True)
        await moderator.publish(subject, encode(msgspec.structs.replace(wanted[-1], k=wanted[-1].k + 1)), confirm=True)
        seen.append(await asyncio.wait_for(anext(following), 10))
    await following.aclose()
    assert [p.k for p in seen] == [*range(len(wanted)), len(wanted)]
    assert seen[:-1] == list(wanted)


class Lossy:
    """A connection that loses live posts: those for which `loses` is true. Everything else is the real one."""

    def __init__(self, connection: Connection, loses: Callable[[Post], bool]) -> None:
        self.connection = connection
        self._loses = loses
        self.lost: list[Post] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.connection, name)

    async def subscribe(self, subject: str, cb: Any, queue: str = "") -> Any:
        async def hear(msg: Msg) -> None:
            post = decode(msg.data, Post)
            if self._loses(post):
                self.lost.append(post)
            else:
                await cb(msg)

        return await self.connection.subscribe(subject, hear, queue)


@pytest.mark.parametrize(
    ("loses", "quiet_s"),
    [
        pytest.param(lambda p: p.channel == PUBLIC, 60.0, id="the end is complete"),
        pytest.param(lambda p: True, 0.3, id="silence is asked about"),
        pytest.param(lambda p: p.kind == "position", 60.0, id="a gap is asked for as soon as it shows"),
    ],
)
async def test_lost_posts_come_from_history(
    front: parley.Parley, loses: Callable[[Post], bool], quiet_s: float
) -> None:
    session = await front.start("q", settings={"threshold": 100, "round_limit": 3, "stuck_rounds": 9})
    lossy = Lossy(front.client.connection, loses)
    reader = Reader(cast(Connection, lossy), quiet_s=quiet_s)
    async with asyncio.timeout(20):
        posts = [post async for post in reader.follow(session.sid, [PUBLIC, CONTROL])]
    assert lossy.lost
    for channel in (PUBLIC, CONTROL):
        assert [p for p in posts if p.channel == channel] == list(await reader.history(session.sid, channel))
    assert posts[-1].kind == "closed"
    if {p.kind for p in lossy.lost} == {"position"}:
        order = [(p.kind, p.round) for p in posts]
        assert order.index(("position", 2)) < order.index(("stop", 0))


async def test_an_unknown_session_is_said(front: parley.Parley) -> None:
    with pytest.raises(parley.UnknownSession, match="no session nope"):
        await front.session("nope").result()


def test_secrets_are_for_their_owner_alone(lease: Lease) -> None:
    private = [lease.state / "stack.json", *(lease.state / "keys").iterdir(), lease.state / "bus" / "server.conf"]
    assert {oct(p.stat().st_mode & 0o777) for p in private} == {"0o600"}
    assert lease.state.stat().st_mode & 0o077 == 0 or lease.state.parent.stat().st_mode & 0o077 == 0


def test_a_stack_that_cannot_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(parley.StackFailed, match="no such file, and no built-in agent"):
        Lease(Stack(agents=(parley.AgentRow(queue="nobody"),)), tmp_path).__enter__()
    assert read_running(tmp_path) is None


def test_a_queue_that_two_rows_name_is_refused_by_name() -> None:
    """Two workers of one name would wait for each other until the start gives up."""
    rows = rows_of("consensus", 3)
    with pytest.raises(BadInput, match="agents: rows 2 and 5 name the queue panelist_2; copies in one row"):
        Stack(agents=(*rows, rows[1]))
