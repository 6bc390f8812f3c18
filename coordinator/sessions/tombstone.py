"""The entry that remains of a session whose texts were removed."""

import msgspec

from parley.bus.connection import Connection
from parley.bus.log import Log
from parley.bus.storage.index import Index
from parley.bus.streams import erase_session
from parley.coordinator.machine import Session
from parley.coordinator.sessions import rows
from parley.coordinator.sessions.lost import LostSession
from parley.schemas import log
from parley.schemas.stops import VERSION_LOST, stop_row


async def lay_to_rest(conn: Connection, entries: Log, index: Index, sid: str, seq: int) -> None:
    """Remove all of a session but its tombstone, which has this sequence in its log, and its row. A repeat finishes
    what a killed process began."""
    await entries.erase(sid, seq)
    await erase_session(conn, sid)
    if (row := await rows.of_log(entries, sid)) is not None:
        await index.put(row)
    await index.erase_older(sid)


def tombstone(
    session: Session | LostSession | None, author: str, at_ns: int, opened_seq: int, closed_seq: int
) -> log.Erased:
    """The entry; it has no word of the session. `opened_seq`, `closed_seq`: sequences in LOG; 0: there is no such
    message."""
    assert session is not None
    if isinstance(session, LostSession):
        reason, protocol, owner, closed_ns = VERSION_LOST, session.protocol, session.author, session.closed_ns
    else:
        assert session.stopped is not None, "a closed session was stopped"
        opened = session.opened
        reason, protocol, owner, closed_ns = (
            session.stopped.reason,
            opened.protocol,
            opened.author,
            session.closing.at_ns,
        )
    return log.Erased(
        at_ns=at_ns,
        author=author,
        status=stop_row(reason).status,
        reason=reason,
        protocol=protocol,
        owner=owner,
        opened_ns=session.opened_ns,
        closed_ns=closed_ns,
        opened_seq=opened_seq or msgspec.UNSET,
        closed_seq=closed_seq or msgspec.UNSET,
    )
