"""The shipped encoder gives the original's vectors, and its tokenizer the original's tokens; who has it."""

import asyncio
import hashlib
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from parley.agents.encoders import Vectors, make_encoder
from parley.agents.encoders.base import Cached
from parley.agents.encoders.embedded import FOLDER, Embedded
from parley.agents.encoders.wordpiece import WordPiece, words
from parley.agents.models import ModelMisconfigured, make_model

ROOT = Path(__file__).parents[2]
LEAST_COSINE = 0.97
"""Of a shipped vector with the original's; measured 0.9737 for the one word `yes`, 0.9903 on average."""
MOST_APART = 0.06
"""Of the cosines of two texts, by the original and by the shipped; measured 0.0513, 0.0113 on average."""


def sentences() -> list[str]:
    """The lines of sentences.txt; one is empty, one a blank."""
    return (Path(__file__).parent / "sentences.txt").read_text(encoding="utf-8").split("\n")[:-1]


def reference() -> tuple[NDArray[np.float32], list[list[int]]]:
    """(the original's vectors at length 1, its token ids) for each sentence."""
    with np.load(Path(__file__).parent / "reference.npz") as file:
        vectors, tokens, lengths = file["vectors"].astype(np.float32), file["tokens"], file["lengths"]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    parts = np.split(tokens, np.cumsum(lengths, dtype=np.int64)[:-1])
    return vectors, [[int(i) for i in part] for part in parts]


@pytest.fixture(scope="module")
def shipped() -> Embedded:
    return Embedded()


@pytest.fixture(scope="module")
def tokenizer() -> WordPiece:
    return WordPiece((FOLDER / "vocab.txt").read_text(encoding="utf-8").split("\n")[:-1])


def test_tokens_are_the_originals(tokenizer: WordPiece) -> None:
    _, tokens = reference()
    found = [tokenizer.ids(text, 256) for text in sentences()]
    assert found == tokens
    assert max(map(len, found)) == 256, "one of them is cut"
    assert any(100 in ids for ids in found), "one has an unknown word"


def test_control_tokens_in_a_text_are_words(tokenizer: WordPiece) -> None:
    ids = tokenizer.ids("[SEP] [CLS] [MASK]", 256)
    assert (ids[0], ids[-1]) == (101, 102)
    assert not {101, 102, 103} & set(ids[1:-1])


@pytest.mark.parametrize(
    "text, expected",
    [
        ("Öl-Kosten: 3,5%", ["ol", "-", "kosten", ":", "3", ",", "5", "%"]),
        ("a\tb\u00a0c\u200bd\x00e", ["a", "b", "cde"]),
        ("价格 high", ["价", "格", "high"]),
        ("$x^2 «y»", ["$", "x", "^", "2", "«", "y", "»"]),
        (" \n ", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


async def test_vectors_are_the_originals(shipped: Embedded) -> None:
    vectors, _ = reference()
    found = await shipped.encode(sentences())
    assert found.shape == vectors.shape == (len(sentences()), shipped.dimension)
    assert found.dtype == np.float32
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    cosines = (found * vectors).sum(1)
    assert cosines.min() >= LEAST_COSINE, sentences()[int(cosines.argmin())]
    assert cosines.mean() >= 0.985
    assert np.abs(found @ found.T - vectors @ vectors.T).max() <= MOST_APART


async def test_a_vector_does_not_depend_on_what_is_encoded_with_it(shipped: Embedded) -> None:
    texts = sentences()[:8]
    together = await shipped.encode(texts)
    assert np.array_equal(together, np.concatenate([await shipped.encode([text]) for text in texts]))
    assert np.array_equal(together[::-1], await shipped.encode(texts[::-1]))
    at_once = await asyncio.gather(*(shipped.encode(texts) for _ in range(8)))
    assert all(np.array_equal(together, found) for found in at_once)
    assert (await shipped.encode([])).shape == (0, 384)


def test_the_files_are_those_that_the_readme_names() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    for name in ("model.int8.onnx", "vocab.txt"):
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() in text, name
    assert "Apache License" in (FOLDER / "LICENSE").read_text(encoding="utf-8")


def test_nothing_is_loaded_before_it_is_used() -> None:
    code = (
        "import asyncio, json, sys; from parley.agents.encoders import make_encoder;"
        "from parley.agents.models import make_model;"
        "make_model('extractive'); e = make_encoder('embedded'); before = 'onnxruntime' in sys.modules;"
        "asyncio.run(e.encode(['x'])); after = [m in sys.modules for m in ('onnxruntime', 'torch')];"
        "print(json.dumps([before, *after]))"
    )
    out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=30)
    assert json.loads(out.stdout) == [False, True, False]


class Counting:
    """Encodes a text as its length and 1, and keeps what it was asked."""

    name = "counting"
    dimension = 2

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    async def encode(self, texts: Sequence[str]) -> Vectors:
        """Rows."""
        self.asked.append(list(texts))
        return np.array([[len(t), 1.0] for t in texts], np.float32)


async def test_the_cache_asks_for_each_text_once_and_forgets_the_oldest() -> None:
    inner = Counting()
    cached = Cached(inner, most=2)
    found = await cached.encode(["a", "bb", "a"])
    assert found.shape == (3, 2) and np.array_equal(found[0], found[2]) and not np.array_equal(found[0], found[1])
    assert np.array_equal(await cached.encode(["bb", "a"]), found[[1, 0]])
    assert inner.asked == [["a", "bb"]]
    await cached.encode(["ccc"])
    await cached.encode(["bb"])
    assert inner.asked == [["a", "bb"], ["ccc"], ["bb"]]
    assert (await cached.encode([])).shape == (0, 2)
    assert {type(key) for key in cached._vectors} == {bytes} and len(cached._vectors) == 2, "by a digest: no text stays"


@pytest.mark.parametrize(
    ("own", "named"),
    [("embeded", "did you mean embedded"), ({"name": "embedded"}, "encoder: got"), (3, "got 3")],
)
def test_an_unknown_encoder_is_named_before_anything_starts(own: Any, named: str) -> None:
    with pytest.raises(ModelMisconfigured, match=named):
        make_model("extractive", {"encoder": own})
    assert make_encoder("none") is None
