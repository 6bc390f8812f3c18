"""LOG in partitions: which stream holds a session's log, and under which subjects.

A stream has one leader, which orders and stores all its messages. So one stream carries what one leader carries. LOG
may be several streams, whose leaders are on several servers. A hash of the session's id says which one is a session's.
So nobody looks a session up, every moderator serves all of them, and a session never moves.

| partitions | streams | subjects |
|---|---|---|
| 1 | LOG | `parley.log.<sid>.<kind>` |
| 4 | LOG, LOG-1, LOG-2, LOG-3 | `parley.log.<number>.<sid>.<kind>`, numbers from 0 |

The count is chosen when the streams are made. The metadata of LOG says it, and a moderator that is told another count
is refused (parley.bus.streams). Subjects name the partition, so the broker refuses what knows nothing of partitions:
the subjects of one partition overlap those of several, and two streams may not overlap.
"""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from parley.bus import subjects

LOG = "LOG"
"""The first of the streams, or the only one."""
MOST = 16
"""Largest number of partitions."""
_ROOT = subjects.LOG_ALL.removesuffix(">")
_COUNT = "parley-partitions"
"""Metadata of LOG, if it has several partitions."""


def streams_of(count: int) -> list[str]:
    """The names of so many partitions' streams."""
    return [LOG, *(f"{LOG}-{number}" for number in range(1, count))]


class Partition:
    """One of LOG's streams."""

    def __init__(self, stream: str, number: int | None) -> None:
        """`number`: as subjects name it; None: they do not."""
        self.stream = stream
        self._root = _ROOT if number is None else f"{_ROOT}{number}."

    def subject(self, sid: str, kind: str) -> str:
        """Where a transition is appended."""
        return f"{self._root}{subjects.escape(sid)}.{kind}"

    def of_session(self, sid: str) -> str:
        """All entries of one session: the filter that compare-and-swap and replay use."""
        return f"{self._root}{subjects.escape(sid)}.>"

    def of_kind(self, kind: str) -> str:
        """The subject of entries of one kind, of all its sessions."""
        return self._root + subjects.log_kind(kind).removeprefix(_ROOT)

    @property
    def everything(self) -> str:
        """All that it takes."""
        return self._root + ">"


class Partitions:
    """All streams of LOG. Immutable.

    Parameters
    ----------
    count
        1 to `MOST`. Raises ValueError for another.
    """

    def __init__(self, count: int = 1) -> None:
        if not 1 <= count <= MOST:
            raise ValueError(f"LOG has 1 to {MOST} partitions, not {count}")
        names = enumerate(streams_of(count))
        self._all = tuple(Partition(stream, None if count == 1 else number) for number, stream in names)

    @property
    def all(self) -> tuple[Partition, ...]:
        """The partitions, in their order."""
        return self._all

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._all)

    @property
    def streams(self) -> list[str]:
        """Their streams' names, in their order."""
        return [p.stream for p in self._all]

    def of(self, sid: str) -> Partition:
        """The partition that holds a session's log."""
        if len(self._all) == 1:
            return self._all[0]
        digest = blake2b(sid.encode(), digest_size=8).digest()
        return self._all[int.from_bytes(digest, "big") % len(self._all)]

    def everywhere(self, kind: str) -> str:
        """The subject of entries of one kind in any partition, to subscribe to."""
        of_one = subjects.log_kind(kind)
        return of_one if self.count == 1 else f"{_ROOT}*.{of_one.removeprefix(_ROOT)}"

    @property
    def metadata(self) -> dict[str, str]:
        """Metadata for LOG's streams: the count; empty for one partition."""
        return {} if self.count == 1 else {_COUNT: str(self.count)}


ONE = Partitions()


def from_info(info: Mapping[str, Any]) -> Partitions:
    """The partitions that the stream LOG names, as JetStream describes it."""
    metadata = info["config"].get("metadata") or {}
    return Partitions(int(metadata.get(_COUNT, 1)))
