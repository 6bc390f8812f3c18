"""`parley audit`: what people and programs did to sessions, as the log has it: who asked, decided, overrode, erased."""

import time
from collections.abc import Iterator
from typing import Literal

import msgspec

from parley.client.api import Parley
from parley.client.client import Client
from parley.client.errors import BadInput
from parley.client.text import line
from parley.planned.access import on_last_stack
from parley.schemas import log
from parley.schemas.post import SessionRow
from parley.schemas.wire import decode
from parley.settings import Settings

Act = Literal[
    "asked", "refused", "decided", "overrode", "sat", "left", "hurried", "cancelled", "judged", "kept", "erased"
]


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One act."""

    at_ns: int
    who: str
    """A user of the bus; empty: the moderators."""
    act: Act
    session: str
    detail: str = ""


def audit(
    settings: Settings, *, sessions: int, days: float, who: str = "", act: str = "", sid: str = ""
) -> list[AuditEntry]:
    """The acts, the oldest first.

    Parameters
    ----------
    sessions
        So many are looked at, of those that changed last.
    days
        Not before so long ago; 0: whenever.
    who, act, sid
        Only this user's, of this kind, in this session; empty: all.

    Raises
    ------
    BadInput
        The credentials are no owner's.
    """

    async def main(parley: Parley) -> list[AuditEntry]:
        if not parley.client.owner:
            raise BadInput("creds", "only an owner's credentials may read who did what")
        row = await parley.client.row(sid) if sid else None
        rows = [row] if row is not None else [] if sid else await parley.client.sessions(sessions)
        return [done for row in rows for done in await _acts(parley.client, row)]

    since_ns = time.time_ns() - int(days * 86_400e9) if days else 0
    acts: list[AuditEntry] = on_last_stack(settings, main, [])
    found = (r for r in acts if r.at_ns >= since_ns and who in ("", r.who) and act in ("", r.act))
    return sorted(found, key=lambda r: (r.at_ns, r.session))


async def _acts(client: Client, row: SessionRow) -> list[AuditEntry]:
    def done(at_ns: int, who: str, act: Act, detail: str = "") -> AuditEntry:
        return AuditEntry(at_ns=at_ns, who=who, act=act, session=row.session, detail=detail)

    if row.status == "refused":
        return [done(row.opened_ns, row.owner, "refused", row.reason)]
    if row.erased_ns is not None:
        return [done(row.opened_ns, row.owner, "asked"), done(row.erased_ns, row.erased_by, "erased")]
    acts = []
    for text in await client.log(row.session):
        entry = decode(text.encode(), log.Entry)
        if not entry.cause.startswith("fork:"):  # those are the other session's
            acts += [done(entry.at_ns, *found) for found in _of(entry.event)]
    return acts


def _of(event: log.Event) -> Iterator[tuple[str, Act, str]]:
    match event:
        case log.Opened(parent=""):  # the others were started by a session
            yield event.author, "asked", f"{event.protocol}: {event.question}"
        case log.Decided():
            act: Act = "overrode" if event.item == "expert" else "decided"
            yield event.author, act, ": ".join(filter(None, (f"{event.item}: {event.choice}", event.note)))
        case log.Sat():
            yield event.queue, "left" if event.left else "sat", event.seat
        case log.Hurried():
            yield event.author, "hurried", ""
        case log.Cancelled():
            yield event.author, "cancelled", event.reason
        case log.NotesKept():
            yield event.author, "kept", f"{len(event.notes)} notes"
        case log.FeedbackGiven():
            yield event.author, "judged", " ".join(filter(None, ("right" if event.right else "wrong", event.note)))


def audit_lines(rows: list[AuditEntry]) -> Iterator[str]:
    """A line for each."""
    for row in rows:
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(row.at_ns / 1e9))
        yield f"{at}  {row.who or '(moderators)':16} {row.act:9} {row.session:20}  {line(row.detail, 120)}".rstrip()
