"""Follow-up questions: the result of a finished session, as a document for every seat of the next one."""

import hashlib
from collections.abc import Iterator, Sequence

from parley.client.errors import BadInput
from parley.client.protocols import face_of
from parley.client.records import Record, opening, result_of
from parley.client.rendering.transcript import answer_of, stop_words
from parley.client.session_view import seen
from parley.client.show.presenter import Presenter
from parley.client.text import line, rows
from parley.client.untrusted import object_of, shaped
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
    return document_of(record.sid, opening(record).question, result_of(record), seen(record).posts)


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
    presenter = face_of(result.protocol).present()
    yield f"# What an earlier session found ({sid})"
    yield ""
    yield f"Question: {question}"
    answer = answer_of(result)
    word = presenter.answer_words(result, "Answer")
    yield f"{word}: {answer}" if answer else "There was no answer."
    yield f"It ended: {stop_words(result)}. Converged: {'yes' if result.stop.converged else 'no'}."
    yield from shaped(lambda: presenter.findings(result), lambda: Presenter().findings(result))
    quotes = list(_quotes(posts, result, presenter))
    if quotes:
        yield ""
        yield "Quotations that it rested on:"
        yield from (f"- {name}: “{quote}”" for name, quote in quotes)


def _quotes(posts: Sequence[Post], result: Result, presenter: Presenter) -> Iterator[tuple[str, str]]:
    """(document, span): those of the result first, then those of everything that was said, each once."""
    seen: set[tuple[str, str]] = set()
    bodies = [result.outcome, *(object_of(p.body) for p in reversed(posts))]
    for body in bodies:
        for document, quote in presenter.quotes(body):
            pair = (line(document), line(quote))
            if pair not in seen and len(seen) < _QUOTES:
                seen.add(pair)
                yield pair
