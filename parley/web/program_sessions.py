"""Sessions that a program asks for: opened, followed, left, and followed up.

A program that goes away while it waits for its answer cancels the session (parley.client.opened_session).
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from hashlib import sha256
from typing import Any, TypeVar

import msgspec
from starlette.types import Receive

from parley.bus.errors import BusError, UnknownSession
from parley.client import follow_up, following
from parley.client.client import Client
from parley.client.errors import BadInput, NotAllowed, ParleyError, bad_input
from parley.client.evidence import ReadEvidence, SentFile
from parley.client.follow_up import Earlier
from parley.client.opened_session import open_session
from parley.client.opening import opening_of, read_evidence, spelling
from parley.client.people import inbox
from parley.client.setup.options import Door
from parley.client.show.open_items import OpenItem
from parley.client.text import hung
from parley.client.view.fold import Fold
from parley.schemas.post import SessionRow
from parley.schemas.result import Result
from parley.schemas.session import EVERYBODY, MAX_QUESTION, SESSION_ID, Document, OpenSession
from parley.schemas.wire import InvalidValue
from parley.web.offered_models import Offers
from parley.web.verdicts import text_of

T = TypeVar("T")
ROOT = "parley gateway"
"""Name of the span around what a door opens."""
PASTED = "message.md"
"""The document that holds a question which is too long for one."""
_SHORT = 4_000
"""Characters of its beginning, and of its end, that then stand for it."""


async def acted_on(client: Client, sid: str, *, own: bool = False) -> SessionRow:
    """The row of a session with which the client may do something: of its own ones, or as an owner of any. `own`: of
    its own ones alone, owners too.

    Raises
    ------
    UnknownSession
        There is none that the client may see.
    NotAllowed
        It may be read, and it is another's.
    """
    row = await client.row(sid)
    if row is None:
        raise UnknownSession(sid)
    if row.owner != client.user and (own or not client.owner):
        raise NotAllowed("session", f"session {sid} was opened by somebody else: you may read it, and no more")
    return row


class CallerLeft(Exception):
    """The program that asked has gone."""


async def so_far(client: Client, sid: str) -> Fold:
    """As much of a session as its reader may see now. Raises UnknownSession."""
    if not SESSION_ID.fullmatch(sid):
        raise BadInput("session", f"got {sid[:80]!r}, which is not a session's id")
    fold = await following.so_far(client, sid, None if client.owner else await client.row(sid))
    if client.owner and not fold.texts:
        raise UnknownSession(sid)
    return fold


async def earlier(client: Client, sid: str) -> Earlier:
    """What a finished session leaves to the one that goes on from it. Of a session that the client reads, and no owner,
    that is its protocol and what it came to.

    Raises
    ------
    BadInput
        It is still open.
    UnknownSession
        There is no such session, or it is another's.
    """
    if not SESSION_ID.fullmatch(sid):
        raise BadInput("continues", f"{sid[:80]!r} is not a session's id")
    session = await so_far(client, sid)
    if session.record is not None:
        return follow_up.earlier(session.record)
    found = follow_up.found_by(sid, session.question, session.result, session.posts)
    return follow_up.Earlier(sid=sid, protocol=session.protocol, settings={}, documents=(), background=(found,))


async def heard(client: Client, sid: str, begun: Fold | None = None) -> AsyncGenerator[tuple[str, Fold], None]:
    """Each post of a session as a text, empty where it says nothing to a reader, and the session after it; from its
    first post until it is closed, and has its result. `begun`: the session before its first post, where more is known
    of it than its row says. Raises UnknownSession."""
    if begun is None:
        row = await client.row(sid)
        if row is None:
            raise UnknownSession(sid)
        begun = fold_of(sid, row.protocol)
    async with contextlib.aclosing(client.posts(sid, on_live=begun.live)) as posts:
        async for post in posts:
            yield text_of(begun.post(post)), begun


def fold_of(sid: str, protocol: str, settings: Mapping[str, Any] = {}) -> Fold:
    """A session of which nothing was said yet."""
    fold = Fold(sid)
    fold.runs(protocol, settings)
    return fold


async def follow_to_end(
    client: Client,
    sid: str,
    say: Callable[[str, Fold], Awaitable[None]],
    ask: Callable[[OpenItem], Awaitable[str]],
    begun: Fold | None = None,
) -> Result:
    """Follow a session to its end; its result.

    Parameters
    ----------
    say
        Is told each post as a text, and the session after it.
    ask
        Puts an open item to a person, and gives the answer; empty: none, so that its default holds.
    begun
        As `heard` takes it.
    """

    async def answered(item: OpenItem) -> None:
        with contextlib.suppress(ParleyError, BusError):  # answered elsewhere, or its time is over
            if answer := await ask(item):
                await inbox.answer(client, sid, item.item, answer)

    people, fold = dict[str, asyncio.Task[None]](), Fold(sid)
    try:
        async with contextlib.aclosing(heard(client, sid, begun)) as posts:
            async for text, fold in posts:
                await say(text, fold)
                for item in fold.open_items():
                    if item.item not in people:
                        people[item.item] = asyncio.ensure_future(answered(item))
    finally:
        for task in people.values():
            task.cancel()
        await asyncio.gather(*people.values(), return_exceptions=True)
    assert fold.result is not None, "a session's posts end with its closing"
    return fold.result


def item_words(item: OpenItem, *, choices: bool = False) -> str:
    """An open item as a text, with what holds without an answer. `choices`: and with what may be answered."""
    allowed = f"\nAnswer: {hung(', '.join(item.choices))}." if choices and item.choices else ""
    return f"{hung(item.question)}{allowed}\n{hung(f'Without an answer: {item.default}.')}"


async def unless_left(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """What `work` gives, unless the program that asked goes away first: then it is cancelled. Raises CallerLeft."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise CallerLeft
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def asked(
    client: Client,
    offers: Offers,
    question: str,
    given: Mapping[str, Any],
    door: Door,
    read: Callable[[str], ReadEvidence],
    *,
    documents: bool,
) -> OpenSession:
    """A session as a program or a page asks for it.

    Parameters
    ----------
    given
        Options as the door spells them: `protocol` may be a panel's name, `continues` a finished session.
    read
        Reads what comes with the question, in a thread: protocol -> documents.
    documents
        Whether something comes with it.

    Raises
    ------
    BadInput
        Names the field, the value and what is allowed.
    """
    options = dict(given)
    named, sid = options.pop("protocol", None) or "", options.pop("continues", None)
    before = await earlier(client, str(sid)) if sid else None
    offer = offers.of(named, question, options, documents=documents, before=before)
    return await asyncio.to_thread(
        lambda: opening_of(question, options, read(offer.protocol), offer, before=before, door=door)
    )


