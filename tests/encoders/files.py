"""The committed sentences, what the original model made of them, and pairs of objections."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).parent


def sentences() -> list[str]:
    """The lines of sentences.txt; one is empty, one a blank."""
    return (HERE / "sentences.txt").read_text(encoding="utf-8").split("\n")[:-1]


def reference() -> tuple[NDArray[np.float32], list[list[int]]]:
    """(the original's vectors at length 1, its token ids) for each sentence."""
    with np.load(HERE / "reference.npz") as file:
        vectors, tokens, lengths = file["vectors"].astype(np.float32), file["tokens"], file["lengths"]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    parts = np.split(tokens, np.cumsum(lengths, dtype=np.int64)[:-1])
    return vectors, [[int(i) for i in part] for part in parts]
