"""What subject of software work a text is about, by its words: a linear model over its words, pairs of words and pieces
of words, fitted on `research/parley_research/golden/train.jsonl` by parley_research.fit_subjects.

A subject is no expert. Which subjects are an expert's is found from what its own specification says, by the same
measure; so experts of anybody's are found by words that none of them wrote down. Whoever has experts for something else
than software has the subject `none` among theirs, and is served by the other features alone
(agents/matching/features.py).
"""

import re
import zlib
from collections import Counter
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SUBJECTS = (
    "security", "databases", "architecture", "operations", "delivery", "web", "usability", "mobile", "testing",
    "writing", "data", "building", "auditing", "none",
)  # fmt: skip
NONE = SUBJECTS.index("none")
FILE = Path(__file__).parent / "subjects.npz"
"""`weights` (BUCKETS, SUBJECTS), a byte a number; their `scale` and the `bias` by subject; `rarity` (BUCKETS); and
`known`, words that people use, in one text."""
BUCKETS = 1 << 16
_PIECES = (3, 4, 5)
"""Lengths of pieces, in characters."""
_TOKEN = re.compile(r"[a-z0-9]+(?:['’.+#-][a-z0-9+#]+)*[+#]{0,2}")
_LONGEST = 24
"""Characters of a word that are cut into pieces."""

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


class SubjectWeights(NamedTuple):
    """What was fitted."""

    weights: NDArray[np.float32]
    """(BUCKETS, SUBJECTS)."""
    rarity: NDArray[np.float32]
    """(BUCKETS,): the inverse document frequency, 0 where nothing was seen."""
    bias: Floats
    """(SUBJECTS,)."""


def grams(text: str) -> tuple[Places, NDArray[np.float32]]:
    """What stands in a text: (places among BUCKETS, how often, dampened: 1 + log of the count)."""
    words = _TOKEN.findall(text.lower())
    counts = Counter([zlib.crc32(f"{a} {b}".encode()) for a, b in pairwise(words)])
    for word in words:
        counts.update(_grams_of(word))
    if not counts:
        return np.zeros(0, np.int64), np.zeros(0, np.float32)
    places = np.fromiter(counts, np.int64, len(counts)) % BUCKETS
    return places, 1 + np.log(np.fromiter(counts.values(), np.float32, len(counts)))


@lru_cache(maxsize=20_000)
def _grams_of(word: str) -> tuple[int, ...]:
    """A word and its pieces, as numbers that hardly any two of them share."""
    edged = f"<{word[:_LONGEST]}>"
    pieces = ("." + edged[i : i + size] for size in _PIECES for i in range(len(edged) - size + 1))
    return tuple(zlib.crc32(g.encode()) for g in (word, *pieces))


def weighed(text: str, rarity: NDArray[np.float32]) -> tuple[Places, NDArray[np.float32]]:
    """`grams`, the rare ones counting more, at length 1."""
    places, values = grams(text)
    values = values * rarity[places]
    return places, values / max(float(np.sqrt((values**2).sum())), 1e-9)


@lru_cache(maxsize=1)
def fitted() -> SubjectWeights:
    """The shipped one."""
    with np.load(FILE) as data:
        weights = data["weights"].astype(np.float32) * data["scale"].astype(np.float32)
        return SubjectWeights(weights, data["rarity"].astype(np.float32), data["bias"].astype(np.float64))


@lru_cache(maxsize=8)  # a text in hand; no more, so that texts of tasks do not stay (docs/retention.md)
def by_words(text: str) -> Floats:
    """Chance of each subject: shape (SUBJECTS,), sums to 1."""
    model = fitted()
    places, values = weighed(text, model.rarity)
    scores = model.bias + (values @ model.weights[places]).astype(np.float64)
    e = np.exp(scores - scores.max())
    probabilities = np.asarray(e / e.sum())
    probabilities.setflags(write=False)
    return probabilities


@lru_cache(maxsize=1)
def known() -> tuple[str, ...]:
    """Words that people use in such tasks, in lower case: rightly spelt."""
    with np.load(FILE) as data:
        return tuple(str(data["known"]).split())
