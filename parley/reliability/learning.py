"""Reads the feedback on stored sessions, and lists the records that follow from it."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from client.errors import BadInput
from client.records import Altered, record_of
from client.reliability import store
from client.reliability.known import read_known
from client.reliability.table import table
from client.reliability.verdicts import Verdict, verdict
from client.text import count, line
from parley.reliability.applied import file_of, file_to_read
from parley.settings import Settings
from parley.stack.access import last_stack, run
from schemas.afterwards.learned import Calibration, Reliability

LEAST_OUTCOMES, MANY_OUTCOMES = 30, 200
"""Results of one protocol from which on its confidence is fitted, and from which on by isotonic regression: with fewer,
three figures of beta calibration are all that they can tell."""


def kept_in(settings: Settings, *, to_read: bool = False) -> Path:
    """The file of what was learned. Raises BadInput for a bus that runs elsewhere, where none is named; also `to_read`,
    where one is named and is not there."""
    path = file_to_read(settings) if to_read else file_of(settings)
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
    path = kept_in(settings)
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
    fits = calibrations(tuple(kept.values()), now_ns)
    after = msgspec.structs.replace(before, learned_ns=now_ns, verdicts=tuple(kept.values()), calibrations=fits)
    store.write(path, after)
    return {
        "file": str(path),
        "sessions": len(heard),
        "of_members": sum(bool(said.members) for said in heard),
        "known": len(given),
        "kept": len(kept),
        "calibrated": {fit.protocol: fit.outcomes for fit in fits},
        "unread": unread,
    }


def calibrations(verdicts: Sequence[Verdict], now_ns: int) -> tuple[Calibration, ...]:
    """How the confidence of each protocol is to be read, where enough of its results were said to be right or wrong."""
    pairs: dict[str, list[tuple[float, float]]] = {}
    for said in verdicts:
        if said.protocol and said.confidence is not None and said.right is not None:
            pairs.setdefault(said.protocol, []).append((said.confidence, float(said.right)))
    enough = {protocol: known for protocol, known in sorted(pairs.items()) if len(known) >= LEAST_OUTCOMES}
    if not enough:
        return ()
    from evaluation.learned import fits  # takes half a second to import

    found = []
    day = time.strftime("%Y-%m-%d", time.gmtime(now_ns / 1e9))
    for protocol, known in enough.items():
        fit, name = (fits.isotonic, "isotonic") if len(known) >= MANY_OUTCOMES else (fits.beta, "beta")
        stated, right = zip(*known, strict=True)
        found.append(fit(stated, right, f"{name}, {day}", f"feedback on sessions of {protocol}", protocol))
    return tuple(found)


def learned_words(found: dict[str, Any]) -> Iterator[str]:
    """What `learn` did, in lines."""
    yield (
        f"feedback on {count(found['sessions'], 'session')}; who was right is known in {found['of_members']:,}; "
        f"{count(found['known'], 'known answer')} from a file"
    )
    if found["unread"]:
        yield f"not read: {', '.join(found['unread'])}"
    yield f"kept in {found['file']}: {count(found['kept'], 'verdict')}"
    for protocol, outcomes in found["calibrated"].items():
        yield f"the confidence of {protocol} is calibrated on {count(outcomes, 'outcome')}"
    if not found["calibrated"]:
        yield f"no confidence is calibrated: that takes feedback on {LEAST_OUTCOMES} results of one protocol"


def listed(settings: Settings, kind: str = "") -> Reliability:
    """The records as a session that opens now would have them. Raises BadInput."""
    found = table(store.read(kept_in(settings, to_read=True)).verdicts, now_ns=time.time_ns())
    rows = tuple(row for row in found.rows if not kind or row.kind == kind)
    return msgspec.structs.replace(found, rows=rows)


def kinds(settings: Settings) -> tuple[str, ...]:
    """The kinds of question of which something is known of a member. Raises BadInput."""
    return tuple(sorted({row.kind for row in listed(settings).rows if row.kind}))


def table_words(found: Reliability, on: bool, kind: str = "", known: Sequence[str] = ()) -> Iterator[str]:
    """The records in lines.

    Parameters
    ----------
    on
        Whether sessions use them.
    kind
        The kind of question that was asked for; empty: all.
    known
        The kinds of which something is known.
    """
    if not found.rows and kind and found.sessions:
        there = f"kinds with a record: {', '.join(map(line, known))}" if known else "no kind has a record"
        yield f"nothing is known of the kind {line(kind)}; {there}. Without --kind, all kinds are shown together"
        return
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
        f"from {count(found.sessions, 'session')} and known answers; "
        f"an answer counts half after {found.half_life_days:g} days"
    )
    yield "sessions use it" if on else "sessions do not use it: learned.reliability is off"
