"""A session as JSON: the whole of it as one value, line by line, or its trace."""

import json
import sys
from collections.abc import Iterator
from typing import Any

import msgspec

from parley.client.errors import BadInput
from parley.client.protocols import SHOWS, show_of
from parley.client.records import VERSION, Altered, Record, entries_of, opening, write
from parley.client.view.fold import Fold, fold_of
from parley.schemas.past_sessions.feedback import feedback_of


def document(source: Record | Fold, *, posts: bool = True) -> dict[str, Any]:
    """The session as one JSON value, as far as it may be seen: `view`, which any screen shows, and what was stored;
    `entries` where all of it may be read. `posts`: with what was said, and what it was opened with. Raises Altered
    where a number has more digits than are read."""
    fold = fold_of(source)
    record, result = fold.record, fold.result
    said: dict[str, Any] = {}
    if posts:
        said["opened"] = _opened(fold)
        said["posts"] = [_value(fold.sid, msgspec.json.encode(p)) for p in fold.posts]
    if posts and record is not None:
        said["entries"] = [_value(fold.sid, text) for text in record.entries]
    return {
        "session": fold.sid,
        "result": None if result is None else msgspec.to_builtins(result),
        "fork": None if fold.fork is None else msgspec.to_builtins(fold.fork),
        "feedback": [msgspec.to_builtins(f) for f in feedback_of(fold.posts)],
        "left_out": fold.left_out,
        "view": msgspec.to_builtins(fold.view(posts=posts)),
        **said,
    }


def _opened(fold: Fold) -> dict[str, Any] | None:
    """The opening; to whom the log is closed as much of it as the list of sessions has; None: nobody asked there."""
    if (opened := fold.readable) is not None:
        return dict(msgspec.to_builtins(opened))
    row = fold.row
    return (
        None
        if row is None
        else {
            "protocol": row.protocol,
            "question": row.question,
            "owner": row.owner,
            "opened_ns": row.opened_ns,
        }
    )


def _value(sid: str, text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:  # the only one in JSON that was decoded before
        raise Altered(
            f"session {sid}: a number has more digits than are read, {sys.get_int_max_str_digits():,}"
        ) from error


def jsonl(source: Record | Fold) -> Iterator[str]:
    """A session as JSON lines: its record where all of it may be seen, else its posts, under a head that says so."""
    fold = fold_of(source)
    if (record := fold.record) is not None:
        yield from write(record)
        return
    yield json.dumps({"parley": "posts", "session": fold.sid, "version": VERSION, "left_out": fold.left_out})
    yield from (msgspec.json.encode(post).decode() for post in fold.posts)


def trace(record: Record) -> Any:
    """The trace of how a session was coordinated (Show.trace). Raises BadInput where its protocol has none; Altered."""
    protocol = opening(record).protocol
    show = show_of(protocol)
    if not show.traces:
        those = " and ".join(name for name in SHOWS if SHOWS[name].traces)
        raise BadInput("trace", f"session {record.sid} ran {protocol}; a coordination trace is {those}'s")
    return show.trace(record.sid, entries_of(record))
