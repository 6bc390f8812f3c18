"""Packs: several entries of one session as one message of LOG, and back (parley.schemas.log.Pack)."""

from collections.abc import Sequence

import msgspec

from parley.schemas.log import FORM, Entry, Said, Say
from parley.schemas.wire import Json, SchemaError, decode, encode

_MARK = b'{"v":1,'
_SAID = b'{"t":"said"'
_WORTH = 64
"""Bytes from which on a body is named by its place, and not repeated."""


class _Plain(msgspec.Struct, frozen=True):
    """An entry; its commands are not decoded."""

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
        if body is not None and len(data := bytes(body)) >= _WORTH:
            bodies.setdefault(data, place)
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
    """The entries of one message of LOG, each as if it lay there alone. A message that is no pack, or none of a form
    that is known here, comes back unchanged."""
    if not data.startswith(_MARK):
        return [data]
    try:
        plains = decode(data, _Plains).entries
        bodies = [_body(e.event) for e in plains]
        return [encode(_with_bodies(e, bodies)) for e in plains] or [data]
    except (SchemaError, IndexError):
        return [data]


def _body(event: Json) -> Json:
    return decode(event, _Bodied).body


def _with_bodies(entry: _Plain, bodies: Sequence[Json]) -> _Plain:
    commands = tuple(_say(c, bodies) if bytes(c).startswith(_SAID) else c for c in entry.commands)
    return _Plain(entry.n, entry.at_ns, entry.cause, entry.event, commands, entry.digest)


def _say(command: Json, bodies: Sequence[Json]) -> Json:
    packed = decode(command, Said)
    if packed.of < 0 or not bytes(body := bodies[packed.of]):
        raise IndexError(packed.of)
    return msgspec.Raw(
        encode(Say(channel=packed.channel, kind=packed.kind, round=packed.round, body=body, seat=packed.seat))
    )
