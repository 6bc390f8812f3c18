"""The moderators' keys, by which they make turn tokens, and their file.

A line is a key in hex and the second (since 1970, UTC) from which it signs; the first may have none. Of several the
last whose time has come signs. Each is good for tokens that are presented, from the moment that it stands there until
`KEPT_S` after the next one began to sign. So no turn is lost when keys change: a new key signs only when every
moderator has had time to see it, and turns that were asked before are answered with the token that they have.
"""

import math
import secrets
import time
from collections.abc import Callable
from pathlib import Path

from parley.bus.accounts import read_file, rewrite_private, write_private
from parley.bus.errors import BadKeyFile

KEY_BYTES = 32
SIGNS_AFTER_S = 180
"""Kubernetes shows pods a changed secret within some 90 s."""
KEPT_S = 86_400
_LOOK_S = 2.0
"""So often it is looked whether the file changed."""


def _parsed(path: Path) -> list[tuple[bytes, float]]:
    """(key, from when it signs), in the file's order. Raises BadKeyFile; the text never repeats the content."""
    keys = []
    try:
        for line in read_file(path).decode("ascii").splitlines():
            digits, _, since = line.partition(" ")
            keys.append((bytes.fromhex(digits), float(since or 0)))
    except ValueError:
        raise BadKeyFile(str(path), "not a token key: expected hex digits, and a time") from None
    for key, _ in keys:
        if len(key) != KEY_BYTES:
            raise BadKeyFile(str(path), f"a token key of {len(key)} bytes, expected {KEY_BYTES}")
    if not keys:
        raise BadKeyFile(str(path), "it is empty")
    return keys


def make(path: Path) -> None:
    """Make the first key, in a file of mode 600."""
    write_private(path, secrets.token_bytes(KEY_BYTES).hex().encode() + b"\n")


def rotate(path: Path) -> float:
    """Add a key to the file, which stays the same file; from when it signs. Those that are good no more go. Raises
    BadKeyFile, OSError."""
    keys = _parsed(path)
    now = time.time()
    good = _good(keys, now)
    keys = [(key, since) for key, since in keys if key in good]
    signs_at = float(math.ceil(now) + SIGNS_AFTER_S)
    keys.append((secrets.token_bytes(KEY_BYTES), signs_at))
    rewrite_private(path, "".join(f"{key.hex()} {since:.0f}\n" for key, since in keys).encode())
    return signs_at


def _good(keys: list[tuple[bytes, float]], now: float) -> list[bytes]:
    ends = [*(since + KEPT_S for _, since in keys[1:]), math.inf]
    return [key for (key, _), end in zip(keys, ends, strict=True) if end > now]


class TokenKeys:
    """The keys of one moderator: of a file, which is read again when it changes, or one that never does."""

    def __init__(self, source: Path | bytes, clock: Callable[[], float] = time.time) -> None:
        """Raises BadKeyFile."""
        self._path = source if isinstance(source, Path) else None
        self._clock = clock
        self._stamp = self._stat()
        self._keys = _parsed(source) if isinstance(source, Path) else [(source, 0.0)]
        self._looked_at = clock()

    @property
    def signing(self) -> bytes:
        """The key that makes tokens now."""
        if self._clock() - self._looked_at > _LOOK_S:
            self._look()
        return [key for key, since in self._keys if since <= self._clock()][-1]

    def fit(self, test: Callable[[bytes], bool]) -> bool:
        """Whether a token fits one of the keys that are good. `test`: whether it fits this one."""
        if any(map(test, _good(self._keys, self._clock()))):
            return True
        # Another moderator may have seen a new key earlier.
        return self._look() and any(map(test, _good(self._keys, self._clock())))

    def _look(self) -> bool:
        """Read the file if it changed. One that cannot be read changes nothing."""
        self._looked_at = self._clock()
        stamp = self._stat()
        if self._path is None or stamp == self._stamp:
            return False
        try:
            self._keys = _parsed(self._path)
        except BadKeyFile:
            return False
        self._stamp = stamp
        return True

    def _stat(self) -> tuple[int, int]:
        try:
            stat = self._path.stat() if self._path is not None else None
        except OSError:
            stat = None
        return (stat.st_mtime_ns, stat.st_size) if stat is not None else (0, 0)
