"""A session's row in the index: from a folded session, or from its log without a machine. Both give the same row: a
rebuilt index is the same index."""

import asyncio
import time
from collections.abc import Iterable, Sequence

import msgspec

from parley.bus import subjects
from parley.bus.connection import Connection
from parley.bus.log import LOG, Log
from parley.bus.storage.index import OPEN, Index
from parley.bus.storage.scan import Scan
from parley.bus.streams import erase_session
from parley.coordinator.machine import Session
from parley.coordinator.sessions import lost
from parley.schemas import log
from parley.schemas.folders.notes import memory_of
from parley.schemas.past_sessions.feedback import FEEDBACK, NOTES, RIGHT, WRONG, feedback_of, kept_of
from parley.schemas.post import CLOSED, IndexRebuilt, ListSessions, Post, RebuildIndex, SessionRow, SessionRows
from parley.schemas.result import ResultUsage
from parley.schemas.session import is_child_id
from parley.schemas.stops import VERSION_LOST, stop_row
from parley.schemas.wire import Json, decode, decode_or_none

_AFTERWARDS = (FEEDBACK, NOTES)
_QUESTION = 300
_WHY = 300


def of(session: Session) -> SessionRow:
    """The row of an open or closed session."""
    opened = session.opened
    facts = SessionRow(
        session=session.sid, seq=0, owner=opened.author, protocol=opened.protocol, question=opened.question[:_QUESTION],
        status="open", opened_ns=session.opened_ns, forks=_forks(opened),
        recalls=_recalls(opened), parent=opened.parent,
    )  # fmt: skip
    if not session.closed:
        return facts
    assert session.stopped is not None, "a closed session was stopped"
    row = _with_result(_ended(facts, session.stopped.reason, session.closing.at_ns), session.closing.body)
    after = session.posts[-1].kind in _AFTERWARDS  # it is said behind all else
    return _with_words(row, session.posts) if after else row


def of_lost(sid: str, end: lost.LostSession) -> SessionRow:
    """The row of a session that nobody could run."""
    facts = SessionRow(
        session=sid, seq=0, owner=end.author, protocol=end.protocol, question=end.question[:_QUESTION], status="open",
        opened_ns=end.opened_ns, parent=end.parent,
    )  # fmt: skip
    return _ended(facts, VERSION_LOST, end.closed_ns)


