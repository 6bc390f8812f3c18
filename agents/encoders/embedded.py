"""Encoder `embedded`: all-MiniLM-L6-v2 in 8 bits, shipped with the package (minilm/README.md), run by onnxruntime.

No torch, no download, no key; one thread, since a helper shares its machine. It knows English best, and reads the first
256 tokens of a text, some 200 words. Texts go through it one at a time: activations are rounded by the largest of all
that go together, so in a batch a text's vector would depend on its company, and on one thread a batch is no faster.
"""

import asyncio
import importlib
import importlib.util
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from parley.agents.encoders.base import EncoderError, Vectors
from parley.agents.encoders.wordpiece import WordPiece

FOLDER = Path(__file__).parent / "minilm"
LONGEST = 256
"""Tokens; what the original was trained with."""


class Embedded:
    """The shipped encoder. Files are read at the first use."""

    name = "all-MiniLM-L6-v2-int8"
    dimension = 384

    def __init__(self) -> None:
        self._loaded: tuple[WordPiece, Any] | None = None
        self._lock = threading.Lock()

    @classmethod
    def checked(cls) -> Self:
        """A new one. Raises EncoderError: onnxruntime is not installed."""
        if importlib.util.find_spec("onnxruntime") is None:
            raise EncoderError("encoder embedded: the package onnxruntime is not installed")
        return cls()

    async def encode(self, texts: Sequence[str]) -> Vectors:
        """See Encoder. In a thread, so that the event loop goes on. Raises EncoderError: onnxruntime or the files
        cannot be loaded."""
        return await asyncio.to_thread(self._encode, texts)

    def _encode(self, texts: Sequence[str]) -> Vectors:
        words, session = self._load()
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            tokens = np.array([words.ids(text, LONGEST)], np.int64)
            ((vector,),) = session.run(None, {"input_ids": tokens, "attention_mask": np.ones_like(tokens)})
            vectors[row] = vector / np.linalg.norm(vector.astype(np.float64))
        return vectors

    def _load(self) -> tuple[WordPiece, Any]:
        with self._lock:
            if self._loaded is None:
                try:
                    runtime = importlib.import_module("onnxruntime")
                    options = runtime.SessionOptions()
                    options.intra_op_num_threads = 1
                    session = runtime.InferenceSession(
                        str(FOLDER / "model.int8.onnx"), options, providers=["CPUExecutionProvider"]
                    )
                    words = WordPiece((FOLDER / "vocab.txt").read_text(encoding="utf-8").split("\n")[:-1])
                except Exception as error:  # of its own kinds, none of which it exports
                    raise EncoderError(f"the embedded encoder cannot be loaded: {type(error).__name__}") from error
                self._loaded = words, session
            return self._loaded
