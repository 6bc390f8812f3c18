"""Commands that try to leave the sandbox, or to take more than they may: each is stopped, and said what stopped it."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from parley.agents.tools import sandbox
from parley.agents.tools.sandbox import ProcessLimits, Ran
from tests.support.engine import until

pytestmark = [
    pytest.mark.serial,
    pytest.mark.alone,  # they take what there is of processor time, memory and processes
    pytest.mark.skipif(bool(sandbox.unavailable()), reason=f"{sandbox.unavailable()}; `make install` says how"),
]
PYTHON = sys.executable
LONG = f"987.{os.getpid()}"
"""Seconds that nobody else sleeps: processes of these tests are known by it."""
SMALL = ProcessLimits(
    seconds=20, memory=300 * 2**20, threads=100, output=4 * 2**20, folder=60 * 2**20, files=2_000, cpu_s=15
)  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A task's folder, with a file beside it that is not the task's."""
    found = tmp_path / "task"
    found.mkdir()
    (tmp_path / "secret.txt").write_text("the secret\n")
    (found / "a.txt").write_text("one\n")
    return found


async def python(folder: Path, code: str, limits: ProcessLimits = SMALL) -> Ran:
    return await sandbox.run([PYTHON, "-c", code], folder, limits=limits)


async def shell(folder: Path, code: str, limits: ProcessLimits = SMALL) -> Ran:
    return await sandbox.run(["sh", "-c", code], folder, limits=limits)


@contextlib.contextmanager
def listening(family: int, kind: int, address: object) -> Iterator[tuple[socket.socket, list[bytes]]]:
    """A server outside, and what reached it."""
    heard: list[bytes] = []
    with socket.socket(family, kind) as server:
        server.bind(address)  # type: ignore[arg-type]
        server.settimeout(0.2)
        over = threading.Event()
        if kind == socket.SOCK_STREAM:
            server.listen()

        def hear() -> None:
            while not over.is_set():
                with contextlib.suppress(TimeoutError):
                    heard.append(b"came" if kind == socket.SOCK_DGRAM and server.recv(10) else b"")
                    if kind == socket.SOCK_STREAM:
                        server.accept()[0].close()

        thread = threading.Thread(target=hear)
        if kind == socket.SOCK_DGRAM:
            thread.start()
        yield server, heard
        over.set()
        if thread.ident is not None:
            thread.join()


# ---------------------------------------------------------------- what it may


async def test_it_runs_in_the_folder_and_may_write_there(folder: Path) -> None:
    ran = await shell(folder, "cat a.txt; echo two > b.txt; exit 3")
    assert (ran.exit, ran.ended, ran.output) == (3, "", "one\n")
    assert (folder / "b.txt").read_text() == "two\n" and (folder / "b.txt").stat().st_uid == os.getuid()


async def test_the_projects_interpreter_and_what_it_needs_are_there(folder: Path) -> None:
    ran = await sandbox.run([PYTHON, "-m", "pytest", "--version"], folder, limits=SMALL)
    assert ran.exit == 0 and ran.output.startswith("pytest"), ran


async def test_further_paths_can_be_named_and_are_read_only(folder: Path, tmp_path: Path) -> None:
    beside = tmp_path / "deps"
    beside.mkdir()
    (beside / "x").write_text("dependency")
    ran = await sandbox.run(["sh", "-c", f"cat {beside}/x; echo y > {beside}/x"], folder, limits=SMALL, reads=[beside])
    assert "dependency" in ran.output and "Read-only" in ran.output and (beside / "x").read_text() == "dependency"


async def test_a_program_of_a_folder_that_npm_makes_is_there(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool, link = tmp_path / "node_modules" / "tool" / "cli.sh", tmp_path / "node_modules" / ".bin" / "tool"
    for path in (tool, link):
        path.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\necho it ran\n")
    tool.chmod(0o755)
    link.symlink_to("../tool/cli.sh")
    monkeypatch.setenv("PATH", f"{link.parent}:{os.environ['PATH']}")
    ran = await sandbox.run(["sh", "-c", "tool"], folder, limits=SMALL)
    assert "not found" in ran.output, "only a program that is named is shown"
    ran = await sandbox.run(["tool"], folder, limits=SMALL)
    assert ran.output == "it ran\n", ran


async def test_a_program_that_is_not_there_is_named(folder: Path) -> None:
    ran = await sandbox.run(["no-such-program"], folder)
    assert ran.exit is None and "'no-such-program' is found" in ran.ended


async def test_the_middle_of_a_long_output_is_left_out(folder: Path) -> None:
    ran = await python(folder, "print('first'); print('x' * 3_000_000); print('last')")
    assert ran.exit == 0 and ran.output.startswith("first") and ran.output.rstrip().endswith("last")
    assert "bytes are left out here" in ran.output and len(ran.output) < 2_100_000
    assert (
        sandbox.cut("a" * 50_000 + "b" * 50_000, 1_000).startswith("aaa") and len(sandbox.cut("a" * 9_999, 500)) <= 500
    )


# ---------------------------------------------------------------- trials to leave it


async def test_the_network_cannot_be_reached_by_tcp(folder: Path) -> None:
    with listening(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)) as (server, _):
        port = server.getsockname()[1]
        ran = await python(folder, f"import socket; socket.create_connection(('127.0.0.1', {port}), 3)")
        assert ran.exit == 1 and "Error" in ran.output
        with pytest.raises(TimeoutError):
            server.accept()


