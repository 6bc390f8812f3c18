"""Limits of each owner and of the tenant: how many sessions are open, are opened in a minute, and what a day may cost.

The operator writes them into a file beside the moderators' key; whoever changes it need not restart anything. What is
counted is read from INDEX, which all moderators share, but for openings in a minute: of those each moderator grants its
part. An opening over a limit is refused, with the limit's name and the time after which another try may succeed.
"""

import logging
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec

from parley.bus import subjects
from parley.bus.connection import Connection
from parley.bus.storage.index import OPEN, OVER, Index
from parley.schemas.post import LimitUse
from parley.schemas.wire import InvalidValue, in_range

_LOGGER = logging.getLogger(__name__)
_MINUTE_S = 60.0
_DAY_S = 86_400
_LOOK_S = 2.0
"""So often it is looked whether the file changed."""
_RETRY_S = 5.0
"""A session may have ended by then."""
_PAGE = 500
_OPENING = ("openings_per_minute", "open_sessions")
"""Of these an opening that is in hand uses one, too."""
_WHY = {
    "openings_per_minute": "{name} opened {used:,.0f} sessions in the last minute, allowed are {most:,.0f}",
    "open_sessions": "{name} has {used:,.0f} open sessions, allowed are {most:,.0f}",
    "tokens_per_day": "{name} used {used:,.0f} tokens today, allowed are {most:,.0f}",
    "usd_per_day": "{name} spent {used:,.2f} dollars today, allowed are {most:,.2f}",
}


class OwnerLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Of one owner, or of all together. 0: none."""

    weight: float = 1.0
    """An owner's share of a queue, in proportion to others' (parley.coordinator.sessions.lanes)."""
    open_sessions: int = 0
    openings_per_minute: int = 0
    tokens_per_day: int = 0
    """Of sessions that ended since midnight, UTC."""
    usd_per_day: float = 0.0

    def __post_init__(self) -> None:
        in_range("limits.weight", self.weight, 0.01, 1_000)
        for name in ("open_sessions", "openings_per_minute", "tokens_per_day", "usd_per_day"):
            in_range(f"limits.{name}", getattr(self, name), 0, 1e15)


class LimitsFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`limits.conf` beside the moderators' key."""

    tenant: OwnerLimits = OwnerLimits()
    """Of all owners together."""
    everybody: OwnerLimits = OwnerLimits()
    """Of each owner that is not named."""
    owners: dict[str, OwnerLimits] = {}


class Over(msgspec.Struct, frozen=True):
    """The limit that an opening would pass."""

    limit: str
    why: str
    retry_s: float


