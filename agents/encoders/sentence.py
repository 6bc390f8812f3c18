"""Encoder `sentence-transformers`: any model of that library, on this machine. Needs the extra `embeddings` (torch)."""

import asyncio
import importlib
import importlib.util
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from parley.agents.encoders.base import EncoderMisconfigured, EncoderUnavailable, Spent, Vectors, unit

DEFAULT = "sentence-transformers/all-MiniLM-L6-v2"


class SentenceTransformers:
    """One model, loaded at the first use by the library, which downloads what is neither a folder nor in its cache."""

    metered = False
    usd_per_million = 0.0

    def __init__(self, model: str = DEFAULT, device: str = "cpu") -> None:
        self._model_name = model
        self._device = device
        self._model: Any = None
        self._lock = threading.Lock()
        self.dimension = 0

    @property
    def name(self) -> str:
        """The model's name, or its folder's."""
        return self._model_name.replace("\\", "/").rstrip("/").rpartition("/")[2]

    async def encode(self, texts: Sequence[str], spent: Spent | None = None) -> Vectors:
        """See Encoder. In a thread, so that the event loop goes on.

        Raises
        ------
        EncoderUnavailable
            The model cannot be loaded, or gives no vectors.
        """
        return await asyncio.to_thread(self._encode, texts)

    def _encode(self, texts: Sequence[str]) -> Vectors:
        with self._lock:  # its tokenizer is not safe for several threads
            if self._model is None:
                try:
                    library = importlib.import_module("sentence_transformers")
                    self._model = library.SentenceTransformer(self._model_name, device=self._device)
                except Exception as error:
                    raise EncoderUnavailable(f"model {self.name} cannot be loaded: {type(error).__name__}") from error
            rows = self._model.encode(list(texts), convert_to_numpy=True, show_progress_bar=False) if texts else None
        if rows is None:
            return np.zeros((0, self.dimension), np.float32)
        vectors = unit(np.asarray(rows, dtype=np.float32), len(texts))
        self.dimension = vectors.shape[1]
        return vectors

    async def aclose(self) -> None:
        """Nothing to close."""


def make(options: Mapping[str, Any]) -> SentenceTransformers:
    """The encoder; options `model` (a name or a folder) and `device`.

    Raises
    ------
    EncoderMisconfigured
        Another option, one that is no text, or the extra is not installed.
    """
    for name, value in options.items():
        if name not in ("model", "device"):
            raise EncoderMisconfigured(f"encoder.{name}: sentence-transformers takes the options model and device")
        if not isinstance(value, str) or not value.strip():
            raise EncoderMisconfigured(f"encoder.{name}: got {value!r}, expected a text")
    if importlib.util.find_spec("sentence_transformers") is None:
        raise EncoderMisconfigured(
            "encoder sentence-transformers: the package is not installed; install parley with the extra embeddings"
        )
    return SentenceTransformers(**options)
