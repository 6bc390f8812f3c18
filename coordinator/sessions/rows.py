"""A session's row in the index: from a folded session, or from its log without a machine. Both give the same row: a
rebuilt index is the same index.

Both say the same, so that an index that is rebuilt is the one that was there.
"""

from typing import TypeVar

import msgspec

from parley.bus import subjects
from parley.bus.log import Log, Stored
from parley.coordinator.machine import Session
from parley.coordinator.sessions import lost
from parley.schemas import log
from parley.schemas.afterwards.feedback import FEEDBACK, RIGHT, WRONG, feedback_of
from parley.schemas.post import CLOSED, SessionRow
from parley.schemas.stops import STOPS, VERSION_LOST
from parley.schemas.wire import Json, SchemaError, decode

T = TypeVar("T")
_QUESTION = 300
_WHY = 300


def of(session: Session) -> SessionRow:
    """The row of an open or closed session."""
    opened = session.opened
    facts = SessionRow(
        session=session.sid, seq=0, owner=opened.author, protocol=opened.protocol, question=opened.question[:_QUESTION],
        status="open", opened_ns=session.opened_ns, forks=_forks(opened),
    )  # fmt: skip
    if not session.closed:
        return facts
    assert session.stopped is not None, "a closed session was stopped"
    row = _with_usage(_ended(facts, session.stopped.reason, session.closing.at_ns), session.closing.body)
    after = session.posts[-1].kind == FEEDBACK  # it is said behind all else
    feedback = feedback_of(session.posts) if after else ()
    return row if not feedback else _judged(row, feedback[-1].right, session.at_ns)


def of_lost(sid: str, end: lost.Lost) -> SessionRow:
    """The row of a session that nobody could run."""
    facts = SessionRow(
        session=sid, seq=0, owner=end.author, protocol=end.protocol, question=end.question[:_QUESTION], status="open",
        opened_ns=end.opened_ns,
    )  # fmt: skip
    return _ended(facts, VERSION_LOST, end.closed_ns)


def of_refused(sid: str, refused: log.Refused) -> SessionRow:
    """The row of an opening that was refused."""
    return SessionRow(
        session=sid, seq=0, owner=refused.author, protocol="", question="", status="refused", reason=refused.why[:_WHY],
        opened_ns=refused.at_ns,
    )  # fmt: skip


def of_erased(sid: str, erased: log.Erased) -> SessionRow:
    """The row of an erased session: no word of it."""
    return SessionRow(
        session=sid, seq=0, owner=erased.owner or "", protocol=erased.protocol, question="", status="erased",
        reason=erased.reason, opened_ns=erased.opened_ns, closed_ns=erased.closed_ns, erased_ns=erased.at_ns,
        erased_by=erased.author,
    )  # fmt: skip


async def of_log(entries: Log, sid: str) -> SessionRow | None:
    """The row from the log, without a machine; None if the log lacks what a row needs. It reads single messages,
    however long the session is; for a refused session, all its refusals."""
    end = await entries.last(sid, subjects.ERASED)
    if end is not None and lost.read_end(end) is None:
        erased = _decode_or_none(end, log.Erased)
        return None if erased is None else of_erased(sid, erased)
    opened = await entries.opening(sid)
    if opened is None:
        beside = [_decode_or_none(s, log.Refused) for s in await entries.read(sid) if s.kind == subjects.REFUSED]
        return next((of_refused(sid, r) for r in beside if r is not None and r.what == "open"), None)
    opening_at = lost.read_opening(opened)
    if opening_at is None:
        return None
    opening, opened_ns = opening_at
    facts = SessionRow(
        session=sid, seq=0, owner=opening.author, protocol=opening.protocol, question=opening.question[:_QUESTION],
        status="open", opened_ns=opened_ns,
    )  # fmt: skip
    entry = _decode_or_none(opened, log.Entry)
    if entry is not None and isinstance(entry.event, log.Opened):
        facts = msgspec.structs.replace(facts, forks=_forks(entry.event))
    last = end or await entries.last(sid, subjects.CLOSED)
    if last is None:
        return facts
    closed = lost.read_close(last)
    if closed is None:
        return None
    row = _ended(facts, closed[0].reason, closed[1], closed[0].status)
    ending = _decode_or_none(last, log.Entry)
    for command in ending.commands if ending is not None else ():
        if isinstance(command, log.Say) and command.kind == CLOSED:
            row = _with_usage(row, command.body)
    stored = await entries.last(sid, subjects.FEEDBACK)
    entry = _decode_or_none(stored, log.Entry) if stored is not None else None
    feedback = entry.event if entry is not None and isinstance(entry.event, log.FeedbackGiven) else None
    return row if entry is None or feedback is None else _judged(row, feedback.right, entry.at_ns)


class _Usage(msgspec.Struct, frozen=True):
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0


class _Closing(msgspec.Struct, frozen=True):
    usage: _Usage = _Usage()


def _with_usage(row: SessionRow, closing: Json) -> SessionRow:
    """`closing`: the body of the session's last post, a result."""
    used = decode(closing, _Closing).usage
    return msgspec.structs.replace(row, tokens=used.input_tokens + used.output_tokens, usd=used.cost_usd)


def _judged(row: SessionRow, right: bool, at_ns: int) -> SessionRow:
    """`at_ns`: when a person last said so."""
    return msgspec.structs.replace(row, feedback=RIGHT if right else WRONG, feedback_ns=at_ns)


def _forks(opened: log.Opened) -> str:
    return "" if opened.fork is msgspec.UNSET else opened.fork.parent


def _ended(facts: SessionRow, reason: str, closed_ns: int, status: str = "") -> SessionRow:
    """`status`: empty for the one that the reason has in this release."""
    status = status or STOPS[reason].status
    return msgspec.structs.replace(facts, status=status, reason=reason, closed_ns=closed_ns)


def _decode_or_none(stored: Stored, wanted: type[T]) -> T | None:
    try:
        return decode(stored.data, wanted)
    except SchemaError:
        return None
