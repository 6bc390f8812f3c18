"""Encoders: texts to vectors whose cosine says how like two texts are. By name: `embedded`, `none`
(docs/encoders.md), or one that an installed package brings (`parley.encoders`)."""

import difflib
import importlib

from parley.agents.encoders.base import Cached, Encoder, EncoderError, Vectors
from parley.schemas import registry

__all__ = ["EMBEDDED", "NONE", "Encoder", "EncoderError", "Vectors", "make_encoder"]

_GROUP = "parley.encoders"
EMBEDDED, NONE = NAMES = ("embedded", "none")


def make_encoder(name: str) -> Encoder | None:
    """The encoder of that name, with a cache. Heavy libraries are imported at its first use.

    Parameters
    ----------
    name
        One of NAMES, or of the entry points `parley.encoders`: a function that gives an Encoder. `none`: there is none,
        and words are compared.

    Raises
    ------
    EncoderError
        No such encoder, or a package that is not there.
    """
    if name == NONE:
        return None
    if name == EMBEDDED:
        return Cached(importlib.import_module("parley.agents.encoders.embedded").Embedded.checked())
    if str(name) in registry.entries(_GROUP):
        try:
            return Cached(registry.load(_GROUP, name)())
        except registry.NotUsable as error:
            raise EncoderError(f"encoder: {error}") from error
    near = difflib.get_close_matches(str(name), (*NAMES, *registry.entries(_GROUP)), 1)
    hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(NAMES)}"
    raise EncoderError(f"encoder: got {name!r}; {hint}")
