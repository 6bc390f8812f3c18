"""The picture of a MACI session: signals, dials, gates and mixture by round, and where it stopped."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from parley.client.protocols.maci.story import GatedArgument, Story, top
from parley.client.show.plotting import drawn
from parley.client.show.words import reason_words
from parley.client.text import line
from parley.schemas.protocols.maci.messages import Round
from parley.schemas.result import Stop

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TOP = 5
_NAME = 38
_SIGNALS = (
    ("jsd", "D, disagreement", "#c1272d", "o"),
    ("overlap", "O, overlap", "#0f7173", "s"),
    ("q", "Q, evidence", "#1f5fa8", "^"),
    ("crit", "CRIT, arguments", "#8a5a00", "D"),
    ("entropy", "H, entropy", "#6b3fa0", "v"),
)
_DIALS = (
    ("cl", "CL, contentiousness", "#c1272d", "o"),
    ("tau_q", "τ_Q, evidence gate", "#1f5fa8", "^"),
    ("tau_crit", "τ_CRIT, argument gate", "#8a5a00", "D"),
)
_COLOURS = ("#1f5fa8", "#c1272d", "#0f7173", "#8a5a00", "#6b3fa0")


def draw(story: Story, stop: Stop | None, form: str) -> bytes:
    """The picture as a file of this format; the same story gives the same bytes. `story` has at least one round."""

    def paint(figure: "Figure") -> None:
        axes: Sequence[Axes] = figure.subplots(4, 1, sharex=True, height_ratios=(3, 2.2, 2.4, 2.4))
        last = story.rounds[-1].signals.round
        _signals(axes[0], story.rounds)
        _dials(axes[1], story.rounds)
        _gates(axes[2], story.rounds, story.arguments)
        _mixture(axes[3], story.rounds)
        for part in axes:
            _frame(part, last, stop)
        if stop is not None:
            heading = f"Stopped after round {last}: {line(stop.reason)}: {reason_words(stop.reason, stop.converged)}"
            figure.suptitle(heading, x=0.02, ha="left", fontsize=10.0)
        axes[-1].set_xlabel("round (0 is blind)")

    return drawn((7.6, 10.4), paint, form)


def _frame(part: "Axes", last: int, stop: Stop | None) -> None:
    from matplotlib.ticker import MaxNLocator

    part.set_ylim(-0.04, 1.04)
    part.set_xlim(-0.4, max(1, last) + 0.4)
    part.xaxis.set_major_locator(MaxNLocator(integer=True))
    if stop is not None:
        part.axvline(last, color="#444444", linestyle=(0, (4, 3)), linewidth=1.0, zorder=0)


def _legend(part: "Axes") -> None:
    part.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), handlelength=1.6)


def _values(rounds: Sequence[Round], name: str) -> tuple[list[int], list[float]]:
    """Rounds that have the figure, and the figure."""
    pairs = [(r.signals.round, getattr(r.signals, name)) for r in rounds]
    there = [(t, v) for t, v in pairs if v is not None]
    return [t for t, _ in there], [v for _, v in there]


def _signals(part: "Axes", rounds: Sequence[Round]) -> None:
    part.set_title("Signals")
    for name, label, colour, marker in _SIGNALS:
        part.plot(*_values(rounds, name), color=colour, marker=marker, label=label)
    held = [r.signals.round for r in rounds if r.signals.held]
    if held:
        part.plot(held, [0.0] * len(held), "x", color="#444444", label="beliefs held back")
    _legend(part)


def _dials(part: "Axes", rounds: Sequence[Round]) -> None:
    part.set_title("Dials in force")
    for name, label, colour, marker in _DIALS:
        part.plot(*_values(rounds, name), color=colour, marker=marker, label=label)
    for name, label, height, marker in (("pi_i", "π_I up", 0.0, "|"), ("pi_d", "π_D up", 0.06, "_")):
        up = [r.signals.round for r in rounds if getattr(r.signals, name)]
        if up:
            part.plot(up, [height] * len(up), marker, color="#444444", markersize=9, label=label)
    _legend(part)


def _gates(part: "Axes", rounds: Sequence[Round], arguments: Sequence[GatedArgument]) -> None:
    """Each argument's two values, side by side at its round, filled where it was admitted."""
    part.set_title("Arguments at the gates")
    for name, gate, colour, marker, side in (
        ("q", "tau_q", "#1f5fa8", "^", -1),
        ("crit", "tau_crit", "#8a5a00", "D", 1),
    ):
        sign = "q" if name == "q" else "CRIT"
        for admitted in (True, False):
            said = [(t + side * dx, h.ruled) for t, dx, h in _spread(arguments) if h.ruled.admitted is admitted]
            here = [(x, value) for x, ruled in said if (value := getattr(ruled, name)) is not None]
            if here:
                part.plot(
                    [x for x, _ in here], [value for _, value in here], marker, color=colour,
                    fillstyle="full" if admitted else "none",
                    label=f"{sign}, {'admitted' if admitted else 'refused'}",
                )  # fmt: skip
        times, thresholds = _values(rounds, gate)
        where = [(t, v) for t, v in zip(times, thresholds, strict=True) if t > 0]
        for k, (t, v) in enumerate(where):
            label = ("τ_Q" if name == "q" else "τ_CRIT") if k == 0 else None
            part.plot([t + side * 0.02, t + side * 0.34], [v, v], color=colour, linewidth=1.2, label=label)
    _legend(part) if part.lines else part.text(0.5, 0.5, "no argument was made", transform=part.transAxes, ha="center")


def _spread(arguments: Sequence[GatedArgument]) -> Iterator[tuple[int, float, GatedArgument]]:
    """Arguments with their round and how far from its middle they are drawn, so that none hides another."""
    by_round: dict[int, list[GatedArgument]] = {}
    for heard in arguments:
        by_round.setdefault(heard.round, []).append(heard)
    for t, those in by_round.items():
        for k, heard in enumerate(those):
            yield t, 0.04 + 0.26 * (k + 1) / (len(those) + 1), heard


def _mixture(part: "Axes", rounds: Sequence[Round]) -> None:
    part.set_title("Mixture")
    mixtures = [(r.signals.round, r.signals.mixture) for r in rounds]
    for k, share in enumerate(top(mixtures[-1][1], _TOP)):
        there: list[tuple[int, Any]] = [(t, m[share.outcome]) for t, m in mixtures if share.outcome in m]
        part.plot(
            [t for t, _ in there], [p for _, p in there], color=_COLOURS[k], marker="o",
            label=f"{k + 1}. {line(share.outcome, _NAME)}",
        )  # fmt: skip
    _legend(part)
