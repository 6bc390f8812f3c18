"""What was fitted for the matcher: sets of weights, and what of a score they are of, whichever features made it
(features.py and weighted.py where subjects tell experts apart, ranking.py where they do not)."""

from functools import lru_cache
from pathlib import Path

import msgspec
import numpy as np

from parley.agents.matching.subjects import Floats

FAR = 6.0
"""At this much a logarithm of a chance and a lead are cut."""


class Fitted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One set of weights."""

    score: tuple[float, ...]
    """For each feature of an expert."""
    lead: tuple[float, ...]
    """For what `described` of the features' module says: that an expert is a right lead."""
    part: tuple[float, ...]
    """The same, for those who are not the likeliest lead: that one leads or supports."""
    inside: tuple[float, ...]
    """For a constant and what is known of the task as a whole: that it is anybody's."""
    abstain: float
    """Nobody leads where the chance of that is below this."""
    takes_part: float
    """From which chance of having a part on an expert is a candidate beside the first: it is told as
    weighted.CANDIDATE."""


class Weights(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of weights: weights.json or ranking.json."""

    reader: str = ""
    """Which encoder the set `read` is for; empty: the plain one."""
    read: Fitted
    words: Fitted
    """Without an encoder."""
    enough: float
    """Confidence by words alone from which on the encoder is not asked."""


@lru_cache(maxsize=8)
def weights(file: Path) -> Weights:
    """Those of a file; it is read once."""
    return msgspec.json.decode(file.read_bytes(), type=Weights)


def standing(scores: Floats) -> Floats:
    """How experts stand by their scores: (experts, 3): 1, the logarithm of the chance by softmax, the lead over the
    best other one."""
    top = np.sort(scores)[::-1]
    chances = scores - top[0] - np.log(np.exp(scores - top[0]).sum())
    best = np.where(scores == top[0], top[1] if len(top) > 1 else top[0] - FAR, top[0])
    return np.column_stack([np.ones_like(scores), np.maximum(chances, -FAR), np.clip(scores - best, -FAR, FAR)])


def chance(weights_: tuple[float, ...] | Floats, rows: Floats) -> Floats:
    """Logistic."""
    return np.asarray(1 / (1 + np.exp(-(rows @ np.asarray(weights_)))))
