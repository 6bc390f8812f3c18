"""Reads what goes with a task: code to look at, an earlier conversation; and looks whether its check can run."""

import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from posixpath import normpath

import msgspec

from parley.bus.files.plain import read_plain
from parley.client.errors import BadInput, bad_input
from parley.client.text import line
from parley.schemas.folders.archive import FolderError, unpack_archive
from parley.schemas.routing import Message
from parley.schemas.wire import SchemaError, decode

MAX_SNIPPET = 50_000
MAX_CONVERSATION = 5_000_000
"""Characters."""
_SPEAKERS = ("user", "assistant")
_MESSAGE = '{"role": "user", "text": "..."}'


def snippets(paths: Sequence[Path]) -> list[str]:
    """Texts of code, a file each. Raises BadInput: a file that cannot be read, is no text, too long."""
    return [_text("snippet", path, MAX_SNIPPET) for path in paths]


def conversation(path: Path) -> list[dict[str, str]]:
    """An earlier conversation: JSON lines `{"role": ..., "text": ...}`. Raises BadInput: names the file and the
    line."""
    messages: list[dict[str, str]] = []
    for number, text in enumerate(_text("conversation", path, MAX_CONVERSATION).split("\n"), 1):
        if not text.strip():
            continue
        with bad_input("conversation", SchemaError, what=f"{path}, line {number}"):
            message = decode(text.encode(), Message)
        if message.role not in _SPEAKERS:
            problem = f"role: got {line(message.role)!r}, expected {' or '.join(_SPEAKERS)}"
            raise BadInput("conversation", f"{path}, line {number}: {problem}")
        messages.append(msgspec.to_builtins(message))
    if not messages:
        raise BadInput("conversation", f"{path} has no message; expected lines such as " + _MESSAGE)
    return messages


def refuse_missing(command: str, data: bytes) -> None:
    """Refuse a check that the sandbox could not start on this machine, before anybody pays for work that it could not
    confirm.

    Parameters
    ----------
    command
        As `--check` has it.
    data
        The folder's archive.

    Raises
    ------
    BadInput
        The command cannot be read, or its program is neither in the folder nor on PATH.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise BadInput("--check", f"--check {line(command)!r} cannot be read as a command: {error}") from None
    if not words:
        raise BadInput("--check", f"--check {command!r} names no program; --check off runs none")
    try:
        files = frozenset(unpack_archive(data))
    except FolderError:
        return  # said elsewhere
    program = words[0]
    missing = f"--check {line(command)!r}: no program {line(program)!r} is found"
    if "/" in program and not program.startswith("/"):
        if normpath(program) not in files:
            how = "if the task makes the program, run it by another one, as in --check 'sh test.sh'"
            raise BadInput("--check", f"{missing} in the folder; {how}")
    elif shutil.which(program) is None:
        beside = f"; the folder has a file of that name: ./{line(program)}" if program in files else ""
        raise BadInput("--check", f"{missing} on PATH of this machine{beside}")


def _text(field: str, path: Path, most: int) -> str:
    with bad_input(field, OSError, UnicodeDecodeError, what=f"cannot read {path}"):
        text = read_plain(path).decode("utf-8-sig")
    if len(text) > most:
        raise BadInput(field, f"{path} has {len(text):,} characters, the limit is {most:,}")
    return text
