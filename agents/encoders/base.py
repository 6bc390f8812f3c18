"""The interface of an encoder, and its errors.

EncoderError
├─ EncoderMisconfigured    the operator's: an unknown encoder or option, a missing key, a package that is not there
└─ EncoderUnavailable      the environment's: a server that does not answer, or answers with no vectors
"""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from typing import Protocol

import msgspec
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


class Spent(msgspec.Struct, kw_only=True):
    """What encoding used at a server, and what it may use. One in this process uses nothing of it."""

    most_tokens: int | None = None
    """None: no limit. Encoding ends with EncoderUnavailable before a request that might pass it."""
    most_calls: int | None = None
    tokens: int = 0
    calls: int = 0
    """Requests that were, or may have been, paid."""
    estimated: bool = False
    """Some of the tokens are our estimate: the server did not count them."""


class Encoder(Protocol):
    """Texts to vectors. Safe for several at once on one event loop; cancelling `encode` ends the request behind it."""

    @property
    def name(self) -> str:
        """Which vectors these are: those of two names are not to be compared."""

    @property
    def dimension(self) -> int:
        """Length of a vector; 0: not known before the first one came."""

    @property
    def metered(self) -> bool:
        """Whether it counts tokens."""

    @property
    def usd_per_million(self) -> float | None:
        """US dollars for a million tokens, 0 if it costs nothing; None: no price is known."""

    async def encode(self, texts: Sequence[str], spent: Spent | None = None) -> Vectors:
        """Vectors of texts.

        Parameters
        ----------
        spent
            Its limits hold, and what is used is added to it, also where this raises.

        Returns
        -------
        ndarray of float32, shape (n, dimension)
            One row a text, in its order, of length 1: their dot products are cosines, -1 to 1.

        Raises
        ------
        EncoderError
        """

    async def aclose(self) -> None:
        """Close its connections, if it has any. It can be used again."""


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

    @property
    def metered(self) -> bool:
        """The inner encoder's."""
        return self._inner.metered

    @property
    def usd_per_million(self) -> float | None:
        """The inner encoder's."""
        return self._inner.usd_per_million

    async def encode(self, texts: Sequence[str], spent: Spent | None = None) -> Vectors:
        """As the inner encoder does; see Encoder."""
        keys = {text: _digest(text) for text in texts}
        known = {text: self._vectors[key] for text, key in keys.items() if key in self._vectors}
        missing = [text for text in keys if text not in known]
        if missing:
            known.update(zip(missing, await self._inner.encode(missing, spent), strict=True))
        for text, key in keys.items():
            self._vectors[key] = known[text]
            self._vectors.move_to_end(key)
        while len(self._vectors) > self._most:
            self._vectors.popitem(last=False)
        return np.stack([known[text] for text in texts]) if texts else np.zeros((0, self.dimension), np.float32)

    async def aclose(self) -> None:
        """Close the inner encoder."""
        await self._inner.aclose()


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def unit(rows: NDArray[np.floating], count: int) -> Vectors:
    """Rows at length 1, as float32.

    Raises
    ------
    EncoderUnavailable
        Not one row for each of `count` texts, or a row that is not finite or has no direction.
    """
    if rows.ndim != 2 or rows.shape[0] != count or rows.shape[1] == 0:
        raise EncoderUnavailable(f"got vectors of shape {rows.shape}, expected one for each of {count} texts")
    wide = rows.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not (lengths > 0).all():
        raise EncoderUnavailable("a vector is not finite or has no direction")
    return np.asarray(wide / lengths, dtype=np.float32)