class Admission:
    """What one moderator counts and grants."""

    def __init__(self, connection: Connection, index: Index, path: Path | None, moderators: Callable[[], int]) -> None:
        """`path`: of the file; None: there are no limits. `moderators`: how many there are."""
        self._connection = connection
        self._index = index
        self._path = path
        self._moderators = moderators
        self._file = LimitsFile()
        self._stamp = (0, 0)
        self._looked_at = -_LOOK_S
        self._opening: Counter[str] = Counter()
        """Owner -> openings in hand; the empty name: all of them."""
        self._opened: dict[str, deque[float]] = {}
        """Owner -> when it opened sessions lately."""
        self._spent: dict[str, _Spent] = {}

    def weight(self, owner: str) -> float:
        """Of an owner's turns."""
        self._look()
        return self._of(owner).weight

    def _of(self, owner: str) -> OwnerLimits:
        return self._file.owners.get(owner, self._file.everybody) if owner else self._file.tenant

    def _look(self) -> None:
        """Read the file if it changed. One that cannot be read changes nothing."""
        now = time.monotonic()
        if self._path is None or now - self._looked_at < _LOOK_S:
            return
        self._looked_at = now
        try:
            stat = self._path.stat()
            stamp = stat.st_mtime_ns, stat.st_size
            if stamp == self._stamp:
                return
            self._stamp = stamp
            self._file = msgspec.json.decode(self._path.read_bytes(), type=LimitsFile)
        except FileNotFoundError:
            self._stamp, self._file = (0, 0), LimitsFile()
        except (OSError, msgspec.DecodeError, InvalidValue) as error:
            _LOGGER.error("limits: %s cannot be read, so what held before goes on: %s", self._path.name, error)
        else:
            _LOGGER.info("limits: read anew")

    async def over(self, owner: str) -> Over | None:
        """The limit that one more session of this owner would pass; None: it may be opened. Its caller says when it was
        (`opened`), or that it was not (`left`)."""
        self._look()
        for who in ("", owner):
            if (found := await self._over(who, self._opening[who])) is not None:
                return found
        for who in ("", owner):
            self._opening[who] += 1
        return None

    def left(self, owner: str, opened: bool) -> None:
        """An opening that was granted is stored, or was refused for something else."""
        now = time.monotonic()
        for who in ("", owner):
            self._opening[who] -= 1
            if not self._opening[who]:
                del self._opening[who]
            if opened and self._of(who).openings_per_minute:
                self._opened.setdefault(who, deque()).append(now)

    async def used(self, owner: str) -> tuple[LimitUse, ...]:
        """What is used of each limit that this owner has, its own ones first."""
        self._look()
        return tuple([use for who in (owner, "") async for use in self._uses(who)])

    async def _over(self, who: str, opening: int) -> Over | None:
        name = f"client {who}" if who else "the tenant"
        async for use in self._uses(who):
            used = use.used + (opening if use.limit in _OPENING else 0)
            if used >= use.most:
                retry_s = max(1.0, use.retry_s)
                why = _WHY[use.limit].format(name=name, used=used, most=use.most)
                return Over(use.limit, f"{use.limit}: {why}; try again in {retry_s:,.0f} s", retry_s)
        return None

    async def _uses(self, who: str) -> AsyncIterator[LimitUse]:
        """The limits in the order in which they are asked. Of openings in a minute: this moderator's part."""
        limits, tenant = self._of(who), not who
        if most := limits.openings_per_minute:
            granted, now = self._opened.get(who, deque[float]()), time.monotonic()
            while granted and granted[0] < now - _MINUTE_S:
                granted.popleft()
            yield LimitUse(
                limit="openings_per_minute",
                tenant=tenant,
                used=len(granted),
                most=max(1, most // self._moderators()),
                retry_s=granted[0] + _MINUTE_S - now if granted else 1.0,
            )
        if most := limits.open_sessions:
            there = await self._open(who)
            yield LimitUse(limit="open_sessions", tenant=tenant, used=there, most=most, retry_s=_RETRY_S)
        if limits.tokens_per_day or limits.usd_per_day:
            spent = await self._spent.setdefault(who, _Spent()).today(self._index, who)
            left_s = _DAY_S - time.time() % _DAY_S
            for limit, used, most_ in (
                ("tokens_per_day", spent.tokens, limits.tokens_per_day),
                ("usd_per_day", spent.usd, limits.usd_per_day),
            ):
                if most_:
                    yield LimitUse(limit=limit, tenant=tenant, used=used, most=most_, retry_s=left_s)

    async def _open(self, who: str) -> int:
        query = {"subjects_filter": subjects.index.of(state=OPEN, owner=who or None)}
        info = await self._connection.api("STREAM.INFO.INDEX", query)
        return int(info.get("total", 0)) or len(info["state"].get("subjects") or ())


class _Spent:
    """What an owner's sessions that ended today took. Each row is read once."""

    def __init__(self) -> None:
        self.tokens = 0
        self.usd = 0.0
        self._day = 0
        self._seq = 0
        self._seen: set[str] = set()

    async def today(self, index: Index, who: str) -> "_Spent":
        day = int(time.time()) // _DAY_S
        if day != self._day:
            self.tokens, self.usd, self._day, self._seq, self._seen = 0, 0.0, day, 0, set()
        newest, before = self._seq, None
        while True:
            page = await index.page(owner=who or None, state=OVER, before=before, limit=_PAGE)
            rows = [row for row in page.rows if row.seq > self._seq]
            newest = max([newest, *(row.seq for row in rows)])
            for row in rows:
                if (row.closed_ns or 0) // 1_000_000_000 // _DAY_S == day and row.session not in self._seen:
                    self._seen.add(row.session)
                    self.tokens, self.usd = self.tokens + row.tokens, self.usd + row.usd
            # Rows lie in the order of their last change: before today's there are none that ended today.
            changed = max((r.changed_ns for r in rows), default=0)
            if not page.more or len(rows) < len(page.rows) or changed // 1_000_000_000 // _DAY_S < day:
                break
            before = page.rows[-1].seq
        self._seq = newest
        return self
