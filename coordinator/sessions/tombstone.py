"""The entry that remains of a session whose texts were removed."""

import msgspec

from parley.coordinator.machine import Session
from parley.coordinator.sessions.lost import Lost
from parley.schemas import log
from parley.schemas.stops import STOPS, VERSION_LOST


def tombstone(session: Session | Lost | None, author: str, at_ns: int, opened_seq: int, closed_seq: int) -> log.Erased:
    """The entry; it has no word of the session. `opened_seq`, `closed_seq`: sequences in LOG; 0: there is no such
    message."""
    assert session is not None
    if isinstance(session, Lost):
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
        at_ns=at_ns, author=author, status=STOPS[reason].status, reason=reason, protocol=protocol, owner=owner,
        opened_ns=session.opened_ns, closed_ns=closed_ns,
        opened_seq=opened_seq or msgspec.UNSET, closed_seq=closed_seq or msgspec.UNSET,
    )  # fmt: skip
