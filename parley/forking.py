"""`parley fork`: which record is continued, what changes, and on which stack."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from parley.client.api import Parley
from parley.client.errors import BadInput, bad_input
from parley.client.records import check_protocol, opening, record_of
from parley.client.what_if import wanted
from parley.planned.access import on_last_stack
from parley.run import Run
from parley.schemas.session import SESSION_ID, Budget, Document, ForkSession, OpenSession
from parley.sessions import NoSession
from parley.settings import Settings


class ForkSource(msgspec.Struct, frozen=True, kw_only=True):
    """As much of the session whose record is carried on as whoever asks may read."""

    sid: str
    protocol: str
    question: str
    settings: dict[str, Any]
    """Its protocol's; empty: not known."""
    documents: tuple[Document, ...] = ()


def source_of(settings: Settings, sid: str) -> ForkSource:
    """Raises BadInput where there is no such session, or nothing is left of it."""

    async def main(parley: Parley) -> ForkSource:
        row = await parley.client.row(sid) if SESSION_ID.fullmatch(sid) else None
        if row is None:
            raise NoSession(sid, settings)
        if row.status in ("erased", "refused"):
            raise BadInput("session", f"session {sid} was {row.status}: there is no record to carry on")
        if row.status == "open":
            raise BadInput("session", f"session {sid} is open: a fork carries the record of one that is over")
        if not settings.nats.url:  # elsewhere, the moderators may have the package
            check_protocol(sid, row.protocol)
        entries = await parley.client.log(sid) if parley.client.owner else []
        source = ForkSource(sid=sid, protocol=row.protocol, question=row.question, settings={})
        if not entries:
            return source
        opened = opening(record_of(sid, entries))
        documents = tuple(msgspec.structs.replace(d, holders=()) for d in opened.documents)
        return msgspec.structs.replace(source, settings=opened.settings, documents=documents)

    return on_last_stack(settings, main, NoSession(sid, settings))


def read_fork_request(
    run: Run, source: ForkSource, settings: Mapping[str, Mapping[str, Any]], round_: int | None
) -> tuple[OpenSession, Run]:
    """What is asked for, checked as far as it can be before anything is started.

    Parameters
    ----------
    run
        Its plan is of the session's protocol: its models serve the seats.
    settings
        Those that are to change, nested by protocol.

    Raises
    ------
    BadInput
        A field that cannot be right.
    """
    panel = run.plan.panel
    changed = wanted(source.protocol, settings)
    given = run.plan.settings.budget.model_dump()
    limits = Budget(**given)
    with bad_input():
        fork = ForkSession(
            of=source.sid,
            round=round_,
            settings=changed,
            seats=panel.seats if panel else (),
            budget=limits if any(value is not None for value in given.values()) else None,
        )
        shown = OpenSession(
            question=source.question,
            protocol=source.protocol,
            settings={**source.settings, **changed},
            budget=limits,
            seats=fork.seats,
            documents=source.documents,
        )
    return shown, replace(run, plan=run.plan.of(shown), fork=fork)
