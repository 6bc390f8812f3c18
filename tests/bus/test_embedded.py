"""The nats-server child: there when needed, gone on every exit path."""

import asyncio
import os
import signal
import socket
import stat
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from parley.bus import accounts, embedded, streams, subjects
from parley.bus.connection import connect
from parley.bus.embedded import EmbeddedServer
from parley.bus.errors import ServerFailed, ServerUnusable
from tests.conftest import Eventually

USERS = accounts.table({"panel_1": "panelist"})
KEYS = accounts.mint(USERS)


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def listens(port: int) -> bool:
    with socket.socket() as line:
        return line.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(tmp_path / "nats", USERS, accounts.publics(KEYS)) as found:
        yield found


async def test_serves_and_keeps_its_files_together(server: EmbeddedServer) -> None:
    async with await connect(server.url, KEYS["moderator"], name="t") as conn:
        assert (await conn.api("INFO"))["streams"] == 0
    assert server.running
    assert stat.S_IMODE(server.config_path.stat().st_mode) == 0o600
    assert {p.name for p in server.folder.iterdir()} >= {"server.conf", "server.log", "jetstream"}


def test_start_and_stop_twice(server: EmbeddedServer) -> None:
    pid, port = server.pid, server.port
    assert server.start() is server
    assert server.pid == pid
    server.stop()
    server.stop()
    server.kill()
    assert gone(pid)
    assert not listens(port)
    assert not server.running
    with pytest.raises(ServerFailed, match="not running"):
        _ = server.pid


@pytest.mark.parametrize("end", ["stop", "kill"])
async def test_restart_keeps_port_and_store(server: EmbeddedServer, end: str) -> None:
    port, pid = server.port, server.pid
    async with await connect(server.url, KEYS["moderator"], name="t") as conn:
        await streams.ensure_streams(conn)
        ack = await conn.store(subjects.log("s", subjects.OPENED), b"kept")
    getattr(server, end)()
    server.restart()
    assert (server.port, server.pid != pid) == (port, True)
    async with await connect(server.url, KEYS["moderator"], name="t") as conn:
        assert (await conn.api("STREAM.INFO.LOG"))["state"]["last_seq"] == ack.seq == 1


def test_its_death_shows(server: EmbeddedServer) -> None:
    os.kill(server.pid, signal.SIGKILL)
    process = psutil.Process(server.pid)
    psutil.wait_procs([process], timeout=5)
    assert not server.running
    server.start()
    assert listens(server.port)


def test_ctrl_c_in_our_terminal_does_not_reach_it(server: EmbeddedServer) -> None:
    assert os.getsid(server.pid) != os.getsid(0)


def test_taken_port_is_an_error_with_the_servers_words(tmp_path: Path, server: EmbeddedServer) -> None:
    second = EmbeddedServer(tmp_path / "second", USERS, accounts.publics(KEYS), port=server.port)
    with pytest.raises(
        ServerFailed, match=f"^nats-server: port {server.port} is taken by another program; it exited with 1 "
    ):
        second.start()
    assert not second.running


def test_a_word_less_launcher_starts_nothing(tmp_path: Path) -> None:
    """We die after the spawn, before the guardian knows the pid."""
    mark = tmp_path / "started"
    launcher = subprocess.Popen(["sh", "-c", embedded._LAUNCHER, "sh", "touch", str(mark)], stdin=subprocess.PIPE)
    assert launcher.stdin is not None
    launcher.stdin.close()
    assert launcher.wait(5) != 0
    assert not mark.exists()


PARENT = """
    import os, sys
    from pathlib import Path
    from parley.bus import accounts
    from parley.bus.embedded import EmbeddedServer

    users = accounts.table({})
    server = EmbeddedServer(Path(sys.argv[1]), users, accounts.publics(accounts.mint(users))).start()
    print(server.pid, server._guardian.pid, server.port, flush=True)
    sys.stdin.readline()
    END
"""

ENDS = {
    "SIGKILL": "os.kill(os.getpid(), 9)",
    "SIGTERM": "os.kill(os.getpid(), 15)",
    "exit": "sys.exit(0)",
    "exception": "raise RuntimeError",
    "hard exit": "os._exit(3)",
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS.keys())
async def test_gone_when_its_parent_ends(tmp_path: Path, eventually: Eventually, end: str) -> None:
    pipe = asyncio.subprocess.PIPE
    code = textwrap.dedent(PARENT.replace("END", end))
    parent = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", code, str(tmp_path)),
        stdin=pipe,
        stdout=pipe,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=Path(__file__).parents[2],
    )
    assert parent.stdout is not None
    pid, guardian, port = map(int, (await parent.stdout.readline()).split())
    assert listens(port) and not gone(pid) and not gone(guardian)
    await asyncio.wait_for(parent.communicate(b"end\n"), 10)
    await eventually(lambda: gone(pid) and gone(guardian) and not listens(port))


async def test_a_reload_while_somebody_comes_in_refuses_nobody(server: EmbeddedServer) -> None:
    """The server refuses whoever has not yet said who it is."""
    came: list[asyncio.Task[None] | None] = []

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            writer.write(data)
        writer.close()
        await writer.wait_closed()

    async def front(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind, into = await asyncio.open_connection("127.0.0.1", server.port)
        came.append(asyncio.current_task())
        if len(came) == 1:
            writer.write(await behind.readuntil(b"\r\n"))
            await reader.readuntil(b"\r\n")
            await asyncio.to_thread(server.reload)
        await asyncio.gather(pass_on(reader, into), pass_on(behind, writer))

    async with await asyncio.start_server(front, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        async with await connect(f"nats://127.0.0.1:{port}", KEYS["panel_1"], name="t") as connection:
            assert connection.connected and len(came) == 2
        await asyncio.wait(filter(None, came))


def _first_on_path(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> str:
    path = folder / "nats-server"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    return str(path)


def test_an_old_server_on_path_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = _first_on_path(tmp_path, monkeypatch, "echo 'nats-server: v2.10.4'")
    assert embedded.version_of(old) == (2, 10, 4)
    found = embedded.find_server()
    assert found != old
    assert embedded.version_of(found) >= embedded.LEAST_VERSION


def test_a_server_that_cannot_be_run_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ServerUnusable, match="nats-server at /nowhere/nats-server cannot be run: No such file"):
        embedded.version_of("/nowhere/nats-server")
    fails = "echo 'fatal error: failed to reserve page summary memory' >&2\nexit 2"
    broken = _first_on_path(tmp_path, monkeypatch, fails)
    with pytest.raises(ServerUnusable, match=r"cannot be run: fatal error: failed to reserve .* \(it ended with 2\)"):
        embedded.version_of(broken)
    assert embedded.find_server() != broken, "another one can be run"


def test_a_path_with_any_letters_holds_a_store(tmp_path: Path) -> None:
    folder = tmp_path / 'josé dätä 日本 a"b\\c$HOME'
    with EmbeddedServer(folder, USERS, accounts.publics(KEYS)) as server:
        assert server.running and (folder / "jetstream").is_dir()


def test_a_configuration_that_cannot_be_read_is_the_first_thing_said(tmp_path: Path) -> None:
    server = EmbeddedServer(tmp_path, USERS, accounts.publics(KEYS), extra={"no_such_setting": 1})
    with pytest.raises(ServerFailed, match=r"^nats-server: .*no_such_setting.*; it exited with 1 \(more in "):
        server.start()
