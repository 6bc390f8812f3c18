"""What stays of a session whose texts were removed."""

from coordinator.folded.lost import Lost
from coordinator.machine import Session
from schemas import log
from schemas.post import SessionRow
from schemas.stops import STOPS, VERSION_LOST


def tombstone(sid: str, session: Session | Lost | None, author: str, at_ns: int) -> tuple[log.Erased, SessionRow]:
    """What stays, and its row: neither holds a word of the session."""
    assert session is not None
    if isinstance(session, Lost):
        reason, protocol, closed_ns = VERSION_LOST, session.protocol, session.closed_ns
    else:
        assert session.stopped is not None, "a closed session was stopped"
        reason, protocol, closed_ns = session.stopped.reason, session.opened.protocol, session.at_ns
    status = STOPS[reason].status
    facts = {"protocol": protocol, "opened_ns": session.opened_ns, "closed_ns": closed_ns}
    erased = log.Erased(at_ns=at_ns, author=author, status=status, reason=reason, **facts)  # type: ignore[arg-type]
    row = SessionRow(
        session=sid, seq=0, question="", status="erased", reason=reason, erased_ns=at_ns, erased_by=author,
        **facts,  # type: ignore[arg-type]
    )  # fmt: skip
    return erased, row
