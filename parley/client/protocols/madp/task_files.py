"""Reads the files that go with a task: code to look at, an earlier conversation."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from parley.client.errors import BadInput
from parley.client.text import line
from parley.observability.plain_files import read_plain
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
    """An earlier conversation: JSON lines `{"role": ..., "text": ...}`.

    Raises
    ------
    BadInput
        Names the file and the line.
    """
    messages: list[dict[str, str]] = []
    for number, text in enumerate(_text("conversation", path, MAX_CONVERSATION).split("\n"), 1):
        if not text.strip():
            continue
        try:
            message = decode(text.encode(), Message)
        except SchemaError as error:
            raise BadInput("conversation", f"{path}, line {number}: {error}") from error
        if message.role not in _SPEAKERS:
            problem = f"role: got {line(message.role)!r}, expected {' or '.join(_SPEAKERS)}"
            raise BadInput("conversation", f"{path}, line {number}: {problem}")
        messages.append(msgspec.to_builtins(message))
    if not messages:
        raise BadInput("conversation", f"{path} has no message; expected lines such as " + _MESSAGE)
    return messages


def _text(field: str, path: Path, most: int) -> str:
    try:
        text = read_plain(path).decode("utf-8-sig")
    except OSError as error:
        raise BadInput(field, f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadInput(field, f"{path} is not UTF-8 text (byte {error.start})") from error
    if len(text) > most:
        raise BadInput(field, f"{path} has {len(text):,} characters, the limit is {most:,}")
    return text
