"""Runs a command in a sandbox on Linux: bubblewrap, and limits that hold for everything that the command starts.

**What it sees.** A file system of its own: the system's programs and libraries and the interpreters that it may need,
read-only; the task's folder as `/task`, writable; a `/tmp` and a home of its own, bounded and in memory. Of `/etc` only
what programs need to start. Namespaces of its own for users, processes, network, System V IPC and the host's name, all
capabilities dropped: there is no network, no process of others, no path of others. Its environment is made here, so no
key is in it; its input is empty. What an agent of others has beside that is `Around`.

**What bounds it.** It runs in a process namespace: when its first process ends, or the worker dies, everything in it is
killed by the kernel, whatever it forked, detached or ignored. Its tree is looked at every tenth of a second, and is
killed as a whole once it passes a limit of processor time, memory, processes with their threads, output, or size of
the folder, where files count that have no name any more but are open. This holds for root too, for whom the kernel's
limits of processes do not; what a tree can take between two looks is what it passes a limit by. It runs at low
priority, so that looking goes on, and is what the kernel ends first where the machine's memory runs out. System calls
that nothing here would count or bound are refused (agents/tools/syscalls.py).

Where bubblewrap is not installed, or the system lets nobody make namespaces, nothing is run (`unavailable`).
"""

import asyncio
import contextlib
import functools
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from parley.agents.tools import syscalls
from parley.agents.tools.allow import READS, AllowList
from parley.agents.tools.process_limits import ProcessGroup, ProcessLimits, too_large, tree_of

_BWRAP = "bwrap"
_LOOK_S = 0.1
_FOLDER_LOOK_S = 0.5
_KEPT = 1_000_000
"""Bytes of output that are kept from its beginning, and as many from its end."""
_PIECE = 65_536
_LINE = 16 * 2**20
"""Bytes of a line that whoever is spoken with may print."""
_TMP = 256 * 2**20
_DISK = 2**30
"""Bytes that are left free on the folder's disk."""
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
_ETC = (
    "alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "passwd", "group", "nsswitch.conf", "localtime",
    "timezone", "ssl/certs", "ssl/openssl.cnf", "ca-certificates", "mime.types", "java-17-openjdk", "os-release",
)  # fmt: skip
_INTERPRETERS = (
    "python",
    "python3",
    "node",
    "npm",
    "npx",
    "go",
    "cargo",
    "rustc",
    "java",
    "ruby",
    "perl",
    "deno",
    "bun",
)
_SHARED = (".local", ".cargo")
"""Of a home: programs are installed there beside keys and records of others."""
_PARTS = ("bin", "lib", "lib64", "registry", "git")
_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
FOLDER = "/task"
"""Where the command sees the task's folder, in which it begins."""
HOME = "/tmp/home"


Talk = Callable[[asyncio.StreamWriter, asyncio.StreamReader], Awaitable[None]]
"""(its input, its output): speaks with a program."""


class Around(NamedTuple):
    """What a run has beside the folder, where it is more than a command of the project."""

    env: Mapping[str, str] = {}
    shows: Mapping[Path, str] = {}
    """What it sees read-only under another path: a socket there can be spoken to."""
    talk: "Talk | None" = None
    """Speaks with it over its input and output, and ends the run by its return. None: its input is empty, and what it
    prints is kept."""
    until: Callable[[], Awaitable[str]] | None = None
    """Ends the run by its return, which says why."""


class Ran(NamedTuple):
    """What became of a run."""

    exit: int | None
    """Its exit status; 128 and more: ended by a signal. None: it was ended, or could not begin."""
    ended: str
    """What ended it, or why it could not begin; empty: it ended by itself."""
    output: str
    """What it printed, to both; the middle is left out beyond two million bytes."""
    seconds: float
    stopped: bool = False
    """It had begun, and passed a limit."""
    errors: str = ""
    """What it printed as errors, where that is kept apart (`Around`)."""


class CannotRun(Exception):
    """A command that cannot begin: says why."""


