"""The disk under a stack: what the supervisor does if it is full, and what users see of that."""

import asyncio
import contextlib
import logging
import re
import resource
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from parley.bus.errors import NoRoom
from parley.bus.storage import disk
from parley.bus.storage.disk import megabytes
from parley.client.errors import StackFailed

_NO_ROOM = re.compile(rb"\[ERR\] (?:JetStream|Filestore) [^\n]*(?:" + b"|".join(disk.SIGNS) + rb")")
"""Not what the server says of a client, which chooses the words."""
LEAST_HANDLES = 48
"""Files that one process may have open without which nothing is started: a nats-server has some 30."""
_READ = 1_000_000
_PAUSE_S = 10.0
"""Between two restarts of the server because its store failed."""
_TOLD_S = 0.5
BACK = "the servers of the bus are back. Sessions go on; in a cluster this may take some seconds more"
_LACKS_S = 1.5
"""A bus that is back within this time was never away for a person."""
_BACK_S = 3.0
"""A server that was found just now may not know yet that the others are away."""


class DiskWatch:
    """Looks after the disk of one nats-server: `folder` with its store, and `log`, its log file."""

    def __init__(self, folder: Path, log: Path) -> None:
        self._folder = folder
        self._log = log
        self._read_to = 0
        self._restarted = 0.0
        self._lacked = False
        self.started()

    def started(self) -> None:
        """The server has just started: what it said before is over."""
        self._lacked = False
        with contextlib.suppress(OSError):
            self._read_to = self._log.stat().st_size

    def restart_due(self) -> bool:
        """Whether the server's store failed, and can be written again: it stores only after a restart."""
        with contextlib.suppress(OSError):
            there = disk.free(self._folder)
            self._lacked = self._said() or self._lacked or there < disk.FULL_BYTES
            due = self._lacked and time.monotonic() - self._restarted > _PAUSE_S
            if due and disk.takes_again(self._folder):
                self._restarted = time.monotonic()
                return True
        return False

    def _said(self) -> bool:
        with self._log.open("rb") as file:
            file.seek(self._read_to)
            new = file.read(_READ)
        whole = new[: new.rfind(b"\n") + 1]
        self._read_to += len(whole) if whole or len(new) < _READ else len(new)
        return _NO_ROOM.search(whole) is not None


def why_no_room(state: Path) -> str:
    """Why a stack cannot start in this directory, with the figures; empty: there is room."""
    try:
        disk.check(state)
    except NoRoom as error:
        return f"the stack does not start: {error}"
    except OSError as error:
        return f"the stack does not start: {state}: {error.strerror}"
    return ""


def check(state: Path, *, ephemeral: bool = False) -> None:
    """See that a stack may start in this directory. Raises StackFailed, with the figures and the setting."""
    handles, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= handles < LEAST_HANDLES:
        what = f"a process may have {handles} files open here (ulimit -n), and a stack needs {LEAST_HANDLES}"
        raise StackFailed(f"the stack does not start: {what}; ulimit -n 1024 allows more")
    if why := why_no_room(state):
        mend = "set TMPDIR to a folder with room" if ephemeral else "name another folder: --state DIR, or PARLEY_STATE"
        raise StackFailed(f"{why}; make room there, or {mend}")


def disk_warning(state: Path) -> str:
    """What a user of a running stack has to know of its disk; empty: there is room."""
    try:
        there = disk.free(state)
    except OSError:
        return ""
    if there >= disk.AGAIN_BYTES:
        return ""
    return (
        f"the disk of {state} is full: {megabytes(there)} are free, {megabytes(disk.AGAIN_BYTES)} are needed; "
        "sessions wait, and go on by themselves once there is room"
    )


@asynccontextmanager
async def telling(
    state: Path | None, tell: Callable[[str], None], lacking: Callable[[], str] = str
) -> AsyncIterator[None]:
    """Tell, while this lasts, that the disk of a stack is full, and that it has room again; and what the bus lacks, if
    it still does after a while.

    Parameters
    ----------
    state
        Of the stack on this machine; None: there is none.
    lacking
        What the bus lacks just now, in words; empty: nothing.
    """

    async def watch() -> None:
        full = bus = lacked = ""
        since = 0.0
        while True:
            now = disk_warning(state) if state is not None else ""
            if bool(now) != bool(full):
                tell(f"parley: {now or f'there is room again on the disk of {state}: sessions go on'}")
            full = now
            lacks = lacking()
            since = since if lacks == lacked else time.monotonic()
            lacked = lacks
            if lacks != bus and time.monotonic() - since > (_LACKS_S if lacks else _BACK_S):
                tell(f"parley: {lacks or BACK}")
                bus = lacks
            await asyncio.sleep(_TOLD_S)

    logging.getLogger("bus.waiting").addHandler(logging.NullHandler())  # it is told here
    watching = asyncio.create_task(watch(), name="disk and bus")
    try:
        yield
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
