"""The figures as lines of text: tables of fixed columns, as wide and as high as a terminal.

Names give way to figures: where a row is too wide, its name is cut. Where the screen is too low, rows of which nothing
can be said are left out first: queues without work, objectives without events. What is left out is counted.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from parley.client.text import count, line

_GAP = "  "
_MOST = 64
"""Characters of a name, whatever the width."""
_LEAST = 8
"""Characters of a name that are left of it in a terminal that is too narrow for the figures."""


class _Row(NamedTuple):
    cells: tuple[str, ...]
    idle: bool = False
    """Nothing happens there."""


class _Table(NamedTuple):
    columns: tuple[str, ...]
    rows: list[_Row]


def lines(figures: Mapping[str, Any], width: int = 100, height: int | None = None) -> Iterator[str]:
    """The lines that a person reads.

    Parameters
    ----------
    width, height
        Of the terminal, in characters and lines; None: as many lines as there are.
    """
    head, tables = list(_head(figures)), _tables(figures)
    text = head + [row for table in tables for row in _text(table, width, table.rows)]
    if height is not None and len(text) > height:
        busy = [[row for row in table.rows if not row.idle] for table in tables]
        text = head + [row for table, rows in zip(tables, busy, strict=True) for row in _text(table, width, rows)]
        idle = sum(row.idle for table in tables for row in table.rows)
        cut = max(0, len(text) + 1 - height)
        text = text[: height - 1]
        text.append(f"left out: {idle} rows without events, {cut} lines more. All of them: parley top --once")
    for row in text:
        yield row[:width]


def _head(figures: Mapping[str, Any]) -> Iterator[str]:
    services = figures["services"]
    up = sum(s["up"] for s in services)
    bus = figures["bus"]
    words = [f"{up} of {len(services)} services answer", f"{bus['connected']} connected to the bus"]
    if figures["outcomes"]:
        opened, ended = (sum(p[k] or 0 for p in figures["protocols"]) for k in ("opened", "ended"))
        words.append(f"{count(max(0, opened - ended), 'session')} open, {ended:,} ended")
    if bus["transitions_a_second"] is not None:
        words.append(f"{bus['transitions_a_second']:.1f} steps a second")
    if bus["store_limit_bytes"]:
        words.append(f"store {bus['store_used_bytes'] / bus['store_limit_bytes']:.0%} full")
    yield " · ".join(words)
    for service in services:
        if not service["up"]:
            yield f"  {service['url']} does not answer: {line(service['error'])}"
    if bus["degraded"]:
        yield "Coordination is degraded: tasks are assigned by keywords alone."
    if bus["over_limits"]:
        yield "refused by limits: " + ", ".join(f"{many} by {limit}" for limit, many in bus["over_limits"].items())
    if bus["waiting_items"] > 0:
        yield f"{bus['waiting_items']} questions wait for a person: parley inbox"
    if not figures["outcomes"]:
        yield "`parley metrics` is not among these services: objectives and sessions are not counted."


def _tables(figures: Mapping[str, Any]) -> list[_Table]:
    tables = []
    if figures["outcomes"]:
        objectives = [
            _Row(
                (o["title"], _share(o["good_share"]), _share(o["wanted"]), _share(o["budget_left"]), str(o["events"])),
                idle=not o["events"],
            )
            for o in figures["objectives"]
        ]
        tables.append(_Table(("objective", "good", "wanted", "budget left", "events"), objectives))
        protocols = [
            _Row(
                (p["protocol"], *(_count(p[k]) for k in ("opened", "ended", "converged", "failed"))),
                idle=not p["opened"],
            )
            for p in figures["protocols"]
        ]
        tables.append(_Table(("protocol", "opened", "ended", "converged", "failed"), protocols))
    models = [
        _Row(
            (
                m["model"],
                _count(m["calls"]),
                _number(m["calls_a_second"]),
                _count(m["failed"]),
                _seconds(m["mean_s"]),
                "not known" if m["unpriced_tokens"] and not m["cost_usd"] else _number(m["cost_usd"], 4),
            ),
            idle=not m["calls"],
        )
        for m in figures["models"]
    ]
    tables.append(_Table(("model", "calls", "calls/s", "failed", "mean", "USD"), models))
    queues = [
        _Row(
            (
                q["queue"],
                *(_count(q[k]) for k in ("workers", "busy", "room", "waiting")),
                _seconds(q["oldest_s"]),
                _number(q["turns_a_second"]),
                _count(q["failed"]),
            ),
            idle=bool(q["workers"]) and not (q["busy"] or q["waiting"] or q["turns_a_second"] or q["failed"]),
        )
        for q in figures["queues"]
    ]
    tables.append(_Table(("queue", "workers", "busy", "room", "waiting", "oldest", "turns/s", "failed"), queues))
    return tables


def _text(table: _Table, width: int, rows: Iterable[_Row]) -> Iterator[str]:
    shown = [table.columns, *((line(row.cells[0])[:_MOST], *row.cells[1:]) for row in rows)]
    if len(shown) == 1:
        return
    widths = [max(len(cells[i]) for cells in shown) for i in range(len(table.columns))]
    figures = sum(widths[1:]) + len(_GAP) * (len(widths) - 1)
    widths[0] = min(widths[0], max(_LEAST, width - figures))
    yield ""
    for first, *rest in shown:
        name = first if len(first) <= widths[0] else f"{first[: widths[0] - 1]}…"
        yield _GAP.join((name.ljust(widths[0]), *(c.rjust(w) for c, w in zip(rest, widths[1:], strict=True)))).rstrip()


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value * 100:.1f} %"


def _count(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _number(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} s" if value < 600 else f"{value / 60:.0f} min"
