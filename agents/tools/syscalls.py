"""System calls that a command in the sandbox does not need. Neither a namespace nor a limit on its processes would
bound them.

A filter for the kernel (seccomp), as bubblewrap takes it. Left out of the sandbox are: files in memory that have no
name (memfd), large shared memory of System V, sockets of other families than the internet's and Unix's (one reaches
the host of a virtual machine past every network namespace), the kernel's keys, io_uring, bpf, and the measuring of
other processes. Programs take their absence as that of an older kernel.
"""

import errno
import os
import struct
from collections.abc import Iterator

_LOAD, _EQUAL, _ABOVE, _RETURN = 0x20, 0x15, 0x25, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_NUMBER, _MACHINE, _FIRST, _SECOND, _SECOND_HIGH = 0, 4, 16, 24, 28
"""Where they stand in what the filter is shown: a call's number, the machine, the words of its arguments."""
_FAMILIES = (1, 2, 10, 16)
"""Unix, IPv4, IPv6, and netlink, by which a program asks for its own network."""
_SHARED = 65_536
"""Bytes of one piece of shared memory; there are 4,096 pieces at most."""
_OTHER_TABLE = 0x3FFFFFFF
"""Above it x86-64 has the same calls once more (x32)."""
_MACHINES: dict[str, tuple[int, int, int, tuple[int, ...]]] = {
    # its number; socket; shmget; memfd_create, memfd_secret, io_uring_setup, add_key, request_key, keyctl, bpf,
    # perf_event_open, userfaultfd
    "x86_64": (0xC000003E, 41, 29, (319, 447, 425, 248, 249, 250, 321, 298, 323)),
    "aarch64": (0xC00000B7, 198, 194, (279, 447, 425, 217, 218, 219, 280, 241, 282)),
}


def program() -> bytes:
    """The filter for this machine; empty: none is known for it."""
    known = _MACHINES.get(os.uname().machine)
    return b"".join(_rows(*known)) if known else b""


def _rows(machine: int, socket: int, shmget: int, refused: tuple[int, ...]) -> Iterator[bytes]:
    yield _row(_LOAD, _MACHINE)
    yield _row(_EQUAL, machine, over=1)
    yield _row(_RETURN, _ERROR | errno.ENOSYS)
    yield _row(_LOAD, _NUMBER)
    yield from _answer(_ABOVE, _OTHER_TABLE, errno.ENOSYS)
    for number in refused:
        yield from _answer(_EQUAL, number, errno.ENOSYS)
    yield _row(_EQUAL, socket, otherwise=len(_FAMILIES) + 3)
    yield _row(_LOAD, _FIRST)
    for nth, family in enumerate(_FAMILIES):
        yield _row(_EQUAL, family, over=len(_FAMILIES) - nth)
    yield _row(_RETURN, _ERROR | errno.EAFNOSUPPORT)
    yield _row(_RETURN, _ALLOW)
    yield _row(_EQUAL, shmget, otherwise=5)
    yield _row(_LOAD, _SECOND_HIGH)
    yield _row(_EQUAL, 0, otherwise=2)
    yield _row(_LOAD, _SECOND)
    yield _row(_ABOVE, _SHARED, otherwise=1)
    yield _row(_RETURN, _ERROR | errno.ENOMEM)
    yield _row(_RETURN, _ALLOW)


def _answer(how: int, value: int, error: int) -> Iterator[bytes]:
    yield _row(how, value, otherwise=1)
    yield _row(_RETURN, _ERROR | error)


def _row(what: int, value: int, over: int = 0, otherwise: int = 0) -> bytes:
    """One instruction; `over` and `otherwise`: how many it jumps where it holds, and where not."""
    return struct.pack("=HBBI", what, over, otherwise, value)
