"""Recorded sessions recomputed: as they were, and under other settings."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from parley.client.errors import BadInput, bad_input
from parley.client.protocols import show_of
from parley.client.records import Altered, Record, check_protocol, entries_of, opening
from parley.client.strict_files import read_yaml, struct_of
from parley.client.text import count, line, plain
from parley.coordinator.admission import build_settings
from parley.coordinator.machine import Inadmissible, Protocol
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.replay import Diverged, Parting, replay, what_if
from parley.coordinator.signals.grace import Grace

_SECTION = re.compile(r"\bconstants\.")
"""What stands in front of the names of constants in their errors."""


def verify(record: Record) -> dict[str, Any]:
    """Recompute it: what came of it, as JSON values. Raises Altered where it does not recompute, ProtocolMissing where
    its protocol is not installed here."""
    _whole(record)
    check_protocol(record.sid, opening(record).protocol)
    try:
        replayed = replay(PROTOCOLS.get, record.sid, record.entries)
    except Diverged as error:
        raise Altered(f"session {record.sid} does not recompute: {error}") from error
    return {
        "session": record.sid,
        "transitions": len(replayed.entries),
        "recomputed": True,
        "closed": replayed.result is not None,
        "digest": replayed.entries[-1].digest,
        "result": None if replayed.result is None else msgspec.to_builtins(replayed.result),
    }


def replayed_words(report: Mapping[str, Any]) -> str:
    """What `verify` found, in words."""
    text = f"session {report['session']}: {count(report['transitions'], 'step')} recomputed, and all came out the same"
    return text if report["closed"] else f"{text}; the record is incomplete: it ends before the session does"


def recount(record: Record, rule: str) -> dict[str, Any]:
    """Its ballots, or the answers that its seats held, counted by another rule, as JSON values with `words`. No model
    is asked. Raises BadInput where they cannot be counted so, Altered where the record does not recompute."""
    report = verify(record)
    if not report["closed"]:
        raise BadInput("--decide", "the record ends before the session does: there is nothing to count yet")
    replayed = replay(PROTOCOLS.get, record.sid, record.entries)
    return {"session": record.sid, **show_of(opening(record).protocol).recount(replayed.session, rule)}


def compare(
    record: Record, settings: Mapping[str, Mapping[str, Any]], constants: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Its events under other settings: where the two runs part, as JSON values.

    Parameters
    ----------
    settings
        Nested by protocol, as `--set consensus.threshold=70` gives them.
    constants
        Numbers of its protocol that are no settings, as `read_constants` has them.

    Raises
    ------
    BadInput, Altered
        A setting of another protocol, or unknown; a constant out of range; a record that does not recompute.
    """
    _whole(record)
    protocol = opening(record).protocol
    check_protocol(record.sid, protocol)
    changes = wanted(protocol, settings)
    if name := next((name for name in changes if name in show_of(protocol).setup.counts), ""):
        why = f"it acts on the count: parley replay ID --{name} RULE recounts, and a fork asks for its own ballots"
        raise BadInput(f"{protocol}.{name}", why)
    given = dict(constants or {})
    grace = _grace(protocol, given.pop("grace", None))
    numbers = _constants(protocol, given)
    try:
        parting: Parting = what_if(PROTOCOLS.get, record.sid, record.entries, changes, numbers, grace)
    except Inadmissible as error:
        raise BadInput(error.field, str(error)) from error
    except Diverged as error:
        raise Altered(f"session {record.sid} does not recompute: {error}") from error
    return {
        "session": record.sid,
        "settings": settings,
        **({"constants": dict(constants)} if constants else {}),
        "changed": _changed(PROTOCOLS[protocol], opening(record).settings, changes, numbers, grace),
        **msgspec.to_builtins(parting),
    }


