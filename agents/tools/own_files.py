"""Recognises what is Parley's own on a disk: its state folder, and files with keys of its bus. None of it goes to a
model, whatever its name and place.

A key of the bus is an nkey seed: base32 of two bytes of prefix, 32 of key and two of CRC-16/XMODEM, the low byte
first (https://docs.nats.io/using-nats/nats-tools/nk). The checksum tells one from text that only looks like it.
"""

import base64
import binascii
import os
import re
import stat
from pathlib import Path

_SEED = re.compile(rb"S(?<![A-Za-z0-9]S)[ACNOUX][A-Z2-7]{56}(?![A-Za-z0-9])")
"""It begins with the letter, for which Python looks quickest."""
_MOST_LOOKED_AT = 4_000_000
"""Bytes of a file that are searched for keys."""
_LOCKS = frozenset({"users.lock", "stack.lock"})
_OTHERS = frozenset({"keys", "bus", "cluster", "stack.json", "last-stack.json"})
"""Of a state folder: it has a lock, and one of these (parley.stack.lease)."""
STATE = "it is Parley's own state folder, which is never sent"
KEYS = "it holds keys of a message bus, which are never sent"


def has_keys(data: bytes) -> bool:
    """Whether a text holds an nkey seed, as credentials files of Parley and of NATS do."""
    return any(_is_seed(match[0]) for match in _SEED.finditer(data[:_MOST_LOOKED_AT]))


def file_has_keys(path: Path) -> bool:
    """The same of a plain file; false for what is none, or cannot be read. No link is followed."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    with open(fd, "rb") as file:
        try:
            return stat.S_ISREG(os.fstat(fd).st_mode) and has_keys(file.read(_MOST_LOOKED_AT))
        except OSError:
            return False


def is_state(folder: Path) -> bool:
    """Whether a folder is one in which Parley keeps its state, wherever it lies."""
    try:
        with os.scandir(folder) as entries:
            names = {entry.name for entry in entries}
    except OSError:
        return False
    return not names.isdisjoint(_LOCKS) and not names.isdisjoint(_OTHERS)


def _is_seed(text: bytes) -> bool:
    data = base64.b32decode(text + b"=" * (-len(text) % 8))
    return binascii.crc_hqx(data[:-2], 0) == int.from_bytes(data[-2:], "little")
