"""`parley ask --protocol competition` on the example: the shipped formats and others, exports, who may read what while
it runs, and what is refused by its name."""

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from parley.bus import subjects
from parley.bus.accounts import load_credentials
from parley.bus.connection import Connection, connect
from parley.bus.errors import BusError, Denied
from parley.bus.posts import Reader
from parley.client.client import Client
from parley.schemas.post import ReadPosts
from parley.schemas.wire import encode
from parley.stack.lease import read_running
from tests.parley.support import ROOT, Front, until
from tests.protocols.competition.simulate import example
from tests.support.debater import panel

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]
EVIDENCE = str(ROOT / "examples" / "competition" / "evidence")
MOTION, DOCUMENTS = example()
TEAMS = {"pro": "team_pro", "con": "team_con"}
OWN = {"pro_1": "team_pro", "con_1": "team_con", "judge": "judge_notes"}
PRIVATE = tuple(OWN.values())


class Bench:
    """A stack with every seat of the shipped formats, for all these tests."""

    def __init__(self, folder: Path) -> None:
        self.front = Front(folder)
        self.panel = panel(folder)
        self.config = folder / "all.yaml"
        self.config.write_text("protocol: competition\n")

    @property
    def command(self) -> tuple[str, ...]:
        return "ask", MOTION, "--config", str(self.config), "--evidence", EVIDENCE

    async def connect(self, user: str) -> Connection:
        running = read_running(self.front.state)
        assert running is not None
        return await connect(running.url, load_credentials(Path(running.credentials[user])), name=f"test-{user}")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    found = Bench(tmp_path_factory.mktemp("competition"))
    up = found.front.start("up", "--panel-file", str(found.panel))
    try:
        until(lambda: (there := read_running(found.front.state)) and there.ready, "the stack is not ready", 30.0)
        yield found
    finally:
        up.send_signal(signal.SIGINT)
        up.communicate(timeout=20)
    found.front.assert_nothing_left()


# ---------------------------------------------------------------- while it runs


async def test_nobody_reads_the_other_teams_channel_while_it_runs(bench: Bench) -> None:
    """By processes of their own, on the broker as it is: the judge is frozen meanwhile, so that the session goes on."""
    child = bench.front.start(*bench.command, "--json")
    users = {user: await bench.connect(user) for user in ("owner", "client", "pro_1", "con_1", "judge")}
    running = read_running(bench.front.state)
    assert running is not None
    judge = running.services["judge-1"].pid
    stopped = False
    try:
        owner = Client(users["owner"], "owner")
        sid = await open_session(owner)
        os.kill(judge, signal.SIGSTOP)
        stopped = True
        for team, channel in TEAMS.items():
            await heard(users[f"{team}_1"], sid, channel)
        for user, connection in users.items():
            for channel in PRIVATE:
                if channel != OWN.get(user):
                    await assert_closed(connection, sid, channel)
        assert await owner.finished(sid) is None, "it is over: nothing was shown"
    finally:
        if stopped:
            os.kill(judge, signal.SIGCONT)
        out, err = await asyncio.to_thread(child.communicate, timeout=40)
        for connection in users.values():
            await connection.close()
    assert child.returncode == 0, err
    assert json.loads(out)["stop"]["reason"] == "played"


async def open_session(owner: Client) -> str:
    async with asyncio.timeout(20):
        while True:
            found = [row.session for row in await owner.sessions() if row.status == "open"]
            if found:
                return found[0]


async def heard(connection: Connection, sid: str, channel: str) -> None:
    """Its own people get the channel, live and from its history: at least a note."""
    async with asyncio.timeout(20):
        async for post in Reader(connection).follow(sid, (channel,)):
            assert post.channel == channel and post.kind == "note"
            return


async def assert_closed(connection: Connection, sid: str, channel: str) -> None:
    """No subscription, no history, no live words."""

    async def hear(_: object) -> None:
        raise AssertionError("it heard something")

    for subject in (
        subjects.post.of(session=sid, channel=channel),
        subjects.post.of(channel=channel), subjects.post.of(session=sid),
        subjects.live.of(channel=channel, session=sid), subjects.live.of(channel=channel),
    ):  # fmt: skip
        with pytest.raises(Denied):
            await connection.subscribe(subject, hear)
    with pytest.raises(BusError):
        await connection.request(subjects.read(channel, sid), encode(ReadPosts()), 1.0)
