"""What a stack keeps in its directory: room on its disk, and the same address."""

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from parley.bus import accounts, streams
from parley.bus.connection import connect
from parley.bus.embedded import EmbeddedServer, find_server
from parley.bus.errors import ApiError
from parley.bus.storage import disk
from parley.stack import server
from parley.stack.lease import AGENTS, Lease, Stack, read_running
from parley.stack.rows import AgentRow
from tests.parley.support import QUESTION, Front, until
from tests.support import engine
from tests.support.small_disk import SmallDisk, small_disk

USERS = accounts.table({"panel_1": "panelist"})
KEYS = accounts.mint(USERS)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "small", 120) as found:
        yield found


class Beside(Front):
    """Commands whose state lies on the small disk; what they read does not."""

    def __init__(self, small: SmallDisk, folder: Path) -> None:
        super().__init__(folder)
        self.state = small.path / "state"

    @property
    def environment(self) -> dict[str, str]:
        """One that has a say in how an interpreter starts: a fork would not see the small disk."""
        return super().environment | {"PYTHONUTF8": "1"}


async def test_the_streams_fit_a_small_store(small: SmallDisk) -> None:
    """IN would set 1 GiB aside, and the server took three quarters of what is free."""
    with EmbeddedServer(small.path / "bus", USERS, accounts.publics(KEYS)) as server:
        async with await connect(server.url, KEYS["moderator"], name="t") as conn:
            await streams.ensure_streams(conn)
            config = (await conn.api("STREAM.INFO.IN"))["config"]
            assert streams.IN_BYTES[-1] <= config["max_bytes"] < small.free
            await streams.ensure_streams(conn)
            small.fill(leave=2 * disk.KEPT_BYTES)
            server.restart()
        async with await connect(server.url, KEYS["moderator"], name="t") as conn:
            await streams.ensure_streams(conn)  # less room than before: what is there stays
            assert (await conn.api("STREAM.INFO.IN"))["config"]["max_msgs"] == streams.IN_MESSAGES


async def test_on_a_full_disk_streams_and_consumers_stay_as_they_are(small: SmallDisk) -> None:
    """A moderator that is started there waits for room as the others do, and does not die again and again."""
    with EmbeddedServer(small.path / "bus", USERS, accounts.publics(KEYS)) as server:
        async with await connect(server.url, KEYS["moderator"], name="t") as conn:
            await streams.ensure_streams(conn)
            await streams.ensure_queue(conn, "panel_1")
            small.fill()
            await streams.ensure_streams(conn, log_max_age_s=60.0, ack_wait_s=3.0)
            await streams.ensure_queue(conn, "panel_1", ack_wait_s=3.0)
            with pytest.raises(ApiError):
                await streams.ensure_queue(conn, "panel_2")  # which is not there


@pytest.mark.timeout(60)
@pytest.mark.parametrize("command", [("ask", QUESTION, "--evidence", "evidence"), ("up",)], ids=["ask", "up"])
def test_too_small_a_disk_is_refused_at_once_with_the_figures(
    small: SmallDisk, tmp_path: Path, command: tuple[str, ...]
) -> None:
    front = Beside(small, tmp_path)
    small.fill(leave=20_000_000)
    code, out, err = front.run(*command)
    assert (code, out) == (1, "")
    said = " ".join(err.split())
    assert re.search(r"needs 67\.1 MB of free disk to start, and has (19|20)\.\d MB", said), err
    assert str(front.state) in said and "--state DIR, or PARLEY_STATE" in said
    code, out, err = front.run("doctor")
    assert code == 1 and "needs 67.1 MB of free disk" in " ".join((out + err).split())
    front.assert_nothing_left()


@pytest.mark.timeout(180)
def test_on_a_full_disk_sessions_wait_and_go_on_by_themselves(small: SmallDisk, tmp_path: Path) -> None:
    front = Beside(small, tmp_path)
    up = front.start("up", "--config", str(front.slow_agents(2.0)))
    before = until(lambda: (r := read_running(front.state)) and r.ready and r, "it is not up", 30)
    asked = front.start("ask", QUESTION, "--evidence", str(front.evidence), "--config", str(front.folder / "slow.yaml"))
    until(lambda: front.journal.exists() and front.journal.read_text(), "no model was asked", 30)
    small.fill()
    assert small.free == 0
    os.kill(before.services["analyst-1"].pid, 9)  # the supervisor writes down what runs, and cannot
    until(lambda: "no space left" in (front.state / "bus/server.log").read_text(errors="replace"), "stored all", 30)
    code, out, err = front.run("doctor", "--config", str(front.folder / "slow.yaml"))
    said = " ".join((out + err).split())
    assert code == 1
    assert re.search(rf"the disk of {front.state} is full: 0\.\d MB are free, 33\.6 MB are needed; sessions wait", said)
    assert up.poll() is None and asked.poll() is None
    code, out, err = front.run("ask", QUESTION, "--evidence", str(front.evidence))
    assert code != 0 and "disk" in err and "is full" in err
    small.clear()
    out, err = asked.communicate(timeout=60)
    assert asked.returncode in (0, 3), err
    said = " ".join(err.split())
    assert f"the disk of {front.state} is full" in said and "there is room again" in said
    after = read_running(front.state)
    assert after is not None and after.supervisor == before.supervisor
    assert after.services["nats"].starts == before.services["nats"].starts + 1
    assert front.run("doctor", "--config", str(front.folder / "slow.yaml"))[0] == 0
    up.terminate()
    up.communicate(timeout=20)
    assert up.returncode == 0
    front.assert_nothing_left()


STACK = Stack(agents=(AgentRow(queue="analyst"),))


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "small", 1) as found:
        yield found


def test_a_full_disk_loses_no_port(tiny: SmallDisk) -> None:
    server.keep_port(tiny.path, 4444)
    tiny.fill()
    server.keep_port(tiny.path, 4444)
    with pytest.raises(OSError, match="No space left"):
        server.keep_port(tiny.path, 4445)
    assert server.load_port(tiny.path) == 4444


def test_a_server_that_fails_once_is_started_at_its_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it does where the disk is full for a moment: who is connected waits at the port that he knows."""
    failing = tmp_path / "failing"
    wrapper = tmp_path / "bin" / "nats-server"
    wrapper.parent.mkdir()
    real = find_server()
    wrapper.write_text(
        f'#!/bin/sh\nif [ "$1" = -c ] && rm "{failing}" 2>/dev/null; then exit 1; fi\nexec {real} "$@"\n'
    )
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", str(wrapper.parent), prepend=":")
    state = tmp_path / "state"
    with Lease(STACK, state) as lease:
        before = lease.url
    failing.touch()
    with Lease(STACK, state) as lease:
        assert lease.url == before
    assert not failing.exists(), "it failed"


async def test_a_supervisor_is_replaced_as_often_as_it_dies(tmp_path: Path) -> None:
    """The first time, what its agents are made of cannot be written down, as on a full disk."""
    state = tmp_path / "state"
    async with Lease(STACK, state):
        kept = state / AGENTS
        kept.rename(state / "aside")
        kept.touch()
        ran = [0]
        for _ in range(3):
            if ran[-1]:
                os.kill(ran[-1], signal.SIGKILL)
            running = await engine.until(
                lambda: read_running(state),
                right=lambda now: now and now.ready and now.supervisor not in ran,
                timeout_s=30,
            )
            ran.append(running.supervisor)
