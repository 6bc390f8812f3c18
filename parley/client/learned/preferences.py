"""What past tasks of a folder say of one like them: a fold over their lessons.

Of tasks of the same folder and kind (parley.client.learned.taught), each choice of a person counts its likeness,
half as much after HALF_LIFE_DAYS, and half as much as the next later one: so the latest outweighs all before it. What
nobody chose (a result that was accepted, a handover of the lead) counts half of that. Depth is folded in the same way.
How sure routing is, is fitted to all tasks of the folder.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import UNSET

from parley.client.learned.table import HALF_LIFE_DAYS, age_weight
from parley.client.setup.lesson import AGAINST, Lesson
from parley.schemas.past_sessions.learned import MOST_CHOICES, MOST_TAUGHT, Calibration, Choice, Preferences
from parley.schemas.routing import DEPTHS

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


def preferences(
    lessons: Sequence[Lesson], like: Mapping[str, float], now_ns: int, *, calibrates: bool = True
) -> Preferences | None:
    """What the lessons of one folder say; None: nothing.

    Parameters
    ----------
    like
        Session -> likeness, 0 to 1, of those that are of the kind of the task at hand.
    calibrates
        Whether the confidence of routing is corrected.
    """
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
        confidence=(confidence(lessons, now_ns) or UNSET) if calibrates else UNSET,
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
