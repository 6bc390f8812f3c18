"""Reads the feedback on stored sessions, and lists the records that follow from it."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from parley.client.errors import BadInput
from parley.client.learned import store
from parley.client.learned.learning import LEAST_OUTCOMES, LearnReport
from parley.client.learned.learning import learn as update
from parley.client.learned.verdicts import table
from parley.client.text import count, line
from parley.planned.access import last_stack, run
from parley.planned.learned_file import file_of, file_to_read
from parley.schemas.past_sessions.learned import Reliability
from parley.settings import Settings


def kept_in(settings: Settings, *, to_read: bool = False) -> Path:
    """The file of what was learned. Raises BadInput for a bus that runs elsewhere, where none is named; also `to_read`,
    where one is named and is not there."""
    path = file_to_read(settings) if to_read else file_of(settings)
    if path is None:
        raise BadInput("learned.file", "a bus that runs elsewhere keeps no file: name one, --file FILE")
    return path


async def learned_now(settings: Settings) -> LearnReport:
    """Read all feedback that there is, and keep what it says (parley.client.learned.learning.learn). Raises BadInput:
    no file is named for a bus that runs elsewhere; a file cannot be read or written; the credentials are no owner's."""
    file = kept_in(settings)
    async with last_stack(settings) as parley:
        return (await update(None if parley is None else parley.client, file))[1]


def learn(settings: Settings) -> LearnReport:
    """The same, of a command. Takes and raises what `learned_now` does."""
    return run(learned_now(settings))


def learned_words(found: LearnReport) -> Iterator[str]:
    """What `learn` did, in lines."""
    yield (f"feedback on {count(found.sessions, 'session')}; who was right is known in {found.of_members:,}")
    if found.unread:
        yield f"not read: {', '.join(found.unread)}"
    yield f"kept in {found.file}: {count(found.kept, 'verdict')}"
    for protocol, outcomes in found.calibrated.items():
        yield f"the confidence of {protocol} is calibrated on {count(outcomes, 'outcome')}"
    if not found.calibrated:
        yield f"no confidence is calibrated: that takes feedback on {LEAST_OUTCOMES} results of one protocol"


def list_records(settings: Settings, kind: str = "") -> Reliability:
    """The records as a session that opens now would have them. Raises BadInput."""
    found = table(store.read(kept_in(settings, to_read=True)).verdicts, now_ns=time.time_ns())
    rows = tuple(row for row in found.rows if not kind or row.kind == kind)
    return msgspec.structs.replace(found, rows=rows)


def kinds(settings: Settings) -> tuple[str, ...]:
    """The kinds of question of which something is known of a member. Raises BadInput."""
    return tuple(sorted({row.kind for row in list_records(settings).rows if row.kind}))


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
    yield (f"from {count(found.sessions, 'session')}; an answer counts half after {found.half_life_days:g} days")
    yield "sessions use it" if on else "sessions do not use it: learned.used is off"
