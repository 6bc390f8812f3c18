"""A document of a session with what posts quote of it, and which document a quotation is of.

A quotation stands in a document as the checks of quotations say (parley.schemas.text.stands_in): word for word, white
space aside. Of a quotation that stands there several times the first place is marked.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec

from parley.agents.retrieval.places import span_of
from parley.client.show.card import Quote
from parley.schemas.session import Document


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a document."""

    text: str
    quotes: tuple[str, ...] = ()
    """Quotations that cover it: `12-0` is the first one of post 12. Empty: nobody quotes it."""


class Marked(NamedTuple):
    """A quotation with the name of its place on the page."""

    name: str
    """`12-0`: the first quotation of post 12."""
    quote: str


def passages(text: str, quotes: Iterable[Marked]) -> tuple[tuple[Passage, ...], tuple[str, ...]]:
    """A text in pieces, each with the quotations that cover it, and the names of those that do not stand in it. The
    pieces together are the text."""
    spans: list[tuple[int, int, str]] = []
    missing: list[str] = []
    places: dict[str, tuple[int, int] | None] = {}
    for mark in quotes:
        if mark.quote not in places:
            places[mark.quote] = span_of(text, mark.quote)
        place = places[mark.quote]
        if place is None:
            missing.append(mark.name)
        else:
            spans.append((*place, mark.name))
    edges = sorted({0, len(text), *(edge for start, end, _ in spans for edge in (start, end))})
    pieces = tuple(
        Passage(text=text[start:end], quotes=tuple(name for a, b, name in spans if a <= start and end <= b))
        for start, end in pairwise(edges)
    )
    return pieces, tuple(missing)


def number_of(documents: Sequence[Document], quote: Quote) -> int | None:
    """Which of a session's documents a quotation is of; None: it has none of that name. Of several with one name the
    first that has the quotation."""
    named = [n for n, document in enumerate(documents) if document.name == quote.document]
    if len(named) < 2:
        return named[0] if named else None
    return next((n for n in named if span_of(documents[n].text, quote.quote) is not None), named[0])
