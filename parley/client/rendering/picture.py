"""The picture of a session: its series, a chart a group, in the names and colours that the page has.

Matplotlib is imported where it draws: it takes longer than most commands. No text is read as mathematics or by TeX.
"""

import io
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.client.errors import BadInput
from parley.client.show.answer import ResultCard
from parley.client.show.card import Series
from parley.client.show.palette import colour_of
from parley.client.text import line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = ("png", "svg")
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
"""Matplotlib repeats each text in one, where no reader sees it; it lets no text end it."""
_DPI = 150
_MARKERS = "os^Dv"
_LOOK: dict[Any, Any] = {
    "text.parse_math": False,
    "text.usetex": False,
    "font.size": 9.0,
    "font.family": ["DejaVu Sans"],
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "axes.titlesize": 10.0,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "lines.linewidth": 1.8,
    "lines.markersize": 5.0,
    "svg.fonttype": "path",
    "svg.hashsalt": "parley",
}


def form_of(path: Path) -> str:
    """The format that a file's name asks for. Raises BadInput for any other than FORMATS."""
    suffix = path.suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        allowed = " and ".join(f".{f}" for f in FORMATS)
        raise BadInput("--plot", f"{path} ends in {path.suffix or 'nothing'!r}, allowed are {allowed}")
    return suffix


def grouped(series: Sequence[Series]) -> dict[str, list[Series]]:
    """Series that have a figure, by their charts."""
    groups: dict[str, list[Series]] = {}
    for one in series:
        if any(value is not None for value in one.values):
            groups.setdefault(one.group, []).append(one)
    return groups


def draw(series: Sequence[Series], card: ResultCard | None, round_name: str, form: str) -> bytes:
    """The picture as a file of this format; the same series give the same bytes. There is at least one."""
    import matplotlib
    from matplotlib.figure import Figure

    groups = grouped(series)
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # names in scripts that the font has not: shown as boxes
        matplotlib.rcdefaults()  # whatever a matplotlibrc of the user's says
        matplotlib.rcParams.update(_LOOK)
        figure = Figure(figsize=(7.8, 1.0 + 2.3 * len(groups)), layout="constrained")
        axes = figure.subplots(len(groups), 1, squeeze=False)[:, 0]
        for part, (title, group) in zip(axes, groups.items(), strict=True):
            _chart(part, title, group)
        axes[-1].set_xlabel(round_name.lower())
        if card is not None:
            figure.suptitle(f"{line(card.reason)}: {line(card.stop)}", x=0.02, ha="left", fontsize=10.0)
        held = io.BytesIO()
        figure.savefig(held, format=form, dpi=_DPI, metadata={"Date": None} if form == "svg" else {"Software": None})
    return _COMMENT.sub(b"", held.getvalue()) if form == "svg" else held.getvalue()


def _chart(part: "Axes", title: str, group: Sequence[Series]) -> None:
    """One chart: each of its series, with its threshold."""
    from matplotlib.ticker import MaxNLocator

    part.set_title(title)
    part.xaxis.set_major_locator(MaxNLocator(integer=True))
    for k, one in enumerate(group):
        at = [(x, y) for x, y in zip(one.rounds, one.values, strict=True) if y is not None]
        xs, ys = [x for x, _ in at], [y for _, y in at]
        look: dict[str, Any] = {"color": colour_of(one.side, k).light, "label": line(one.label, 48)}
        marker = _MARKERS[k % len(_MARKERS)]
        if one.form == "bars":
            part.bar(xs, ys, width=0.7, **look)
        elif one.form == "points":
            part.plot(xs, ys, marker, **look)
        else:
            part.plot(xs, ys, marker=marker, drawstyle="steps-post" if one.form == "steps" else "default", **look)
        if one.threshold is not None:
            part.axhline(one.threshold, color=look["color"], linestyle=(0, (4, 3)), linewidth=1.0, zorder=0)
    least = [one.least for one in group if one.least is not None]
    most = [one.most for one in group if one.most is not None]
    if len(least) == len(most) == len(group):
        margin = 0.04 * (max(most) - min(least))
        part.set_ylim(min(least) - margin, max(most) + margin)
    part.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), handlelength=1.6)
