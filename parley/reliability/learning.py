"""Reads the feedback on stored sessions, and lists what it comes to."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from client.errors import BadInput
from client.records import Altered, record_of
from client.reliability import store
from client.reliability.known import read_known
from client.reliability.table import table
from client.reliability.verdicts import Verdict, verdict
from client.text import line
from parley.reliability.applied import file_of
from parley.settings import Settings
from parley.stack.access import last_stack, run
from schemas.afterwards.learned import Reliability


def _file(settings: Settings) -> Path:
    path = file_of(settings)
    if path is None:
        raise BadInput("learned.file", "a bus that runs elsewhere keeps no file: name one, --file FILE")
    return path


def learn(settings: Settings, known: Path | None = None) -> dict[str, Any]:
    """Read all feedback that there is, and keep what it says.

    Parameters
    ----------
    known
        A file of answers that are known to be right or wrong (client.reliability.known).

    Returns
    -------
    How many sessions had feedback, how many of them said something of a member, what could not be read, and the file.

    Raises
    ------
    BadInput
        No file is named for a bus that runs elsewhere; a file cannot be read or written; the credentials are no
        owner's.
    """
    path = _file(settings)
    now_ns = time.time_ns()
    given = [] if known is None else read_known(known, now_ns)

    async def main() -> tuple[list[Verdict], list[str]]:
        verdicts: list[Verdict] = []
        unread: list[str] = []
        async with last_stack(settings) as parley:
            if parley is None:
                return verdicts, unread
            if not parley.client.owner:
                raise BadInput("creds", "an owner's credentials are needed to read the feedback on all sessions")
            for row in await parley.client.sessions():
                if not row.feedback:
                    continue
                try:
                    said = verdict(record_of(row.session, await parley.client.log(row.session)))
                except (Altered, BadInput):
                    unread.append(row.session)
                    continue
                verdicts += [] if said is None else [said]
        return verdicts, unread

    heard, unread = run(main())
    before = store.read(path)
    kept = {said.session: said for said in (*before.verdicts, *heard, *given)}
    after = msgspec.structs.replace(before, learned_ns=now_ns, verdicts=tuple(kept.values()))
    store.write(path, after)
    return {
        "file": str(path),
        "sessions": len(heard),
        "of_members": sum(bool(said.members) for said in heard),
        "known": len(given),
        "kept": len(kept),
        "unread": unread,
    }


def learned_words(found: dict[str, Any]) -> Iterator[str]:
    """What `learn` did, in lines."""
    yield (
        f"feedback on {found['sessions']:,} sessions, {found['of_members']:,} of which say who was right; "
        f"{found['known']:,} known answers from a file"
    )
    if found["unread"]:
        yield f"not read: {', '.join(found['unread'])}"
    yield f"{found['kept']:,} verdicts are kept in {found['file']}"


def listed(settings: Settings, kind: str = "") -> Reliability:
    """The records as a session that opens now would have them. Raises BadInput."""
    found = table(store.read(_file(settings)).verdicts, now_ns=time.time_ns())
    rows = tuple(row for row in found.rows if not kind or row.kind == kind)
    return msgspec.structs.replace(found, rows=rows)


def table_words(found: Reliability, on: bool) -> Iterator[str]:
    """The records in lines. `on`: whether sessions use them."""
    if not found.rows:
        yield "nothing is known of any member: give feedback (parley feedback ID right), then parley reliability learn"
        return
    yield f"{'who':<28} {'kind':<16} {'right':>7} {'of':>7}   mean, 95 %"
    for row in sorted(found.rows, key=lambda row: (row.by, row.name, row.kind)):
        who = f"{row.by} {line(row.name)}"
        yield (
            f"{who:<28} {line(row.kind) or '(all)':<16} {row.right:>7.1f} {row.right + row.wrong:>7.1f}   "
            f"{row.mean:.2f} [{row.low:.2f}, {row.high:.2f}]"
        )
    yield (
        f"from {found.sessions:,} sessions and known answers; an answer counts half after {found.half_life_days:g} days"
    )
    yield "sessions use it" if on else "sessions do not use it: learned.reliability is off"
