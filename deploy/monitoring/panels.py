"""What panels of the dashboards are made of.

Outcome series are read as `parley:NAME:max` (deploy.monitoring.slos). Times are over `$__rate_interval`,
figures of outcomes over the range that is looked at.
"""

import msgspec

LINES, FIGURE, BARS = "lines", "figure", "bars"
RATE = "$__rate_interval"
RANGE = "$__range"


class Query(msgspec.Struct, frozen=True):
    """One expression of a panel, and how its values are named."""

    expr: str
    legend: str = ""


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """One panel."""

    title: str
    help: str
    """What it says, and what to look for: one or two sentences."""
    queries: tuple[Query, ...]
    kind: str = LINES
    unit: str = "short"
    """As Grafana names units: short, percentunit, s, bytes, currencyUSD, reqps."""
    wide: int = 8
    """Of 24 columns."""
    bar: float | None = None
    """A threshold that is drawn: above it is not good."""
    floor: float | None = None
    """The same: below it is not good."""


class Row(msgspec.Struct, frozen=True):
    """Some panels under a heading."""

    title: str
    panels: tuple[Panel, ...]


class Board(msgspec.Struct, frozen=True, kw_only=True):
    """One dashboard."""

    uid: str
    title: str
    help: str
    rows: tuple[Row, ...]


def panel(title: str, expr: str, legend: str, help: str, **more: object) -> Panel:
    """A panel of one expression."""
    return Panel(title=title, help=help, queries=(Query(expr, legend),), **more)  # type: ignore[arg-type]


def increase(series: str, by: str, window: str = RANGE) -> str:
    """By how much a counter of outcomes grew."""
    return f"sum by ({by}) (increase(parley:{series}:max[{window}]))"


def mean(series: str, by: str) -> str:
    """Mean of what a histogram of outcomes observed in the range, where it observed something."""
    total, count = (f"sum by ({by}) (increase(parley:{series}_{what}:max[{RANGE}]))" for what in ("sum", "count"))
    return f"{total} / ({count} > 0)"


def quantile(share: float, series: str, by: str, window: str = RATE) -> str:
    """An estimate, between bucket bounds, of a histogram's quantile: for a picture, never for a bar."""
    labels = f"le, {by}" if by else "le"
    return f"histogram_quantile({share}, sum by ({labels}) (rate({series}_bucket[{window}])))"
