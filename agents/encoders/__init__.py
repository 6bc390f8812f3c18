"""Encoders: texts to vectors whose cosine says how like two texts are. By name: `embedded`, `none`
(docs/encoders.md), or one that an installed package brings (`parley.encoders`)."""

import difflib
import importlib
from collections.abc import Mapping
from typing import Any

from parley.agents.encoders.base import (
    Cached,
    Encoder,
    EncoderError,
    EncoderMisconfigured,
    EncoderUnavailable,
    Spent,
    Vectors,
)
from parley.schemas import registry

__all__ = [
    "NAMES",
    "Cached",
    "Encoder",
    "EncoderError",
    "EncoderMisconfigured",
    "EncoderUnavailable",
    "Spent",
    "Vectors",
    "make_encoder",
]

_GROUP = "parley.encoders"
NAMES = ("embedded", "none")


def make_encoder(name: str, options: Mapping[str, Any] | None = None) -> Encoder | None:
    """The encoder that an operator named, with a cache. Heavy libraries are imported at its first use.

    Parameters
    ----------
    name
        One of NAMES, or of the entry points `parley.encoders`: a function of the options that gives an Encoder. `none`:
        there is none, and words are compared.

    Raises
    ------
    EncoderMisconfigured
        No such encoder, an option that it does not take, a package that is not there.
    """
    settings = dict(options or {})
    match name:
        case "embedded":
            return Cached(importlib.import_module("parley.agents.encoders.embedded").make(settings))
        case "none" if not settings:
            return None
        case "none":
            raise EncoderMisconfigured(f"encoder.{next(iter(settings))}: without an encoder there are no options")
    if name in registry.entries(_GROUP):
        try:
            return Cached(registry.load(_GROUP, name)(settings))
        except registry.NotUsable as error:
            raise EncoderMisconfigured(f"encoder: {error}") from error
    near = difflib.get_close_matches(str(name), (*NAMES, *registry.entries(_GROUP)), 1)
    hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(NAMES)}"
    raise EncoderMisconfigured(f"encoder: got {name!r}; {hint}")
