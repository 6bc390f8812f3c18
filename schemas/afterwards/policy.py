"""What past sessions say of a controller: settings that were chosen from a small grid, and what a bandit's actions
earned and cost.

It is frozen in the opening, like the records of members (parley.schemas.afterwards.learned). Settings that were chosen
stand among the session's settings as well, so the controller needs nothing else to use them.
"""

import msgspec

from parley.schemas.wire import InvalidValue, in_range

FORMAT = 1
"""Of these messages."""
MOST_CHOICES = 100
MOST_ARMS = 100
MOST_FIGURES = 10_000
"""Of one arm's matrix."""

Setting = int | float


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the grid: what past sessions would have come to under these settings, at what cost."""

    name: str
    settings: dict[str, Setting]
    """Those that differ from the published ones; none: the published ones."""
    sessions: float
    """Past sessions that say what both these and the published settings come to; an older one counts less."""
    right: float
    """Share of right answers in them: mean of the posterior, 0 to 1."""
    tokens: float
    rounds: float
    """Of a session on average, the blind round not counted."""
    gain: float
    """Over the published settings: share of right answers less the price of the tokens, shrunk towards 0."""
    low: float
    high: float
    """95 % for all rows of the grid together."""

    def __post_init__(self) -> None:
        in_range("policy.right", self.right, 0, 1)
        in_range("policy.sessions", self.sessions, 0, 1e9)


class Arm(msgspec.Struct, frozen=True, kw_only=True):
    """What one action of the bandit earned in past sessions, and what it cost."""

    pulls: float
    """How often it was taken; an older one counts less, and all arms together at most `Policy.most_pulls`."""
    mean: float
    """Of its rewards, 0 to 1."""
    tokens: float
    """Of the round that followed it, on average: the cost of this action. 0: not known."""
    inverse: tuple[float, ...] = ()
    """A^-1 of LinUCB, row by row; empty: it was never taken, or the policy looks at no context."""
    earned: tuple[float, ...] = ()
    """b of LinUCB."""

    def __post_init__(self) -> None:
        in_range("policy.pulls", self.pulls, 0, 1e9)
        in_range("policy.mean", self.mean, 0, 1)
        in_range("policy.tokens", self.tokens, 0, 1e12)
        if len(self.inverse) > MOST_FIGURES or len(self.earned) ** 2 != len(self.inverse):
            raise InvalidValue("policy.inverse", len(self.inverse), "wanted are d x d figures, with d in earned")


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """Everything of that kind that one session is opened with."""

    format: int = FORMAT
    kind: str = ""
    """Of the past questions that decided; empty: of all kinds."""
    sessions: int
    """Past sessions that count."""
    left_out: int = 0
    """Past sessions with the question at hand: they do not count."""
    as_of_ns: int
    half_life_days: float
    price: float
    """Share of right answers that 1,000 tokens may cost."""
    choices: tuple[Choice, ...] = ()
    """The grid, the published settings first. Empty: too few sessions."""
    settings: dict[str, Setting] = {}
    """Those that were chosen, and entered the session's own. Empty: the published ones stand."""
    arms: tuple[Arm, ...] = ()
    """One an action, in their order. Empty: no past session had a bandit."""
    most_pulls: float = 0.0
    """The most that all arms together may count for."""

    def __post_init__(self) -> None:
        for name, most in (("choices", MOST_CHOICES), ("arms", MOST_ARMS)):
            if len(getattr(self, name)) > most:
                raise InvalidValue(f"policy.{name}", len(getattr(self, name)), f"allowed are at most {most}")
        in_range("policy.half_life_days", self.half_life_days, 0.01, 1e6)
        in_range("policy.price", self.price, 0, 1_000)