async def opened(client: Client, opening: OpenSession, door: Door) -> str:
    """Open it; its id. Who goes away meanwhile has it cancelled. Raises as Client.open, in the door's words."""
    with spelling(door, opening.protocol):
        return await open_session(client, opening, root=ROOT)


async def open_text_session(
    client: Client, offers: Offers, text: str, given: Mapping[str, Any], files: Sequence[SentFile] = ()
) -> str:
    """Open what a program asks in a text, with files for every seat; the session's id. Raises as `asked` (options are
    those of tools, MCP) and `opened`."""
    with bad_input("question", InvalidValue):
        question, pasted = question_of(text)

    def read(protocol: str) -> ReadEvidence:
        return files_for_all(protocol, files).plus(*pasted)

    opening = await asked(client, offers, question, given, "mcp", read, documents=bool(files or pasted))
    return await opened(client, opening, "mcp")


def question_of(text: str) -> tuple[str, tuple[Document, ...]]:
    """(The question, the document that holds all of it where it is too long for one). Raises InvalidValue."""
    if len(text) <= MAX_QUESTION:
        return text, ()
    begins, ends = text[:_SHORT].strip(), text[-_SHORT:].strip()
    return (
        f"The message that is asked has {len(text):,} characters: the document {PASTED} holds all of it. It begins:\n\n"
        f"{begins}\n\nand it ends:\n\n{ends}"
    ), (document(PASTED, text),)


def files_for_all(protocol: str, files: Sequence[SentFile]) -> ReadEvidence:
    """Files that came with a question, for every seat that documents are dealt to. Raises BadInput."""
    sent = read_evidence(protocol, files or None)
    everybody = tuple(msgspec.structs.replace(d, holders=(EVERYBODY,)) for d in sent.documents)
    return sent._replace(documents=everybody)


def document(name: str, text: str) -> Document:
    """A text that comes with a question, for every seat that documents are dealt to. Raises InvalidValue where it is
    too long."""
    return Document(id=sha256(text.encode()).hexdigest(), name=name, text=text, holders=(EVERYBODY,))
