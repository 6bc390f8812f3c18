"""consensus: which strategy each panelist works by. It is decided at the opening, by the settings and the seed, and
stands in the seat from then on: a replay, a fork and every copy of the seat's worker go by the same one."""

import difflib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from hashlib import blake2b

import msgspec

from parley.coordinator.table import Inadmissible
from parley.schemas import log
from parley.schemas.presence import EXTRACTIVE, Announcement
from parley.schemas.protocols.consensus import Settings
from parley.schemas.session import EVERYBODY, Document, OpenSession, Seat
from parley.schemas.strategies import MIXED, NONE, STYLES, Strategy, shipped

replace = msgspec.structs.replace

_LEAST_MIXED = 3
"""Seats from which on a panel without documents is mixed."""


def dealt(
    panel: Iterable[Seat], request: OpenSession, settings: Settings, seed: int, workers: Iterable[Announcement]
) -> tuple[Seat, ...]:
    """The panel, each seat with its strategy: the one that the settings name for it, else one of the style's. A style
    deals no strategy twice before it has dealt all; which seat gets which is the seed's. A seat without a language
    model goes by none. Raises Inadmissible: the settings name a strategy or a seat that is not there, or a seat that
    can work by none."""
    panel, keyless = tuple(panel), _keyless(workers)
    check_named(settings, [s.seat for s in panel])
    known, by = all_known(settings), dict[str, Strategy]()
    for s in panel:
        name = settings.styles.get(s.seat, NONE)
        if name != NONE and s.queue in keyless:
            why = f"{s.seat} has no language model, so it cannot work by {name}"
            raise Inadmissible("consensus.styles", f"consensus.styles: {why}")
        if name != NONE:
            by[s.seat] = known[name]
    deck = _deck(settings, request.documents, len(panel))
    for s in panel:
        if deck and s.queue not in keyless and s.seat not in settings.styles:
            by[s.seat] = _next(deck, by.values(), seed)
    return tuple(replace(s, strategy=by.get(s.seat, msgspec.UNSET)) for s in panel)


def joining(seat: Seat, panel: Iterable[Seat], first: int, opened: log.Opened, settings: Settings) -> Seat:
    """A seat that joins a panel, with a strategy as the others have theirs.

    Parameters
    ----------
    panel
        Those who sit, or are to.
    first
        How many sat at the opening.
    """
    deck = _deck(settings, opened.documents, first)
    if not deck or seat.family == EXTRACTIVE:
        return seat
    used = [s.strategy for s in panel if s.strategy is not msgspec.UNSET]
    return replace(seat, strategy=_next(deck, used, opened.seed))


def all_known(settings: Settings) -> dict[str, Strategy]:
    """Strategies by id: those that ship, and the session's own over them."""
    return {**shipped(), **{s.id: s for s in settings.own_strategies}}


def check_named(settings: Settings, seats: Collection[str] | None = None) -> None:
    """Refuse styles, and if `seats` are known also seats, that are not there. Raises Inadmissible."""
    field, styles = "consensus.styles", (MIXED, *STYLES, NONE)
    for seat, name in settings.styles.items():
        names = (*(styles if seat == EVERYBODY else (NONE,)), *all_known(settings))
        if name not in names:
            near = difflib.get_close_matches(name, names, 1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(names)}"
            what = "a style of all seats, and not of one" if name in styles else "no strategy"
            raise Inadmissible(field, f"{field}: {name[:64]!r} is {what}; {hint}")
        if seats is not None and seat not in (*seats, EVERYBODY):
            raise Inadmissible(field, f"{field}: there is no panelist {seat[:64]}; there are {', '.join(seats)}")


def instructions_of(seat: Seat, *, blind: bool) -> str | msgspec.UnsetType:
    """What a seat is told of how to work in this round; UNSET: it goes by no strategy."""
    if seat.strategy is msgspec.UNSET:
        return msgspec.UNSET
    return seat.strategy.blind if blind else seat.strategy.later


def _deck(settings: Settings, documents: Iterable[Document], seats: int) -> list[Strategy]:
    """What those are dealt that the settings do not name."""
    reads = any(d.background is not True and not d.looked for d in documents)
    own = bool(settings.own_strategies) and not settings.styles
    usual = MIXED if own or (not reads and seats >= _LEAST_MIXED) else NONE
    style, known = settings.styles.get(EVERYBODY, usual), all_known(settings)
    return [s for s in known.values() if style in (MIXED, s.id, *s.styles)]


def _next(deck: Sequence[Strategy], used: Iterable[Strategy], seed: int) -> Strategy:
    """The one that fewest work by; of several, the seed draws."""
    times = Counter(strategy.id for strategy in used)
    return min(deck, key=lambda s: (times[s.id], _draw(seed, s.id)))


def _draw(seed: int, strategy: str) -> bytes:
    return blake2b(f"{seed}|strategy|{strategy}".encode(), digest_size=8).digest()


def _keyless(workers: Iterable[Announcement]) -> frozenset[str]:
    """Queues of which no copy has a language model."""
    serving: dict[str, bool] = {}
    for w in workers:
        serving[w.queue] = serving.get(w.queue, True) and w.keyless
    return frozenset(queue for queue, keyless in serving.items() if keyless)
