"""Encoder `embedded`: all-MiniLM-L6-v2 in 8 bits, shipped with the package (minilm/README.md), run by onnxruntime.

No torch, no download, no key; one thread, since a helper shares its machine. It knows English best, and reads the first
256 tokens of a text, some 200 words. Texts go through it one at a time: activations are rounded by the largest of all
that go together, so in a batch a text's vector would depend on its company, and on one thread a batch is no faster.
"""

import asyncio
import importlib
import importlib.util
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from parley.agents.encoders.base import EncoderMisconfigured, EncoderUnavailable, Spent, Vectors, unit
from parley.agents.encoders.wordpiece import WordPiece

FOLDER = Path(__file__).parent / "minilm"
LONGEST = 256
"""Tokens; what the original was trained with."""


class Embedded:
    """The shipped encoder. Files are read at the first use."""

    name = "all-MiniLM-L6-v2-int8"
    dimension = 384
    file = FOLDER / "model.int8.onnx"
    longest = LONGEST
    of_one_length = True
    """What the file gives for a text is a vector alone: it is put at length 1."""
    left_out: tuple[str, ...] = ()
    """Optimizers of onnxruntime that are not used."""
    metered = False
    usd_per_million = 0.0

    def __init__(self, threads: int = 1) -> None:
        self._threads = threads
        self._loaded: tuple[WordPiece, Any] | None = None
        self._lock = threading.Lock()

    @classmethod
    def checked(cls, threads: int = 1) -> Self:
        """A new one. Raises EncoderMisconfigured: onnxruntime is not installed."""
        if importlib.util.find_spec("onnxruntime") is None:
            raise EncoderMisconfigured("encoder embedded: the package onnxruntime is not installed")
        return cls(threads)

    async def encode(self, texts: Sequence[str], spent: Spent | None = None) -> Vectors:
        """See Encoder. In a thread, so that the event loop goes on.

        Raises
        ------
        EncoderUnavailable
            onnxruntime or the files cannot be loaded.
        """
        return await asyncio.to_thread(self._encode, texts)

    def _encode(self, texts: Sequence[str]) -> Vectors:
        words, session = self._load()
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            tokens = np.array([words.ids(text, self.longest)], np.int64)
            (rows,) = session.run(None, {"input_ids": tokens, "attention_mask": np.ones_like(tokens)})
            vectors[row] = (unit(rows, 1) if self.of_one_length else rows)[0]
        return vectors

    @staticmethod
    def tokens() -> WordPiece:
        """What cuts texts into tokens."""
        return WordPiece((FOLDER / "vocab.txt").read_text(encoding="utf-8").split("\n")[:-1])

    async def aclose(self) -> None:
        """Nothing to close."""

    def _load(self) -> tuple[WordPiece, Any]:
        with self._lock:
            if self._loaded is None:
                try:
                    runtime = importlib.import_module("onnxruntime")
                    options = runtime.SessionOptions()
                    options.intra_op_num_threads = self._threads
                    session = runtime.InferenceSession(
                        str(self.file),
                        options,
                        providers=["CPUExecutionProvider"],
                        disabled_optimizers=list(self.left_out),
                    )
                    words = self.tokens()
                except Exception as error:  # of its own kinds, none of which it exports
                    raise EncoderUnavailable(
                        f"the embedded encoder cannot be loaded: {type(error).__name__}"
                    ) from error
                self._loaded = words, session
            return self._loaded


def make(options: Mapping[str, Any]) -> Embedded:
    """The encoder; option `threads`, 1 to 64.

    Raises
    ------
    EncoderMisconfigured
        Another option, or onnxruntime is not installed.
    """
    for name in options:
        if name != "threads":
            raise EncoderMisconfigured(f"encoder.{name}: the embedded encoder takes only the option threads")
    threads = options.get("threads", 1)
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= 64:
        raise EncoderMisconfigured(f"encoder.threads: got {threads!r}, allowed is 1 to 64")
    return Embedded.checked(threads)
