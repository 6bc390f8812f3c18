"""Who says how well passages answer a query: BM25 (`words`), or a function that an allowed package brings. The operator
names it in PARLEY_RETRIEVER; it serves the turn `retrieve`, where passages are chosen from a corpus."""

import math
import os
from collections.abc import Sequence

from parley.agents.model.base import ModelError, ModelMisconfigured
from parley.schemas import registry

VARIABLE = "PARLEY_RETRIEVER"
WORDS = "words"
NAMES = (WORDS,)
"""Of Parley's own."""
_GROUP = "parley.retrievers"


def scores(query: str, texts: Sequence[str]) -> list[float] | None:
    """A number for each text, 0 or more: the best has the most, and 0 is no find. None: words are compared.

    Raises
    ------
    ModelMisconfigured
        No such retriever.
    ModelError
        The package's function failed, or gave something else.
    """
    name = os.environ.get(VARIABLE, "").strip() or WORDS
    if name == WORDS:
        return None
    try:
        retriever = registry.load(_GROUP, name)
    except registry.NotUsable as error:
        raise ModelMisconfigured(f"{VARIABLE}: {error}") from error
    except KeyError:
        known = ", ".join((*NAMES, *registry.entries(_GROUP)))
        raise ModelMisconfigured(f"{VARIABLE}: got {name!r}, known: {known}") from None
    try:
        found = [float(score) for score in retriever(query, list(texts))]
    except Exception as error:  # what a package's function raises is its own affair
        raise ModelError(f"the retriever {name} raised {type(error).__name__}: {error}"[:500]) from error
    if len(found) != len(texts) or not all(math.isfinite(s) and s >= 0 for s in found):
        raise ModelError(f"the retriever {name} gave {len(found)} numbers for {len(texts)} passages, or one below 0")
    return found
