"""Lists of sessions and searches in them, for page and terminal: the rows of the index, each with its answer, how sure
that is and what it cost, narrowed by these and by words of questions, answers and posts."""

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from parley.bus.channels import CLIENTS, readable_by
from parley.bus.errors import BusError, UnknownSession
from parley.client.errors import BadInput
from parley.client.show.session_list import SessionLine, has_words
from parley.client.untrusted import number
from parley.client.view.fold import of_result
from parley.coordinator.protocols import STANDING
from parley.schemas.post import SessionRow
from parley.schemas.result import Result

if TYPE_CHECKING:
    from parley.client.client import Client

MOST_SEARCHED = 2_000
"""Rows that one search looks at."""
MOST_READ = 500
"""Sessions whose answers one list reads: those behind them stand in it without."""
_PAGE, _AT_ONCE = 200, 16
_KEPT, _KEPT_TEXTS = 4_000, 200
_ANSWER = 2_000
"""Characters of an answer's first line."""
_TEXT = 200_000
"""Characters of a session's posts that are searched."""
_PATIENCE_S = 8.0
"""Seconds for what one session came to, and for what was said in it: a list does not wait for what cannot be read."""
_OVER = ("finished", "failed", "cancelled")
_SETTLED = ("agreed", "done", "unsettled")
ENDED = ("", "open", *_SETTLED, *_OVER, "refused", "erased")
"""What a list may be narrowed to."""


class ListFilter(msgspec.Struct, frozen=True, kw_only=True):
    """What a list is narrowed to; what is left out narrows nothing."""

    words: str = ""
    """All of them stand in the question, the answer and the posts together; or the beginning of a session's id."""
    ended: str = ""
    """A status, or how it ended: agreed | done | unsettled."""
    protocol: str = ""
    sure: float = 0.0
    """Least confidence, 0 to 1."""
    usd: float | None = None
    """Most that it cost; what has no known price is not among them."""
    since_ns: int = 0
    """Opened at this time or later."""
    standing: bool = False
    """Also those that moderators keep for themselves."""

    def __post_init__(self) -> None:
        if self.ended not in ENDED:
            raise BadInput("ended", f"got {self.ended[:40]!r}, wanted is one of {', '.join(ENDED[1:])}")

    @property
    def reads(self) -> bool:
        """Whether a row does not say all of it."""
        return bool(self.words or self.sure or self.usd is not None or self.ended in _SETTLED)

    def may_fit(self, row: SessionRow) -> bool:
        """Whether what the row says speaks against none of it."""
        known = {row.status, *(_SETTLED if row.status == "finished" else ())}
        hidden = row.session in STANDING and not self.standing
        other = (self.protocol and row.protocol != self.protocol) or (self.ended and self.ended not in known)
        dear = self.usd is not None and row.usd > self.usd
        return not (hidden or other or dear or row.opened_ns < self.since_ns)

    def fits(self, one: SessionLine) -> bool:
        """All but the words."""
        priced = self.usd is None or (one.status in _OVER and not one.unpriced)
        return (
            (not self.ended or self.ended in (one.status, one.kind))
            and (not self.sure or (one.confidence or 0.0) >= self.sure)
            and priced
        )


class ListPage(NamedTuple):
    """A page of a list."""

    sessions: list[SessionLine]
    before: int | None
    """Where the next page begins; None: there is none."""
    searched: int
    whole: bool
    """False: sessions may be missing until the index is rebuilt."""


