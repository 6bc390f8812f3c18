"""What steers MACI: parameters of its signals, dials and stops, and what its outcomes may be.

Source: seeds/maci.md, cited by the numbers of its equations. Scores and gates are 0 to 1, entropies base 2.
"""

from itertools import pairwise
from typing import Literal

import msgspec

from schemas.wire import InvalidValue, in_range, not_empty

MOST_OUTCOMES = 1_000
MOST_DEBATERS = 8
SUM_WITHIN = 0.02
"""So far from 1 a belief may sum and is renormalised; farther, it is refused."""
FARTHEST = 1e12
"""Of a position from 0: any two of them have a distance."""


class Development(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Q(0) and D(0) of a development set, one figure a case: their percentiles place the initial bins (F.1)."""

    q: tuple[float, ...]
    d: tuple[float, ...]

    def __post_init__(self) -> None:
        for name in ("q", "d"):
            if not getattr(self, name):
                raise InvalidValue(f"maci.development.{name}", "nothing", "a figure of at least one case is wanted")
            for figure in getattr(self, name):
                in_range(f"maci.development.{name}", figure, -1 if name == "q" else 0, 1)


class Control(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parameters of the signals, dials and stops. Defaults are B.1's and D.6's where the paper gives any."""

    # signals
    smoothing: float = 1e-6  # share; M.1
    w: int = 3  # rounds; eq. 6
    eta: float = 1e-3  # eq. 6
    lambda_: float = msgspec.field(default=0.8, name="lambda")  # eq. 4
    eps: float = 1e-6  # eq. 4
    eps_i: float = 0.02  # eq. 7, D.6
    eps_d: float = 0.05  # eq. 7, D.6
    plateau: Literal["relative", "absolute"] = "relative"
    """relative: equations 6 and 7; absolute: D.5."""
    # dials
    schedule: Literal["adaptive", "stepped", "fixed", "learned"] = "adaptive"
    cl: float | None = None
    """The level of `fixed`, or a start that overrides the initial bins."""
    alpha_i: float = 0.2  # eq. 8
    alpha_d: float = 0.2  # eq. 8
    gamma: float = 0.1  # eq. 9
    tau_q: float = 0.5  # B.1
    tau_crit: float = 0.3  # B.1
    tau_max: float = 0.9  # the paper gives none
    q_gate: bool = True
    """Off: every argument passes on its evidence, and tau_q is 0 (the ablation "no Q gate", table 3)."""
    crit_gate: bool = True
    """Off: every argument passes on its CRIT, and tau_crit is 0."""
    monotone_gate: bool = True  # M.2, M.6
    nu: float = 0.0  # bits; M.2
    # start
    q_hi: float = 0.7  # B.1
    q_lo: float = 0.5
    d_lo: float = 0.3
    d_hi: float = 0.5
    development: Development | None = None
    """Given: the bins are its 30th and 70th percentiles (F.1) in place of the four thresholds."""
    # stops
    tau_stop: int = 2  # rounds; eq. 10
    tau_o: float = 0.3  # B.1
    near_consensus: float = 0.1  # D.6
    evaluator_stability: bool = False  # E.7
    crit_variance: float = 0.01
    crit_change: float = 0.02
    stalemate_rounds: int = 3
    max_rounds: int = 8
    judges: int = 3  # E.2
    k_ret: int = 32  # B.2
    """Passages retrieved for the task."""
    # learned schedule
    w1: float = 0.5  # L.6
    w2: float = 0.5
    cost_weight: float = 0.1  # the lambda of L.1
    c_max: float | None = None
    """Tokens; None: the 95th percentile of the rounds so far."""
    step: float = 0.2  # L.6
    policy: Literal["ucb", "linucb"] = "ucb"
    """Of the learned schedule: Algorithm 2, or L.5."""
    # regime
    y_min: int = 20  # 3.6
    o_lo: float = 0.3
    ece_max: float = 0.1
    ece: float | None = None
    """Calibration error of the majority vote at development time; None: not known."""

    def __post_init__(self) -> None:
        for name, low, high in _RANGES:
            value = getattr(self, name)
            if value is not None:
                in_range(f"maci.{name.rstrip('_')}", value, low, high)
        for less, more in (("q_lo", "q_hi"), ("d_lo", "d_hi"), ("tau_q", "tau_max"), ("tau_crit", "tau_max")):
            if getattr(self, less) > getattr(self, more):
                allowed = f"allowed is at most maci.{more}, which is {getattr(self, more):g}"
                raise InvalidValue(f"maci.{less}", getattr(self, less), allowed)
        if self.schedule == "fixed" and self.cl is None:
            raise InvalidValue("maci.schedule", "fixed", "it needs the level: set maci.cl")
        if self.schedule == "stepped" and self.cl is not None:
            raise InvalidValue("maci.cl", self.cl, "the stepped schedule goes 0.9, 0.7, 0.5, 0.3: leave maci.cl out")


_RANGES: tuple[tuple[str, float, float], ...] = (
    ("smoothing", 0, 0.1), ("w", 1, 100), ("eta", 1e-12, 1), ("lambda_", 0, 1), ("eps", 1e-12, 1), ("eps_i", 0, 1),
    ("eps_d", 0, 1), ("cl", 0, 1), ("alpha_i", 0, 1), ("alpha_d", 0, 1), ("gamma", 0, 1), ("tau_q", 0, 1),
    ("tau_crit", 0, 1), ("tau_max", 0, 1), ("nu", 0, 10), ("q_hi", -1, 1), ("q_lo", -1, 1), ("d_lo", 0, 1),
    ("d_hi", 0, 1), ("tau_stop", 1, 50), ("tau_o", 0, 1), ("near_consensus", 0, 1), ("crit_variance", 0, 1),
    ("crit_change", 0, 1), ("stalemate_rounds", 1, 50), ("max_rounds", 1, 50), ("judges", 1, 9), ("k_ret", 1, 200),
    ("w1", 0, 1), ("w2", 0, 1), ("cost_weight", 0, 1), ("c_max", 1, 1e12), ("step", 0, 1), ("y_min", 2, 1_000),
    ("o_lo", 0, 1), ("ece_max", 0, 1), ("ece", 0, 1),
)  # fmt: skip


def check_outcomes(
    outcomes: tuple[str, ...], ordered: bool, positions: tuple[float, ...], open_too: bool = False
) -> None:
    """Raise InvalidValue unless these are 2 to 1,000 different names, with positions only where they are ordered."""
    if not outcomes and open_too:
        if ordered or positions:
            raise InvalidValue("maci.ordered", "without outcomes", "what is open has no order: give maci.outcomes")
        return
    if not 2 <= len(outcomes) <= MOST_OUTCOMES:
        raise InvalidValue("maci.outcomes", len(outcomes), f"allowed are 2 to {MOST_OUTCOMES:,}")
    seen: dict[str, str] = {}
    for name in outcomes:
        not_empty("maci.outcomes", name, 200)
        key = outcome_key(name)
        if key in seen:
            raise InvalidValue("maci.outcomes", name, f"two outcomes are the same: {seen[key]!r} and {name!r}")
        seen[key] = name
    if positions:
        if not ordered:
            raise InvalidValue("maci.positions", len(positions), "only ordered outcomes have positions")
        if len(positions) != len(outcomes):
            raise InvalidValue("maci.positions", len(positions), f"wanted is one for each of {len(outcomes)} outcomes")
        for position in positions:
            in_range("maci.positions", position, -FARTHEST, FARTHEST)
        if any(not b > a for a, b in pairwise(positions)):
            raise InvalidValue("maci.positions", list(positions), "they must rise")


def outcome_key(name: str) -> str:
    """Two outcomes with this key in common are the same: case and white space aside."""
    return " ".join(name.split()).casefold()
