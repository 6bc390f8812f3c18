"""Recorded sessions recomputed: as they were, and under other settings."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from client.errors import BadInput
from client.protocols import face_of
from client.records import Altered, Record, entries_of, opening
from client.text import line
from coordinator.machine import Inadmissible
from coordinator.protocols import PROTOCOLS
from coordinator.replay import Diverged, Parting, replay, what_if


def verify(record: Record) -> dict[str, Any]:
    """Recompute it: what was found, as JSON values. Raises Altered where it does not recompute."""
    _whole(record)
    try:
        found = replay(PROTOCOLS.get, record.sid, record.entries)
    except Diverged as error:
        raise Altered(f"session {record.sid} does not recompute: {error}") from error
    return {
        "session": record.sid,
        "transitions": len(found.entries),
        "recomputed": True,
        "closed": found.result is not None,
        "digest": found.entries[-1].digest,
        "result": None if found.result is None else msgspec.to_builtins(found.result),
    }


def replayed_words(found: Mapping[str, Any]) -> str:
    """What `verify` found, in words."""
    text = f"session {found['session']}: {found['transitions']} transitions recompute to the same entries"
    return text if found["closed"] else f"{text}; the record is incomplete: it ends before the session does"


def compare(record: Record, settings: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Its events under other settings: where the two runs part, as JSON values.

    Parameters
    ----------
    settings
        Nested by protocol, as `--set consensus.threshold=70` gives them.

    Raises
    ------
    BadInput, Altered
        A setting of another protocol, or unknown; a record that does not recompute.
    """
    _whole(record)
    given = wanted(opening(record).protocol, settings)
    try:
        parting: Parting = what_if(PROTOCOLS.get, record.sid, record.entries, given)
    except Inadmissible as error:
        raise BadInput(error.field, str(error)) from error
    except Diverged as error:
        raise Altered(f"session {record.sid} does not recompute: {error}") from error
    return {"session": record.sid, "settings": settings, **msgspec.to_builtins(parting)}


def wanted(protocol: str, settings: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The settings of a recorded session's protocol that somebody typed, as its record has them. Raises BadInput for
    those of another, and those with which no recorded session changes."""
    face = face_of(protocol)
    for name in settings:
        if name != protocol:
            raise BadInput(
                "--set", f"{name}: the session ran {protocol}, expected settings such as {protocol}.threshold"
            )
    for name in settings.get(protocol, {}):
        if name in face.setup.opening_only:
            raise BadInput(
                f"{protocol}.{name}",
                "it acts only before the first event, or only on what is shown, so no recorded session changes with it",
            )
    return face.what_if(settings.get(protocol, {}))


def comparison_words(found: Mapping[str, Any]) -> Iterator[str]:
    """The same in words."""
    n = found["n"]
    if n is None and found["result"] is None:
        yield f"the runs do not part in what was recorded, which is incomplete: {line(found['how'])}"
    elif n is None:
        yield f"the runs never part: {line(found['how'])}"
    else:
        yield f"the runs part at transition {n}: {line(found['how'])}"
        both = [("both", found["this"])]
        apart = [("recorded", found["recorded"]), ("this run", found["this"])]
        for name, texts in both if found["recorded"] == found["this"] else apart:
            for text in texts:
                yield f"  {name}: {line(text, 200)}"
    if found["stop"]:
        yield f"this run stops: {found['stop']}"
    yield f"{found['carried']} recorded events carried it"


def _whole(record: Record) -> None:
    """Raise Altered where transitions are missing between others."""
    for wanted, entry in enumerate(entries_of(record)):
        if entry.n > wanted:
            which = f"transition {wanted} is" if entry.n == wanted + 1 else f"transitions {wanted} to {entry.n - 1} are"
            raise Altered(f"session {record.sid} does not recompute: {which} missing from the record")
