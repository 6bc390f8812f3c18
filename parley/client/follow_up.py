"""Follow-up questions: the result of a finished session, as a document for every seat of the next one."""

import hashlib
from collections.abc import Iterator, Sequence

from parley.client.errors import BadInput
from parley.client.records import Record, opening, result_of
from parley.client.show.card import quotes_of
from parley.client.text import line, rows
from parley.client.view.fold import fold_of, folded
from parley.schemas.post import Post
from parley.schemas.result import Result
from parley.schemas.session import EVERYBODY, Document

MOST = 40_000
"""Characters of the document: what was found, not the whole transcript."""
_QUOTES = 40
_CUT = "\n(cut here)\n"


def document(record: Record) -> Document:
    """Question, answer, minority and key quotations of a finished session, for every seat that documents are dealt to.

    Raises
    ------
    BadInput
        The session is still open.
    """
    return document_of(record.sid, opening(record).question, result_of(record), fold_of(record).posts)


def document_of(sid: str, question: str, result: Result | None, posts: Sequence[Post]) -> Document:
    """The same from the posts that somebody may read. Raises BadInput where there is no result yet."""
    if result is None:
        raise BadInput("continue", f"session {sid} is not finished; watch it, or cancel it first")
    text = "\n".join(row for told in _page(sid, question, result, posts) for row in rows(told)) + "\n"
    if len(text) > MOST:
        text = text[: MOST - len(_CUT)] + _CUT
    digest = hashlib.sha256(text.encode()).hexdigest()
    return Document(id=digest, name=f"previous/{sid}.md", text=text, holders=(EVERYBODY,))


def _page(sid: str, question: str, result: Result, posts: Sequence[Post]) -> Iterator[str]:
    fold = folded(sid, posts=posts)
    fold.result = result
    card = fold.answer()
    assert card is not None, "it has a result"
    yield f"# What an earlier session found ({sid})"
    yield ""
    yield f"Question: {question}"
    yield f"{card.word}: {card.text}" if card.text else "There was no answer."
    why = f": {card.open}" if card.open else ""
    yield f"It ended: {card.stop} ({card.reason}){why}. Converged: {'yes' if result.stop.converged else 'no'}."
    if card.dissent:
        yield f"Dissent: {card.dissent}."
    for part in card.parts:
        if part.finding:
            yield ""
            yield f"{part.title}:"
            if part.table is not None:
                yield from (
                    f"  {': '.join(filter(None, (row.cells[0].strip(), ', '.join(row.cells[1:]))))}"
                    for row in part.table.rows
                )
            yield from (f"  {text}" for text in part.lines)
    cited = [*quotes_of(result.outcome.get("citations")), *(q for c in reversed(fold.cards) for q in c.quotes)]
    quotes = dict.fromkeys((line(q.document), line(q.quote)) for q in cited)
    if quotes:
        yield ""
        yield "Quotations that it rested on:"
        yield from (f"- {name}: “{quote}”" for name, quote in list(quotes)[:_QUOTES])