def of_refused(sid: str, refused: log.Refused) -> SessionRow:
    """The row of an opening that was refused."""
    return SessionRow(
        session=sid, seq=0, owner=refused.author, protocol="", question="", status="refused", reason=refused.why[:_WHY],
        opened_ns=refused.at_ns, parent=refused.author if is_child_id(sid) else "",
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
        erased = decode_or_none(end.data, log.Erased)
        return None if erased is None else of_erased(sid, erased)
    opened = await entries.opening(sid)
    if opened is None:
        beside = [decode_or_none(s.data, log.Refused) for s in await entries.read(sid) if s.kind == subjects.REFUSED]
        return next((of_refused(sid, r) for r in beside if r is not None and r.what == "open"), None)
    opening_at = lost.read_opening(opened)
    if opening_at is None:
        return None
    opening, opened_ns = opening_at
    facts = SessionRow(
        session=sid, seq=0, owner=opening.author, protocol=opening.protocol, question=opening.question[:_QUESTION],
        status="open", opened_ns=opened_ns, parent=opening.parent,
    )  # fmt: skip
    entry = decode_or_none(opened.data, log.Entry)
    if entry is not None and isinstance(entry.event, log.Opened):
        facts = msgspec.structs.replace(facts, forks=_forks(entry.event), recalls=_recalls(entry.event))
    last = end or await entries.last(sid, subjects.CLOSED)
    if last is None:
        return facts
    closed = lost.read_close(last)
    if closed is None:
        return None
    row = _ended(facts, closed[0].reason, closed[1], closed[0].status)
    ending = decode_or_none(last.data, log.Entry)
    for command in ending.commands if ending is not None else ():
        if isinstance(command, log.Say) and command.kind == CLOSED:
            row = _with_result(row, command.body)
    return _with_words(row, await _afterwards(entries, sid))


async def _afterwards(entries: Log, sid: str) -> list[Post]:
    """What people said of a session after its end, as posts whose places are not known."""
    stored = [decode_or_none(s.data, log.Entry) for s in await entries.read(sid, kind=subjects.FEEDBACK)]
    return [
        Post(
            session=sid, channel=c.channel, k=0, n=0, transition=entry.n, at_ns=entry.at_ns, kind=c.kind, round=c.round,
            body=c.body,
        )
        for entry in stored if entry is not None for c in entry.commands if isinstance(c, log.Say)
    ]  # fmt: skip


class _Closing(msgspec.Struct, frozen=True):
    usage: ResultUsage


def _with_result(row: SessionRow, closing: Json) -> SessionRow:
    """`closing`: the body of the post that closed the session, a result."""
    used, memory = decode(closing, _Closing).usage, memory_of(closing) or msgspec.UNSET
    tokens = used.input_tokens + used.output_tokens
    at_least = True if used.cost_usd and used.unaccounted_turns else used.unpriced  # turns that are lost may be paid
    return msgspec.structs.replace(row, tokens=tokens, usd=used.cost_usd, unpriced=at_least, memory=memory)


def _with_words(row: SessionRow, posts: Sequence[Post]) -> SessionRow:
    """With what people said of the session after its end."""
    if feedback := feedback_of(posts):
        verdict = RIGHT if feedback[-1].right else WRONG
        row = msgspec.structs.replace(row, feedback=verdict, feedback_ns=_last_ns(posts, FEEDBACK))
    if row.memory is not msgspec.UNSET and (kept := kept_of(posts)) is not None:
        memory = msgspec.structs.replace(row.memory, notes=kept.notes, changed_ns=_last_ns(posts, NOTES))
        row = msgspec.structs.replace(row, memory=memory)
    return row


def _last_ns(posts: Sequence[Post], kind: str) -> int:
    return max(post.at_ns for post in posts if post.kind == kind)


def _forks(opened: log.Opened) -> str:
    return "" if opened.fork is msgspec.UNSET else opened.fork.parent


def _recalls(opened: log.Opened) -> tuple[str, ...] | msgspec.UnsetType:
    notes = () if opened.learned is msgspec.UNSET else opened.learned.notes or ()
    return tuple(dict.fromkeys(note.session for note in notes)) or msgspec.UNSET


def _ended(facts: SessionRow, reason: str, closed_ns: int, status: str = "") -> SessionRow:
    """`status`: empty for the one that the reason has in this release."""
    status = status or stop_row(reason).status
    return msgspec.structs.replace(facts, status=status, reason=reason, closed_ns=closed_ns)


# ---------------------------------------------------------------- what remains of a session whose texts were removed


async def lay_to_rest(connection: Connection, entries: Log, index: Index, sid: str, seq: int) -> None:
    """Remove all of a session but its tombstone, which has this sequence in its log, and its row. A repeat finishes
    what a killed process began."""
    await entries.erase(sid, seq)
    await erase_session(connection, sid)
    if (row := await of_log(entries, sid)) is not None:
        await index.put(row)
    await index.erase_older(sid)


def tombstone(
    session: Session | lost.LostSession, author: str, at_ns: int, opened_seq: int, closed_seq: int
) -> log.Erased:
    """The entry; it has no word of the session. `opened_seq`, `closed_seq`: sequences in LOG; 0: there is no such
    message."""
    if isinstance(session, lost.LostSession):
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


# ---------------------------------------------------------------- lists, and the index rebuilt from the log


_MOST_ROWS = 1_000
_PIECE_S = 1.0
"""Seconds that a moderator works on one piece before it answers."""
_AT_ONCE = 32
_KINDS = (subjects.OPENED, subjects.REFUSED, subjects.ERASED)
"""Kinds of the entries that begin a session's log, or remain of it."""


class Listing:
    """Answers questions about many sessions, over one connection of a moderator."""

    def __init__(self, connection: Connection, index: Index) -> None:
        self._connection = connection
        self._index = index
        self._log = Log(connection)

    async def page(self, request: ListSessions, owner: str | None = None) -> SessionRows:
        """A page of the sessions of this owner, or of all (None). Or the row of the one session that is asked for; if
        the index has none, its log is read."""
        if request.session:
            row = await self._index.find(request.session, owner) or await self._of_log(request.session, owner)
            return SessionRows(rows=() if row is None else (row,))
        limit = max(1, min(request.limit, _MOST_ROWS))
        page = await self._index.page(
            owner=owner, state=OPEN if request.open else "", before=request.before_seq, limit=limit
        )
        return SessionRows(rows=page.rows, more=page.more, whole=page.whole)

    async def _of_log(self, sid: str, owner: str | None) -> SessionRow | None:
        row = await of_log(self._log, sid)
        return row if row is not None and owner in (None, row.owner) else None

    async def rebuild(self, request: RebuildIndex) -> IndexRebuilt:
        """Enter sessions in the index, from one place of the log on, for as long as a request may take. Repeating a
        piece is fine, and so is leaving off: only the last piece says that the index is whole."""
        until = time.monotonic() + _PIECE_S
        end = int((await self._connection.api(f"STREAM.INFO.{LOG}"))["state"]["last_seq"])
        place, looked, unreadable, done = request.after_seq, 0, list[str](), False
        async with Scan(self._connection, LOG, [subjects.log.of(kind=k) for k in _KINDS], place) as scan:
            while not done and time.monotonic() < until:
                page = await scan.page()
                count, lost = await self._enter([subjects.log.parse(subject) for _, subject in page])
                looked, unreadable = looked + count, unreadable + lost
                done = not page
                place = end if done else page[-1][0]
        if done:
            await self._index.fill()
        return IndexRebuilt(seq=place, last_seq=end, sessions=looked, unreadable=tuple(unreadable), done=done)

    async def _enter(self, entries: Iterable[tuple[str, ...]]) -> tuple[int, list[str]]:
        """Put the rows of these entries' sessions in the index. (How many, the sessions whose log gives no row)."""
        gate = asyncio.Semaphore(_AT_ONCE)

        async def enter_row(sid: str) -> SessionRow | None:
            async with gate:
                row = await of_log(self._log, sid)
                if row is not None:
                    await self._index.put(row)
                return row

        first = {sid: kind for sid, kind in reversed(list(entries))}
        results = await asyncio.gather(*map(enter_row, first))
        unreadable, counted = list[str](), 0
        for (sid, kind), row in zip(first.items(), results, strict=True):
            if row is None and kind != subjects.REFUSED:
                unreadable.append(sid)
            elif (row is not None and row.status == kind) or kind == subjects.OPENED:
                counted += 1  # not for what lies beside the opening
        return counted, unreadable
