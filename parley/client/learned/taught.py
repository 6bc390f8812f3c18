"""What past tasks teach: read from the sessions of a bus, kept in the file of what was learned, put into an opening.

The sessions are the truth, and the file keeps what was read of them. A session that its bus no longer lists, because it
was erased or is too old, teaches nothing any more. So does one of another bus: a file never carries what a tenant did
to another one.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from parley.client.errors import ParleyError
from parley.client.learned import store
from parley.client.learned.preferences import preferences
from parley.client.protocols import SHOWS, show_of
from parley.client.records import entries_of, posts_of, record_of, result_of
from parley.client.setup.lesson import Lesson
from parley.schemas.past_sessions.learned import Learned
from parley.schemas.post import SessionRow
from parley.schemas.routing import Task
from parley.schemas.session import OpenSession, is_child_id
from parley.schemas.wire import SchemaError

if TYPE_CHECKING:
    from parley.client.client import Client

MOST_SESSIONS = 500
"""The newest ones of the bus, which are looked at; older ones teach nothing."""
MOST_READ = 50
"""Records that are read at one opening: what is left, at the next one."""
_CLOSED = ("finished", "failed", "cancelled")
LEAST = 0.35
"""Of two tasks of the golden set's half to develop on that two experts lead, one pair in 130 is as like as this."""
replace = msgspec.structs.replace


async def look(client: "Client", file: Path, most: int = MOST_READ) -> store.Store:
    """Read what changed since the last look, and keep what it teaches; all that is known then.

    Raises
    ------
    BadInput
        The file cannot be read or written.
    ParleyError
        The sessions cannot be listed.
    """
    rows = [row for row in await client.sessions(MOST_SESSIONS) if _teaches(row)]
    known = {one.session: one for one in store.read(file).lessons}
    fresh = [row for row in rows if not _is_read(known.get(row.session), row)][:most]
    read = {row.session: await _lesson(client, row) for row in fresh}
    there = [row.session for row in rows]

    def looked(before: store.Store) -> store.Store:
        held = {one.session: one for one in before.lessons}
        now = {sid: held[sid] if sid in held and held[sid].forgotten else read.get(sid, held.get(sid)) for sid in there}
        return replace(before, lessons=tuple(one for one in now.values() if one is not None))

    return store.update(file, looked)


def _teaches(row: SessionRow) -> bool:
    known = row.protocol in SHOWS and show_of(row.protocol).teaches
    return known and row.status in _CLOSED and not (row.forks or is_child_id(row.session))


def _is_read(known: Lesson | None, row: SessionRow) -> bool:
    return known is not None and (known.forgotten or known.seq == row.seq)


async def _lesson(client: "Client", row: SessionRow) -> Lesson:
    """What a session teaches; of one that teaches nothing, or cannot be read here, that it was read."""
    nothing = Lesson(session=row.session, seq=row.seq)
    try:
        record = record_of(row.session, await client.log(row.session))
        found = show_of(row.protocol).lesson(row.session, entries_of(record), posts_of(record), result_of(record))
    except (ParleyError, SchemaError):
        return nothing
    return nothing if found is None else replace(found, seq=row.seq)


async def with_preferences(
    client: "Client", opening: OpenSession, file: Path, *, calibration: bool = True
) -> OpenSession:
    """The opening with what past tasks of its folder say; as it is, where they say nothing, or its protocol learns
    nothing. Raises as `look`."""
    if not (client.owner and opening.protocol in SHOWS and show_of(opening.protocol).teaches):
        return opening
    learned = opening.learned or Learned()
    if opening.settings.get("folder") and not learned.folder:
        return opening
    found = await look(client, file)
    here = [one for one in found.lessons if one.task and same(one.folder, learned.folder or "")]
    like: dict[str, float] = {}
    if any(one.teaches for one in here):
        like, encoded = await likenesses(opening.question, here)
        if encoded:
            _keep(file, encoded)
    prefers = preferences(here, like, time.time_ns(), calibrates=calibration)
    return opening if prefers is None else replace(opening, learned=replace(learned, preferences=prefers))


async def likenesses(task: str, lessons: Sequence[Lesson]) -> tuple[dict[str, float], list[Lesson]]:
    """How alike tasks are: the cosine of what the shipped encoder makes of what they want; where it is not installed,
    of the roots of their words.

    Returns
    -------
    Session -> how like its task is to this one, of those that are of its kind; the lessons with their vectors.
    """
    from parley.agents.encoders import EncoderError  # the encoder takes a second to load
    from parley.agents.matching.matcher import Roots, embedded

    encoder: Any
    try:
        encoder = embedded()
        (own,) = await encoder.encode([_wanted(task)])
    except EncoderError:
        encoder = Roots()
        (own,) = await encoder.encode([_wanted(task)])
    new = [one for one in lessons if one.encoder != encoder.name]
    rows = await encoder.encode([_wanted(one.task) for one in new]) if new else ()
    known = {
        one.session: replace(one, encoder=encoder.name, vector=_packed(row)) for one, row in zip(new, rows, strict=True)
    }
    lessons = [known.get(one.session, one) for one in lessons]
    found = {one.session: float(_unpacked(one.vector) @ own) for one in lessons}
    return {sid: round(min(like, 1.0), 4) for sid, like in found.items() if like >= LEAST}, list(known.values())


def _wanted(task: str) -> str:
    """What is compared of a task: what it wants, without what would steer who gets it."""
    from parley.agents.matching.matcher import read_task

    return read_task(Task(prompt=task), ()).text or task


def _packed(row: Any) -> bytes:
    import numpy as np

    packed: bytes = np.round(row * 127).astype(np.int8).tobytes()
    return packed


def _unpacked(vector: bytes) -> Any:
    import numpy as np

    return np.frombuffer(vector, np.int8).astype(np.float32) / np.float32(127)


def _keep(file: Path, encoded: Iterable[Lesson]) -> None:
    """Keep vectors, so that no task is encoded twice."""
    by_id = {one.session: one for one in encoded}
    _each(file, lambda one: by_id.get(one.session, one) if not one.forgotten else one)


def same(one: str, other: str) -> bool:
    """Whether two folders are the same project, whatever it is called in each place."""
    return one.rpartition("@")[2] == other.rpartition("@")[2]


def forget(file: Path, which: Callable[[Lesson], bool]) -> tuple[str, ...]:
    """Forget what these sessions taught, for good: which they were. Raises BadInput."""
    gone = tuple(one.session for one in store.read(file).lessons if one.task and which(one))
    ids = frozenset(gone)
    _each(file, lambda one: Lesson(session=one.session, seq=one.seq, forgotten=True) if one.session in ids else one)
    return gone


def erased(file: Path | None, sids: Iterable[str]) -> None:
    """Remove all that was learned of sessions whose texts are gone. Raises BadInput."""
    if file is None or not file.exists():
        return
    gone = frozenset(sids)
    store.update(
        file,
        lambda before: replace(
            before,
            lessons=tuple(one for one in before.lessons if one.session not in gone),
            verdicts=tuple(one for one in before.verdicts if one.session not in gone),
        ),
    )


def _each(file: Path, change: Callable[[Lesson], Lesson]) -> None:
    store.update(file, lambda before: replace(before, lessons=tuple(map(change, before.lessons))))
