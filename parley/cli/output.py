"""How the command line prints lines, and asks before it does what cannot be undone."""

import sys
from collections.abc import Iterator
from pathlib import Path

from parley.client.show.printing import ask, give, warn


def write_document(lines: Iterator[str], output: Path | None) -> None:
    """Writes lines as they are to a file, and says so; or to standard output."""
    if output is None:
        for text in lines:
            give(text)
        return
    try:
        with output.open("w", encoding="utf-8") as file:
            file.writelines(f"{text}\n" for text in lines)
    except OSError as error:
        from parley.client.errors import BadInput

        raise BadInput("output", f"cannot write {output}: {error.strerror}") from error
    warn(f"parley: wrote {output}, {output.stat().st_size:,} bytes")


def at_terminal() -> bool:
    """Whether a person sits there who can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirm(question: str, *, json: bool) -> None:
    """Ask on the terminal. Raises BadInput where the answer is no, or nobody can be asked."""
    from parley.client.errors import BadInput

    if json or not at_terminal():
        raise BadInput("--yes", f"there is no terminal to ask: {question} Confirm with --yes")
    ask(f"{question} [y/N] ")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise BadInput("--yes", "not confirmed; nothing was done")
