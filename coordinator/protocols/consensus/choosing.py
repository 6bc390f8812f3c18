"""consensus: who of several members sits, by what the question is about.

A member whose declared expertise occurs in the question goes before one without. Among those, one of each model family
goes before a second one. Then count how much of its expertise occurs, how often it was right (its record, or the mean
of the others'), and its price; last its name. The reasons follow from the opening alone.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from parley.coordinator.protocols.consensus.state import PANELIST
from parley.coordinator.signals.reliability import standing
from parley.schemas import log
from parley.schemas.past_sessions.learned import Learned, Standing
from parley.schemas.presence import Announcement
from parley.schemas.protocols.consensus import AUTO, Seating
from parley.schemas.session import Seat, is_human
from parley.schemas.text import tokens

LEAST_AUTO, MOST_AUTO = 3, 5
"""Seats of a panel whose size the question decides: as many as know what it is about, within these bounds."""
UNKNOWN = 0.5
"""How often a member is right where nobody has a record."""


class SeatCandidate(msgspec.Struct, frozen=True):
    """Somebody who may sit, with what is known of it."""

    seat: Seat
    expertise: tuple[str, ...] = ()
    """What it declares to know."""
    right: Standing | None = None
    """Its record; None: it has none."""

    @property
    def price(self) -> float:
        """US dollars for a million tokens in and a million out."""
        return self.seat.usd_per_million_input + self.seat.usd_per_million_output


def members(
    seats: Iterable[Seat], workers: Sequence[Announcement], learned: Learned | msgspec.UnsetType
) -> list[SeatCandidate]:
    """Seats with what their workers announced, and with their records."""
    serving = {w.queue: w for w in workers if PANELIST in w.roles and not w.draining}
    found = []
    for seat in seats:
        if (w := serving.get(seat.queue)) is not None:
            seat = msgspec.structs.replace(
                seat,
                model=w.model,
                family=w.family,
                metered=w.metered,
                usd_per_million_input=w.usd_per_million_input,
                usd_per_million_output=w.usd_per_million_output,
            )
        right = None
        if learned is not msgspec.UNSET and learned.reliability is not msgspec.UNSET:
            right = standing(learned.reliability, seat, learned.kind)
        found.append(SeatCandidate(seat, w.expertise if w else (), right))
    return found


def choose(about: str, candidates: Sequence[SeatCandidate], wanted: int) -> list[SeatCandidate]:
    """Those who sit, the first choice first.

    Parameters
    ----------
    about
        The question.
    wanted
        How many; AUTO: as many as know what it is about, at least three and at most five.
    """
    fits = {m.seat.seat: len(expertise_in_question(m.expertise, about)) for m in candidates}
    if wanted == AUTO:
        wanted = min(MOST_AUTO, max(LEAST_AUTO, sum(n > 0 for n in fits.values())))
    records = [m.right.mean for m in candidates if m.right is not None]
    usual = sum(records) / len(records) if records else UNKNOWN
    chosen: list[SeatCandidate] = []
    rest = list(candidates)
    while rest and len(chosen) < wanted:
        there = Counter(m.seat.family for m in chosen)

        def key(m: SeatCandidate, there: Counter[str] = there) -> tuple[object, ...]:
            right = usual if m.right is None else m.right.mean
            fit = fits[m.seat.seat]
            return (not fit, there[m.seat.family], -fit, -right, m.price, m.seat.seat)

        best = min(rest, key=key)
        rest.remove(best)
        chosen.append(best)
    return chosen


def reasons(chosen: Iterable[SeatCandidate], question: str) -> dict[str, str]:
    """Seat -> why it sits, in the order in which they were chosen."""
    told: dict[str, str] = {}
    there = Counter[str]()
    for m in chosen:
        told[m.seat.seat] = "; ".join(_facts(m, question, there[m.seat.family]))
        there[m.seat.family] += 1
    return told


def seated(opened: log.Opened) -> tuple[Seating, ...]:
    """Who was chosen of more members, and why; nothing where nobody was. A fork says what its record says."""
    seats = (s for s in opened.seats if s.role == PANELIST)
    return tuple(Seating(seat=s.seat, does="sits", why=s.chosen) for s in seats if s.chosen is not msgspec.UNSET)


def spare(opened: log.Opened) -> list[SeatCandidate]:
    """Members that served at the opening and have no seat, in the order of their names."""
    names = {queue: name for name, queue in (opened.queues or {}).items()}
    seated = {s.queue for s in opened.seats}
    free = (
        Seat(seat=names.get(w.queue, w.queue), role=PANELIST, queue=w.queue)
        for w in opened.workers
        if PANELIST in w.roles and w.queue not in seated and not w.draining and not is_human(w.queue)
    )
    return members(free, opened.workers, opened.learned)


def _facts(m: SeatCandidate, question: str, before: int) -> Iterator[str]:
    """What speaks for a member. `before`: how many of its family sit already."""
    found = expertise_in_question(m.expertise, question)
    if found:
        yield f"knows {', '.join(found)}"
    elif m.expertise:
        yield f"declares {', '.join(m.expertise[:3])}, which the question does not name"
    family = f"model family {m.seat.family or m.seat.model or 'not known'}"
    yield f"{family}, as {before} before it" if before else family
    if m.right is not None:
        yield f"right {m.right.mean:.2f} of the time, as far as is known"
    if not m.price and m.seat.metered:
        yield "its price is not known"
    elif m.price:
        yield f"{m.seat.usd_per_million_input:g} and {m.seat.usd_per_million_output:g} USD per million tokens"


def expertise_in_question(expertise: Iterable[str], question: str) -> list[str]:
    """What of this expertise occurs in the question."""
    return [words for words in expertise if occurs(words, question)]


def occurs(expertise: str, question: str) -> bool:
    """Whether the declared words occur in the question: whole, in order, in any case and number (`database` occurs in
    "Which databases scale?")."""
    wanted = [_singular(t) for t in tokens(expertise)]
    question_words = [_singular(t) for t in tokens(question)]
    return bool(wanted) and any(question_words[i : i + len(wanted)] == wanted for i in range(len(question_words)))


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
