"""A session as JSON: the whole of it as one value, line by line, or its trace."""

import json
import sys
from collections.abc import Iterator
from typing import Any

import msgspec

from parley.client.errors import BadInput
from parley.client.protocols import FACES, face_of
from parley.client.records import VERSION, Altered, Record, entries_of, opening, write
from parley.client.session_view import Seen, seen
from parley.schemas.afterwards.feedback import feedback_of


def document(session: Record | Seen) -> dict[str, Any]:
    """The whole session as one JSON value, as far as it may be seen; `entries` where all of it may. Raises Altered
    where a number has more digits than are read."""
    session = seen(session)
    result = session.result
    whole = {"entries": [_value(session.sid, text) for text in session.record.entries]} if session.record else {}
    return {
        "session": session.sid,
        "opened": _opened(session),
        "posts": [_value(session.sid, msgspec.json.encode(p)) for p in session.posts],
        "result": None if result is None else msgspec.to_builtins(result),
        "fork": None if session.fork is None else msgspec.to_builtins(session.fork),
        "feedback": [msgspec.to_builtins(f) for f in feedback_of(session.posts)],
        "left_out": session.left_out,
        **whole,
    }


def _opened(session: Seen) -> dict[str, Any] | None:
    """The opening; to whom the log is closed as much of it as the list of sessions has; None: nobody asked there."""
    if session.opened is not None:
        return dict(msgspec.to_builtins(session.opened))
    row = session.row
    return None if row is None else {
        "protocol": row.protocol, "question": row.question, "owner": row.owner, "opened_ns": row.opened_ns,
    }  # fmt: skip


def _value(sid: str, text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:  # the only one in JSON that was decoded before
        raise Altered(
            f"session {sid}: a number has more digits than are read, {sys.get_int_max_str_digits():,}"
        ) from error


def jsonl(session: Record | Seen) -> Iterator[str]:
    """A session as JSON lines: its record where all of it may be seen, else its posts, under a head that says so."""
    session = seen(session)
    if session.record is not None:
        yield from write(session.record)
        return
    yield json.dumps({"parley": "posts", "session": session.sid, "version": VERSION, "left_out": session.left_out})
    yield from (msgspec.json.encode(post).decode() for post in session.posts)


def trace(record: Record) -> Any:
    """The trace of how a session was coordinated (Face.trace). Raises BadInput where its protocol has none; Altered."""
    protocol = opening(record).protocol
    face = face_of(protocol)
    if not face.traces:
        those = " and ".join(name for name in FACES if FACES[name].traces)
        raise BadInput("trace", f"session {record.sid} ran {protocol}; a coordination trace is {those}'s")
    return face.trace(record.sid, entries_of(record))
