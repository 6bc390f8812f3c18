"""What every encoder is, and how it fails.

EncoderError
├─ EncoderMisconfigured    the operator's: an unknown encoder or option, a missing key, a package that is not there
└─ EncoderUnavailable      the environment's: a server that does not answer, or answers with no vectors
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
KEPT = 10_000
"""Texts whose vectors a process keeps: 15 MB at 384 dimensions."""


class EncoderError(Exception):
    """Base: there are no vectors. `why` holds no key and no address."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(why)


class EncoderMisconfigured(EncoderError):
    """The operator's: an unknown encoder or option, a missing key, a package that is not there."""


class EncoderUnavailable(EncoderError):
    """The environment's: a server that does not answer, or answers with no vectors."""


class Encoder(Protocol):
    """Texts to vectors. Blocks its thread; safe for several threads at once."""

    @property
    def name(self) -> str:
        """Which vectors these are: those of two names are not to be compared."""

    @property
    def dimension(self) -> int:
        """Length of a vector; 0: not known before the first one came."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts.

        Returns
        -------
        ndarray of float32, shape (n, dimension)
            One row a text, in its order, of length 1: their dot products are cosines, -1 to 1.

        Raises
        ------
        EncoderError
        """

    def close(self) -> None:
        """Close its connections, if it has any."""


class Cached:
    """An encoder that keeps the vectors of the texts last asked for, and asks for each text once."""

    def __init__(self, inner: Encoder, kept: int = KEPT) -> None:
        self._inner = inner
        self._kept = kept
        self._vectors: OrderedDict[str, Vectors] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The inner encoder's."""
        return self._inner.name

    @property
    def dimension(self) -> int:
        """The inner encoder's."""
        return self._inner.dimension

    def encode(self, texts: Sequence[str]) -> Vectors:
        """As the inner encoder does; see Encoder."""
        with self._lock:
            found = {text: self._vectors[text] for text in texts if text in self._vectors}
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        if missing:
            found.update(zip(missing, self._inner.encode(missing), strict=True))
        with self._lock:
            for text in found:
                self._vectors[text] = found[text]
                self._vectors.move_to_end(text)
            while len(self._vectors) > self._kept:
                self._vectors.popitem(last=False)
        return np.stack([found[text] for text in texts]) if texts else np.zeros((0, self.dimension), np.float32)

    def close(self) -> None:
        """Close the inner encoder."""
        self._inner.close()


def unit(rows: NDArray[np.floating], count: int) -> Vectors:
    """Rows at length 1, as float32.

    Raises
    ------
    EncoderUnavailable
        Not one row for each of `count` texts, or a row that is not finite or has no direction.
    """
    if rows.ndim != 2 or rows.shape[0] != count or rows.shape[1] == 0:
        raise EncoderUnavailable(f"got vectors of shape {rows.shape}, wanted is one for each of {count} texts")
    wide = rows.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not (lengths > 0).all():
        raise EncoderUnavailable("a vector is not finite or has no direction")
    return np.asarray(wide / lengths, dtype=np.float32)
