"""What steers a measured debate: parameters of its signals, dials and stops, what they come to, and what its outcomes
may be.

Source: seeds/maci.md, cited by the numbers of its equations. Scores and gates are 0 to 1, entropies base 2.
"""

from typing import Annotated, Any, Literal

import msgspec

from parley.schemas.wire import InvalidValue, Limited, between


class Development(Limited, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Q(0) and D(0) of a development set, one figure a case: their percentiles place the initial bins (F.1)."""

    where = "development."
    q: tuple[Annotated[float, between(-1, 1)], ...]
    d: tuple[Annotated[float, between(0, 1)], ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("q", "d"):
            if not getattr(self, name):
                raise InvalidValue(f"development.{name}", "nothing", "a figure of at least one case is wanted")


class Constants(Limited, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Numbers of the signals, dials and stops that every session shares. `parley signals` and `parley replay
    --constants` compute with others."""

    where = "constants."
    prototype: Literal["relevant", "all"] | None = None
    """What evidence is held against (D.1): the task with all of its passages, or with its outcomes and those passages
    that these alone show to be relevant. None: by the reading, `all` in `paper` alone."""
    relevant_from: Annotated[float, between(-1, 1)] = 0.35  # cosine; docs/maci.md
    """How near to the task and its outcomes a passage must be to be relevant."""
    # signals
    smoothing: Annotated[float, between(0, 0.1)] = 1e-6  # share; M.1
    w: Annotated[int, between(1, 100)] = 3  # rounds; eq. 6
    eta: Annotated[float, between(1e-12, 1)] = 1e-3  # eq. 6
    lambda_: Annotated[float, between(0, 1)] = msgspec.field(default=0.8, name="lambda")  # eq. 4
    eps: Annotated[float, between(1e-12, 1)] = 1e-6  # eq. 4
    eps_i: Annotated[float, between(0, 1)] = 0.02  # eq. 7, D.6
    eps_d: Annotated[float, between(0, 1)] = 0.05  # eq. 7, D.6
    plateau: Literal["relative", "absolute"] = "relative"  # eq. 6 and 7
    """relative: equations 6 and 7; absolute: D.5."""
    # dials
    alpha_i: Annotated[float, between(0, 1)] = 0.2  # eq. 8
    alpha_d: Annotated[float, between(0, 1)] = 0.2  # eq. 8
    gamma: Annotated[float, between(0, 1)] = 0.1  # eq. 9
    tau_q: Annotated[float, between(0, 1)] = 0.5  # B.1
    tau_crit: Annotated[float, between(0, 1)] = 0.3  # B.1
    tau_max: Annotated[float, between(0, 1)] = 0.9  # the paper gives none
    gate_quantile: Annotated[float, between(0, 1)] | None = None  # the paper has no bound
    """No gate rises above this quantile of what the round's own arguments reach; None: by the reading, 0.25 and in
    `paper` no bound."""
    nu: Annotated[float, between(0, 10)] = 0.0  # bits; M.2
    averaging: Annotated[float, between(0, 1)] = 0.0  # M.1, the beta of equation 13
    """Share by which a belief goes towards the mean of its round; 0: it stands as stated."""
    # start
    q_hi: Annotated[float, between(-1, 1)] = 0.7  # B.1
    q_lo: Annotated[float, between(-1, 1)] = 0.5  # B.1
    d_lo: Annotated[float, between(0, 1)] = 0.3  # B.1
    d_hi: Annotated[float, between(0, 1)] = 0.5  # B.1
    development: Development | None = None  # F.1
    """Given: the bins are its 30th and 70th percentiles in place of the four thresholds."""
    # stops
    near_consensus: Annotated[float, between(0, 1)] = 0.1  # D.6
    agreement: bool | None = None  # not the paper's
    """Whether an agreement that stood a devil's advocate ends a debate; None: by the reading, not in `paper`."""
    least_move: Annotated[float, between(0, 1)] = 0.05  # probability; not the paper's
    """That a debater moves at least, for its belief to have moved."""
    evaluator_stability: bool = False  # E.7
    crit_variance: Annotated[float, between(0, 1)] = 0.01  # E.7
    crit_change: Annotated[float, between(0, 1)] = 0.02  # E.7
    stalemate_rounds: Annotated[int, between(1, 50)] = 3  # not the paper's
    # learned schedule
    w1: Annotated[float, between(0, 1)] = 0.5  # L.6
    w2: Annotated[float, between(0, 1)] = 0.5  # L.6
    cost_weight: Annotated[float, between(0, 1)] = 0.1  # the lambda of L.1
    c_max: Annotated[float, between(1, 1e12)] | None = None  # tokens; L.1
    """None: the 95th percentile of the rounds so far."""
    step: Annotated[float, between(0, 1)] = 0.2  # L.6
    # regime
    y_min: Annotated[int, between(2, 1_000)] = 20  # outcomes; 3.6
    o_lo: Annotated[float, between(0, 1)] = 0.3  # 3.6
    ece_max: Annotated[float, between(0, 1)] = 0.1  # 3.6
    ece: Annotated[float, between(0, 1)] | None = None  # 3.6
    """Calibration error of the majority vote at development time; None: not known."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for less, more in (("q_lo", "q_hi"), ("d_lo", "d_hi"), ("tau_q", "tau_max"), ("tau_crit", "tau_max")):
            if getattr(self, less) > getattr(self, more):
                allowed = f"allowed is at most constants.{more}, which is {getattr(self, more):g}"
                raise InvalidValue(f"constants.{less}", getattr(self, less), allowed)


CONSTANTS = Constants()


class Control(Limited, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What two people would set differently of the signals, dials and stops. Defaults are B.1's and D.6's where the
    paper gives any."""

    where = "control."
    reading: Literal["debate", "paper"] = "debate"
    """debate: a stated belief stands, agreement ends a debate, and to have nothing to add is a plateau. paper: as
    published, with the monotone gate."""
    # dials
    schedule: Literal["adaptive", "stepped", "fixed", "learned"] = "adaptive"
    policy: Literal["ucb", "linucb"] = "ucb"
    """Of the learned schedule: Algorithm 2, or L.5."""
    cl: Annotated[float, between(0, 1)] | None = None
    """The level of `fixed`, or a start that overrides the initial bins."""
    q_gate: bool | None = None  # research/parley_research/quotations
    """Off: q advises, every argument passes on its evidence, and tau_q is 0 (the ablation "no Q gate", table 3). None:
    by the reading, on in `paper` alone."""
    crit_gate: bool = True
    """Off: every argument passes on its CRIT, and tau_crit is 0."""
    monotone_gate: bool | None = None  # M.2, M.6
    """None: by the reading, on in `paper` alone."""
    # stops
    tau_stop: Annotated[int, between(1, 50)] = 2  # rounds; eq. 10
    tau_o: Annotated[float, between(0, 1)] = 0.3  # B.1
    round_limit: Annotated[int, between(1, 50)] = 8
    judges: Annotated[int, between(1, 9)] = 3  # E.2
    """Different workers, each a seat; where fewer are there, evaluator stability is not met."""
    k_ret: Annotated[int, between(1, 200)] = 32  # B.2
    """Passages retrieved for the task."""

    @property
    def constants(self) -> Constants:
        """The numbers that are no settings."""
        return CONSTANTS

    @property
    def q_gated(self) -> bool:
        """Whether the gate on evidence is on."""
        return self.reading == "paper" if self.q_gate is None else self.q_gate

    @property
    def gated(self) -> bool:
        """Whether the monotone gate is on (M.2)."""
        return self.reading == "paper" if self.monotone_gate is None else self.monotone_gate

    @property
    def by_relevance(self) -> bool:
        """Whether the prototype leaves out passages that are not about the task."""
        prototype = self.constants.prototype
        return self.reading != "paper" if prototype is None else prototype == "relevant"

    @property
    def gate_bound(self) -> float | None:
        """The quantile of a round's arguments that no gate rises above; None: they rise to tau_max."""
        usual = None if self.reading == "paper" else 0.25
        return usual if self.constants.gate_quantile is None else self.constants.gate_quantile

    @property
    def agreement_ends(self) -> bool:
        """Whether agreement ends a debate."""
        return self.reading != "paper" if self.constants.agreement is None else self.constants.agreement

    @property
    def follows_minds(self) -> bool:
        """Whether signals say who shares an answer and how far somebody moved."""
        return self.reading != "paper" or self.agreement_ends

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.schedule == "fixed" and self.cl is None:
            raise InvalidValue(f"{self.where}schedule", "fixed", f"it needs the level: set {self.where}cl")
        if self.schedule == "stepped" and self.cl is not None:
            allowed = f"the stepped schedule goes 0.9, 0.7, 0.5, 0.3: leave {self.where}cl out"
            raise InvalidValue(f"{self.where}cl", self.cl, allowed)


class Tuned(Control, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The same with numbers of one's own: for debates that are computed again, never for a session that runs."""

    constants: Constants = CONSTANTS


class Signals(msgspec.Struct, frozen=True, kw_only=True):
    """One round's signals and the dials that were in force in it. What a blind round has not yet is None."""

    round: int
    jsd: float
    """Disagreement (eq. 2); Wasserstein-1 where the outcomes are ordered (D.4). 0 to 1."""
    dispersion: float
    """Mean KL to the mean belief, bits (M.1)."""
    overlap: float
    entropy: float
    """Of the mixture, normalised by log2 of the number of outcomes."""
    information_gain: float | None = None
    r_i: float | None = None
    r_d: float | None = None
    pi_i: bool | None = None
    pi_d: bool | None = None
    q: float
    crit: float | None = None
    """Mean over the round's arguments; None: there was none."""
    crit_by_agent: dict[str, float] = {}
    crit_variance: float | None = None
    """Across the judges."""
    held: bool = False
    """The monotone gate kept the beliefs of the round before (M.2)."""
    reliability: dict[str, float]
    weights: dict[str, float]
    mixture: dict[str, float]
    cl: float | None = None
    tau_q: float | None = None
    tau_crit: float | None = None
    alpha: float | None = None
    """Learned schedule: what stood for alpha_i and alpha_d."""
    gamma: float | None = None
    tokens: int = 0
    logged: dict[str, float] = {}
    """Reported, and never controlled on (D.2)."""
    shared: str | msgspec.UnsetType = msgspec.UNSET
    """The answer that every debater holds most probable; empty: they differ, or one is undecided. Unset in the paper's
    reading, as what follows."""
    sharing: int | msgspec.UnsetType = msgspec.UNSET
    """Debaters that hold the most widely held answer most probable."""
    least: float | msgspec.UnsetType | None = msgspec.UNSET
    """The least probability that a debater gives to the answer that all share; None: they share none."""
    moved: float | msgspec.UnsetType | None = msgspec.UNSET
    """How far a debater's belief went at most in the round: total variation, 0 to 1."""
    yielded: float | msgspec.UnsetType | None = msgspec.UNSET
    """The most that a debater took in the round from the answer that all shared before; None: they shared none."""
    advocate: str | msgspec.UnsetType = msgspec.UNSET
    """Who argued in the round as devil's advocate against what all shared; empty: nobody."""
    attacks: int | msgspec.UnsetType = msgspec.UNSET
    """Of its arguments those that judges passed and found to speak against it, and that the record admitted."""
    unanswered: int | msgspec.UnsetType = msgspec.UNSET
    """Of the arguments of a devil's advocate before this round those that a debater has still to answer."""
    arguments: int | msgspec.UnsetType | None = msgspec.UNSET
    """New in the round; None: not known."""
    absent: int | msgspec.UnsetType = msgspec.UNSET
    """Debaters that gave no belief in the round."""
    judges: int | msgspec.UnsetType = msgspec.UNSET
    """Judges whose scores count in the round, each another worker; unset: not known."""
    stop: str | None = None
    """The reason for which the session ended after this round."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """A stop and what it rests on."""

    reason: str
    round: int
    converged: bool
    certificate: dict[str, Any]
