"""The model that plays replies from a file, and the recorder that makes such a file.

One JSON text a line: `{"key": ["consensus", "answer", "panelist_1", 1, 1], "body": {...}, "usage": {}, "flags": []}`;
its key is protocol, kind, seat, round and attempt. A competition asks a seat for the same several times in a round: the
second of these turns has `nth` 2. A later line for the same place replaces an earlier one, so that one file holds one
session.

A language model may take a turn in several steps, with calls of tools between them (agents/tools/loop.py). Then each
step is a line, with its number as `step`, and `language` says that the steps are to be taken again: the calls are made
anew when the file is played, in the folder as it is then, and their results are not read from the file.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import msgspec

from parley.agents.context import Shown
from parley.agents.model.base import AroundModel, Completion, Emit, Model, ModelMisconfigured, ModelRefused, NotRecorded
from parley.bus.files.plain import read_plain
from parley.schemas.turn import Usage
from parley.schemas.wire import Json, Undecodable, compact, decode, encode

Key = tuple[str, str, str, int, int]
Place = tuple[Key, int, int]
"""Key, which turn of that key it is, and step."""


class RecordedReply(msgspec.Struct, frozen=True, kw_only=True):
    """One stored reply."""

    key: Key
    nth: int = 1
    """Of the session's turns with this key, from 1."""
    step: int = 1
    """Of the turn, from 1."""
    language: bool = False
    """It is a language model's own reply to one step, and not yet what the turn came to."""
    body: Json
    usage: Usage = Usage()
    flags: tuple[str, ...] = ()
    after_s: float = 0.0
    """Seconds until it is said, so that a reader can follow."""


def key_of(shown: Shown) -> Key:
    """(protocol, kind, seat, round, attempt)."""
    return shown.protocol, shown.kind, shown.seat, shown.round, shown.attempt


class TurnCount:
    """Which of a session's turns with the same key a turn is: they are counted as they are first seen, by their ids."""

    def __init__(self) -> None:
        self._turns: dict[tuple[str, Key], list[str]] = {}

    def nth(self, shown: Shown) -> int:
        """From 1."""
        turns = self._turns.setdefault((shown.session, key_of(shown)), [])
        if shown.turn not in turns:
            turns.append(shown.turn)
        return turns.index(shown.turn) + 1


class RecordedModel:
    """Model `recorded`: replays stored replies. Their tokens are shown, and cost nothing now."""

    name = "recorded"
    family = "recorded"
    metered = False
    usd_per_million_input = 0.0
    usd_per_million_output = 0.0

    def __init__(self, records: Mapping[Place, RecordedReply]) -> None:
        self._records = dict(records)
        self._count = TurnCount()
        self.steps = any(record.language for record in self._records.values())

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """The stored reply.

        Raises
        ------
        NotRecorded
            There is none for this turn.
        ModelRefused
            It is a language model's, and no longer what this turn asks for.
        """
        nth = self._count.nth(shown)
        record = self._records.get((key_of(shown), nth, shown.step))
        if record is None:
            protocol, kind, seat, round_, attempt = key_of(shown)
            more = (f", turn {nth} of these" if nth > 1 else "") + (f", step {shown.step}" if shown.step > 1 else "")
            raise NotRecorded(
                f"no reply is recorded for {protocol} {kind}, seat {seat}, round {round_}, attempt {attempt}{more}"
            )
        await asyncio.sleep(record.after_s)
        emit(bytes(record.body).decode())
        used = Usage(calls=record.usage.calls)  # its tokens were paid for when it was recorded
        body: Any = record.body
        if record.language:
            try:
                body = _step(bytes(record.body), shown)
            except Undecodable as error:
                raise ModelRefused(f"recorded: {error}", used) from None
        return Completion(body=body, usage=used, flags=(*record.flags, "recorded"))


def _step(body: bytes, shown: Shown) -> Any:
    """A language model's reply to a step; one that ended the turn may be in the form that asks for no calls."""
    try:
        return decode(body, shown.reply)
    except Undecodable:
        if shown.steps is None or shown.steps.end is shown.reply:
            raise
        return decode(body, shown.steps.end)


class Recorder(AroundModel):
    """Passes every turn on to another model, and appends its replies to a file. Several workers may share the file."""

    def __init__(self, model: Model, path: Path) -> None:
        super().__init__(model)
        self._path = path
        self._count = TurnCount()

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """The other model's reply, recorded. Raises ModelMisconfigured: the file cannot be written."""
        nth = self._count.nth(shown)
        completion = await self._model.reply(shown, emit)
        record = RecordedReply(
            key=key_of(shown),
            nth=nth,
            step=shown.step,
            language=bool(getattr(self, "steps", False)),
            body=compact(completion.json()),
            usage=completion.usage,
            flags=completion.flags,
        )
        try:
            with self._path.open("ab") as file:
                file.write(encode(record) + b"\n")
        except OSError as error:
            why = f"options.record: {self._path} cannot be written: {error.strerror}"
            raise ModelMisconfigured(why, completion.usage) from error
        return completion


def recording(model: Model) -> Model:
    """The model, in a Recorder if its options name a file for its replies."""
    path: Path | None = getattr(model, "record", None)
    return model if path is None else cast(Model, Recorder(model, path))


def load(path: Path) -> dict[Place, RecordedReply]:
    """Stored replies. Raises ModelMisconfigured: the file cannot be read, or a line is no record."""
    records: dict[Place, RecordedReply] = {}
    try:
        lines = read_plain(path).splitlines()
    except OSError as error:
        raise ModelMisconfigured(f"options.path: {path} cannot be read: {error.strerror}") from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                record = decode(line, RecordedReply)
            except Undecodable as error:
                raise ModelMisconfigured(f"options.path: {path}, line {number}: {error}") from error
            records[record.key, record.nth, record.step] = record
    return records


def make(options: Mapping[str, Any]) -> RecordedModel:
    """The model; option `path` is the file. Raises ModelMisconfigured: no path, another option, or a file that cannot
    be used."""
    for name in options:
        if name != "path":
            raise ModelMisconfigured(f"options.{name}: no such option; the recorded model takes path")
    if "path" not in options:
        raise ModelMisconfigured("options.path: the recorded model needs the file of its replies")
    return RecordedModel(load(Path(str(options["path"]))))
