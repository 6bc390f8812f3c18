"""Settings that may be chosen from past debates, and where each of them would have ended a debate.

The grid has only settings of which a record can say exactly what they would have come to: thresholds and caps that
decide when a debate ends, and nothing before that. A debate that ends earlier is the same debate up to there. Other
settings steer the dials: gates, contentiousness, and the plateau flags (eps_i, eps_d), which raise the gates. They
change what is admitted and what debaters are told, so no record says what would have been said under others. The same
holds of `near_consensus`, which decides who argues as devil's advocate.

Each row differs from the published settings in one place, so the grid stays small and each row has a meaning.
"""

from collections.abc import Mapping, Sequence

import msgspec

from parley.coordinator.schedulers.stop_rule import verdict
from parley.schemas.control import Control, Signals

PUBLISHED = "published"
GRID: Mapping[str, Mapping[str, int | float]] = {
    PUBLISHED: {},
    "tau_stop 1": {"tau_stop": 1},
    "tau_stop 3": {"tau_stop": 3},
    "tau_o 0": {"tau_o": 0.0},
    "tau_o 0.15": {"tau_o": 0.15},
    "stalemate_rounds 2": {"stalemate_rounds": 2},
    "round_limit 1": {"round_limit": 1},
    "round_limit 2": {"round_limit": 2},
    "round_limit 3": {"round_limit": 3},
    "round_limit 5": {"round_limit": 5},
}
"""Name -> settings; the published ones (B.1) first."""
_TRIED = tuple(dict.fromkeys(name for row in GRID.values() for name in row))


def published(config: Control) -> Control:
    """These settings with the published values of all that the grid changes."""
    plain = Control()
    return msgspec.structs.replace(config, **{name: getattr(plain, name) for name in _TRIED})


def end(config: Control, rounds: Sequence[Signals], *, first: int = 0) -> int | None:
    """The round after which these settings end the debate; None: not within the rounds that were played.

    Parameters
    ----------
    rounds
        As they were played, the blind one first.
    first
        The first round after which it may end.
    """
    ends = (number for number in range(first, len(rounds)) if verdict(config, rounds[: number + 1]) is not None)
    return next(ends, None)