def _changed(
    protocol: Protocol, recorded: Mapping[str, Any], changes: Mapping[str, Any], numbers: Mapping[str, Any],
    grace: Grace | None,
) -> dict[str, Any]:  # fmt: skip
    """Each setting, constant and number of the grace that is another one: name -> what it was, and is in this run."""
    pairs = [("", *(build_settings(protocol, {**recorded, **more}) for more in ({}, changes)))]
    pairs += [("constants.", protocol.tuned().constants, numbers)] if protocol.tuned is not None and numbers else []
    pairs += [("grace.", protocol.grace, grace or protocol.grace)]
    found: dict[str, Any] = {}
    for before, own, this in pairs:
        was, now = msgspec.to_builtins(own), msgspec.to_builtins(this)
        found |= {f"{before}{k}": {"recorded": was.get(k), "this": v} for k, v in now.items() if was.get(k) != v}
    return found


def read_constants(path: Path) -> dict[str, Any]:
    """Constants of a YAML or JSON file, by name. Raises BadInput."""
    found = read_yaml(path, "--constants")
    if not found:
        raise BadInput(
            "--constants", f"{path} has no constants, so nothing would change; name one, such as eps_i: 0.05"
        )
    return found


def _constants(protocol: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """All constants of a protocol with these in place of its own, as JSON values; none given: none. Raises BadInput."""
    if not given:
        return {}
    tuned = PROTOCOLS[protocol].tuned
    if tuned is None:
        having = " and ".join(name for name, other in PROTOCOLS.items() if other.tuned is not None)
        raise BadInput("--constants", f"the session ran {protocol}, which has no such constants, but {having} has")
    with bad_input():
        built: dict[str, Any] = msgspec.to_builtins(
            struct_of(dict(given), type(tuned().constants), "constants", sections=_SECTION)
        )
    return built


def _grace(protocol: str, given: object) -> Grace | None:
    """The grace that is to be tried; None: the protocol's own. Raises BadInput."""
    if given is None:
        return None
    if PROTOCOLS[protocol].may_close is None:
        raise BadInput("--constants", f"the session ran {protocol}, which gives no grace")
    with bad_input("--constants", msgspec.ValidationError, what="grace"):
        return msgspec.convert(given, Grace)


def wanted(protocol: str, settings: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The settings of a recorded session's protocol that somebody typed, as its record has them. Raises BadInput for
    those of another, and those with which no recorded session changes."""
    show = show_of(protocol)
    for name in settings:
        if name != protocol:
            raise BadInput(
                "--set", f"{name}: the session ran {protocol}, expected settings such as {protocol}.threshold"
            )
    for name in settings.get(protocol, {}):
        if name in show.setup.opening_only:
            raise BadInput(
                f"{protocol}.{name}",
                "it acts only before the first event, or only on what is shown, so no recorded session changes with it",
            )
    return show.what_if(settings.get(protocol, {}))


def comparison_words(report: Mapping[str, Any]) -> Iterator[str]:
    """The same in words."""
    for name, values in report["changed"].items():
        yield f"{name}: {line(plain(values['this']), 60)} in place of {line(plain(values['recorded']), 60)}"
    if not report["changed"]:
        yield "these settings are those of the record"
    n = report["n"]
    if n is None and report["result"] is None:
        yield f"nothing changes in what was recorded, which is incomplete: {line(report['how'])}"
    elif n is None:
        yield f"nothing changes: {line(report['how'])}"
    else:
        yield f"another course from step {n} on: {line(report['how'])}"
        both = [("both", report["this"])]
        apart = [("recorded", report["recorded"]), ("this run", report["this"])]
        for name, texts in both if report["recorded"] == report["this"] else apart:
            for text in texts:
                yield f"  {name}: {line(text, 200)}"
    if report["stop"]:
        yield f"this run stops: {report['stop']}"
    yield f"{report['carried']} recorded events carried it"


def _whole(record: Record) -> None:
    """Raise Altered where transitions are missing between others."""
    for wanted, entry in enumerate(entries_of(record)):
        if entry.n > wanted:
            which = f"transition {wanted} is" if entry.n == wanted + 1 else f"transitions {wanted} to {entry.n - 1} are"
            raise Altered(f"session {record.sid} does not recompute: {which} missing from the record")
