"""What all pictures of sessions share: formats, look, and how a figure becomes a file.

Matplotlib is imported where it draws: it takes longer than most commands. No text is read as mathematics or by TeX.
"""

import io
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.client.errors import BadInput

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "svg")
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
"""Matplotlib repeats each text in one, where no reader sees it; it lets no text end it."""
_DPI = 150
_LOOK: dict[Any, Any] = {
    "text.parse_math": False, "text.usetex": False, "font.size": 9.0, "font.family": ["DejaVu Sans"],
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.25, "axes.titlesize": 10.0,
    "axes.titlelocation": "left", "axes.titleweight": "bold", "legend.frameon": False, "legend.fontsize": 8.0,
    "lines.linewidth": 1.8, "lines.markersize": 5.0, "svg.fonttype": "path", "svg.hashsalt": "parley",
}  # fmt: skip


def form_of(path: Path) -> str:
    """The format that a file's name asks for. Raises BadInput for any other than FORMATS."""
    suffix = path.suffix.lower().removeprefix(".")
    if suffix not in FORMATS:
        allowed = " and ".join(f".{f}" for f in FORMATS)
        raise BadInput("--plot", f"{path} ends in {path.suffix or 'nothing'!r}, allowed are {allowed}")
    return suffix


def drawn(size: tuple[float, float], paint: Callable[["Figure"], None], form: str) -> bytes:
    """A figure of this size in inches, painted, as a file of this format; the same strokes give the same bytes."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # names in scripts that the font has not: shown as boxes
        matplotlib.rcdefaults()  # whatever a matplotlibrc of the user's says
        matplotlib.rcParams.update(_LOOK)
        figure = Figure(figsize=size, layout="constrained")
        paint(figure)
        held = io.BytesIO()
        figure.savefig(held, format=form, dpi=_DPI, metadata={"Date": None} if form == "svg" else {"Software": None})
    return _COMMENT.sub(b"", held.getvalue()) if form == "svg" else held.getvalue()
