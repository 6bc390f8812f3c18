"""Documents as passages: pieces of about a paragraph, each a verbatim span of one document.

A passage is whole paragraphs and list items of one section, put together up to LEAST words and cut at the end of a
sentence beyond MOST. The headings directly above it belong to it; those farther up are context: words by which it is
found, and not part of it. A sentence that talks to its reader as to a machine is in no passage: passages end before it
and begin behind it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rank_bm25 import BM25Plus  # type: ignore[import-untyped]

from parley.agents.model.injection import is_instruction, is_suspicious
from parley.agents.retrieval import retrievers
from parley.agents.retrieval.blocks import Block, blocks, sections
from parley.agents.retrieval.corpus import collapse, stems
from parley.agents.text.sentences import spans
from parley.agents.text.tokens import estimate
from parley.schemas.session import Document

LEAST, MOST = 40, 120
"""Words. A section that has fewer is a passage all the same."""
LONGEST = 1_500
"""Characters: what has words of such a length that MOST of them are more is cut sooner."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A passage."""

    document: str
    text: str
    """As it stands in the document, without the white space at its ends."""
    terms: tuple[str, ...]
    """Stems by which it is found: its own and those of the headings above it."""


@dataclass(frozen=True, slots=True)
class _Span:
    """A piece of a text between two offsets."""

    start: int
    end: int
    words: int


def passages(document: Document) -> tuple[tuple[Piece, ...], bool]:
    """(its passages in order, whether a sentence was left out that talks to the reader as to a machine)."""
    return _cut(document.name, document.text)


@lru_cache(maxsize=64)
def _cut(name: str, text: str) -> tuple[tuple[Piece, ...], bool]:
    pieces: list[Piece] = []
    left_out = False
    looked = is_suspicious(text)
    """Whether each sentence is looked at: none instructs where the text as a whole does not."""
    for headings, first, parts in _sections(text):
        above = tuple(s for h in headings[-2:] for s in stems(h))
        for number, run in enumerate(_runs(text, parts, looked)):
            left_out |= run is None
            if run is None:
                continue
            start = first if number == 0 and first <= run.start <= first + LONGEST else run.start
            passage = text[start : run.end].strip()
            if looked and _instructs(passage):
                left_out, passage = True, text[run.start : run.end].strip()
                if _instructs(passage):
                    continue
            run_stems = stems(text[run.start : run.end])
            if run_stems:
                pieces.append(Piece(name, passage, above + run_stems))
    return tuple(pieces), left_out


def _sections(text: str) -> Iterable[tuple[list[str], int, list[_Span]]]:
    """(headings above, where those directly above begin, its units) of each section."""
    above: tuple[Block, ...] = ()
    first = 0
    """Where the headings begin that stand directly above."""
    spans: list[_Span] = []
    for headings, block in sections(blocks(text)):
        if spans and (block.kind == "heading" or block.parted):
            yield [h.text for h in above], first, spans
            spans, first = [], block.start
        elif block.parted:
            first = block.start
        above = headings
        if block.kind != "heading":
            spans.append(_span(text, text.rfind("\n", 0, block.start) + 1, block.end))
    if spans:
        yield [h.text for h in above], first, spans


def _span(text: str, start: int, end: int) -> _Span:
    return _Span(start, end, len(text[start:end].split()))


def _runs(text: str, parts: Sequence[_Span], looked: bool) -> list[_Span | None]:
    """Neighbouring blocks put together; None where something was left out between two."""
    runs: list[_Span | None] = []
    for part in (p for block in parts for p in _parts(text, block, looked)):
        before = runs[-1] if runs else None
        together = None if part is None or before is None else _Span(before.start, part.end, before.words + part.words)
        if before is not None and before.words < LEAST and together is not None and _fits(together):
            runs[-1] = together
        else:
            runs.append(part)
    if len(runs) > 1 and (last := runs[-1]) is not None and last.words < LEAST and (before := runs[-2]) is not None:
        together = _Span(before.start, last.end, before.words + last.words)
        if _fits(together):
            runs[-2:] = [together]
    return runs


def _parts(text: str, block: _Span, looked: bool) -> Iterable[_Span | None]:
    """A block as it is, or cut at ends of sentences; None for each sentence that is left out."""
    if not looked and _fits(block):
        yield block
        return
    sentences = list(_sentences(text, block))
    if not (looked and any(_instructs(text[s.start : s.end]) for s in sentences)) and _fits(block):
        yield block
        return
    open_: _Span | None = None
    for s in sentences:
        bad = looked and _instructs(text[s.start : s.end])
        if open_ is not None and (bad or open_.words + s.words > MOST or s.end - open_.start > LONGEST):
            yield open_
            open_ = None
        if bad:
            yield None
        else:
            open_ = s if open_ is None else _Span(open_.start, s.end, open_.words + s.words)
    if open_ is not None:
        yield open_


def _sentences(text: str, block: _Span) -> Iterable[_Span]:
    """Sentences of a block, each cut further if it alone is too long."""
    start = block.start
    for end in (*(block.start + begin for begin, _ in spans(text[block.start : block.end])[1:]), block.end):
        while not _fits(_span(text, start, end)):
            cut = _far(text, start, end)
            yield _span(text, start, cut)
            start = cut
        if text[start:end].strip():
            yield _span(text, start, end)
        start = end


def _fits(span: _Span) -> bool:
    return span.words <= MOST and span.end - span.start <= LONGEST


def _far(text: str, start: int, end: int) -> int:
    """As far as a passage may go, back to a blank."""
    most = min(end, start + LONGEST)
    for count, word in enumerate(re.finditer(r"\S+\s*", text[start:most]), 1):
        if count == MOST:
            return start + word.end()
    blank = max(text.rfind(" ", start, most), text.rfind("\n", start, most))
    return blank + 1 if blank > start else most


def _instructs(piece: str) -> bool:
    """Whether a line, a sentence or the whole of a piece talks to the reader as to a machine."""
    return is_suspicious(piece) or is_instruction(collapse(piece))


def relevance(query: Sequence[str], texts: Sequence[Sequence[str]]) -> list[float]:
    """How well each text answers the query, by BM25 (k1 1.5, b 0.75).

    The Okapi variant of rank-bm25 gives a word that stands in half of the texts no weight at all, which is no use on a
    page; BM25+ with delta 0 is the same sum with ln((n + 1) / df), which is never negative.

    Parameters
    ----------
    query, texts
        Stems.

    Returns
    -------
    list of float
        0 to 1 for each text; the best has 1, and all are 0 where no text has a word of the query.
    """
    if not query or not any(texts):
        return [0.0] * len(texts)
    scores = [float(s) for s in BM25Plus(texts, delta=0).get_scores(list(query))]
    best = max(scores)
    return [s / best for s in scores] if best > 0 else scores


def ranked(query: str, pieces: Sequence[Piece]) -> list[tuple[float, int]]:
    """(relevance, index) of each piece, the best first; equal ones in their order. BM25's is from 0 to 1."""
    scores = retrievers.scores(query, [p.text for p in pieces])
    if scores is None:
        scores = relevance(stems(query), [p.terms for p in pieces])
    return sorted(((s, i) for i, s in enumerate(scores)), key=lambda x: (-x[0], x[1]))


def within(pieces: Iterable[Piece], most: int, tokens: int) -> list[Piece]:
    """The first of them, at most so many and of so many estimated tokens together; what does not fit is passed over."""
    chosen: list[Piece] = []
    for piece in pieces:
        size = estimate(piece.text)
        if len(chosen) < most and size <= tokens:
            tokens -= size
            chosen.append(piece)
    return chosen
