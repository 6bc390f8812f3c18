"""The encoder `sentence-transformers`: an extra, named where it is missing. parley_research.benchmarks.encoders
measures it."""

import importlib.util

import pytest

from parley.agents.encoders import EncoderMisconfigured, make_encoder
from parley.agents.encoders.sentence import make


def test_without_the_extra_it_is_named() -> None:
    assert importlib.util.find_spec("sentence_transformers") is None, "the lock leaves torch out"
    with pytest.raises(EncoderMisconfigured, match="with the extra embeddings"):
        make_encoder("sentence-transformers")


@pytest.mark.parametrize(
    "options, named", [({"modle": "x"}, "takes the options model and device"), ({"model": ""}, "expected a text")]
)
def test_bad_options_are_named(options: dict[str, object], named: str) -> None:
    with pytest.raises(EncoderMisconfigured, match=named):
        make(options)
