"""madp: what past tasks of the same folder change in one like them: who leads, how deep, and how sure routing is.

All of it stands in the opening (parley.schemas.past_sessions.learned.Preferences), so a replay needs no file.
"""

from collections.abc import Iterable

import msgspec

from parley.coordinator.protocols.madp.state import announced_experts, room
from parley.coordinator.signals.reliability import calibrated
from parley.coordinator.table import View
from parley.schemas.past_sessions.learned import Choice, Preferences
from parley.schemas.routing import DEPTHS, Candidate, Depth

LEAST = 0.35
"""Weight from which on an expert leads: one fresh choice of a person, in a task that is at least this like the one at
hand."""
OF_ANOTHER = 0.5
"""What a choice counts that was made in place of somebody else than who would lead now: it is another miss."""
_TIMES = ("", "once", "twice", "three times", "four times", "five times", "six times", "seven times", "eight times")


class Preferred(msgspec.Struct, frozen=True, kw_only=True):
    """Who leads by what was learned."""

    expert: str
    why: str
    sure: float
    """How sure that is, 0 to 1: of so many choices of people, and two that nobody has seen."""


def of(v: View) -> Preferences | None:
    """What the opening says; None: nothing was learned."""
    learned = v.opened.learned
    return learned.preferences or None if learned else None


def corrected(candidates: Iterable[Candidate], v: View) -> tuple[Candidate, ...]:
    """The candidates with their confidence as outcomes of the folder's tasks say it should be read; their order
    stays."""
    learned = of(v)
    if learned is None or not learned.confidence:
        return tuple(candidates)
    fit = learned.confidence
    return tuple(msgspec.structs.replace(c, confidence=round(calibrated(fit, c.confidence), 4)) for c in candidates)


def confidence_words(before: Candidate, after: Candidate, v: View) -> str:
    """What the correction did to the first candidate; empty: nothing."""
    learned = of(v)
    if learned is None or not learned.confidence or before.confidence == after.confidence:
        return ""
    return (
        f"confidence {before.confidence:.2f} in {before.expert} reads as {after.confidence:.2f}: that is the share of "
        f"such tasks{_here(v)} that were rightly routed ({learned.confidence.outcomes} outcomes)"
    )


def depth(rule: Depth, v: View) -> tuple[Depth, str]:
    """(The depth, why it is not the rule's): at most one step from it."""
    learned = of(v)
    if learned is None or not learned.depth:
        return rule, ""
    place = min(max(DEPTHS.index(rule) + learned.depth, 0), len(DEPTHS) - 1)
    if DEPTHS[place] == rule:
        return rule, ""
    said = (
        f"{times(learned.depth_times)}{_here(v)} you set it so" if learned.depth_times else f"results{_here(v)} say so"
    )
    return DEPTHS[place], f"depth {DEPTHS[place]} and not {rule}: {said} for such a task"


def preferred(v: View, lead: str, *, found: bool = True) -> Preferred | None:
    """Who leads in place of whom routing has found; None: nobody. The latest choice of a person outweighs all earlier
    ones in tasks that were as like this one. `found`: False where routing found nobody, and `lead` takes what is
    left."""
    learned = of(v)
    if learned is None:
        return None
    weights: dict[str, float] = {}
    for c in learned.choices:
        share = 1.0 if lead in (c.instead_of, c.expert) or not found else OF_ANOTHER
        weights[c.expert] = weights.get(c.expert, 0.0) + c.weight * share
    moved = {
        c.expert for c in learned.choices if c.times or c.instead_of != c.expert
    }  # not only left as routing had it
    there = [x for x in moved if x in announced_experts(v) and room(v, x)]
    best = max(sorted(there), key=lambda x: weights[x], default="")
    if best in ("", lead) or weights[best] < LEAST or weights[best] <= weights.get(lead, 0.0):
        return None
    chosen = [c for c in learned.choices if c.expert == best]
    count = sum(c.times for c in chosen)
    return Preferred(expert=best, why=_why(best, count, chosen, v), sure=round(count / (count + 2), 4))


def _why(expert: str, count: int, chosen: list[Choice], v: View) -> str:
    if not count:
        return f"such a task was handed over to {expert} before{_here(v)}"
    return f"{times(count)}{_here(v)} you chose {expert} for such a task"


def times(count: int) -> str:
    """`three times`."""
    return _TIMES[count] if 0 < count < len(_TIMES) else f"{count} times"


def _here(v: View) -> str:
    return " in this folder" if v.opened.learned and v.opened.learned.folder else ""
