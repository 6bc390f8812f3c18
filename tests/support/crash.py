"""A checkpoint that ends or freezes its own process: `Stack.checkpoint = "tests.support.crash:checkpoint"`.

Every service of the stack calls it at named points (`asking`, `replied`, `stepped`, `appended`, `effected`). The
environment says at which arrival, counted over all processes and restarts, something happens:

    PARLEY_CRASH      replied:5 appended:20:stop      point, arrival from 1, kill (default) or stop (SIGSTOP)
    PARLEY_CRASH_DIR  folder for the counts and for one file a deed: `<point>-<arrival>` holds pid, Unix ns, session

A deed is done once, whoever arrives: its file is made exclusively, so a process that was restarted does not die for
ever.
"""

import os
import signal
import time
from pathlib import Path

CRASH, CRASH_DIR = "PARLEY_CRASH", "PARLEY_CRASH_DIR"
POINTS = ("replied", "stepped", "appended", "effected")


def checkpoint(point: str, session: str) -> None:
    """Count the arrival, and die or freeze if it is due."""
    folder = os.environ.get(CRASH_DIR)
    if not folder:
        return
    due = [(n, how) for name, n, how in plan(os.environ.get(CRASH, "")) if name == point]
    if not due:
        return
    arrived = _count(Path(folder) / f"{point}.count")
    for n, how in due:
        if arrived >= n and _claim(Path(folder) / f"{point}-{n}", session):
            os.kill(os.getpid(), signal.SIGSTOP if how == "stop" else signal.SIGKILL)


def plan(text: str) -> list[tuple[str, int, str]]:
    """(point, arrival, kill or stop) of each deed."""
    deeds = []
    for word in text.split():
        point, n, *how = word.split(":")
        deeds.append((point, int(n), how[0] if how else "kill"))
    return deeds


def done(folder: Path) -> dict[str, tuple[int, int, str]]:
    """`<point>-<arrival>` -> (pid, Unix ns, session) of the deeds that were done."""
    outcomes = {}
    for path in sorted(folder.glob("[!.]*-*")):
        pid, at_ns, session = path.read_text().split()
        outcomes[path.name] = (int(pid), int(at_ns), session)
    return outcomes


def _count(path: Path) -> int:
    """One byte an arrival; two that arrive together may read the same number, which `arrived >= n` allows for."""
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(fd, b".")
        return os.fstat(fd).st_size
    finally:
        os.close(fd)


def _claim(path: Path, session: str) -> bool:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(f"{os.getpid()} {time.time_ns()} {session}")
    try:
        os.link(draft, path)  # whole or not at all, once
    except FileExistsError:
        return False
    finally:
        draft.unlink()
    return True
