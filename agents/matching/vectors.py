"""Vectors of what specifications say, computed once for each specification, by its pin.

Those of the experts that come with Parley are shipped (vectors.npz), so that a first task need not wait a second for
them; a text that is not among them is encoded.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from agents.encoders import Encoder, Spent
from agents.matching.features import Vectors, sentences
from schemas.expert import ExpertSpec, pin

FILE = Path(__file__).parent / "vectors.npz"
"""`keys` (of texts) and `rows` (as float16), and the encoder's `name`. Made by evaluation.fit_routing."""
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
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return name, {keys[12 * i : 12 * i + 12]: row for i, row in enumerate(rows)}


class SpecVectors:
    """Keeps them for one encoder."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._kept: OrderedDict[str, dict[str, Vectors]] = OrderedDict()

    async def of(self, specs: Sequence[ExpertSpec], spent: Spent | None = None) -> dict[str, dict[str, Vectors]]:
        """Vectors of each specification's sentences: id -> part -> (sentences, dimension).

        Raises
        ------
        EncoderError
        """
        name, known = shipped()
        if name != self._encoder.name:
            known = {}
        found: dict[str, dict[str, Vectors]] = {}
        for spec in specs:
            own = pin(spec)
            if own not in self._kept:
                parts = sentences(spec)
                texts = [t for part in parts.values() for t in part]
                rows = {t: known[key(t)] for t in texts if key(t) in known}
                missing = [t for t in dict.fromkeys(texts) if t not in rows]
                if missing:
                    rows.update(zip(missing, await self._encoder.encode(missing, spent), strict=True))
                self._kept[own] = {part: np.stack([rows[t] for t in said]) for part, said in parts.items()}
            self._kept.move_to_end(own)
            found[spec.id] = self._kept[own]
        while len(self._kept) > max(KEPT, len(specs)):
            self._kept.popitem(last=False)
        return found
