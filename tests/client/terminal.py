"""A terminal as a person sees it: what a command leaves on a screen of so many columns, escapes obeyed."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence

import pyte

from tests.parley.support import Front


def screen_of(
    front: Front, *arguments: str, columns: int = 80, rows: int = 24, types: Sequence[tuple[str, str]] = ()
) -> list[str]:
    """The rows at the end, those that scrolled away first; without spaces at their ends. `types`: what is typed once
    that text is there, one after the other."""
    typing = list(types)
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    environment = {**front.environment_for(*arguments), "TERM": "xterm-256color"}
    for name in ("NO_COLOR", "COLUMNS", "LINES"):
        environment.pop(name, None)
    child = subprocess.Popen(
        [sys.executable, "-m", "parley", *arguments], cwd=front.folder, env=environment, stdin=follower,
        stdout=follower, stderr=follower, start_new_session=True,
    )  # fmt: skip
    os.close(follower)
    screen = pyte.HistoryScreen(columns, rows, history=10_000)
    stream = pyte.ByteStream(screen)
    try:
        while piece := _read(leader):
            stream.feed(piece)
            if typing and typing[0][0] in "".join(row.rstrip() for row in screen.display):
                os.write(leader, typing.pop(0)[1].encode())
    finally:
        os.close(leader)
        child.kill()
        child.wait()
    gone = ["".join(row[i].data for i in range(columns)) for row in screen.history.top]
    shown = [row.rstrip() for row in (*gone, *screen.display)]
    while shown and not shown[-1]:
        shown.pop()
    return shown


def _read(leader: int) -> bytes:
    try:
        return os.read(leader, 65_536)
    except OSError:  # the other end is closed
        return b""
