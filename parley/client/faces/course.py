"""What a past session shows about its controller: the result of each setting of the grid, and what the bandit's actions
earned."""

import msgspec

from parley.coordinator.schedulers.bandit import ACTIONS
from parley.schemas.wire import InvalidValue, in_range

MOST_TOKENS = 10**12


class Pull(msgspec.Struct, frozen=True, kw_only=True):
    """One action of the bandit."""

    action: int
    """Its place among the actions."""
    context: tuple[float, ...] = ()
    """x_t as it was then (L.1)."""
    reward: float
    """r_t (L.1), 0 to 1."""
    tokens: int
    """Of the round that followed."""

    def __post_init__(self) -> None:
        in_range("pulls.action", self.action, 0, len(ACTIONS) - 1)
        in_range("pulls.reward", self.reward, 0, 1)
        in_range("pulls.tokens", self.tokens, 0, MOST_TOKENS)


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """One session, or one recorded debate."""

    right: tuple[float, ...] = ()
    """After each round, the blind one first: 1 if the leading answer was the right one, 0 if not, between where it is
    one of several. Empty: that is not known."""
    tokens: tuple[int, ...] = ()
    """Spent up to then."""
    ends: dict[str, int] = {}
    """Row of the grid -> the round after which it ends the debate. A row of which the record does not say that is left
    out: it would have gone on."""
    pulls: tuple[Pull, ...] = ()

    def __post_init__(self) -> None:
        if len(self.tokens) != len(self.right):
            raise InvalidValue("course.tokens", len(self.tokens), f"wanted is one for each of {len(self.right)} rounds")
        for share, tokens in zip(self.right, self.tokens, strict=True):
            in_range("course.right", share, 0, 1)
            in_range("course.tokens", tokens, 0, MOST_TOKENS)
        for end in self.ends.values():
            in_range("course.ends", end, 0, len(self.right) - 1)