async def test_the_network_cannot_be_reached_by_udp(folder: Path) -> None:
    with listening(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)) as (server, heard):
        port = server.getsockname()[1]
        await python(folder, f"import socket; socket.socket(2, 2).sendto(b'x', ('127.0.0.1', {port}))")
    assert b"came" not in heard


async def test_no_name_is_resolved_and_no_host_is_there(folder: Path) -> None:
    ran = await python(
        folder, "import socket; print(socket.if_nameindex()); socket.create_connection(('1.1.1.1', 53), 3)"
    )
    assert ran.exit == 1 and "unreachable" in ran.output and "'lo'" in ran.output


async def test_an_abstract_unix_socket_outside_cannot_be_reached(folder: Path) -> None:
    name = f"\0parley-trial-{os.getpid()}"
    with listening(socket.AF_UNIX, socket.SOCK_STREAM, name) as (server, _):
        ran = await python(folder, f"import socket; socket.socket(socket.AF_UNIX).connect({name!r})")
        assert ran.exit == 1 and "refused" in ran.output
        with pytest.raises(TimeoutError):
            server.accept()


@pytest.mark.parametrize("path", ["../secret.txt", "{outside}/secret.txt", "/proc/1/root{outside}/secret.txt"])
async def test_files_beside_the_folder_cannot_be_read(folder: Path, path: str) -> None:
    ran = await shell(folder, f"cat {path.format(outside=folder.parent)}")
    assert ran.exit == 1 and "the secret" not in ran.output


async def test_a_link_out_of_the_folder_leads_nowhere(folder: Path) -> None:
    secret = folder.parent / "secret.txt"
    ran = await shell(folder, f"ln -s {secret} link; cat link; ln {secret} hard; echo changed > link")
    assert "the secret" not in ran.output and secret.read_text() == "the secret\n" and not (folder / "hard").exists()


@pytest.mark.parametrize("path", ["/etc/shadow", "/var/spool", "/home", "/run", "/var/log", "/sys/kernel"])
async def test_what_is_the_systems_or_others_is_not_there(folder: Path, path: str) -> None:
    ran = await shell(folder, f"test -e {path} && ls {path}/*")
    assert ran.exit != 0, ran.output


@pytest.mark.parametrize(
    "path",
    [
        "/usr/bin/parley-trial",
        "/etc/parley-trial",
        "/parley-trial",
        "/dev/parley-trial",
    ],
)
async def test_the_system_cannot_be_written(folder: Path, path: str) -> None:
    ran = await shell(folder, f"touch {path}")
    assert ran.exit != 0 and not os.path.exists(path)


async def test_the_kernels_settings_cannot_be_written(folder: Path) -> None:
    """To the kernel, root's sandbox is root. What stands there is written again, so that a hole does no harm."""
    there = Path("/proc/sys/kernel/hostname"), Path("/proc/sys/kernel/core_pattern"), Path("/proc/sys/vm/swappiness")
    for path in there:
        ran = await shell(folder, f"cat {path} > same && cat same > {path}")
        assert ran.exit != 0 and "Read-only" in ran.output, (path, ran)
    ran = await shell(folder, "find /proc -maxdepth 3 -writable -not -path '/proc/[0-9]*' -type f | head")
    assert ran.output.strip() == "", ran.output


async def test_other_processes_are_not_seen_and_not_killed(folder: Path) -> None:
    ran = await python(
        folder,
        f"""import os
seen = sorted(int(p) for p in os.listdir('/proc') if p.isdigit())
print(len(seen) < 6)
for pid in {{os.getppid(), {os.getpid()}}}:
    try:
        os.kill(pid, 9)
    except OSError as error:
        print(type(error).__name__)
""",
    )
    assert ran.output.startswith("True") and psutil.pid_exists(os.getpid())


