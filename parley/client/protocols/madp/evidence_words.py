"""What the machine saw in a task, in words: what was run, read, written and refused, and which claims nothing bears
out."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from parley.client.protocols.madp.work_words import WIDE
from parley.client.show.lines import StyledLine
from parley.client.text import count, line
from parley.schemas.protocols.madp.work import Evidence
from parley.schemas.wire import SchemaError

NOTHING_RUN = "No command was run."
_COMMANDS, _CLAIMS = 5, 10


def record(outcome: Mapping[str, Any]) -> Evidence | None:
    """The record of a task that came to work; None: there is none."""
    if not outcome.get("work") or not outcome.get("evidence"):
        return None
    try:
        return msgspec.convert(outcome["evidence"], Evidence)
    except (msgspec.ValidationError, SchemaError):
        return None


def nothing_run(outcome: Mapping[str, Any]) -> bool:
    """Whether the record says that no command was run, nor the check."""
    found = record(outcome)
    check = outcome.get("check") or {}
    ran = any((check.get(when) or {}).get("ran", bool(check.get(when))) for when in ("before", "after"))
    return found is not None and not found.commands and not ran


def lines(outcome: Mapping[str, Any]) -> Iterator[StyledLine]:
    """The record, beside the check; then what the lead claims and the machine did not see."""
    found = record(outcome)
    if found is None:
        return
    read, written = count(len(found.read), "file"), count(len(found.written), "file")
    commands = count(len(found.commands), "command") if found.commands else "no command"
    refused = f", {count(len(found.refused), 'call')} refused or failed" if found.refused else ""
    yield "quiet", f"Seen by the machine: {commands} run by experts, {read} read, {written} changed{refused}"
    for ran in found.commands[-_COMMANDS:]:
        tests = f", {line(ran.tests)}" if ran.tests else ""
        later = "; files were changed after it" if ran.stale else ""
        yield "quiet", f"      {line(ran.by)} ran {line(ran.command, WIDE)}: {line(ran.ended, WIDE)}{tests}{later}"
    if found.unasked:
        told = ", ".join(line(what, WIDE) for what in found.unasked[:_CLAIMS])
        yield "score", f"Beside what the task asks: {told}"
    yield from (("score", f"Not borne out: {line(claim, WIDE)}") for claim in found.claims[:_CLAIMS])


def certified(seen: Mapping[str, Any]) -> str:
    """A certificate's record: `no command run by experts; 2 files read; changed: app.py; claims not borne out: 1`."""
    commands = [line(str(text), WIDE) for text in seen.get("commands") or ()]
    parts = [f"run by experts: {', '.join(commands[-_COMMANDS:])}" if commands else "no command run by experts"]
    parts.append(f"{count(seen.get('read', 0), 'file')} read")
    written = [line(str(path)) for path in seen.get("written") or ()]
    parts.append(f"changed: {', '.join(written[:_CLAIMS])}" if written else "no file changed")
    parts += [f"{count(seen['refused'], 'call')} refused or failed"] if seen.get("refused") else []
    parts += [f"beside the task: {', '.join(map(line, seen['unasked'][:_CLAIMS]))}"] if seen.get("unasked") else []
    parts += [f"claims not borne out: {len(seen['claims'])}"] if seen.get("claims") else []
    return "; ".join(parts)
