"""The one way to standard output and standard error, by which no text of somebody else's begins a row at the edge.

What is printed is a line of Parley's: what somebody else broke off in it stands in the margin (parley.client.text).
Whatever a program reads goes out as it is, by `give`. ruff refuses `print` in every other module.
"""

import shutil
import sys
from collections.abc import Iterable


def terminal_width() -> int:
    """Columns of the terminal that standard output is; 0: it is none, and nothing needs to fit."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 0


_WIDE = 120
"""Columns of a terminal from which on nothing is cut."""


def cuts() -> bool:
    """Whether texts are cut so that one screen holds them: on a terminal that is not wide, and nowhere else."""
    return 0 < terminal_width() < _WIDE


def say(text: str, width: int = 0) -> None:
    """A line on standard output, in rows of at most so many columns; 0: as long as it is."""
    say_all([text], width)


def say_all(lines: Iterable[str], width: int = 0) -> None:
    """Lines on standard output."""
    from parley.client.text import hung  # a command that prints nothing, or JSON, does without

    for text in lines:
        print(hung(text, width), flush=True)


def warn(text: str) -> None:
    """A line on standard error."""
    from parley.client.text import hung

    print(hung(text), file=sys.stderr, flush=True)


def ask(text: str) -> None:
    """A question on standard error; the answer is typed behind it."""
    from parley.client.text import hung

    print(hung(text), end=" ", file=sys.stderr, flush=True)


def give(text: str) -> None:
    """What a program reads, on standard output, as it is: JSON, a key, an exported file, the answer alone."""
    print(text, flush=True)