async def test_no_capability_is_had_and_none_is_gained(folder: Path) -> None:
    ran = await shell(folder, "grep -E 'CapEff|NoNewPrivs' /proc/self/status; mount -t tmpfs x /task; unshare -Ur id")
    assert "CapEff:\t0000000000000000" in ran.output and "uid=0" not in ran.output and "NoNewPrivs:\t1" in ran.output


async def test_a_debugger_cannot_be_put_on_the_worker(folder: Path) -> None:
    code = f"import ctypes; print(ctypes.CDLL(None, use_errno=True).ptrace(16, {os.getpid()}, 0, 0))"
    assert (await python(folder, code)).output.strip() == "-1"


async def test_keys_of_the_worker_are_in_no_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLM_API_KEY", "sk-very-secret")
    ran = await shell(folder, "env; cat /proc/*/environ 2>/dev/null")
    assert "sk-very-secret" not in ran.output and "HOME=/tmp/home" in ran.output


async def test_a_background_process_ends_with_the_command(folder: Path) -> None:
    ran = await shell(folder, f"(sleep {LONG}; echo) & setsid sleep {LONG} & nohup sleep {LONG} & echo over")
    assert ran.exit == 0 and ran.output == "over\n" and ran.seconds < 10
    await nothing_is_left()


async def test_a_daemon_that_forked_twice_ends_too(folder: Path) -> None:
    code = f"""import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open("began", "w").close()
        os.execvp("sleep", ["sleep", "{LONG}"])
while not os.path.exists("began"):
    time.sleep(0.05)
"""
    ran = await python(folder, code)
    assert ran.exit == 0 and (folder / "began").exists()
    await nothing_is_left()


@pytest.mark.parametrize("family", [40, 17, 38, 31], ids=["vsock", "packet", "alg", "bluetooth"])
async def test_sockets_past_the_networks_namespace_are_refused(folder: Path, family: int) -> None:
    ran = await python(folder, f"import socket; socket.socket({family}, socket.SOCK_STREAM)")
    assert ran.exit == 1 and "Address family not supported" in ran.output, ran


async def test_the_workers_keys_in_the_kernel_are_not_to_be_had(folder: Path) -> None:
    number = {"x86_64": 250, "aarch64": 219}.get(os.uname().machine)
    code = f"import ctypes; print(ctypes.CDLL(None).syscall({number}, 0, -3, 0))"
    assert (await python(folder, code)).output.strip() == "-1"


async def test_the_socket_of_a_bus_beside_the_folder_is_not_there(folder: Path) -> None:
    path = str(folder.parent / "bus.sock")
    with listening(socket.AF_UNIX, socket.SOCK_STREAM, path) as (server, _):
        ran = await python(folder, f"import socket; socket.socket(socket.AF_UNIX).connect({path!r})")
        assert ran.exit == 1 and "No such file" in ran.output
        with pytest.raises(TimeoutError):
            server.accept()


@pytest.mark.parametrize("kept", [".local/share/keyrings/login", ".cargo/credentials.toml"])
async def test_keys_beside_programs_of_the_home_are_not_there(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: str
) -> None:
    home = tmp_path / "home"
    secret, tool = home / kept, home / kept.partition("/")[0] / "bin" / "tool"
    for path in (secret, tool):
        path.parent.mkdir(parents=True)
    secret.write_text("the secret")
    tool.write_text(f"#!/bin/sh\ncat {secret}\necho it ran\n")
    tool.chmod(0o755)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    ran = await sandbox.run(["tool"], folder, limits=SMALL)
    assert "it ran" in ran.output and "the secret" not in ran.output, ran


# ---------------------------------------------------------------- trials to take more than there is


async def test_a_fork_bomb_is_stopped(folder: Path) -> None:
    ran = await shell(folder, f"bomb() {{ sleep {LONG} & bomb | bomb & }}; bomb; sleep {LONG}")
    assert ran.exit is None and ran.ended == "it ran more than 100 processes and threads"
    await nothing_is_left()


MUCH_MEMORY = """import subprocess, sys
one = "import time; x = b'x' * (80 * 2**20); time.sleep(15)"
for process in [subprocess.Popen([sys.executable, "-c", one]) for n in range(8)]:
    process.wait()
"""
SHARED_MEMORY = """import mmap, time
shared = mmap.mmap(-1, 2**30)
while shared.tell() < 2**30:
    shared.write(b"x" * 2**20)
time.sleep(9)
"""
LOST_NAMES = """import os, time
held = []
for n in range(6):
    held.append(open("x", "wb"))
    os.unlink("x")
    held[-1].write(b"x" * (20 * 2**20))
    held[-1].flush()
time.sleep(9)
"""
DEEP = """import os, time
for n in range(30):
    os.mkdir("d" * 200)
    os.chdir("d" * 200)
time.sleep(9)
"""
THREADS = "import threading, time\nfor n in range(300): threading.Thread(target=time.sleep, args=(30,)).start()"


