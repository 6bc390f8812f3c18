"""A list of sessions in words."""

import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from client.text import count, line
from schemas.post import IndexRebuilt, SessionRow

NOT_WHOLE = "sessions of an earlier release may be missing until the index is rebuilt"
_NAMED = 10


class Listed(NamedTuple):
    """Sessions, those that changed last first."""

    rows: list[SessionRow]
    whole: bool
    """False: sessions of a release before may be missing, until the index is rebuilt."""


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


def found_lines(search: Search) -> Iterator[str]:
    """What a search found, two lines a session."""
    for one in search.sessions:
        at = time.strftime("%Y-%m-%d %H:%M", time.localtime(one.opened_ns / 1e9))
        yield f"{line(one.session):20}  {at}  {line(one.protocol):11}  {line(one.question, 80)}"
        yield f"    {line(one.answer, 110) or line(one.status)}"
    more = "; --among and --limit look further" if search.more else ""
    yield f"{len(search.sessions)} found in {count(search.searched, 'session')}{more}"


def sessions_table(rows: Sequence[Any]) -> Iterator[str]:
    """A list of sessions in lines, as they come."""
    reasons = max(10, *(len(line(row.reason, 30)) for row in rows)) if rows else 10
    said = any(getattr(row, "feedback", "") for row in rows)
    judged = f"{'feedback':8}  " if said else ""
    yield f"{'session':20}  {'opened':16}  {'protocol':10}  {'status':9}  {'reason':{reasons}}  {judged}question"
    for row in rows:
        at = time.strftime("%Y-%m-%d %H:%M", time.localtime(row.opened_ns / 1e9))
        how = f"{line(row.protocol):10}  {line(row.status):9}  {line(row.reason, 30):{reasons}}"
        judged = f"{line(row.feedback) or '-':8}  " if said else ""
        yield f"{line(row.session):20}  {at}  {how}  {judged}{line(row.question, 60)}"


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
