"""consensus: what a score means: its band, where it goes by round, and when a session is stuck."""

from collections.abc import Sequence

from schemas.protocols.consensus import Settings

BANDS = ((90.0, "strong"), (70.0, "moderate"), (50.0, "weak"), (0.0, "none"))  # seed, "ConsensusAnalyzer"


def band(score: float) -> str:
    """strong | moderate | weak | none (seed, "ConsensusAnalyzer")."""
    return next(name for least, name in BANDS if score >= least)


def direction(trend: Sequence[float], progress: float) -> str:
    """improving | stable | diverging: the last score against the one before; `progress` points or less are no
    change."""
    change = trend[-1] - trend[-2] if len(trend) > 1 else 0.0
    if change > progress:
        return "improving"
    return "diverging" if change < -progress else "stable"


def is_stuck(trend: Sequence[float], settings: Settings) -> bool:
    """No progress over `stuck_rounds` rounds: none of the last scores is above the first of them by more than
    `stuck_progress` points."""
    window = trend[-settings.stuck_rounds :]
    return len(window) == settings.stuck_rounds and max(window) - window[0] <= settings.stuck_progress
