"""Follow-up questions: what a finished session came to, as a document that everybody in the next one holds."""

import hashlib
import json
from collections.abc import Iterator, Sequence

from client import records
from client.errors import BadInput
from client.records import Record
from client.show import transcript
from client.text import clean, line
from schemas.result import Result
from schemas.session import EVERYBODY, Document

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
    result = records.result_of(record)
    if result is None:
        raise BadInput("continue", f"session {record.sid} is not finished; watch it, or cancel it first")
    text = "\n".join(_page(record, result)) + "\n"
    if len(text) > MOST:
        text = text[: MOST - len(_CUT)] + _CUT
    digest = hashlib.sha256(text.encode()).hexdigest()
    return Document(id=digest, name=f"previous/{record.sid}.md", text=text, holders=(EVERYBODY,))


def _page(record: Record, result: Result) -> Iterator[str]:
    outcome = result.outcome
    yield f"# What an earlier session found ({record.sid})"
    yield ""
    yield f"Question: {clean(records.opening(record).question)}"
    answer = transcript.answer_of(result)
    yield f"Answer: {clean(answer)}" if answer else "There was no answer."
    yield f"It ended: {transcript.stop_words(result)}. Converged: {'yes' if result.stop.converged else 'no'}."
    if outcome.get("reasoning"):
        yield f"Reasoning: {clean(str(outcome['reasoning']))}"
    for other in outcome.get("minority") or ():
        why = f" Its reasoning: {line(str(other['reasoning']))}" if other.get("reasoning") else ""
        yield f"A minority held: {line(str(other['answer']))}.{why}"
    for o in outcome.get("objections") or ():
        state = "met" if o.get("answered") else "open"
        yield f"Objection {o.get('number')} ({state}): {line(str(o.get('text', '')))}"
    for disagreement in _disagreements(result):
        yield f"Disputed to the end: {line(disagreement)}"
    quotes = list(_quotes(record, result))
    if quotes:
        yield ""
        yield "Quotations that it rested on:"
        yield from (f"- {name}: “{quote}”" for name, quote in quotes)


def _disagreements(result: Result) -> Sequence[str]:
    found = (result.rounds[-1].get("key_disagreements") or ()) if result.rounds else ()
    return [str(d) for d in found]


def _quotes(record: Record, result: Result) -> Iterator[tuple[str, str]]:
    """(document, span): those of the result first, then those of everything that was said, each once."""
    seen: set[tuple[str, str]] = set()
    bodies = [result.outcome, *(json.loads(bytes(p.body)) for p in reversed(records.seen(record).posts))]
    for body in bodies:
        for citation in (body.get("citations") if isinstance(body, dict) else None) or ():
            found = (line(str(citation.get("document"))), line(str(citation.get("quote"))))
            if found not in seen and len(seen) < _QUOTES:
                seen.add(found)
                yield found
