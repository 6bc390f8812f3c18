"""Whether those behind an answer are one witness.

A reader without a language model is deterministic: its copies find in a document what one of them finds there. So seats
without a language model count as two witnesses only where they quote two sentences of two documents, and neither is
nearly a copy of the other. A person, or a
seat with a language model, is a witness of its own.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from parley.schemas.log import Opened
from parley.schemas.presence import EXTRACTIVE
from parley.schemas.session import Document, Seat
from parley.schemas.text import Citation, tokens

COPY = 0.8
"""Share of the words of the longer of two quotations from which one is a copy of the other."""


def keyless(opened: Opened) -> bool:
    """Whether no seat is a person or has a language model."""
    return all(s.family == EXTRACTIVE for s in opened.seats)


def one_source(
    seats: Iterable[Seat], quoted: Mapping[str, Sequence[Citation]], documents: Iterable[Document]
) -> Citation | None:
    """The quotation that is all that stands behind an answer; None: there is more, or nothing is quoted.

    Parameters
    ----------
    seats
        Of the session, those that are behind the answer among them.
    quoted
        Seat -> what it quotes for the answer, the first foremost; of those that hold the answer themselves.
    documents
        Of the session. Two of the same content are one.
    """
    if not quoted or any(s.family != EXTRACTIVE for s in seats if s.seat in quoted):
        return None
    ids = {d.name: d.id for d in documents}
    first = [citations[0] for citations in quoted.values() if citations]
    places = {(ids.get(c.document, c.document), frozenset(tokens(c.quote))) for c in first}
    if any(one[0] != other[0] and not _copied(one[1], other[1]) for one, other in combinations(places, 2)):
        return None
    return first[0] if first else None


def _copied(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= COPY * max(len(one), len(other))
