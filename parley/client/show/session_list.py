"""A list of sessions in words."""

import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from parley.client.text import count, hanging_rows, line
from parley.schemas.post import IndexRebuilt, SessionRow

NOT_WHOLE = "sessions may be missing until the index is rebuilt"
_NAMED = 10
_ENDED = 5
"""Sessions that one shown command ends."""


class Listed(NamedTuple):
    """Sessions, those that changed last first."""

    rows: list[SessionRow]
    whole: bool
    """False: sessions may be missing, until the index is rebuilt."""


class SessionLine(SessionRow, frozen=True, kw_only=True):
    """A session as a list shows it: its row, and what it came to."""

    kind: str = ""
    """How it ended, as its card says it (parley.client.show.answer.Kind); empty: it is open, or was not read."""
    answer: str = ""
    """Its first line; empty: it has none."""
    sure: str = ""
    """How sure it is, and what that rests on."""
    confidence: float | None = None
    """None: none is stated."""
    unread: str = ""
    """Why its result or its posts could not be read; empty: they could, or nobody looked."""

    @property
    def ended(self) -> str:
        """`agreed by 2 of 3; confidence 0.80, self-rated`, as its card says it; else `open`, `finished: threshold`."""
        return line(self.sure) or ": ".join(filter(None, (self.status, line(self.reason, 30))))

    @property
    def cost(self) -> str:
        """In US dollars, as far as it is known; empty: it is open."""
        if self.closed_ns is None:
            return ""
        if self.unpriced:
            return f"at least {self.usd:.4f} USD" if self.usd else "price not known"
        return f"{self.usd:.4f} USD"


def has_words(wanted: Sequence[str], *texts: str) -> bool:
    """Whether all words stand in the texts, whatever their case."""
    said = " ".join(texts).casefold()
    return all(part in said for word in wanted for part in word.casefold().split())


def sessions_table(rows: Sequence[SessionLine], width: int = 0) -> Iterator[str]:
    """A list of sessions, as they come: each on a row, and below it the question and the first line of the answer.
    `width`: columns of the terminal, 0 for none."""
    for deep, row in as_tree(rows):
        above = f"beneath {line(row.parent)}" if row.parent and not deep else ""
        told = (row.ended, row.cost, f"feedback {line(row.feedback)}" if row.feedback else "", above)
        indent = "  " * deep
        head = f"{indent}{line(row.session):20}  {_opened(row)}  {line(row.protocol):11}  "
        yield from hanging_rows(head, ", ".join(filter(None, told)), width)
        yield f"{indent}    {line(row.question, max(20, width - 4) if width else 0)}"
        if row.answer:
            yield f"{indent}    = {line(row.answer, max(20, width - 6) if width else 0)}"
        if row.unread:
            yield from hanging_rows("    ", f"not read: {line(row.unread)}", width)
    if not rows:
        yield "no sessions"


def as_tree(rows: Sequence[SessionLine], beneath: str = "") -> Iterator[tuple[int, SessionLine]]:
    """Each session, and how many it stands below: it follows the one that it was started beneath."""
    listed = {row.session for row in rows}
    for row in rows if not beneath else sorted(rows, key=lambda row: (row.opened_ns, row.session)):
        if row.parent == beneath or (not beneath and row.parent not in listed):
            yield 0, row
            yield from ((deep + 1, child) for deep, child in as_tree(rows, row.session))


def found_words(found: int, searched: int, *, more: bool) -> str:
    """How many a search found."""
    further = "; --among and --limit look further" if more else ""
    return f"{found} found in {count(searched, 'session')}{further}"


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
