"""Follow-up questions: what a finished session leaves to the one that goes on from it.

That one has its protocol, settings and documents, unless it says otherwise. What the session came to is background: it
says what is meant, and nobody quotes it.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from parley.client.errors import BadInput
from parley.client.protocols import setup_of
from parley.client.records import Record, opening, result_of
from parley.client.show.card import quotes_of
from parley.client.text import line, rows
from parley.client.view.fold import fold_log, fold_of
from parley.coordinator.protocols import PROTOCOLS
from parley.schemas import log
from parley.schemas.post import Post
from parley.schemas.result import Result
from parley.schemas.session import EVERYBODY, Document, OpenSession

MOST = 40_000
"""Characters of the background: what was found, not the whole transcript."""
_EARLIER = 3
"""So many sessions before this one are kept as background, the last one first."""
_QUOTES = 40
_CODE_LINES = 600
"""Of a diff."""
_CUT = "\n(cut here)\n"


class Earlier(msgspec.Struct, frozen=True, kw_only=True):
    """A finished session that another one goes on from."""

    sid: str
    protocol: str
    settings: Mapping[str, Any]
    """Its own, without those of a folder."""
    documents: tuple[Document, ...]
    """Its evidence."""
    background: tuple[Document, ...]
    """What it came to, and what it had as background itself."""
    had_folder: bool = False
    """It began with a folder, of which the next one takes the present state."""

    def whole(
        self, protocol: str, given: Mapping[str, Any], *, folder: bool = False, seated: bool = False
    ) -> dict[str, Any]:
        """Settings of the next session: those that are given over its own. `seated`: a panel says how many sit."""
        if protocol != self.protocol:
            return dict(given)
        setup = setup_of(protocol)
        without = setup.without_folder if folder and not self.had_folder else {}
        own = {name: value for name, value in self.settings.items() if name not in without}
        if seated and setup.several is not None:
            own.pop(setup.several.setting, None)
        return {**own, **given}

    def into(self, opening: OpenSession) -> OpenSession:
        """The session that goes on from it: a document that it has itself stands for the earlier one of that name."""
        named = {d.name for d in opening.documents}
        kept = [d for d in self.documents if d.name not in named]
        several, settings = setup_of(opening.protocol).several, opening.settings
        alike = opening.protocol == self.protocol and (
            several is None or settings.get(several.setting) == self.settings.get(several.setting)
        )
        if not alike:
            kept = [msgspec.structs.replace(d, holders=()) for d in kept]
        documents = (*kept, *opening.documents, *self.background)
        return msgspec.structs.replace(opening, documents=documents, continues=self.sid)

    def words(self, protocol: str) -> str:
        """What it leaves, on a line."""
        count = len(self.documents)
        left = [
            *(["settings"] if protocol == self.protocol else []),
            *([f"{count} document{'s' if count > 1 else ''}"] if count else []),
            "result",
        ]
        return f"this follows up {self.sid}, with its {', '.join(left[:-1])}{' and ' if left[:-1] else ''}{left[-1]}"


def earlier(record: Record) -> Earlier:
    """What a session leaves, from its record. Raises BadInput: the session is still open."""
    opened = opening(record)
    found = found_by(record.sid, opened.question, result_of(record), fold_of(record).posts)
    folder = bool(opened.settings.get("folder"))
    older = [d for d in opened.documents if d.background is True]
    return Earlier(
        sid=record.sid,
        protocol=opened.protocol,
        settings={name: value for name, value in opened.settings.items() if name != "folder"},
        documents=tuple(_dealt(d, opened) for d in opened.evidence),
        background=(found, *older)[:_EARLIER],
        had_folder=folder,
    )


def _dealt(document: Document, opened: log.Opened) -> Document:
    """The document, which is for every seat again if each seat that documents are dealt to held it."""
    protocol = PROTOCOLS.get(opened.protocol)
    readers = () if protocol is None else protocol.readers or (protocol.roles[0].name,)
    takers = {seat.seat for seat in opened.seats if seat.role in readers}
    everybody = takers and takers <= set(document.holders)
    return msgspec.structs.replace(document, holders=(EVERYBODY,)) if everybody else document


def found_by(sid: str, question: str, result: Result | None, posts: Sequence[Post]) -> Document:
    """What a session came to: question, answer, minority and key quotations, from the posts that somebody may read.
    Raises BadInput where there is no result yet."""
    if result is None:
        raise BadInput("continue", f"session {sid} is not finished; watch it, or cancel it first")
    text = "\n".join(row for told in _page(sid, question, result, posts) for row in rows(told)) + "\n"
    if len(text) > MOST:
        text = text[: MOST - len(_CUT)] + _CUT
    digest = hashlib.sha256(text.encode()).hexdigest()
    return Document(id=digest, name=f"previous/{sid}.md", text=text, holders=(EVERYBODY,), background=True)


def _page(sid: str, question: str, result: Result, posts: Sequence[Post]) -> Iterator[str]:
    fold = fold_log(sid, posts=posts)
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
        yield f"Dissent: {card.dissent.rstrip('.')}."
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
            yield from part.code.split("\n")[:_CODE_LINES] if part.code else ()
    cited = [*quotes_of(result.outcome.get("citations")), *(q for c in reversed(fold.cards) for q in c.quotes)]
    quotes = dict.fromkeys((line(q.where), line(q.quote)) for q in map(fold.placed, cited))
    if quotes:
        yield ""
        yield "Quotations that it rested on:"
        yield from (f"- {name}: “{quote}”" for name, quote in list(quotes)[:_QUOTES])
