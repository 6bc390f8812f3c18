"""What options of `ask` and `up` say: settings of the protocol that all layers name, a motion, styles."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from client.errors import BadInput
from client.text import line
from coordinator.protocols import PROTOCOLS
from coordinator.table import Protocol
from parley.settings import Settings
from parley.stack import panel_file as panel
from schemas.routing import Message
from schemas.wire import SchemaError, decode

MAX_SNIPPET = 50_000
MAX_CONVERSATION = 5_000_000
"""Characters."""
_SPEAKERS = ("user", "assistant")
_MESSAGE = '{"role": "user", "text": "..."}'


def with_protocol_settings(
    config: Path | None, sets: list[str] | None, given: Mapping[str, Any], own: Mapping[str, Any]
) -> Settings:
    """Settings where `own` (threshold, rounds, panel) belong to whichever protocol all layers and the panel file name.

    Raises
    ------
    BadInput
        As parley.settings.load; a setting that the protocol does not have.
    """
    from parley.cli import options

    settings = options.settings(config, sets, **given)
    if not any(value is not None for value in own.values()):
        return settings
    own_options(settings, own)
    name = panel.protocol_of(settings)
    return options.settings(config, sets, **given, **{f"{name}__{key}": value for key, value in own.items()})


_OPTIONS = {
    "stances": "topic", "styles": "style", "files_mentioned": "files", "code_snippets": "snippet",
    "prior_conversation": "conversation",
}  # fmt: skip
"""Options whose setting has another name."""


def own_options(settings: Settings, own: Mapping[str, Any]) -> None:
    """Refuse options for settings that the protocol does not have.

    Parameters
    ----------
    own
        Name of the setting -> its value; None: not given.

    Raises
    ------
    BadInput
        Names the option, and the protocols that have it.
    """
    protocol = panel.protocol_of(settings)
    if protocol not in PROTOCOLS:
        return
    for key, value in own.items():
        if value is not None and key not in _settings_of(PROTOCOLS[protocol]):
            having = [name for name in sorted(PROTOCOLS) if key in _settings_of(PROTOCOLS[name])]
            option = f"--{_OPTIONS.get(key, key).replace('_', '-')}"
            raise BadInput(option, f"{option} is not for {protocol}, but for {' and '.join(having)}")


def _settings_of(protocol: Protocol) -> set[str]:
    return {field.name for field in msgspec.structs.fields(protocol.settings)}


def rounds(round_limit: int | None, max_rounds: int | None) -> int | None:
    """What `--round-limit` says, or `--max-rounds`, which is its former name. Raises BadInput where both are given."""
    if round_limit is not None and max_rounds is not None:
        raise BadInput("--max-rounds", "--max-rounds is the former name of --round-limit, which is given too")
    return max_rounds if round_limit is None else round_limit


def motion(question: str | None, topic: str | None, topics: Path | None) -> tuple[str, dict[str, str], Path | None]:
    """The question, the teams' stances and the evidence folder that a question or a topic gives.

    Raises
    ------
    BadInput
        Neither, or both; as client.protocols.competition.files.topic.
    """
    from client.protocols.competition import files as formats
    from parley.cli import options

    if topic is None and topics is None:
        if question is None:
            raise BadInput("question", "nothing was asked: give a question, - to read it, or a --topic")
        return options.read_question() if question == "-" else question, {}, None
    if question is not None:
        raise BadInput("topic", "a topic has its motion, and a question is given beside it; leave one out")
    found, folder = formats.topic(topic or "", topics)
    return found.motion, {str(team): text for team, text in found.stances.items()}, folder


def styles(given: list[str] | None) -> dict[str, str] | None:
    """Seat -> style, of pairs such as `pro_1=logical`; None for none. Raises BadInput."""
    if not given:
        return None
    from client.protocols.competition import files as formats

    return formats.styles(given)


def snippets(paths: list[Path] | None) -> list[str] | None:
    """Texts of code, a file each; None for none. Raises BadInput: a file that cannot be read, is no text, too long."""
    if not paths:
        return None
    return [_text("snippet", path, MAX_SNIPPET) for path in paths]


def conversation(path: Path | None) -> list[dict[str, str]] | None:
    """An earlier conversation: JSON lines `{"role": ..., "text": ...}`; None for none.

    Raises
    ------
    BadInput
        Names the file and the line.
    """
    if path is None:
        return None
    found: list[dict[str, str]] = []
    for number, text in enumerate(_text("conversation", path, MAX_CONVERSATION).splitlines(), 1):
        if not text.strip():
            continue
        try:
            message = decode(text.encode(), Message)
        except SchemaError as error:
            raise BadInput("conversation", f"{path}, line {number}: {error}") from error
        if message.role not in _SPEAKERS:
            told = f"role: got {line(message.role)!r}, wanted is {' or '.join(_SPEAKERS)}"
            raise BadInput("conversation", f"{path}, line {number}: {told}")
        found.append(msgspec.to_builtins(message))
    if not found:
        raise BadInput("conversation", f"{path} has no message; wanted are lines such as " + _MESSAGE)
    return found


def _text(field: str, path: Path, most: int) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(field, f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadInput(field, f"{path} is not UTF-8 text (byte {error.start})") from error
    if len(text) > most:
        raise BadInput(field, f"{path} has {len(text):,} characters, allowed are at most {most:,}")
    return text
