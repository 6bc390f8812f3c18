"""Room on the disk under a nats-server's store: what is there, what is needed, and what the store leaves to others.

A server that runs into a full disk does not answer what it cannot store, and goes on like that after there is room
again, until it is restarted. So the store ends before the disk does (`limit`): then it refuses in words, and takes more
as soon as it may. Whatever else fills the disk may still bring it to its end.
"""

import contextlib
import os
from pathlib import Path

from parley.bus.errors import NoRoom

LEAST_BYTES = 64 * 2**20
"""Free bytes without which nothing is started."""
LEAST_FILES = 200
"""Free inodes without which nothing is started."""
KEPT_BYTES = 16 * 2**20
"""Free bytes that the store leaves: for logs, and for what is written when it starts again."""
AGAIN_BYTES = 2 * KEPT_BYTES
"""Free bytes with which a store that was full goes on."""
FULL_BYTES = KEPT_BYTES // 16
"""With fewer free bytes a disk counts as full."""
SIGNS = (b"no space left on device", b"disk quota exceeded", b"resource limits exceeded", b"ritical write error")
"""What a nats-server writes into its log when a stream could not take a message. After a critical error, whatever its
cause, it takes none until the server starts again."""


def free(path: Path) -> int:
    """Bytes that may still be written where `path` lies, or is to lie. Raises OSError: nothing of the path can be
    looked at."""
    usage = _usage(path)
    return usage.f_bavail * usage.f_frsize


def _usage(path: Path) -> os.statvfs_result:
    while not path.exists() and path != path.parent:
        path = path.parent
    return os.statvfs(path)


def takes_again(folder: Path) -> bool:
    """Whether a store there that failed may go on: there is room, and a file can be made."""
    trial = folder / ".room"
    try:
        trial.write_bytes(bytes(4_096))
        return free(folder) >= AGAIN_BYTES
    except OSError:
        return False
    finally:
        with contextlib.suppress(OSError):
            trial.unlink()


def check(path: Path, *, least_files: int = LEAST_FILES) -> None:
    """See that a store can be started there. Raises NoRoom: fewer than `LEAST_BYTES`, or than `least_files` files, are
    free."""
    usage = _usage(path)
    free_bytes = usage.f_bavail * usage.f_frsize
    if free_bytes < LEAST_BYTES:
        raise NoRoom(str(path), "of free disk", megabytes(LEAST_BYTES), megabytes(free_bytes))
    if usage.f_files and usage.f_favail < least_files:  # a file system without such a table says 0 and 0
        raise NoRoom(str(path), "free inodes (files) on its disk", f"{least_files}", f"{usage.f_favail:,}")


def limit(folder: Path) -> int:
    """Bytes that a store in `folder` may come to: what it has and what is free, but for `KEPT_BYTES`."""
    has = 0
    for at, _, names in os.walk(folder):
        for name in names:
            try:
                has += os.lstat(os.path.join(at, name)).st_blocks * 512
            except FileNotFoundError:
                continue  # removed meanwhile
    return max(KEPT_BYTES, has + free(folder) - KEPT_BYTES)


def megabytes(size: int) -> str:
    """A size for people."""
    return f"{size / 1e6:,.1f} MB"
