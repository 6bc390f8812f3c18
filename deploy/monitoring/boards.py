"""All dashboards, and what they and the rules read.

Times are over `$__rate_interval`, figures of outcomes over the range that is looked at.
"""

from collections.abc import Iterator

from deploy.monitoring.alerts import ALERTS
from deploy.monitoring.boards_gateway import GATEWAY
from deploy.monitoring.boards_outcomes import COORDINATION, DEBATES
from deploy.monitoring.boards_services import BUS, SPECIALISTS
from deploy.monitoring.boards_start import START
from deploy.monitoring.slos import SLOS, outcome_series

BOARDS = (START, COORDINATION, DEBATES, SPECIALISTS, BUS, GATEWAY)
"""All dashboards."""


def expressions() -> Iterator[tuple[str, str]]:
    """Every expression of every panel with the panel's name."""
    for board in BOARDS:
        for row in board.rows:
            for panel in row.panels:
                for query in panel.queries:
                    yield f"{board.uid}: {panel.title}", query.expr


def outcomes() -> list[str]:
    """Series of outcomes, without `parley_`, that panels and rules read."""
    rules = (text for slo in SLOS for text in (slo.total, slo.good, slo.bad))
    alerts = (alert.expr for alert in ALERTS)
    return outcome_series((*(expr for _, expr in expressions()), *rules, *alerts))