class Listing:
    """Reads lists. What a closed session came to, and what was said in it, is remembered: it changes no more."""

    def __init__(self) -> None:
        self._came: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._texts: OrderedDict[str, str] = OrderedDict()

    async def find(
        self, client: "Client", wanted: ListFilter, *, limit: int, before: int | None = None, among: int = MOST_SEARCHED
    ) -> ListPage:
        """The newest sessions that fit, at most `limit`, from those `among` so many behind `before`."""
        found: list[SessionLine] = []
        searched, read, more, whole = 0, 0, True, True
        unread = ""  # what could not be read took its patience: no other is tried
        while more and len(found) < limit and searched < among:
            page = await client.listed(_PAGE, only_open=wanted.ended == "open", before=before)
            looked = page.rows[: among - searched]
            more, whole = len(page.rows) == _PAGE or len(looked) < len(page.rows), whole and page.whole
            for start in range(0, len(looked), _AT_ONCE):
                rows = looked[start : start + _AT_ONCE]
                near = [row for row in rows if wanted.may_fit(row)]
                reads = wanted.reads or read < MOST_READ
                lines = await asyncio.gather(*(self._line(client, row, wanted, unread, reads=reads) for row in near))
                read += len(near)
                if any(one is not None and one.unread for one in lines):
                    unread = "not tried, since another one could not be read"
                fit = {one.session: one for one in lines if one is not None}
                for row in rows:
                    before, searched = row.seq, searched + (row.session not in STANDING)
                    if row.session in fit:
                        found.append(fit[row.session])
                    if len(found) == limit:
                        return ListPage(found, before if more or row is not page.rows[-1] else None, searched, whole)
        return ListPage(found, before if more else None, searched, whole)

    async def _line(
        self, client: "Client", row: SessionRow, wanted: ListFilter, unread: str, *, reads: bool
    ) -> SessionLine | None:
        """The row with what it came to; None: it does not fit. `unread`: why nobody tries to read it."""
        came: dict[str, Any] = {}
        if reads and row.status in _OVER:
            try:
                async with asyncio.timeout(_PATIENCE_S):
                    came = {"unread": unread} if unread else await self._came_to(client, row)
            except (BusError, TimeoutError) as error:
                late = f"no moderator gave it within {_PATIENCE_S:g} s; another release of Parley may have written it"
                came = {"unread": str(error) or late}
        one = SessionLine(**msgspec.structs.asdict(row), **came)
        if one.unread:  # whether it fits is not known
            return one
        if not wanted.fits(one):
            return None
        said = (row.question, one.answer)
        if not wanted.words or row.session.startswith(wanted.words.strip()) or has_words([wanted.words], *said):
            return one
        if not reads:
            return None
        try:
            async with asyncio.timeout(_PATIENCE_S):
                text = await self._text(client, row)
        except (BusError, TimeoutError):
            return None
        return one if text and has_words([wanted.words], *said, text) else None

    async def _came_to(self, client: "Client", row: SessionRow) -> dict[str, Any]:
        """What a closed session came to; nothing where that cannot be read."""
        if row.session not in self._came:
            result = None
            with contextlib.suppress(UnknownSession):
                result = await client.finished(row.session)
            if result is None:
                return {}
            _keep(self._came, row.session, came_to(result), _KEPT)
        return self._came[row.session]

    async def _text(self, client: "Client", row: SessionRow) -> str:
        """What was said, as clients read it."""
        if row.session in self._texts:
            return self._texts[row.session]
        said: list[str] = []
        with contextlib.suppress(UnknownSession):
            for channel in readable_by(CLIENTS):
                for post in await client.history(row.session, channel):
                    said += texts_in(msgspec.json.decode(post.body))
        text = "\n".join(said)[:_TEXT]
        if row.status in _OVER:
            _keep(self._texts, row.session, text, _KEPT_TEXTS)
        return text


def _keep(kept: OrderedDict[str, Any], sid: str, value: Any, most: int) -> None:
    kept[sid] = value
    while len(kept) > most:
        kept.popitem(last=False)


def texts_in(value: Any) -> Iterator[str]:
    """All texts of a body, without the names of its fields."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from texts_in(inner)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from texts_in(inner)


def came_to(result: Result) -> dict[str, Any]:
    """Of a line what only the result says."""
    card = of_result(result)
    return {
        "kind": card.kind,
        "answer": card.text.strip().partition("\n")[0][:_ANSWER],
        "sure": card.sure,
        "confidence": number(result.outcome.get("confidence")) if card.confidence else None,
    }
