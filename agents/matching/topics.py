"""What subjects of software work a text is about: by words that stand for them, and by how the encoder places it.

A subject is no expert. Which subjects are an expert's is found from what its own specification says, by the same two
measures; so experts of anybody's are found by words that none of them wrote down (a `swipe` is a matter of phones).
Whoever has experts for something else than software has the subject `none` among theirs, and is served by the other
features alone (agents/matching/features.py).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agents.matching.reading import root

FILE = Path(__file__).parent / "topics.txt"
WEIGHTS = Path(__file__).parent / "topics.npz"
"""`rows`: vectors of all cues and sayings, as packed; `values`: (rows, subjects). Made by evaluation.fit_routing."""
WIDTH = 1.0
"""Of the kernel: exp(-WIDTH |a - b|^2) for vectors a, b of length 1."""
SHARPNESS = 16.0
"""Of the softmax that makes chances of the regression's values, which are near 0 or 1."""
NONE = "none"
_TOKEN = re.compile(r"[a-z0-9]+(?:['’.][a-z0-9]+)*[+#]{0,2}")
_LONGER = 0.5
"""How much more a phrase counts for each further word."""

Floats = NDArray[np.float64]
Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Subject:
    """One subject, as topics.txt has it."""

    name: str
    cues: tuple[str, ...]
    """Words and phrases that stand for it."""
    sayings: tuple[str, ...]
    """Tasks that are about it, as people put them."""


@lru_cache(maxsize=1)
def subjects() -> tuple[Subject, ...]:
    """All of them, in the order of the classifier's columns."""
    found: list[tuple[str, list[str], list[str]]] = []
    for line in FILE.read_text(encoding="utf-8").split("\n"):
        if line.startswith("# "):
            found.append((line[2:], [], []))
        elif line.startswith("= "):
            found[-1][1].extend(line[2:].split(", "))
        elif line and not line.startswith("%"):
            found[-1][2].append(line)
    return tuple(Subject(name, tuple(cues), tuple(sayings)) for name, cues, sayings in found)


@lru_cache(maxsize=1)
def _cues() -> tuple[dict[tuple[str, ...], tuple[int, ...]], int]:
    """(roots of each cue -> places of its subjects, how many roots the longest has)."""
    found: dict[tuple[str, ...], tuple[int, ...]] = {}
    for place, subject in enumerate(subjects()):
        for cue in subject.cues:
            key = _roots(cue)
            if key and place not in found.get(key, ()):
                found[key] = (*found.get(key, ()), place)
    return found, max(map(len, found))


def _roots(text: str) -> tuple[str, ...]:
    return tuple(root(w) for w in _TOKEN.findall(text.lower()))


@lru_cache(maxsize=20_000)
def by_cues(text: str) -> Floats:
    """How many cues of each subject stand in a text, a longer one counting more: shape (subjects,), 0 and up.

    The longest cue at a place counts, and one that stands for several subjects is divided among them.
    """
    cues, longest = _cues()
    words = _roots(text)
    found = np.zeros(len(subjects()))
    i = 0
    while i < len(words):
        for size in range(min(longest, len(words) - i), 0, -1):
            places = cues.get(words[i : i + size])
            if places:
                found[list(places)] += (1 + _LONGER * (size - 1)) / len(places)
                i += size - 1
                break
        i += 1
    found.setflags(write=False)
    return found


def packed(rows: Vectors) -> NDArray[np.int8]:
    """Vectors of length 1 in a byte a number, none of which is above a half: cosines change by some 0.001."""
    return np.clip(np.round(rows * 254), -127, 127).astype(np.int8)


def unpacked(rows: NDArray[np.int8]) -> Vectors:
    """Vectors of length 1 again."""
    wide = rows.astype(np.float32)
    return np.asarray(wide / np.linalg.norm(wide, axis=1, keepdims=True))


def kernel(some: Vectors, others: Vectors) -> Vectors:
    """How like vectors of length 1 are, 0 to 1: (n, m)."""
    cosines = np.stack([others @ row for row in some]) if len(some) else np.zeros((0, len(others)), others.dtype)
    return np.asarray(np.exp(2 * WIDTH * (cosines - 1)))  # row by row it is twice as fast as all at once


@lru_cache(maxsize=1)
def _fitted() -> tuple[Vectors, Vectors]:
    with np.load(WEIGHTS) as data:
        return unpacked(data["rows"]), data["values"].astype(np.float32)


def by_encoder(vectors: Vectors) -> Floats:
    """Chance of each subject for vectors of the embedded encoder: (n, dimension) to (n, subjects), rows sum to 1.

    By kernel ridge regression on the cues and sayings of topics.txt.
    """
    rows, values = _fitted()
    scores = SHARPNESS * (kernel(vectors, rows) @ values).astype(np.float64)
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


@lru_cache(maxsize=1)
def vocabulary() -> tuple[str, ...]:
    """Words of all cues and sayings, in lower case."""
    texts: Sequence[str] = [t for s in subjects() for t in (*s.cues, *s.sayings)]
    return tuple(dict.fromkeys(w for t in texts for w in re.findall(r"[a-z]+", t.lower())))
