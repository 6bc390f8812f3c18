"""Commands that try to leave the sandbox, or to take more than they may: each is stopped, and said what stopped it."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

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


# ---------------------------------------------------------------- what it may


async def test_it_runs_in_the_folder_and_may_write_there(folder: Path) -> None:
    ran = await shell(folder, "cat a.txt; echo two > b.txt; exit 3")
    assert (ran.exit, ran.ended, ran.output) == (3, "", "one\n")
    assert (folder / "b.txt").read_text() == "two\n" and (folder / "b.txt").stat().st_uid == os.getuid()


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


async def test_the_middle_of_a_long_output_is_left_out(folder: Path) -> None:
    ran = await python(folder, "print('first'); print('x' * 3_000_000); print('last')")
    assert ran.exit == 0 and ran.output.startswith("first") and ran.output.rstrip().endswith("last")
    assert "bytes are left out here" in ran.output and len(ran.output) < 2_100_000
    assert (
        sandbox.cut("a" * 50_000 + "b" * 50_000, 1_000).startswith("aaa") and len(sandbox.cut("a" * 9_999, 500)) <= 500
    )


# ---------------------------------------------------------------- trials to leave it


@pytest.mark.parametrize("kind", ["tcp", "abstract", "bus"])
async def test_no_socket_outside_can_be_reached(folder: Path, kind: str) -> None:
    """By TCP, by a name without a file, and by a file beside the folder."""
    files = {"abstract": f"\0parley-{os.getpid()}", "bus": f"{folder.parent}/bus.sock"}
    address: Any = files.get(kind, ("127.0.0.1", 0))
    family = socket.AF_INET if kind == "tcp" else socket.AF_UNIX
    with socket.socket(family) as server:
        server.bind(address)
        server.settimeout(0.2)
        server.listen()
        there = server.getsockname() if kind == "tcp" else address
        ran = await python(folder, f"import socket; socket.socket({int(family)}).connect({there!r})")
        assert ran.exit == 1 and ("No such file" if kind == "bus" else "refused") in ran.output, ran
        with pytest.raises(TimeoutError):
            server.accept()


KEYCTL = {"x86_64": 250, "aarch64": 219}.get(os.uname().machine)
SHARED = """import ctypes, os
print(ctypes.CDLL(None).shmget(0, 2**20, 0o1600), ctypes.CDLL(None).shmget(0, 2**33, 0o1600))
print(ctypes.CDLL(None).shmget(0, 4096, 0o1600) >= 0)
os.memfd_create("x")
"""
TRIALS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "names of the network": (
        "import socket; print(socket.if_nameindex()); socket.create_connection(('1.1.1.1', 53), 3)",
        ("'lo'", "unreachable"), (),
    ),
    "more than its own capabilities": (
        "import os; os.system('cat /proc/self/status; mount -t tmpfs x /task; unshare -Ur id')",
        ("CapEff:\t0000000000000000", "NoNewPrivs:\t1"), ("uid=0",),
    ),
    "a debugger on the worker": (
        f"import ctypes; print(ctypes.CDLL(None, use_errno=True).ptrace(16, {os.getpid()}, 0, 0))", ("-1\n",), (),
    ),
    "the worker's keys in the kernel": (
        f"import ctypes; print(ctypes.CDLL(None).syscall({KEYCTL}, 0, -3, 0))", ("-1\n",), (),
    ),
    "memory that is counted nowhere": (SHARED, ("-1 -1\nTrue\n", "Function not implemented"), ()),
    "to outlive the machine's memory": ("print(open('/proc/self/oom_score_adj').read())", ("1000\n",), ()),
    "the disk by temporary files": (
        "import os; os.system('cat /dev/zero > /tmp/x; cat /dev/zero > /dev/shm/x')", ("No space left",), (),
    ),
}  # fmt: skip
"""What a command tries, what is said to it, and what never is."""


@pytest.mark.parametrize("tries", TRIALS)
async def test_what_it_tries_to_have_it_does_not_get(folder: Path, tries: str) -> None:
    code, said, never = TRIALS[tries]
    ran = await python(folder, code)
    assert all(words in ran.output for words in said) and not any(words in ran.output for words in never), ran


async def test_sockets_past_the_networks_namespace_are_refused(folder: Path) -> None:
    """vsock, packet, alg and bluetooth."""
    for family in (40, 17, 38, 31):
        ran = await python(folder, f"import socket; socket.socket({family}, socket.SOCK_STREAM)")
        assert ran.exit == 1 and "Address family not supported" in ran.output, ran


async def test_what_is_the_systems_or_others_is_neither_there_nor_written(folder: Path) -> None:
    outside = folder.parent
    for path in ("../secret.txt", f"{outside}/secret.txt", f"/proc/1/root{outside}/secret.txt"):
        ran = await shell(folder, f"cat {path}")
        assert ran.exit == 1 and "the secret" not in ran.output
    for path in ("/etc/shadow", "/var/spool", "/home", "/run", "/var/log", "/sys/kernel"):
        ran = await shell(folder, f"test -e {path} && ls {path}/*")
        assert ran.exit != 0, ran.output
    for path in ("/usr/bin/parley-trial", "/etc/parley-trial", "/parley-trial", "/dev/parley-trial"):
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


async def test_keys_of_the_worker_are_in_no_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLM_API_KEY", "sk-very-secret")
    ran = await shell(folder, "env; cat /proc/*/environ 2>/dev/null")
    assert "sk-very-secret" not in ran.output and "HOME=/tmp/home" in ran.output


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


BACKGROUND = f"(sleep {LONG}; echo) & setsid sleep {LONG} & nohup sleep {LONG} & echo over"
TWICE = f"""import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open("began", "w").close()
        os.execvp("sleep", ["sleep", "{LONG}"])
