"""Sessions that were recorded. A record is a session's id and its log entries, verbatim.

The file: a first line `{"parley": "session", "session": "<sid>", "version": 1}`, then one log entry a line, exactly as
stored.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from parley.bus.files.plain import read_plain
from parley.client.errors import BadInput, ParleyError, bad_input
from parley.coordinator.protocols import PROTOCOLS
from parley.schemas import log
from parley.schemas.post import Post
from parley.schemas.registry import NotUsable
from parley.schemas.result import Result
from parley.schemas.wire import MAX_DEPTH, SchemaError, Undecodable, decode, nested_too_deep

VERSION = 1
MAX_FILE = 500_000_000
"""Bytes of a record."""


class Altered(ParleyError):
    """A record does not recompute: it was altered, or another version wrote it."""


class ProtocolMissing(BadInput):
    """No package that is installed here brings the session's protocol, or the one that does cannot be loaded."""

    def __init__(self, sid: str, protocol: str, fault: str = "") -> None:
        why = (
            f": {fault}; correct that package"
            if fault
            else (
                f", which no installed package brings; install the package that has the entry point {protocol}"
                f" in the group {PROTOCOLS.group}"
            )
        )
        again = ", and start the stack again. `parley doctor` lists what is installed."
        super().__init__("session", f"session {sid} ran the protocol {protocol}{why}{again}")


def check_protocol(sid: str, protocol: str) -> None:
    """Raise ProtocolMissing where a session's protocol cannot be run here."""
    try:
        PROTOCOLS[protocol]
    except NotUsable as error:
        raise ProtocolMissing(sid, protocol, str(error)) from error
    except KeyError as error:
        raise ProtocolMissing(sid, protocol) from error


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One session as it was recorded."""

    sid: str
    entries: tuple[str, ...]
    """Log entries exactly as stored; a session that is still open has no closing one."""


def write(record: Record) -> Iterator[str]:
    """Lines of the file, without line ends."""
    yield json.dumps({"parley": "session", "session": record.sid, "version": VERSION})
    yield from record.entries


class _Head(msgspec.Struct, frozen=True):
    """The first line of a file."""

    parley: str
    session: str
    version: int | None = None


def read_record(path: Path) -> Record:
    """A record from a file. Raises BadInput if it is missing, too large, nested too deep, or no record."""
    with bad_input("file", OSError, what=f"cannot read {path}"):
        size = path.stat().st_size
        if size > MAX_FILE:
            raise BadInput("file", f"{path} has {size:,} bytes, allowed are {MAX_FILE:,}")
        return parse_record(read_plain(path), str(path))


def parse_record(data: bytes, path: str) -> Record:
    """A record from what a file holds. Raises BadInput as read_record."""
    other = f"{path} is no exported session; parley sessions export ID -o session.jsonl writes one"
    try:
        lines = data.decode().split("\n")
        head = decode(lines[0].encode(), _Head)
    except (UnicodeDecodeError, Undecodable) as error:
        raise BadInput("file", other) from error
    if head.parley == "posts":
        whole = "expected the record (sessions export --all, with an owner's credentials)"
        raise BadInput("file", f"{path} holds what was posted, as far as its owner might see it; {whole}")
    if head.parley != "session":
        raise BadInput("file", other)
    if head.version != VERSION:
        raise BadInput("file", f"{path} has version {head.version!r}, and this release reads version {VERSION}")
    return record_of(head.session, lines[1:], path, 2)


def record_of(sid: str, entries: Iterable[str], source: str = "", first: int = 1) -> Record:
    """A record of entries as they are stored; empty lines are passed over.

    Parameters
    ----------
    source, first
        The file that they stand in, and the line of the first.

    Raises
    ------
    BadInput
        One is nested deeper than every command can show: names the line, or the entry, and the limit.
    """
    kept = []
    for number, text in enumerate(entries, first):
        if nested_too_deep(text.encode()):
            where = f"{source}, line {number}" if source else f"session {sid}, entry {number}"
            raise BadInput("file", f"{where}: lists and objects are nested too deep, allowed are {MAX_DEPTH} levels")
        if text:
            kept.append(text)
    return Record(sid=sid, entries=tuple(kept))


def entries_of(record: Record) -> tuple[log.Entry, ...]:
    """Its entries, decoded. Raises Altered for what is no entry."""
    entries: list[log.Entry] = []
    try:
        for text in record.entries:
            entries.append(decode(text.encode(), log.Entry))
    except SchemaError as error:
        raise Altered(f"session {record.sid}, entry {len(entries) + 1}: {error}") from error
    return tuple(entries)


def opening(record: Record) -> log.Opened:
    """Its first event. Raises Altered if it has none."""
    entries = entries_of(record)
    if not entries or not isinstance(entries[0].event, log.Opened):
        raise Altered(f"session {record.sid} has no opening entry")
    return entries[0].event


def posts_in(sid: str, entry: log.Entry, counts: dict[str, int]) -> Iterator[Post]:
    """What was said with an entry, on every channel. `counts`: channel -> posts so far, which this raises."""
    for say in (c for c in entry.commands if isinstance(c, log.Say)):
        k, n = counts.get(say.channel, 0), sum(counts.values())
        counts[say.channel] = k + 1
        fields = {name: getattr(say, name) for name in ("channel", "seat", "kind", "round", "body")}
        yield Post(session=sid, k=k, n=n, transition=entry.n, at_ns=entry.at_ns, **fields)


def posts_of(record: Record) -> list[Post]:
    """Everything that was said, on every channel, as the log has it."""
    counts: dict[str, int] = {}
    return [post for entry in entries_of(record) for post in posts_in(record.sid, entry, counts)]


def result_of(record: Record) -> Result | None:
    """Its result; None while it is open. Raises Altered for what is none."""
    return closing(record.sid, posts_of(record))


def closing(sid: str, posts: Sequence[Post]) -> Result | None:
    """The result that the last of these posts tells that tells one; None: none does. Raises Altered."""
    for post in reversed(posts):
        if post.kind == "closed" and post.channel == "control":
            try:
                return decode(post.body, Result)
            except SchemaError as error:
                raise Altered(f"session {sid}, post {post.n + 1}: {error}") from error
    return None
