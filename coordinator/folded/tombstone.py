"""What stays of a session whose texts were removed."""

from coordinator.folded.lost import Lost
from coordinator.machine import Session
from schemas import log
from schemas.stops import STOPS, VERSION_LOST


def tombstone(session: Session | Lost | None, author: str, at_ns: int) -> log.Erased:
    """No word of the session."""
    assert session is not None
    if isinstance(session, Lost):
        reason, protocol, owner, closed_ns = VERSION_LOST, session.protocol, session.author, session.closed_ns
    else:
        assert session.stopped is not None, "a closed session was stopped"
        opened = session.opened
        reason, protocol, owner, closed_ns = session.stopped.reason, opened.protocol, opened.author, session.at_ns
    return log.Erased(
        at_ns=at_ns, author=author, status=STOPS[reason].status, reason=reason, protocol=protocol, owner=owner,
        opened_ns=session.opened_ns, closed_ns=closed_ns,
    )  # fmt: skip
