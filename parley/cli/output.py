"""How the command line prints lines, and asks before it does what cannot be undone."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path


def terminal_width() -> int:
    """Columns of the terminal that standard output is; 0: it is none, and nothing needs to fit."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 0


def write_prose(lines: Iterator[str]) -> None:
    """Writes text that a person reads to standard output; on a terminal it is wrapped between words."""
    from parley.client.text import hung

    width = terminal_width()
    for text in lines:
        print("\n".join(hung(row, width) for row in text.split("\n")))


def write_lines(lines: Iterator[str], output: Path | None) -> None:
    """Writes lines to a file, and says so on a terminal; or to standard output."""
    if output is None:
        for text in lines:
            print(text)
        return
    try:
        with output.open("w", encoding="utf-8") as file:
            file.writelines(f"{text}\n" for text in lines)
    except OSError as error:
        from parley.client.errors import BadInput

        raise BadInput("output", f"cannot write {output}: {error.strerror}") from error
    wrote(output)


def wrote(path: Path) -> None:
    """Say on a terminal which file was written."""
    if sys.stderr.isatty():
        print(f"parley: wrote {path}", file=sys.stderr)


def confirm(question: str, *, json: bool) -> None:
    """Ask on the terminal. Raises BadInput where the answer is no, or nobody can be asked."""
    from parley.client.errors import BadInput

    if json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise BadInput("--yes", "there is no terminal to ask for confirmation; confirm with --yes")
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise BadInput("--yes", "not confirmed; nothing was done")
