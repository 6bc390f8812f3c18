"""Whether a task is work for several experts, by how it is put and by what the reader makes of it; so many are then
candidates, by which the depth goes (seeds/madp.md 4.1). For experts whom subjects of software work tell apart.

Weights stand in several.json, fitted by `python -m parley_research.fit_several` on the tasks to train on: which of them
need several experts was said by who wrote them, and not by which experts there are.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import msgspec
import numpy as np

from parley.agents.encoders.base import Vectors
from parley.agents.matching import subject_model
from parley.agents.matching.fitted import chance
from parley.agents.matching.subjects import Floats

FILE = Path(__file__).parent / "several.json"
_PARTS, _CHANCES = 5, 3
"""Of the subjects, the likeliest: so many are told."""
_LEAST = 1e-3
_BESIDE = 2
"""Experts beside the lead of a task for several: with them it is at least of standard depth."""


class Weights(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """several.json."""

    words: tuple[float, ...]
    """For `by_words`."""
    read: tuple[float, ...]
    """For `combined`."""
    ask: float
    """Chance by words from which on the reader is asked."""
    few: float
    """Chance below which one expert is enough."""
    many: float
    """Chance from which on several are needed."""


@lru_cache(maxsize=1)
def weights() -> Weights:
    """The shipped ones."""
    return msgspec.json.decode(FILE.read_bytes(), type=Weights)


def by_words(text: str, wanted: Sequence[str], parts: int) -> Floats:
    """What the words tell: shape (6,).

    Parameters
    ----------
    text, wanted
        The text and the roots that are wanted.
    parts
        How many texts it is compared by: itself and its clauses.
    """
    count = len(set(wanted))
    return np.array([1.0, parts, np.log1p(count), count <= 2, " and " in text, text.count(",")])


def combined(words: Floats, row: Vectors) -> Floats:
    """What words and the reader tell.

    Parameters
    ----------
    words
        As `by_words` says.
    row : shape (subject_model.WIDTH,)
        What the reader makes of the task.
    """
    parts = np.sort(subject_model.parts(row))[::-1][:_PARTS]
    chances = np.sort(subject_model.chances(row))[::-1][:_CHANCES]
    vector = subject_model.vectors(row).astype(np.float64)
    return np.concatenate([words, parts, np.log(parts + _LEAST), chances, vector])


def chance_of(words: Floats, row: Vectors | None) -> float:
    """The chance that several experts are needed; by words alone where the reader was not asked."""
    if row is None:
        return float(chance(weights().words, words))
    return float(chance(weights().read, combined(words, row)))


def sized(several: float, first: int, part: Floats, candidate: float) -> Floats:
    """Relevance, with two beside the lead for whom several are needed, and none for whom one is enough.

    Parameters
    ----------
    several
        As of `chance_of`.
    first
        The lead's place.
    candidate
        Relevance from which on an expert is a candidate.
    """
    part = part.copy()
    if several >= weights().many:
        beside = [i for i in np.argsort(-part) if i != first][:_BESIDE]
        part[beside] = np.maximum(part[beside], candidate)
    elif several < weights().few:
        rest = np.arange(len(part)) != first
        part[rest] = np.minimum(part[rest], np.nextafter(candidate, 0))
    return part
