"""The reader: a small language model that says what subject a text is about, and gives it a vector.

all-MiniLM-L6-v2 (its licence: agents/encoders/minilm/LICENSE), trained further on
`research/parley_research/golden/train.jsonl` (parley_research.training.reader says how) and rounded to 8 bits; run by
onnxruntime on one thread, no torch, no download. What it gives for a text is one row: its vector, for comparing
sentences, held near the one of the original; the chance that it is about each subject; and the chance that each
subject has a part in it.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from parley.agents.encoders import Cached, Encoder
from parley.agents.encoders.base import Vectors
from parley.agents.encoders.embedded import Embedded
from parley.agents.matching.subjects import SUBJECTS, Floats
from parley.agents.matching.task_encoder import TaskEncoder

FILE = Path(__file__).parent / "reader.int8.onnx"
NAME = "parley-reader-2"
_VECTOR = 384
WIDTH = _VECTOR + 2 * len(SUBJECTS)


class SubjectReader(Embedded):
    """See the module. As an encoder, for texts of at most 192 tokens; the rest of a longer one is not read."""

    name = NAME
    dimension = WIDTH
    file = FILE
    longest = 192
    of_one_length = False
    left_out = ("SkipLayerNormFusion",)
    """What it makes of two operators is slower than they are, by a tenth of a reading."""


class Readers(NamedTuple):
    """What tasks and specifications are read by."""

    apart: Encoder
    """The reader: where subjects tell experts apart."""
    alike: Encoder
    """That of tasks of any field: where they do not, and the reader would know no better."""


def make_readers() -> Readers:
    """The shipped ones, with a cache. Their files are read at the first use.

    Raises
    ------
    EncoderMisconfigured
        onnxruntime is not installed.
    """
    return Readers(Cached(SubjectReader.checked()), Cached(TaskEncoder.checked()))


def vectors(rows: Vectors) -> Vectors:
    """(..., WIDTH) -> (..., 384), of length 1."""
    return rows[..., :_VECTOR]


def chances(rows: Vectors) -> Floats:
    """(..., WIDTH) -> (..., SUBJECTS): which one it is about; sum to 1."""
    return np.asarray(rows[..., _VECTOR : _VECTOR + len(SUBJECTS)], np.float64)


def parts(rows: Vectors) -> Floats:
    """(..., WIDTH) -> (..., SUBJECTS): which ones have a part in it, each 0 to 1."""
    return np.asarray(rows[..., _VECTOR + len(SUBJECTS) :], np.float64)
