"""A belief: a distribution over outcomes."""

from collections.abc import Mapping
from typing import Annotated

import msgspec

from parley.schemas.wire import between, chars, not_empty


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """One outcome's probability."""

    outcome: Annotated[str, chars(200, least=1)]
    p: Annotated[float, between(0, 1)]

    def __post_init__(self) -> None:
        not_empty("belief.outcome", self.outcome, 200)


Belief = tuple[Share, ...]
"""A distribution over the outcomes; those it leaves out have 0. Whether it is one is a semantic question: the machine
answers it, with the outcomes at hand."""


_EQUAL = 1e-9
"""Probabilities that differ by no more are the same."""
SUM_WITHIN = 0.02
"""So far from 1 a belief may sum and is renormalised; farther, it is refused."""


def printed(p: float) -> float:
    """A probability as it is shown, to two decimals: what is decided by a share is decided by this one, so that no
    reader sees `0.50` where more than one half is wanted."""
    return round(p, 2)


def leading(mixture: Mapping[str, float]) -> list[str]:
    """The most probable outcomes: several where none is more likely than the others; none of an empty mixture."""
    most = max(mixture.values(), default=0.0)
    return [name for name, p in mixture.items() if p >= most - _EQUAL]
