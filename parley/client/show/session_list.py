"""A list of sessions in words."""

import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from parley.client.text import beside, columns, count, line
from parley.schemas.post import IndexRebuilt, SessionRow

NOT_WHOLE = "sessions may be missing until the index is rebuilt"
_NAMED = 10
_ENDED = 5
"""Sessions that one shown command ends."""
_TABLE = 66 + 30
"""Columns of a table's row without the reason: all that stands before the question, and the least room for that."""


class Listed(NamedTuple):
    """Sessions, those that changed last first."""

    rows: list[SessionRow]
    whole: bool
    """False: sessions may be missing, until the index is rebuilt."""


class FoundSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session that a search found."""

    session: str
    protocol: str
    status: str
    opened_ns: int
    question: str
    answer: str
    """Empty: it has none."""


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """The sessions that a search found."""

    searched: int
    """Sessions that were looked at."""
    more: bool
    """There are older ones, or more that have the words."""
    sessions: tuple[FoundSession, ...]


def has_words(wanted: Sequence[str], *texts: str) -> bool:
    """Whether all words stand in the texts, whatever their case."""
    said = " ".join(texts).casefold()
    return all(part in said for word in wanted for part in word.casefold().split())


def found_lines(search: Search, width: int = 0) -> Iterator[str]:
    """What a search found, two lines a session. `width`: columns of the terminal, 0 for none."""
    for one in search.sessions:
        at = time.strftime("%Y-%m-%d %H:%M", time.localtime(one.opened_ns / 1e9))
        head = f"{line(one.session):20}  {at}  {line(one.protocol):11}  "
        yield head + line(one.question, _room(width, head))
        yield f"    {line(one.answer, _room(width, '    ')) or line(one.status)}"
    more = "; --among and --limit look further" if search.more else ""
    yield f"{len(search.sessions)} found in {count(search.searched, 'session')}{more}"


def _room(width: int, head: str) -> int:
    """Characters for what follows `head` on its row, at least 20; 0: all of it, where no terminal needs it to fit."""
    return max(20, width - columns(head)) if width else 0


def sessions_table(rows: Sequence[Any], width: int = 0) -> Iterator[str]:
    """A list of sessions in lines, as they come. `width`: columns of the terminal, 0 for none. Where a row does not
    fit, the question stands below its session."""
    reasons = max(10, *(len(line(row.reason, 30)) for row in rows)) if rows else 10
    said = any(getattr(row, "feedback", "") for row in rows)
    if 0 < width < _TABLE + reasons + (10 if said else 0):
        yield from _narrow(rows, width)
        return
    judged = f"{'feedback':8}  " if said else ""
    yield f"{'session':20}  {'opened':16}  {'protocol':11}  {'status':9}  {'reason':{reasons}}  {judged}question"
    for row in rows:
        how = f"{line(row.protocol):11}  {line(row.status):9}  {line(row.reason, 30):{reasons}}"
        judged = f"{line(row.feedback) or '-':8}  " if said else ""
        head = f"{line(row.session):20}  {_opened(row)}  {how}  {judged}"
        yield head + line(row.question, _room(width, head))


def _narrow(rows: Sequence[Any], width: int) -> Iterator[str]:
    """Each session on a row, and its question below."""
    for row in rows:
        judged = f"feedback {line(row.feedback)}" if getattr(row, "feedback", "") else ""
        how = ", ".join(filter(None, (line(row.status), line(row.reason, 30), judged)))
        yield from beside(f"{line(row.session):20}  {_opened(row)}  {line(row.protocol):11}  ", how, width)
        yield f"    {line(row.question, max(20, width - 4))}"


def _opened(row: Any) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(row.opened_ns / 1e9))


def open_words(rows: Sequence[Any], options: str) -> str:
    """How to follow and how to end the sessions of a list that are open; empty: none is. `options`: those that name the
    bus."""
    sids = [line(row.session) for row in rows if row.status == "open"]
    if not sids:
        return ""
    which = "1 session is open" if len(sids) == 1 else f"{len(sids)} sessions are open"
    return f"{which}; {ways_on(sids, options)}"


def ways_on(sids: Sequence[str], options: str) -> str:
    """The commands that follow the first of these sessions, and that end them."""
    one, ended = len(sids) == 1, " ".join(sids[:_ENDED])
    which = "it" if one else "them" if len(sids) <= _ENDED else f"the first {_ENDED}"
    follow = f"to follow {'it' if one else 'one'}: parley sessions watch {sids[0]}{options}"
    return f"{follow}; to end {which}: parley sessions cancel {ended}{options}"


def rebuilding(piece: IndexRebuilt, sessions: int) -> str:
    """How far the index is rebuilt, in a line. `sessions`: so many so far."""
    share = 1.0 if piece.done else min(1.0, piece.seq / max(1, piece.last_seq))
    return f"parley: {share:.0%} of the log is read, {count(sessions, 'session')}"


def rebuilt_lines(rebuilt: Any) -> Iterator[str]:
    """What rebuilding came to (parley.sessions.Rebuilt)."""
    yield f"{count(rebuilt.sessions, 'session')} in the index; nothing is missing" + (
        f" but {count(len(rebuilt.unreadable), 'session')} that cannot be read" if rebuilt.unreadable else ""
    )
    for sid in rebuilt.unreadable[:_NAMED]:
        yield f"  {line(sid)}"
    if len(rebuilt.unreadable) > _NAMED:
        yield f"  and {len(rebuilt.unreadable) - _NAMED} more; --json names all"