while not os.path.exists("began"):
    time.sleep(0.05)
"""
BOMB = f"bomb() {{ sleep {LONG} & bomb | bomb & }}; bomb; sleep {LONG}"
DEAF = f"trap '' TERM INT HUP; while true; do sleep {LONG}; done"


@pytest.mark.parametrize(
    ("command", "limits", "ended"),
    [
        (["sh", "-c", BACKGROUND], SMALL, ""),
        ([PYTHON, "-c", TWICE], SMALL, ""),
        (["sh", "-c", BOMB], SMALL, "it ran more than 100 processes and threads"),
        (["sh", "-c", DEAF], SMALL._replace(seconds=1), "it took longer than 1 s"),
    ],
    ids=["background", "forked twice", "a bomb", "does not listen"],
)
async def test_whatever_it_starts_ends_with_it(
    folder: Path, command: list[str], limits: ProcessLimits, ended: str
) -> None:
    ran = await sandbox.run(command, folder, limits=limits)
    assert (ran.exit, ran.ended) == (None if ended else 0, ended) and ran.seconds < 12
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
CPU = "import os\nfor n in range(2): os.fork()\nwhile True: pass"


@pytest.mark.parametrize(
    ("code", "ended"),
    [
        (THREADS, "it ran more than 100 processes and threads"),
        (MUCH_MEMORY, "it took more than 300 MB of memory"),
        (SHARED_MEMORY, "it took more than 300 MB of memory"),
        ("n = 0\nwhile True: n += 1; open(f'f{n}', 'w').close()", "it left more than 2,000 files in the folder"),
        (LOST_NAMES, "it left more than 60 MB in the folder"),
        (DEEP, "it made a folder that cannot be looked through: File name too long"),
        ("import os; os.system('yes | head -c 10000000000')", "it printed more than 4 MB"),
        (CPU, "it took more than 2 s of processor time"),
    ],
)
async def test_what_takes_too_much_is_stopped_with_the_limit(folder: Path, code: str, ended: str) -> None:
    ran = await python(folder, code, SMALL._replace(cpu_s=2) if code == CPU else SMALL)
    assert ran.ended == ended and ran.seconds < 15 and len(ran.output) < 2_100_000


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