@pytest.mark.parametrize(
    ("code", "ended"),
    [
        (THREADS, "it ran more than 100 processes and threads"),
        (MUCH_MEMORY, "it took more than 300 MB of memory"),
        (SHARED_MEMORY, "it took more than 300 MB of memory"),
        ("n = 0\nwhile True: n += 1; open(f'f{n}', 'w').close()", "it left more than 2,000 files in the folder"),
        (LOST_NAMES, "it left more than 60 MB in the folder"),
        (DEEP, "it made a folder that cannot be looked through: File name too long"),
    ],
)
async def test_what_takes_too_much_is_stopped_with_the_limit(folder: Path, code: str, ended: str) -> None:
    ran = await python(folder, code)
    assert ran.ended == ended and ran.seconds < 15


async def test_ten_gigabytes_of_output_are_stopped(folder: Path) -> None:
    ran = await shell(folder, "yes | head -c 10000000000")
    assert ran.ended == "it printed more than 4 MB" and len(ran.output) < 2_100_000 and ran.seconds < 10


async def test_processor_time_is_bounded_over_all_processes(folder: Path) -> None:
    ran = await shell(folder, "for i in 1 2 3 4; do (while :; do :; done) & done; wait", SMALL._replace(cpu_s=2))
    assert ran.ended == "it took more than 2 s of processor time" and ran.seconds < 15


async def test_a_huge_file_is_stopped(folder: Path) -> None:
    ran = await shell(folder, "cat /dev/zero > big; sleep 5")
    assert ran.ended == "it left more than 60 MB in the folder" or "File size limit" in ran.output


async def test_memory_that_is_counted_nowhere_is_not_given(folder: Path) -> None:
    code = """import ctypes, os
print(ctypes.CDLL(None).shmget(0, 2**20, 0o1600), ctypes.CDLL(None).shmget(0, 2**33, 0o1600))
print(ctypes.CDLL(None).shmget(0, 4096, 0o1600) >= 0)
os.memfd_create("x")
"""
    ran = await python(folder, code)
    assert "-1 -1\nTrue\n" in ran.output and "Function not implemented" in ran.output


async def test_where_the_machine_runs_out_of_memory_it_is_the_first_to_go(folder: Path) -> None:
    assert (await shell(folder, "cat /proc/self/oom_score_adj")).output == "1000\n"


async def test_temporary_files_cannot_fill_the_disk(folder: Path) -> None:
    ran = await shell(folder, "cat /dev/zero > /tmp/x; ls -s /tmp/x; cat /dev/zero > /dev/shm/x")
    assert ran.exit != 0 and "No space left" in ran.output


async def test_the_time_holds_for_who_does_not_listen(folder: Path) -> None:
    ran = await shell(folder, f"trap '' TERM INT HUP; while true; do sleep {LONG}; done", SMALL._replace(seconds=1))
    assert ran.exit is None and ran.ended == "it took longer than 1 s" and ran.seconds < 8
    await nothing_is_left()


WAITS = f"touch began; sleep {LONG}"


async def began(folder: Path) -> None:
    """Wait until the command runs."""

    async def there() -> bool:
        return (folder / "began").exists()

    await until(there)


async def test_whoever_is_cancelled_leaves_nothing(folder: Path) -> None:
    running = asyncio.create_task(shell(folder, WAITS))
    await began(folder)
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    await nothing_is_left()


async def test_a_worker_that_is_killed_takes_its_commands_with_it(folder: Path) -> None:
    code = f"""import asyncio
from pathlib import Path
from parley.agents.tools import sandbox
asyncio.run(sandbox.run(["sh", "-c", {WAITS!r}], Path({str(folder)!r})))
"""
    worker = await asyncio.create_subprocess_exec(PYTHON, "-c", code)
    await began(folder)
    worker.send_signal(signal.SIGKILL)
    await worker.wait()
    await nothing_is_left()


async def nothing_is_left() -> None:
    """No process of these tests' commands runs."""

    async def over() -> bool:
        return not [p for p in psutil.process_iter(["cmdline"]) if LONG in (p.info["cmdline"] or ())]

    await until(over)
