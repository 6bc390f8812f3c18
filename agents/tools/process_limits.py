"""What a command in the sandbox takes with all that it started, and what bounds it (agents/tools/sandbox.py): limits, a
control group where one can be made, and the looking at its tree of processes and its folder."""

import contextlib
import os
import resource
import secrets
import stat
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

_FILE = 512 * 2**20


class ProcessLimits(NamedTuple):
    """Of one run and all that it starts."""

    seconds: float = 120.0
    cpu_s: float = 0.0
    """Of all its processes together; 0: four times `seconds`."""
    memory: int = 2 * 2**30
    """Bytes of memory of its own, of all its processes together."""
    threads: int = 512
    """Of all its processes together, each of which has one at least."""
    output: int = 64 * 2**20
    """Bytes that it prints."""
    folder: int = 512 * 2**20
    """Bytes of the folder's files."""
    files: int = 50_000
    """In the folder."""


class ProcessGroup:
    """A control group that holds the number of processes and threads exactly, where one can be made: a worker of root's
    can on most machines. Elsewhere the looking alone bounds them. A context manager."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._at: Path | None = None

    def __enter__(self) -> "ProcessGroup":
        for base in ("/sys/fs/cgroup/pids", "/sys/fs/cgroup"):
            for group in Path(base).glob("parley-*-*"):  # of workers that were killed
                if not Path("/proc", group.name.split("-")[1]).exists():
                    with contextlib.suppress(OSError):
                        group.rmdir()
            at = Path(base) / f"parley-{os.getpid()}-{secrets.token_hex(4)}"
            try:
                at.mkdir()
                # One more than allowed, and bubblewrap's two: passing the limit is seen, and goes no further.
                (at / "pids.max").write_text(str(self._most + 3))
            except OSError:
                with contextlib.suppress(OSError):
                    at.rmdir()
                continue
            self._at = at
            break
        return self

    def __exit__(self, *_: object) -> None:
        end = time.monotonic() + 1.0
        while self._at is not None and self._at.is_dir():
            try:
                self._at.rmdir()
            except OSError:  # what was killed is not gone yet
                if time.monotonic() > end:
                    return
                time.sleep(0.01)

    def full(self) -> bool:
        """Whether it has refused a process."""
        try:
            return self._at is not None and "max 0" not in (self._at / "pids.events").read_text()
        except OSError:
            return False

    def prepare(self) -> None:
        """In the child, before bubblewrap: into the group, then as `_prepare`."""
        if self._at is not None:
            with contextlib.suppress(OSError), open(self._at / "cgroup.procs", "w") as file:
                file.write("0")
        _prepare()


def _prepare() -> None:
    """In the child, before bubblewrap: low priority, the first to go where memory runs out, no core files, no huge
    files."""
    os.nice(10)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE, _FILE))


class Tree(NamedTuple):
    """What a tree of processes takes together."""

    threads: int
    memory: int
    cpu_s: float
    pids: tuple[int, ...] = ()


def tree_of(first: int) -> Tree:
    """What a process and all below it take together. Orphans in a namespace are children of its first process."""
    if not first:
        return Tree(0, 0, 0.0)
    ticks = os.sysconf("SC_CLK_TCK")
    children: dict[int, list[int]] = {}
    rows: dict[int, list[str]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (row := _stat(name)):
            rows[int(name)] = row
            children.setdefault(int(row[1]), []).append(int(name))
    threads, memory, cpu = 0, 0, 0
    pending = [first]
    pids: list[int] = []
    while pending:
        pid = pending.pop()
        pids.append(pid)
        pending += children.get(pid, ())
        if pid in rows:
            row = rows[pid]
            threads += int(row[17])
            cpu += sum(int(n) for n in row[11:15])
            memory += _own_memory(pid)
    return Tree(threads, memory, cpu / ticks, tuple(pids))


def _stat(pid: str) -> list[str]:
    """Fields of /proc/PID/stat from the state on; empty: it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b") ")[2].decode().split()
    except OSError:
        return []


def _own_memory(pid: int) -> int:
    """Bytes in memory that no file on a disk backs."""
    total = 0
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status", "rb") as file:
        for line in file:
            if line.startswith((b"RssAnon:", b"RssShmem:")):
                total += int(line.split()[1]) * 1024
    return total


def too_large(folder: Path, limits: ProcessLimits, pids: Sequence[int]) -> str:
    """Which limit of the folder is passed; empty: none. It is looked through no further than that."""
    much = f"it left more than {limits.folder // 2**20:,} MB in the folder"
    size, count = _without_name(pids), 0
    pending = [str(folder)]
    while pending:
        if size > limits.folder:
            return much
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    count += 1
                    with contextlib.suppress(FileNotFoundError):
                        if entry.is_dir(follow_symlinks=False):
                            pending.append(entry.path)
                        else:
                            size += entry.stat(follow_symlinks=False).st_blocks * 512
                    if count > limits.files:
                        return f"it left more than {limits.files:,} files in the folder"
                    if size > limits.folder:
                        return much
        except (FileNotFoundError, NotADirectoryError):  # it is gone since
            continue
        except OSError as error:
            return f"it made a folder that cannot be looked through: {error.strerror}"
    return ""


def _without_name(pids: Sequence[int]) -> int:
    """Bytes of files that processes hold open, and that no folder names any more. The kernel alone knows their place:
    those in memory count too."""
    sizes: dict[tuple[int, int], int] = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            for fd in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    status = os.stat(f"/proc/{pid}/fd/{fd}")
                    if stat.S_ISREG(status.st_mode) and not status.st_nlink:
                        sizes[status.st_dev, status.st_ino] = status.st_blocks * 512
    return sum(sizes.values())
