"""The plots of the page, as SVG: calibration, and accuracy against words with the Pareto front."""

import io
from collections.abc import Sequence

import matplotlib
from matplotlib.figure import Figure

from parley_research.debates.measures import Measures
from parley_research.debates.one_set import SetReport

COLOURS = {
    "alone": "#8a6d00", "vote": "#1f5fa8", "debate": "#7a3e9d", "stop rule": "#5a5a5a", "protocol": "#00726b",
    "maci": "#b0301c", "judge": "#2f6b2f", "learned": "#c2185b", "bound": "#9a9a9a",
}  # fmt: skip
"""By family. Each is readable on white."""
OTHER = "#333333"
MOST_CURVES = 6


def cost(report: SetReport) -> str | None:
    """Accuracy against words (calls, where words are not recorded) with the front. None: nothing to show."""
    rows = [row for row in report.rows if not row.same_as]
    words = all(row.words is not None for row in rows)
    spent = {row.method: (row.words or 0.0) if words else row.calls for row in rows}
    if len(rows) < 2:
        return None
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.add_subplot()
    front = [row for row in rows if row.method in report.front]
    front.sort(key=lambda row: spent[row.method])
    axes.step(
        [spent[r.method] for r in front], [100 * r.accuracy.value for r in front], where="post", color="#bbbbbb",
        linewidth=1, zorder=1, label="Pareto front",
    )  # fmt: skip
    for place, row in enumerate(sorted(rows, key=lambda row: row.accuracy.value)):
        value = 100 * row.accuracy.value
        axes.errorbar(
            spent[row.method], value,
            yerr=[[max(0.0, value - 100 * row.accuracy.low)], [max(0.0, 100 * row.accuracy.high - value)]],
            fmt="D" if row.hindsight else "o", markersize=4, color=COLOURS.get(row.family, OTHER), elinewidth=0.5,
        )  # fmt: skip
        axes.annotate(
            row.method, (spent[row.method], value), xytext=(5, 3 if place % 2 else -9), textcoords="offset points",
            fontsize=6, color=COLOURS.get(row.family, OTHER),
        )  # fmt: skip
    axes.set_xlabel("words a question" if words else "calls a question")
    axes.set_ylabel("accuracy, %")
    axes.legend(fontsize=7, loc="lower right", frameon=False)
    return _svg(figure)


def calibration(report: SetReport) -> str | None:
    """Accuracy against confidence of the methods with the most different bins. None: nobody states a confidence."""
    rows = [r for r in report.rows if not r.same_as and r.calibration is not None and len(r.calibration.bins) > 1]
    if not rows:
        return None
    shown = _various(rows)
    figure = Figure(figsize=(4.6, 4.2), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color="#bbbbbb", linewidth=1)
    for place, row in enumerate(shown):
        bins = row.calibration.bins if row.calibration else ()
        axes.plot(
            [b.confidence for b in bins], [b.accuracy for b in bins], marker="osD^vP"[place % 6], markersize=4,
            linewidth=1, color=COLOURS.get(row.family, OTHER), alpha=0.85, label=row.method,
        )  # fmt: skip
    axes.set_xlabel("confidence")
    axes.set_ylabel("share right")
    axes.set_xlim(0, 1.02)
    axes.set_ylim(0, 1.02)
    axes.legend(fontsize=7, frameon=False, loc="upper left")
    return _svg(figure)


def _various(rows: Sequence[Measures]) -> list[Measures]:
    """One of each family first, then more, up to what one plot can carry."""
    first: dict[str, Measures] = {}
    for row in rows:
        first.setdefault(row.family, row)
    rest = [row for row in rows if row not in first.values()]
    return [*first.values(), *rest][:MOST_CURVES]


def _svg(figure: Figure) -> str:
    """The same bytes for the same figures: no date, and names from a fixed salt."""
    target = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "parley", "svg.fonttype": "none"}):
        figure.savefig(target, format="svg", metadata={"Date": None, "Creator": None})
    text = target.getvalue()
    return text[text.index("<svg") :]
