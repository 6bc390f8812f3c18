"""Replies from a file, and how such a file is made.

One JSON text a line: `{"key": ["consensus", "answer", "panelist_1", 1, 1], "body": {...}, "usage": {}, "flags": []}`;
its key is protocol, kind, seat, round and attempt. A later line for the same key replaces an earlier one.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from agents.context import Shown
from agents.models.base import Completion, Emit, Model, ModelMisconfigured, NotRecorded
from schemas.turn import Usage
from schemas.wire import Json, Undecodable, compact, decode, encode

Key = tuple[str, str, str, int, int]


class RecordedReply(msgspec.Struct, frozen=True, kw_only=True):
    """One stored reply."""

    key: Key
    body: Json
    usage: Usage = Usage()
    flags: tuple[str, ...] = ()


def key_of(shown: Shown) -> Key:
    """(protocol, kind, seat, round, attempt)."""
    return shown.protocol, shown.kind, shown.seat, shown.round, shown.attempt


class RecordedModel:
    """Model `recorded`: replays stored replies. Their tokens are shown, and cost nothing now."""

    name = "recorded"
    family = "recorded"
    metered = False
    usd_per_million_input = 0.0
    usd_per_million_output = 0.0

    def __init__(self, records: Mapping[Key, RecordedReply]) -> None:
        self._records = dict(records)

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """The stored reply.

        Raises
        ------
        NotRecorded
            There is none for this turn.
        """
        record = self._records.get(key_of(shown))
        if record is None:
            protocol, kind, seat, round_, attempt = key_of(shown)
            raise NotRecorded(
                f"no reply is recorded for {protocol} {kind}, seat {seat}, round {round_}, attempt {attempt}"
            )
        emit(bytes(record.body).decode())
        used = Usage(calls=record.usage.calls)  # its tokens were paid for when it was recorded
        return Completion(body=record.body, usage=used, flags=(*record.flags, "recorded"))


class Recorder:
    """Passes every turn on to another model, and appends its replies to a file."""

    def __init__(self, model: Model, path: Path) -> None:
        self._model = model
        self._path = path
        self.name = model.name
        self.family = model.family
        self.metered = model.metered
        self.usd_per_million_input = model.usd_per_million_input
        self.usd_per_million_output = model.usd_per_million_output

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """The other model's reply, recorded."""
        completion = await self._model.reply(shown, emit)
        body = compact(completion.json())
        record = RecordedReply(key=key_of(shown), body=body, usage=completion.usage, flags=completion.flags)
        with self._path.open("ab") as file:
            file.write(encode(record) + b"\n")
        return completion


def load(path: Path) -> dict[Key, RecordedReply]:
    """Stored replies by turn.

    Raises
    ------
    ModelMisconfigured
        The file cannot be read, or a line is no record.
    """
    records: dict[Key, RecordedReply] = {}
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise ModelMisconfigured(f"options.path: {path} cannot be read: {error.strerror}") from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                record = decode(line, RecordedReply)
            except Undecodable as error:
                raise ModelMisconfigured(f"options.path: {path}, line {number}: {error}") from error
            records[record.key] = record
    return records


def make(options: Mapping[str, Any]) -> RecordedModel:
    """The model; option `path` is the file.

    Raises
    ------
    ModelMisconfigured
        No path, another option, or a file that cannot be used.
    """
    for name in options:
        if name != "path":
            raise ModelMisconfigured(f"options.{name}: no such option; the recorded model takes path")
    if "path" not in options:
        raise ModelMisconfigured("options.path: the recorded model needs the file of its replies")
    return RecordedModel(load(Path(str(options["path"]))))
