"""`docs/operations/metrics.md`, from what declares all series: python -m docs.generators.metrics_page PATH"""

import sys
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry

from parley.observability.metrics import Metrics
from parley.observability.outcomes import BUS, GAUGES, OUTCOMES, Outcomes
from parley.schemas.result import Totals

_HEAD = """# Metrics

Every series on `/metrics`, with its labels; `make api` makes this page. Each name begins with `parley_`. One that ends
in `_total` is a counter, another one a gauge, if it is no histogram. [Outcomes](outcomes.md) says how copies are read.
"""


class _Listed(Metrics):
    """Declares everything, and remembers what was declared: name -> (kind, labels, text)."""

    def __init__(self) -> None:
        self.rows: dict[str, tuple[str, tuple[str, ...], str]] = {}
        super().__init__()

    def _counter(self, name: str, text: str, labels: tuple[str, ...] = ()) -> Any:
        self.rows[name] = ("counter", labels, text)
        return super()._counter(name, text, labels)

    def _gauge(self, name: str, text: str, labels: tuple[str, ...] = ()) -> Any:
        self.rows[name] = ("gauge", labels, text)
        return super()._gauge(name, text, labels)

    def _read(self, name: str, text: str, label: str) -> Any:
        self.rows[name] = ("gauge", (label,), text)
        return super()._read(name, text, label)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...], labels: tuple[str, ...] = ()) -> Any:
        self.rows[name] = ("histogram", labels, text)
        return super()._histogram(name, text, buckets, labels)


def page() -> str:
    """The whole page."""
    outcomes = {
        name: ("histogram" if row.bounds else "gauge" if name in GAUGES else "counter", row.labels, row.text)
        for name, row in OUTCOMES.items()
    }
    bus = {name: ("gauge", row.labels, row.text) for name, row in BUS.items()}
    shown = Outcomes(CollectorRegistry(), expected=["queue"])
    shown.show(Totals(), 0)
    others = {}
    for metric in shown.registry.collect():
        name = metric.name.removeprefix("parley_") + ("_total" if metric.type == "counter" else "")
        if name not in outcomes and name not in bus:
            labels = tuple(dict.fromkeys(label for sample in metric.samples for label in sample.labels))
            others[name] = (metric.type, labels, metric.documentation)
    return (
        _HEAD
        + _list("Sessions, of `parley metrics`", {**outcomes, **others})
        + _list("The bus, of `parley metrics`", bus)
        + _list("Moderators, agents and the gateway, each of itself", _Listed().rows)
    )


def _list(title: str, rows: dict[str, tuple[str, tuple[str, ...], str]]) -> str:
    lines = []
    for name, (kind, labels, text) in rows.items():
        said = ", ".join((*(["histogram"] if kind == "histogram" else []), *labels))
        lines.append(f"- `{name}`" + (f" ({said})" if said else "") + f": {text}\n")
    return f"\n## {title}\n\n" + "".join(lines)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
