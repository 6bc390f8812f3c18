"""The figures as lines of text: tables of fixed columns, as wide as a terminal."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from client.text import line

_GAP = "  "
_MOST = 28
"""Characters of a name."""


def lines(figures: Mapping[str, Any], width: int = 100) -> Iterator[str]:
    """The lines that a person reads, cut at the terminal's width."""
    for text in _all(figures):
        yield text[:width]


def _all(figures: Mapping[str, Any]) -> Iterator[str]:
    services = figures["services"]
    up = sum(s["up"] for s in services)
    bus = figures["bus"]
    words = [f"{up} of {len(services)} services answer", f"{bus['connected']} connected to the bus"]
    if bus["transitions_a_second"] is not None:
        words.append(f"{bus['transitions_a_second']:.1f} transitions a second")
    if bus["store_limit_bytes"]:
        words.append(f"store {bus['store_used_bytes'] / bus['store_limit_bytes']:.0%} full")
    yield " · ".join(words)
    for service in services:
        if not service["up"]:
            yield f"  {service['url']} does not answer: {line(service['error'])}"
    if bus["degraded"]:
        yield "Coordination is degraded: tasks are assigned by keywords alone."
    if bus["waiting_items"] > 0:
        yield f"{bus['waiting_items']} questions wait for a person: parley inbox"
    if not figures["outcomes"]:
        yield "`parley metrics` is not among these services: objectives and sessions are not counted."
    else:
        yield from _section(
            "objective", ("good", "wanted", "budget left", "events"),
            ((o["title"], _share(o["good_share"]), _share(o["wanted"]), _share(o["budget_left"]), str(o["events"]))
             for o in figures["objectives"]),
        )  # fmt: skip
        yield from _section(
            "protocol", ("opened", "ended", "converged", "failed"),
            ((p["protocol"], *(_count(p[k]) for k in ("opened", "ended", "converged", "failed")))
             for p in figures["protocols"]),
        )  # fmt: skip
    yield from _section(
        "queue", ("workers", "busy", "room", "waiting", "oldest", "turns/s", "failed"),
        ((q["queue"], *(_count(q[k]) for k in ("workers", "busy", "room", "waiting")), _seconds(q["oldest_s"]),
          _number(q["turns_a_second"]), _count(q["failed"])) for q in figures["queues"]),
    )  # fmt: skip
    yield from _section(
        "model", ("calls", "calls/s", "failed", "mean", "USD"),
        ((m["model"], _count(m["calls"]), _number(m["calls_a_second"]), _count(m["failed"]), _seconds(m["mean_s"]),
          _number(m["cost_usd"], 4)) for m in figures["models"]),
    )  # fmt: skip


def _section(name: str, columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    shown = [(line(first)[:_MOST], *rest) if name != "objective" else (line(first), *rest) for first, *rest in rows]
    if not shown:
        return
    widths = [max(len(row[i]) for row in ((name, *columns), *shown)) for i in range(len(columns) + 1)]
    yield ""
    yield _row((name, *columns), widths)
    for row in shown:
        yield _row(row, widths)


def _row(cells: tuple[str, ...], widths: list[int]) -> str:
    first, *rest = cells
    return _GAP.join((first.ljust(widths[0]), *(c.rjust(w) for c, w in zip(rest, widths[1:], strict=True)))).rstrip()


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value * 100:.1f} %"


def _count(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _number(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} s" if value < 600 else f"{value / 60:.0f} min"
