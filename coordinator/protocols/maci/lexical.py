"""maci: passages without a helper: paragraphs that share words with the question. The moderator falls back on them if
the helper fails, and makes some of what debaters look up. Pure functions of texts: nothing here understands them."""

import re
from collections.abc import Iterable

from parley.coordinator.protocols.maci.state import HELPER, only_seat
from parley.coordinator.table import View
from parley.schemas.protocols.maci.messages import Passage
from parley.schemas.session import Document
from parley.schemas.text import squeeze, tokens

_MOST_CHARS = 1_500
"""Of one passage."""
_MOST_LOOKED = 3
"""Of one document that was looked up."""
_PARAGRAPH = re.compile(r"\n\s*\n")


def by_words(v: View) -> tuple[Passage, ...]:
    """The paragraphs of the helper's documents with most words of the question, at most `k_ret`, in the order of the
    documents. There is at least one, since a session needs a document with text."""
    helper = only_seat(v, HELPER)
    return _best(v, (d for d in v.opened.documents if helper in d.holders), v.settings.k_ret, 1)


def of_looked_up(v: View, documents: Iterable[Document], first: int) -> tuple[Passage, ...]:
    """The same of each document that debaters looked up, at most three of one. `first`: the number of the first."""
    found: list[Passage] = []
    for document in documents:
        found += _best(v, (document,), _MOST_LOOKED, first + len(found))
    return tuple(found)


def _best(v: View, documents: Iterable[Document], most: int, first: int) -> tuple[Passage, ...]:
    wanted, found = frozenset(tokens(v.opened.question)), dict[tuple[str, str], int]()
    for document in documents:
        for paragraph in _PARAGRAPH.split(document.text):
            if text := squeeze(paragraph)[:_MOST_CHARS].strip():
                found.setdefault((document.name, text), len(wanted.intersection(tokens(text))))
    best = set(sorted(found, key=lambda key: -found[key])[:most])
    chosen = [key for key in found if key in best]
    return tuple(Passage(id=f"p{i}", document=name, text=text) for i, (name, text) in enumerate(chosen, first))
