"""Starts a tool server with the named variables and no others, and ends it when its starter ends.

    python -I -S launch.py PID NAME,NAME -- COMMAND ARGUMENT...

The official client merges some variables of its own process into a server's; here they are dropped again.
"""

import os
import sys

_PDEATHSIG, _KILL = 1, 9


def leash(parent: int) -> None:
    """Be killed when the process that started this one ends, on systems that know how (Linux)."""
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None).prctl(_PDEATHSIG, _KILL)
    if os.getppid() != parent:  # it ended before
        raise SystemExit(1)


def main(arguments: list[str]) -> None:
    """Become the server."""
    parent, names, _, *command = arguments
    keep = set(names.split(","))
    leash(int(parent))
    os.umask(0o077)
    os.execvpe(command[0], command, {k: v for k, v in os.environ.items() if k in keep})


if __name__ == "__main__":
    main(sys.argv[1:])
