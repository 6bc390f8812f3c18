"""A small file system of its own, which a test fills."""

import contextlib
import ctypes
import itertools
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_CLONE_NEWNS = 0x20000


class SmallDisk:
    """A file system in memory, mounted at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fill = path / "filler"
        self._files = path / "files"

    @property
    def free(self) -> int:
        """Bytes that may still be written."""
        stat = os.statvfs(self.path)
        return stat.f_bavail * stat.f_frsize

    def fill(self, leave: int = 0) -> None:
        """Write until so many bytes are free; all is full at 0."""
        with open(self._fill, "ab", buffering=0) as file, contextlib.suppress(OSError):
            while self.free > leave:
                file.write(bytes(max(1, min(1 << 20, self.free - leave))))

    def fill_inodes(self) -> None:
        """Make files until none can be made any more."""
        self._files.mkdir()
        with contextlib.suppress(OSError):
            for number in itertools.count():
                (self._files / str(number)).touch()

    def clear(self) -> None:
        """Make room again."""
        self._fill.unlink(missing_ok=True)
        shutil.rmtree(self._files, ignore_errors=True)


@contextmanager
def small_disk(path: Path, megabytes: int, inodes: int = 0) -> Iterator[SmallDisk]:
    """Mount it, in a mount namespace that this process enters and keeps, so that nothing outlives it. Skips where
    mounting is not allowed."""
    path.mkdir()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNS) != 0:
        pytest.skip(f"NO FULL DISK IS TRIED: no mount namespace here: {os.strerror(ctypes.get_errno())}")
    for command in (
        ["mount", "--make-rprivate", "/"],
        ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,nr_inodes={inodes}", "none", str(path)],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"NO FULL DISK IS TRIED: {done.stderr.strip()}")
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)
