"""Vectors of what specifications say, computed once for each specification, by its pin.

Those of the experts that come with Parley are shipped (vectors.npz), so that a first task need not wait a second for
them; a text that is not among them is encoded.
"""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from parley.agents.encoders import Encoder, Spent
from parley.agents.encoders.base import Vectors
from parley.agents.matching import subject_model
from parley.agents.matching.subjects import Floats
from parley.schemas.expert import ExpertSpec, pin

FILE = Path(__file__).parent / "vectors.npz"
"""`keys` (of texts) and `rows` (what the reader makes of them), and the reader's `name`. By
parley_research.fit_routing."""
_WEIGHTS = {"examples": 0.3, "owns": 1.0, "claim": 1.0, "triggers": 0.5}
"""How much a sentence of each part says about what an expert's subjects are."""
KEPT = 2_000
"""Specifications whose vectors a process keeps: some 200 MB where each says 60 things."""


def key(text: str) -> bytes:
    """What a text is found by: 12 bytes of its SHA-256."""
    return hashlib.sha256(text.encode()).digest()[:12]


@lru_cache(maxsize=1)
def shipped() -> tuple[str, dict[bytes, Vectors]]:
    """(the encoder's name, key of a text -> its vector)."""
    if not FILE.is_file():
        return "", {}
    with np.load(FILE) as data:
        rows = data["rows"].astype(np.float32)
        keys = data["keys"].tobytes()
        name = str(data["name"])
    return name, {keys[12 * i : 12 * i + 12]: row for i, row in enumerate(rows)}


def sentences(spec: ExpertSpec) -> dict[str, tuple[str, ...]]:
    """What of a specification is encoded, by part."""
    return {
        "examples": spec.triggers.examples or spec.domain.owns,
        "owns": spec.domain.owns,
        "claim": (spec.deliberation.claim,),
        "triggers": (*spec.triggers.primary, *spec.triggers.secondary),
    }


@dataclass(frozen=True, slots=True)
class Encoded:
    """What an encoder makes of one specification."""

    parts: Mapping[str, Vectors]
    """Of each part (`sentences`): (sentences, dimension)."""
    subjects: Floats
    """What it speaks of, by the reader: (subjects,), sums to 1."""

    @classmethod
    def of(cls, read_as: Mapping[str, Vectors]) -> "Encoded":
        """From what the reader makes of each part's sentences: (sentences, its width)."""
        return cls(
            parts={part: subject_model.vectors(rows) for part, rows in read_as.items()},
            subjects=spoken({part: subject_model.chances(rows) for part, rows in read_as.items()}),
        )


def spoken(chances: Mapping[str, Floats]) -> Floats:
    """What a specification speaks of: of each part, (texts, subjects) -> (subjects,), sums to 1."""
    rows = np.concatenate(list(chances.values()))
    weights = np.concatenate([np.full(len(rows), _WEIGHTS[part]) for part, rows in chances.items()])
    return np.asarray(weights @ rows / weights.sum())


Made = TypeVar("Made")


class SpecVectors(Generic[Made]):
    """Keeps them for one encoder.

    Parameters
    ----------
    texts_of
        What of a specification is encoded, by part; a part may be empty.
    make
        What is kept, of the vectors by part.
    """

    def __init__(
        self, encoder: Encoder, texts_of: Callable[[ExpertSpec], Mapping[str, tuple[str, ...]]],
        make: Callable[[Mapping[str, Vectors]], Made],
    ) -> None:  # fmt: skip
        self._encoder = encoder
        self._texts_of = texts_of
        self._make = make
        self._cache: OrderedDict[str, Made] = OrderedDict()

    async def of(self, specs: Sequence[ExpertSpec], spent: Spent | None = None) -> dict[str, Made]:
        """What the encoder makes of each specification, by id.

        Raises
        ------
        EncoderError
        """
        name, known = shipped()
        if name != self._encoder.name:
            known = {}
        vectors: dict[str, Made] = {}
        for spec in specs:
            own = pin(spec)
            if own not in self._cache:
                parts = self._texts_of(spec)
                texts = [t for part in parts.values() for t in part]
                rows = {t: known[key(t)] for t in texts if key(t) in known}
                missing = [t for t in dict.fromkeys(texts) if t not in rows]
                if missing:
                    rows.update(zip(missing, await self._encoder.encode(missing, spent), strict=True))
                none = np.zeros((0, len(next(iter(rows.values())))), np.float32)
                stacked = {
                    part: np.stack([rows[t] for t in part_texts]) if part_texts else none
                    for part, part_texts in parts.items()
                }
                self._cache[own] = await asyncio.to_thread(self._make, stacked)
            self._cache.move_to_end(own)
            vectors[spec.id] = self._cache[own]
        while len(self._cache) > max(KEPT, len(specs)):
            self._cache.popitem(last=False)
        return vectors
