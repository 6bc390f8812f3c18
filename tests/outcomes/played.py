"""Sessions that were played or recorded, counted as `parley metrics` counts them, without a bus."""

from collections.abc import Iterable, Sequence

from prometheus_client import CollectorRegistry

from parley.bus import subjects
from parley.coordinator.outcomes import message
from parley.coordinator.outcomes.fold import Fold, day_of
from parley.coordinator.outcomes.session import children, ends
from parley.coordinator.protocols import PROTOCOLS
from parley.observability.outcomes import Outcomes
from parley.schemas.result import Totals
from parley.schemas.wire import encode
from tests.support.play import START_NS, BasePlay

TENANT = "acme"
KNOWN = dict(PROTOCOLS)


def fold() -> Fold:
    return Fold(Totals(), TENANT)


def take(into: Fold, sid: str, entries: Sequence[bytes]) -> None:
    """A session, a message an entry."""
    closed = False
    for n, entry in enumerate(entries):
        over = ends(entry)
        kind = subjects.OPENED if n == 0 else subjects.CLOSED if over else subjects.STEP
        kind = subjects.FEEDBACK if closed else kind
        closed = closed or over
        message.count(into, KNOWN, sid, kind, [entry], entries[: n + 1] if closed else ())


def shown(totals: Totals, at_ns: int = START_NS) -> Outcomes:
    found = Outcomes(CollectorRegistry(), children(KNOWN), tenant=TENANT)
    found.show(totals, day_of(at_ns))
    return found


def counted(*plays: BasePlay) -> Outcomes:
    """These played sessions."""
    into = fold()
    for play in plays:
        take(into, play.session.sid, [encode(e) for e in play.entries])
    return shown(into.totals())


def get(found: Outcomes, name: str, **labels: str) -> float:
    """A number that is there from the start, or was counted. Raises AssertionError for one that is not there."""
    value = found.registry.get_sample_value(f"parley_{name}", labels)
    assert value is not None, (name, labels)
    return value


def values(found: Outcomes, name: str) -> dict[tuple[str, ...], float]:
    """All numbers of a series that are not 0."""
    samples: Iterable[tuple[tuple[str, ...], float]] = (
        (tuple(s.labels.values()), s.value)
        for family in found.registry.collect()
        for s in family.samples
        if s.name == f"parley_{name}"
    )
    return {labels: value for labels, value in samples if value}