@functools.cache
def unavailable() -> str:
    """Why no command can be run here; empty: it can. Looked at once a process."""
    if sys.platform != "linux":
        return f"there is no sandbox for {sys.platform}; it takes Linux with bubblewrap"
    program = shutil.which(_BWRAP)
    if program is None:
        return "there is no sandbox: bubblewrap is not installed (apt install bubblewrap)"
    try:
        tried = subprocess.run(
            [program, *_apart(program), *_system(), "--proc", "/proc", "--remount-ro", "/proc", "--", "/bin/true"],
            capture_output=True,
            timeout=10,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"there is no sandbox: bubblewrap cannot be started ({type(error).__name__})"
    if tried.returncode:
        reason = " ".join(tried.stderr.decode(errors="replace").split())[:300]
        return f"there is no sandbox: bubblewrap cannot make namespaces here ({reason})"
    return ""


def possible(allowed: AllowList) -> tuple[AllowList, str]:
    """What of an allow list can be used here, and why the rest cannot."""
    if not any(server.sandbox for server in allowed.servers.values()):
        return allowed, ""
    why = unavailable()
    return (allowed.where(lambda server: not server.sandbox) if why else allowed), why


async def run(
    argv: Sequence[str],
    folder: Path,
    *,
    limits: ProcessLimits | None = None,
    reads: Sequence[Path] = (),
    around: Around | None = None,
) -> Ran:
    """Run one command in the folder. Never raises for what the command is or does.

    Parameters
    ----------
    argv
        The program and its arguments; the program is looked for in the folder, where it is named with a slash, and on
        this process's PATH.
    folder
        What it may write.
    reads
        Further paths that it sees, read-only, beside those of PARLEY_SANDBOX_READS.
    """
    limits = limits or ProcessLimits()
    started = time.monotonic()
    why = unavailable()
    try:
        if why:
            raise CannotRun(why)
        command = _command(list(argv), folder, reads, around.shows if around else {})
    except CannotRun as error:
        return Ran(None, str(error), "", 0.0)
    run_ = _Run(command, limits, folder, around)
    try:
        await run_.go()
    finally:
        run_.kill()
    seconds, output, errors = time.monotonic() - started, run_.output.text(), run_.errors.text()
    return Ran(None if run_.ended else run_.status, run_.ended, output, seconds, run_.stopped, errors)


def cut(text: str, most: int) -> str:
    """The text with its middle left out, where it has more than so many characters."""
    if len(text) <= most:
        return text
    mark = f"\n[... {len(text):,} characters in all, the middle is left out ...]\n"
    half = max(0, (most - len(mark)) // 2)
    return (text[:half] + mark + text[len(text) - half :])[:most]


class _Kept:
    """What was printed: its beginning and its end."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self.printed = 0

    def add(self, piece: bytes) -> None:
        """Keep a piece, as far as there is room."""
        self.printed += len(piece)
        room = _KEPT - len(self._head)
        self._head += piece[:room]
        self._tail += piece[room:]
        del self._tail[:-_KEPT]

    def text(self) -> str:
        """What was printed and kept."""
        left_out = self.printed - len(self._head) - len(self._tail)
        mark = f"\n[... {left_out:,} bytes are left out here ...]\n".encode() if left_out else b""
        return (self._head + mark + self._tail).decode("utf-8", "replace")


class _Run:
    """One started command."""

    def __init__(self, command: list[str], limits: ProcessLimits, folder: Path, around: Around | None) -> None:
        self._command = command
        self._limits = limits
        self._folder = folder
        self._around = around
        self._process: asyncio.subprocess.Process | None = None
        self._first: int = 0
        self.output, self.errors = _Kept(), _Kept()
        self.ended = ""
        self.stopped = False
        self._talked = False
        """Whoever spoke with it has ended it."""
        self.status: int | None = None

    async def go(self) -> None:
        """Until it ends or is ended."""
        with ProcessGroup(self._limits.threads) as group:
            await self._go(group)

    async def _go(self, group: "ProcessGroup") -> None:
        mine, theirs = os.pipe()
        filter_ = _filter()
        try:
            around = self._around or Around()
            environment = {
                "PATH": _search_path(),
                "HOME": HOME,
                "TMPDIR": "/tmp",
                "LANG": "C.UTF-8",
                "TERM": "dumb",
                "PYTHONDONTWRITEBYTECODE": "1",
                "CI": "1",
                **around.env,
            }
            self._process = await asyncio.create_subprocess_exec(
                self._command[0], "--json-status-fd", str(theirs),
                *(("--seccomp", str(filter_)) if filter_ is not None else ()), *self._command[1:],
                stdin=subprocess.PIPE if around.talk else subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if self._around else subprocess.STDOUT, env=environment,
                pass_fds=[fd for fd in (theirs, filter_) if fd is not None], preexec_fn=group.prepare,
                start_new_session=True, limit=_PIECE,
            )  # fmt: skip
        except OSError as error:
            os.close(mine)
            self.ended = f"it could not be started: {error.strerror}"
            return
        finally:
            os.close(theirs)
            if filter_ is not None:
                os.close(filter_)
        status = os.fdopen(mine, "rb")
        self._first = int((await asyncio.to_thread(_next_status, status)).get("child-pid", 0))
        reading = asyncio.create_task(self._read(around.talk))
        tasks = [reading, asyncio.create_task(self._watch(group))]
        if around.until:
            tasks.append(asyncio.create_task(self._until(around.until)))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():
                self.kill()
            await asyncio.wait({reading}, timeout=5.0)
            async with asyncio.timeout(5.0):
                await self._process.wait()
            self.status = 0 if self._talked else (await asyncio.to_thread(_next_status, status)).get("exit-code")
            if self.status is None and not self.ended:
                output = " ".join((self.output.text() + self.errors.text()).split())[-300:]
                self.ended = f"the sandbox could not be set up, or was killed: {output or 'it said nothing'}"
        finally:
            status.close()
            self.kill()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            transport = getattr(self._process, "_transport")  # noqa: B009  asyncio tells it nowhere else
            transport.close()  # what was killed may hold its pipes for a while

    def kill(self) -> None:
        """End it with all that it started: its first process takes the namespace with it."""
        if self._process is not None and self._process.returncode is None:
            for pid in (self._first, self._process.pid):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    if pid:
                        os.kill(pid, 9)

    async def _read(self, talk: Talk | None) -> None:
        assert self._process is not None
        heard = asyncio.StreamReader(limit=_LINE) if talk else None
        errors = asyncio.create_task(self._keep(self._process.stderr, self.errors))
        output = asyncio.create_task(self._keep(self._process.stdout, self.output, heard))
        try:
            if talk and heard is not None and self._process.stdin is not None:
                await talk(self._process.stdin, heard)
                self._talked = True
            else:
                await output
        finally:
            if talk:
                self.kill()
            await asyncio.wait({errors, output}, timeout=2.0)
            errors.cancel()
            output.cancel()

    async def _keep(
        self, stream: asyncio.StreamReader | None, kept: _Kept, heard: asyncio.StreamReader | None = None
    ) -> None:
        """Keep what is printed, and count it. `heard`: whoever listens gets it too."""
        while stream is not None and (piece := await stream.read(_PIECE)):
            kept.add(piece)
            if kept.printed > self._limits.output:
                self._end(f"it printed more than {self._limits.output // 2**20:,} MB")
            elif heard is not None:
                heard.feed_data(piece)
                await asyncio.sleep(0)  # what is heard is handled before there is more
        if heard is not None:
            heard.feed_eof()

    async def _until(self, until: Callable[[], Awaitable[str]]) -> None:
        self._end(await until())

    async def _watch(self, group: "ProcessGroup") -> None:
        """Look at its tree until it passes a limit."""
        limits, started, folder_due = self._limits, time.monotonic(), 0.0
        cpu_s = limits.cpu_s or 4 * limits.seconds
        had_room = shutil.disk_usage(self._folder).free > _DISK
        while True:
            await asyncio.sleep(_LOOK_S)
            now = time.monotonic()
            if now - started > limits.seconds:
                return self._end(f"it took longer than {limits.seconds:g} s")
            tree = await asyncio.to_thread(tree_of, self._first)
            if tree.threads > limits.threads or group.full():
                return self._end(f"it ran more than {limits.threads:,} processes and threads")
            if tree.memory > limits.memory:
                return self._end(f"it took more than {limits.memory // 2**20:,} MB of memory")
            if tree.cpu_s > cpu_s:
                return self._end(f"it took more than {cpu_s:g} s of processor time")
            if now >= folder_due:
                over = await asyncio.to_thread(too_large, self._folder, limits, tree.pids)
                if over:
                    return self._end(over)
                if had_room and shutil.disk_usage(self._folder).free < _DISK:
                    return self._end(f"the disk had less than {_DISK // 2**20:,} MB left")
                folder_due = time.monotonic() + _FOLDER_LOOK_S

    def _end(self, why: str) -> None:
        self.ended = self.ended or why
        self.stopped = True
        self.kill()


def _filter() -> int | None:
    """The filter of system calls, to be read from its beginning; None: none is known for this machine."""
    program = syscalls.program()
    if not program:
        return None
    fd = os.memfd_create("filter")
    os.write(fd, program)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _next_status(file: IO[bytes]) -> dict[str, Any]:
    """The next thing that bubblewrap says: its first process's number here, at the end the exit status; nothing, where
    it is gone."""
    try:
        status = json.loads(file.readline() or b"{}")
    except ValueError:
        return {}
    return status if isinstance(status, dict) else {}


# ---------------------------------------------------------------- what it sees


def _command(argv: list[str], folder: Path, reads: Sequence[Path], shows: Mapping[Path, str]) -> list[str]:
    program = shutil.which(_BWRAP)
    assert program is not None, "looked for in unavailable"
    if not argv or not argv[0].strip():
        raise CannotRun("the command is empty")
    extra = [Path(p) for p in os.environ.get(READS, "").split(os.pathsep) if p]
    argv[0], prefixes = _program(argv[0], folder)
    visible: list[str] = []
    for path in (*prefixes, *(p for name in _INTERPRETERS for p in _prefixes(shutil.which(name))), *extra, *reads):
        for shown_path in _visible(path):
            if shown_path not in visible:
                visible += [shown_path]
    binds = [word for path in sorted(visible) for word in ("--ro-bind-try", path, path)]
    binds += [word for path, seen in shows.items() for word in ("--ro-bind", str(path), seen)]
    return [
        program, *_apart(program), *_system(), "--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev",
        "--size", str(_TMP), "--tmpfs", "/dev/shm", "--remount-ro", "/dev",
        "--size", str(_TMP), "--perms", "1777", "--tmpfs", "/tmp", "--dir", HOME, *binds,
        "--bind", str(folder), FOLDER, "--chdir", FOLDER, "--remount-ro", "/", "--", *argv,
    ]  # fmt: skip


@functools.cache
def _apart(program: str) -> tuple[str, ...]:
    """Namespaces of its own, no capability, nobody's name."""
    known = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=10, check=False).stdout
    return (
        "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
        *(("--disable-userns",) if "--disable-userns" in known else ()), "--uid", "65534", "--gid", "65534",
        "--hostname", "task", "--cap-drop", "ALL", "--die-with-parent", "--new-session",
    )  # fmt: skip


def _system() -> Iterator[str]:
    for path in _SYSTEM:
        if os.path.islink(path):
            yield from ("--symlink", os.readlink(path), path)
        elif os.path.isdir(path):
            yield from ("--ro-bind", path, path)
    for name in _ETC:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")


def _program(name: str, folder: Path) -> tuple[str, tuple[Path, ...]]:
    """(the program as the sandbox has it, what it needs to be seen). Raises CannotRun."""
    if "/" in name and not name.startswith("/"):
        inside = Path(os.path.realpath(folder / name))
        if Path(os.path.realpath(folder)) not in inside.parents or not inside.is_file():
            raise CannotRun(f"no program {name!r} is in the task's folder")
        return name, ()
    program = shutil.which(name)
    if program is None:
        raise CannotRun(f"no program {name!r} is found; those on the worker's PATH can be run")
    return program, _prefixes(program)


def needed_by(name: str) -> tuple[Path, ...]:
    """What a program on this process's PATH needs to be seen. Raises CannotRun where there is none."""
    return _program(name, Path())[1]


def _prefixes(program: str | None) -> tuple[Path, ...]:
    """The folders that an installed program and its libraries stand in, where these are not the system's: `P` of
    `P/bin/program`, also of what it is a link to, and what a virtual environment is made from."""
    if program is None:
        return ()
    paths: list[Path] = []
    at = Path(program).absolute()
    for _ in range(8):  # links to links
        if at.parent.name in ("bin", ".bin", "shims"):
            paths.append(at.parent.parent)
        base = at.parent.parent / "pyvenv.cfg"
        if base.is_file():
            paths += [home.parent for home in _homes(base)]
        if not at.is_symlink():
            break
        at = Path(os.path.normpath(at.parent / os.readlink(at)))
    real = Path(os.path.realpath(program))
    return (*paths, real.parent.parent if real.parent.name == "bin" else real)


def _homes(config: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        for line in config.read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition("=")
            if key.strip() == "home" and value.strip().startswith("/"):
                yield Path(value.strip())
                yield Path(os.path.realpath(value.strip()))


def _visible(path: Path) -> Iterator[str]:
    """The path, where it is not the system's already and no folder in which others' files stand."""
    text = os.path.normpath(path)
    system = any(text == s or text.startswith(s + "/") for s in _SYSTEM)
    home = os.path.expanduser("~")
    if text in [os.path.join(home, name) for name in _SHARED]:
        yield from (part for name in _PARTS if os.path.exists(part := os.path.join(text, name)))
        return
    wide = text in ("/root", "/home", "/tmp", "/var", "/run", "/opt", "/srv") or f"{home}/".startswith(
        f"{text.rstrip('/')}/"
    )
    own = any(text == s or text.startswith(s + "/") for s in ("/etc", "/proc", "/sys", "/dev", FOLDER))
    if not system and not wide and not own and text.startswith("/") and os.path.exists(text):
        yield text


def _search_path() -> str:
    """PATH as the command has it: this process's, where the sandbox shows that, and the system's."""
    folders = os.environ.get("PATH", "").split(os.pathsep)
    return os.pathsep.join(dict.fromkeys([*(p for p in folders if p.startswith("/")), *_PATH.split(":")]))


__all__ = [
    "FOLDER", "HOME", "Around", "CannotRun", "ProcessLimits", "Ran", "Talk", "cut", "needed_by", "possible", "run",
    "unavailable",
]  # fmt: skip
