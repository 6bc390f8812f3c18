"""Packs: several entries of one session as one message of LOG, and back (schemas.log.Pack)."""

from collections.abc import Sequence

import msgspec

from schemas.log import FORM, Entry, Said, Say
from schemas.wire import Json, SchemaError, decode, encode

_MARK = b'{"v":2,'
_SAID = b'{"t":"said"'
_WORTH = 64
"""Bytes of a body that is worth naming by its place."""


class _Plain(msgspec.Struct, frozen=True):
    """An entry of any release: commands are not looked into."""

    n: int
    at_ns: int
    cause: Json
    event: Json
    commands: tuple[Json, ...]
    digest: Json


class _Plains(msgspec.Struct, frozen=True):
    v: int
    entries: tuple[_Plain, ...]


class _WritingEntry(msgspec.Struct):
    n: int
    at_ns: int
    cause: str
    event: object
    commands: list[object]
    digest: str


class _Writing(msgspec.Struct):
    v: int
    entries: list[_WritingEntry]


class _Bodied(msgspec.Struct, frozen=True):
    body: Json = msgspec.Raw(b"")


def pack(entries: Sequence[Entry]) -> bytes:
    """The message of LOG that holds these entries, at least one, in their order."""
    bodies: dict[bytes, int] = {}
    packed = []
    saved = False
    for place, entry in enumerate(entries):
        body = getattr(entry.event, "body", None)
        if body is not None and len(told := bytes(body)) >= _WORTH:
            bodies.setdefault(told, place)
        commands: list[object] = []
        for command in entry.commands:
            if type(command) is Say and (of := bodies.get(bytes(command.body))) is not None:
                saved = True
                commands.append(
                    Said(of=of, channel=command.channel, kind=command.kind, round=command.round, seat=command.seat)
                )
            else:
                commands.append(command)
        packed.append((entry, commands))
    if len(packed) == 1 and not saved:
        return encode(entries[0])
    return encode(_Writing(FORM, [_WritingEntry(e.n, e.at_ns, e.cause, e.event, c, e.digest) for e, c in packed]))


def unpack(data: bytes) -> list[bytes]:
    """The entries of one message of LOG, each as it would lie there alone. What is no pack, or none that this release
    can read, comes back as it is."""
    if not data.startswith(_MARK):
        return [data]
    try:
        plains = decode(data, _Plains).entries
        bodies = [_body(e.event) for e in plains]
        return [encode(_whole(e, bodies)) for e in plains] or [data]
    except (SchemaError, IndexError):
        return [data]


def _body(event: Json) -> Json:
    return decode(event, _Bodied).body


def _whole(entry: _Plain, bodies: Sequence[Json]) -> _Plain:
    commands = tuple(_say(c, bodies) if bytes(c).startswith(_SAID) else c for c in entry.commands)
    return _Plain(entry.n, entry.at_ns, entry.cause, entry.event, commands, entry.digest)


def _say(command: Json, bodies: Sequence[Json]) -> Json:
    said = decode(command, Said)
    if said.of < 0 or not bytes(body := bodies[said.of]):
        raise IndexError(said.of)
    return msgspec.Raw(
        encode(Say(channel=said.channel, kind=said.kind, round=said.round, body=body, seat=said.seat))
    )  # fmt: skip
