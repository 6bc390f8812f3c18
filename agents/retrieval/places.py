"""Where a quotation stands: the page, slide or sheet of its document, and the heading above it."""

import re
from bisect import bisect_right
from functools import lru_cache

from parley.agents.retrieval.blocks import blocks
from parley.schemas.session import Document

_SPACE = re.compile(r"\s+")
_LONG = 80
"""Characters of a heading that are shown."""


def span_of(text: str, quote: str) -> tuple[int, int] | None:
    """Where a quotation stands in a text word for word, white space aside; of several places the first. None: nowhere.

    Examples
    --------
    >>> span_of("It is\\n 9 o'clock.", "is 9 o'clock")
    (3, 16)
    """
    parts = _SPACE.split(quote.strip())
    if not any(parts):
        return None
    match = re.search(r"\s+".join(map(re.escape, parts)), text)
    return match.span() if match else None


def place_of(document: Document, quote: str) -> str:
    """The place of a quotation in words: `page 2, Technical data`; empty: there is nothing to say, or it stands
    nowhere."""
    span = span_of(document.text, quote)
    if span is None:
        return ""
    names = []
    if document.places:
        after = bisect_right(document.places, span[0], key=lambda place: place.at)
        names += [document.places[after - 1].name] if after else []
    headings = _headings(document.text)
    above = bisect_right(headings, span[0], key=lambda heading: heading[0])
    if above and span[0] >= headings[above - 1][1]:
        title = headings[above - 1][2]
        if not names or not names[0].endswith(f" {title}"):  # a sheet's name is its heading
            names.append(title if len(title) <= _LONG else title[: _LONG - 1] + "…")
    return ", ".join(names)


@lru_cache(maxsize=32)
def _headings(text: str) -> tuple[tuple[int, int, str], ...]:
    """(where it begins, where it ends, its words) of each heading."""
    return tuple((b.start, b.end, b.text) for b in blocks(text) if b.kind == "heading" and b.text)
