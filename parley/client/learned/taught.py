"""What past tasks of a folder say of one like them: a fold over their lessons.

Lessons are read from the sessions of a bus, kept in the file of what was learned, and put into an opening.

Of tasks of the same folder and kind (LEAST), each choice of a person counts its likeness, half as much after
HALF_LIFE_DAYS, and half as much as the next later one: so the latest outweighs all before it. What nobody chose (a
result that was accepted, a handover of the lead) counts half of that. Depth is folded in the same way. How sure routing
is, is fitted to all tasks of the folder.

The sessions are the truth, and the file keeps what was read of them. A session that its bus no longer lists, because it
was erased or is too old, teaches nothing any more. So does one of another bus: a file never carries what a tenant did
to another one.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import UNSET

from parley.client.errors import ParleyError
from parley.client.learned import store
from parley.client.learned.verdicts import HALF_LIFE_DAYS, age_weight
from parley.client.protocols import SHOWS, show_of
from parley.client.records import entries_of, posts_of, record_of, result_of
from parley.client.setup.lesson import AGAINST, Lesson
from parley.schemas.past_sessions.learned import MOST_CHOICES, MOST_TAUGHT, Calibration, Choice, Learned, Preferences
from parley.schemas.post import SessionRow
from parley.schemas.routing import DEPTHS, Task
from parley.schemas.session import OpenSession, is_child_id
from parley.schemas.wire import SchemaError

if TYPE_CHECKING:
    from parley.client.client import Client

UNSAID = 0.5
"""What counts that nobody said."""
LEAST_DEPTH, LEAST_SHARE = 0.35, 0.5
"""Weight from which on the depth moves, and the share of a step from which on it does."""
LEAST_OUTCOMES = 5
"""Tasks of a folder from which on the confidence of routing is corrected."""
OWN = 4.0
"""Outcomes for which the stated confidence stands at each place."""
_PLACES = (0.5, 0.7, 0.9, 1.01)


class Vote(NamedTuple):
    """What one task says."""

    lesson: Lesson
    said: bool
    """A person said so."""
    expert: str = ""
    depth: int = 0


def preferences(lessons: Sequence[Lesson], like: Mapping[str, float], now_ns: int) -> Preferences | None:
    """What the lessons of one folder say; None: nothing. `like`: session -> likeness, 0 to 1, of those that are of the
    kind of the task at hand."""
    lessons = sorted((one for one in lessons if one.task and one.at_ns <= now_ns), key=lambda one: -one.at_ns)
    near = [one for one in lessons if one.session in like]
    rows: dict[tuple[str, str], list[tuple[Vote, float]]] = {}
    for vote, weight in _weighed(_leads(near), like, now_ns):
        rows.setdefault((vote.expert, vote.lesson.proposed or vote.expert), []).append((vote, weight))
    choices = sorted((_choice(*key, votes) for key, votes in rows.items()), key=lambda c: (-c.weight, c.expert))
    depths = list(_weighed(_depths(near), like, now_ns))
    whole = sum(weight for _, weight in depths)
    share = sum(vote.depth * weight for vote, weight in depths) / whole if whole else 0.0
    step = 0 if whole < LEAST_DEPTH or abs(share) < LEAST_SHARE else 1 if share > 0 else -1
    taught = [vote.lesson.session for vote, _ in depths if vote.said and vote.depth == step] if step else []
    found = Preferences(
        choices=tuple(choices[:MOST_CHOICES]),
        depth=step,  # type: ignore[arg-type]
        depth_times=len(taught),
        depth_sessions=tuple(taught[:MOST_TAUGHT]),
        tasks=len(lessons),
        as_of_ns=now_ns,
        half_life_days=HALF_LIFE_DAYS,
        confidence=confidence(lessons, now_ns) or UNSET,
    )
    return found if found.choices or found.depth or found.confidence else None


def _leads(lessons: Iterable[Lesson]) -> Iterator[Vote]:
    for one in lessons:
        if one.became in ("wrong", "rejected"):
            continue
        if one.chosen or one.became == "right":
            yield Vote(one, True, one.chosen or one.lead)
        elif one.handed_to or one.became == "accepted":
            yield Vote(one, False, one.handed_to or one.lead)


def _depths(lessons: Iterable[Lesson]) -> Iterator[Vote]:
    for one in lessons:
        if not one.rule or not one.depth:
            continue
        moved = DEPTHS.index(one.depth) - DEPTHS.index(one.rule) + (one.became in AGAINST)
        if one.depth_asked or one.became:
            yield Vote(one, one.depth_asked, depth=max(-1, min(1, moved)))


def _weighed(votes: Iterable[Vote], like: Mapping[str, float], now_ns: int) -> Iterator[tuple[Vote, float]]:
    """Each vote with what it counts; the newest come first."""
    later = {True: 0, False: 0}
    for vote in votes:
        weight = like[vote.lesson.session] * age_weight(now_ns - vote.lesson.at_ns, HALF_LIFE_DAYS)
        yield vote, weight * 0.5 ** later[vote.said] * (1.0 if vote.said else UNSAID)
        later[vote.said] += 1


def _choice(expert: str, instead_of: str, votes: Sequence[tuple[Vote, float]]) -> Choice:
    said = [vote.lesson.session for vote, _ in votes if vote.lesson.chosen]
    return Choice(
        expert=expert,
        instead_of=instead_of,
        weight=round(sum(weight for _, weight in votes), 4),
        times=len(said),
        sessions=tuple(said[:MOST_TAUGHT]),
    )


def was_right(one: Lesson) -> float | None:
    """Whether the expert of whom routing was surest was right to lead; None: nobody knows."""
    if one.chosen or one.handed_to:
        return float((one.chosen or one.handed_to) == one.first)
    if one.became in ("wrong", "rejected"):
        return 0.0
    if not one.became:
        return None
    return (0.5 if one.became == "revised" else 1.0) * (one.lead == one.first)


def confidence(lessons: Iterable[Lesson], now_ns: int) -> Calibration | None:
    """From the confidence of routing to the share that was right, in four places: each begins with OWN outcomes that
    are as it says. A higher confidence never reads lower. None: too few outcomes."""
    known = [(one, right) for one in lessons if one.confidence is not None and (right := was_right(one)) is not None]
    if len(known) < LEAST_OUTCOMES:
        return None
    pools: list[tuple[float, float, float]] = []  # (stated, right, weight), sums of weights
    below = 0.0
    for place in _PLACES:
        here = [(one, right) for one, right in known if below <= (one.confidence or 0.0) < place]
        below = place
        if not here:
            continue
        ages = [age_weight(now_ns - one.at_ns, HALF_LIFE_DAYS) for one, _ in here]
        mean = sum(w * (one.confidence or 0.0) for w, (one, _) in zip(ages, here, strict=True)) / sum(ages)
        right = sum(w * r for w, (_, r) in zip(ages, here, strict=True))
        pools.append((mean, OWN * mean + right, OWN + sum(ages)))
    knots = zip((mean for mean, _, _ in pools), (round(share, 6) for share in _rising(pools)), strict=True)
    on = f"what became of {len(known)} tasks of this folder"
    first = () if pools[0][0] == 0 else ((0.0, 0.0),)
    return Calibration(version="routing", method="isotonic", knots=(*first, *knots), fitted_on=on, outcomes=len(known))


def _rising(pools: Sequence[tuple[float, float, float]]) -> list[float]:
    """Shares that never fall: neighbours that would are put together."""
    kept: list[list[float]] = []  # right, weight, how many places
    for _, right, weight in pools:
        kept.append([right, weight, 1])
        while len(kept) > 1 and kept[-2][0] / kept[-2][1] > kept[-1][0] / kept[-1][1]:
            last = kept.pop()
            kept[-1] = [a + b for a, b in zip(kept[-1], last, strict=True)]
    return [right / weight for right, weight, count in kept for _ in range(int(count))]


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


async def with_preferences(client: "Client", opening: OpenSession, file: Path) -> OpenSession:
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
    prefers = preferences(here, like, time.time_ns())
    return opening if prefers is None else replace(opening, learned=replace(learned, preferences=prefers))


async def likenesses(task: str, lessons: Sequence[Lesson]) -> tuple[dict[str, float], list[Lesson]]:
    """How alike tasks are: the cosine of what the shipped encoder makes of what they want; where it is not installed,
    of the roots of their words.

    Returns
    -------
    Session -> how like its task is to this one, of those that are of its kind; the lessons with their vectors.
    """
    from parley.agents.encoders import EncoderError  # the encoder takes a second to load
    from parley.agents.expert_matching.expert_scores import Roots, matching_encoder

    encoder: Any
    try:
        encoder = matching_encoder()
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
    from parley.agents.expert_matching.expert_scores import read_task

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


def forget_erased(file: Path | None, sids: Iterable[str]) -> None:
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
