"""What a past session's course says of its controller: what each setting of the grid would have come to, and what the
bandit's actions earned."""

import msgspec


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
