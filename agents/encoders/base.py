"""The interface of an encoder, its error, and a cache."""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
KEPT = 10_000
"""Texts whose vectors a process keeps: 15 MB at 384 dimensions."""


class EncoderError(Exception):
    """There are no vectors: an unknown encoder, a package that is not there, files that cannot be loaded. `why` holds
    no key and no address."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(why)


class Encoder(Protocol):
    """Texts to vectors, as long as its process runs. Safe for several at once on one event loop."""

    @property
    def name(self) -> str:
        """Which vectors these are: those of two names are not to be compared."""

    @property
    def dimension(self) -> int:
        """Length of a vector; 0: not known before the first one came."""

    async def encode(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts.

        Returns
        -------
        ndarray of float32, shape (n, dimension)
            One row a text, in its order, of length 1: their dot products are cosines, -1 to 1.

        Raises
        ------
        EncoderError
        """


class Cached:
    """An encoder that keeps the vectors of the texts last asked for, and asks for each text once.

    Not the texts: a vector is found by a digest of its text (docs/retention.md).
    """

    def __init__(self, inner: Encoder, most: int = KEPT) -> None:
        self._inner = inner
        self._most = most
        self._vectors: OrderedDict[bytes, Vectors] = OrderedDict()

    @property
    def name(self) -> str:
        """The inner encoder's."""
        return self._inner.name

    @property
    def dimension(self) -> int:
        """The inner encoder's."""
        return self._inner.dimension

    async def encode(self, texts: Sequence[str]) -> Vectors:
        """As the inner encoder does; see Encoder."""
        keys = {text: _digest(text) for text in texts}
        known = {text: self._vectors[key] for text, key in keys.items() if key in self._vectors}
        missing = [text for text in keys if text not in known]
        if missing:
            known.update(zip(missing, await self._inner.encode(missing), strict=True))
        for text, key in keys.items():
            self._vectors[key] = known[text]
            self._vectors.move_to_end(key)
        while len(self._vectors) > self._most:
            self._vectors.popitem(last=False)
        return np.stack([known[text] for text in texts]) if texts else np.zeros((0, self.dimension), np.float32)


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
