"""The picture of a competition: each speech's score, and the teams' totals after it."""

import itertools
from typing import TYPE_CHECKING

from parley.client.protocols.competition.story import Story, team_of
from parley.client.protocols.competition.transcript import words_of
from parley.client.show.plotting import drawn
from parley.client.text import line
from parley.schemas.protocols.competition.format import TEAMS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {"pro": "#1f5fa8", "con": "#c1272d"}
_MARKERS = {"pro": "o", "con": "s"}
_NAME = 24
_WIDEST = 60
"""So many speeches get their seat's name."""


def draw(story: Story, form: str) -> bytes:
    """The picture as a file of this format, `png` or `svg`; the same story gives the same bytes. `story` has at least
    one speech with marks, or that was to have them."""

    def paint(figure: "Figure") -> None:
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        _totals(above, story)
        _scores(below, story)
        _stages(above, below, story)

    return drawn((8.6, 6.4), paint, form)


def _totals(part: "Axes", story: Story) -> None:
    part.set_title("Totals after each speech")
    steps = story.cumulative()
    places = range(len(steps) + 1)
    for team in TEAMS:
        values = [0.0, *(totals.get(team, 0.0) for _, totals in steps)]
        part.plot(
            places, values, color=COLOURS[team], marker=_MARKERS[team], markersize=3.5, drawstyle="steps-post",
            label=line(story.team_name(team), _NAME),
        )  # fmt: skip
    part.axhline(0, color="#444444", linewidth=0.8)
    part.legend(loc="upper left")


def _scores(part: "Axes", story: Story) -> None:
    """A bar a speech; what it was fined hangs below."""
    part.set_title("Score of each speech, and fines")
    steps = [s for s, _ in story.cumulative()]
    for team in TEAMS:
        mine = [(i, s) for i, s in enumerate(steps, 1) if team_of(s.seat) == team]
        part.bar([i for i, _ in mine], [s.scored.score for _, s in mine if s.scored], color=COLOURS[team], width=0.7)
    fined = [(i, s.scored.fines) for i, s in enumerate(steps, 1) if s.scored and s.scored.fines]
    if fined:
        depth = [sum(f.team_points + f.individual_points for f in fines) for _, fines in fined]
        part.bar([i for i, _ in fined], depth, color="#8a5a00", width=0.7, hatch="//", label="fines")
        for (i, fines), low in zip(fined, depth, strict=True):
            rules = ", ".join(words_of(r) for r in dict.fromkeys(f.rule for f in fines))
            part.annotate(
                rules, (i, low), rotation=90, fontsize=6.0, ha="center", va="top", xytext=(0, -2),
                textcoords="offset points",
            )  # fmt: skip
        part.margins(y=0.35)
        part.legend(loc="lower left")
    part.axhline(0, color="#444444", linewidth=0.8)
    if len(steps) <= _WIDEST:
        part.set_xticks(range(1, len(steps) + 1), [line(s.seat, 12) for s in steps], rotation=90, fontsize=7.0)
    part.set_xlim(-0.5, len(steps) + 0.9)


def _stages(above: "Axes", below: "Axes", story: Story) -> None:
    """The speech at which each stage begins."""
    steps = [s for s, _ in story.cumulative()]
    for i, (before, after) in enumerate(itertools.pairwise(steps), 1):
        if before.round != after.round:
            for part in (above, below):
                part.axvline(i + 0.5, color="#444444", linestyle=(0, (4, 3)), linewidth=0.8, zorder=0)
