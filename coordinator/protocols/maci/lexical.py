"""maci: passages without a helper, which is what the moderator falls back on when it fails: paragraphs that share words
with the question. Pure functions of texts; nothing here understands anything."""

import re

from parley.coordinator.protocols.maci.state import HELPER, only_seat
from parley.coordinator.table import View
from parley.schemas.protocols.maci.messages import Passage
from parley.schemas.text import squeeze, tokens

_MOST_CHARS = 1_500
"""Of one passage."""
_PARAGRAPH = re.compile(r"\n\s*\n")


def by_words(v: View) -> tuple[Passage, ...]:
    """The paragraphs of the helper's documents with most words of the question, at most `k_ret`, in the order of the
    documents. There is at least one, since a session needs a document with text."""
    helper, wanted = only_seat(v, HELPER), frozenset(tokens(v.opened.question))
    found: dict[tuple[str, str], int] = {}
    for document in v.opened.documents:
        if helper not in document.holders:
            continue
        for paragraph in _PARAGRAPH.split(document.text):
            if text := squeeze(paragraph)[:_MOST_CHARS].strip():
                found.setdefault((document.name, text), len(wanted.intersection(tokens(text))))
    best = sorted(found, key=lambda key: -found[key])[: v.settings.k_ret]
    chosen = [key for key in found if key in set(best)]
    return tuple(Passage(id=f"p{i}", document=name, text=text) for i, (name, text) in enumerate(chosen, 1))
