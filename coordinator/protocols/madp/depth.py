"""madp: how deep the coordination of a task goes (seeds/madp.md 3.2 and 4.1, exactly), and what each depth has (4.2).

`confidence` is the matcher's estimate that an expert is a right lead (docs/madp.md).
"""

from collections.abc import Sequence
from math import fsum
from typing import Literal

import msgspec

from parley.schemas.protocols.madp.messages import Settings
from parley.schemas.routing import Candidate, Depth, Factors

INSTANT_ABOVE = 0.9  # 4.1
QUICK_ABOVE = 0.7  # 4.1
QUICK_MOST = 2  # 4.1
STANDARD_MOST = 3  # 4.1
SUPPORT: dict[Depth, int] = {"instant": 0, "quick": 1, "standard": 2, "extended": 3}
"""Support roles at most: 4.1 has one expert, one, two to three, three and more; a second one that is required may help
a quick claim."""
REVIEWERS: dict[Depth, int] = {"instant": 1, "quick": 1, "standard": 2, "extended": 3}
"""10.1: the review always runs, and its depth varies."""


def variance(values: Sequence[float]) -> float:
    """Population variance; 0 of fewer than two values. Of confidences: 0 to 0.25."""
    if len(values) < 2:
        return 0.0
    mean = fsum(values) / len(values)
    return fsum((x - mean) ** 2 for x in values) / len(values)


def ranked(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """The most confident first; what is equal by relevance, then as the matcher has it: by priority."""
    return tuple(sorted(candidates, key=lambda c: (-c.confidence, -c.relevance)))


def assessed(factors: Factors, candidates: Sequence[Candidate]) -> Factors:
    """3.2's factors for these candidates: number and variance are theirs, the rest is the matcher's."""
    return msgspec.structs.replace(
        factors,
        candidate_count=len(candidates),
        confidence_variance=variance([c.confidence for c in candidates]),
        domain_overlap=factors.domain_overlap and len(candidates) > 1,
    )


def determine_depth(factors: Factors, candidates: Sequence[Candidate]) -> Depth:
    """4.1's determineCoordinationDepth.

    Parameters
    ----------
    factors
        Of these candidates.
    candidates
        At least one: where there is none, 9.1's first row comes before.
    """
    most = max(c.confidence for c in candidates)
    if factors.candidate_count == 1 and candidates[0].confidence > INSTANT_ABOVE:
        return "instant"
    if factors.candidate_count <= QUICK_MOST and most > QUICK_ABOVE:
        return "quick"
    if factors.candidate_count <= STANDARD_MOST and not factors.domain_overlap and factors.action_clarity:
        return "standard"
    return "extended"


def claims_wanted(depth: Depth) -> Literal["none", "brief", "full"]:
    """4.2's second row."""
    return "none" if depth == "instant" else "brief" if depth == "quick" else "full"


def worded(depth: Depth, settings: Settings) -> bool:
    """Whether experts with a language model may have their claims and challenges worded by it."""
    return settings.wording != "never" and depth in ("extended", settings.wording)
