"""Numbers that are there from the start: the values of labels that are known before anything is counted.

Prometheus sees the first event of a number only if it saw the number before."""

from collections.abc import Iterator, Mapping

from parley.coordinator.outcomes.session import Protocols, is_convergence
from parley.coordinator.table import FLIPS, Protocol
from parley.observability.outcomes import OUTCOMES, PROTOCOL
from parley.schemas.stops import PROTOCOL_FAULT, STOPS, VERSION_LOST

Child = tuple[str, Mapping[str, str]]
_EVERYBODYS = ("answered_now", "cancelled", PROTOCOL_FAULT, VERSION_LOST)
_ITEMS = ("human", "default", "session")
"""Who closes a question to a human; session: it ended before anybody did."""


def children(protocols: Protocols) -> Iterator[Child]:
    """(series, labels)."""
    for protocol in protocols.values():
        yield from ((s.series, s.labels) for s in protocol.counted.children)
        if not protocol.standing:
            yield from _of(protocol)
    yield from (("items_closed_total", {"by": by}) for by in _ITEMS)
    yield from ((name, {}) for name, row in OUTCOMES.items() if not row.labels)


def _of(protocol: Protocol) -> Iterator[Child]:
    labels_of_protocol = {"protocol": protocol.name}
    yield from ((name, labels_of_protocol) for name, row in OUTCOMES.items() if row.labels == PROTOCOL)
    for reason in (*protocol.stops, *_EVERYBODYS):
        row = STOPS[reason]
        for converged in (True, False) if row.unless else (is_convergence(reason),):
            labels = {"reason": reason, "converged": "yes" if converged else "no", "status": row.status}
            yield "sessions_closed_total", {**labels_of_protocol, **labels}
    yield from (("flips_total", {**labels_of_protocol, "because": because}) for because in FLIPS)
    yield from (("rule_calls_saved_total", {**labels_of_protocol, "rule": rule}) for rule in protocol.counted.rules)
