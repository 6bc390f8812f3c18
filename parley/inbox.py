"""Questions of tasks to a human (seeds/madp.md 9.3): which are open, and answering them."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from bus.errors import UnknownSession
from client.errors import BadInput, Refusal
from client.protocols.madp import transcript as transcript_madp
from client.protocols.madp.story import Story
from client.text import line
from coordinator.protocols import STANDING
from parley.sessions import NoSession
from parley.stack.access import last_stack, place, run
from schemas.protocols.madp.messages import Item
from schemas.session import DecideItem
from schemas.wire import InvalidValue

if TYPE_CHECKING:
    from client.client import Client
    from parley.settings import Settings

OVERRIDE = "expert"
"""In place of an item: who is to lead from now on."""
_AT_ONCE = 16
_NO_ITEMS = tuple(protocol.name for protocol in STANDING.values())
"""Protocols whose sessions ask nobody."""


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """An open item."""

    session: str
    task: str
    """The session's question; empty: not known."""
    item: str
    kind: str
    question: str
    choices: tuple[str, ...]
    """What may be answered; none: free text."""
    default: str
    """What holds without an answer."""
    deadline_ns: int
    seconds_left: float


async def waiting(client: "Client", session: str = "") -> list[Waiting]:
    """Open items, the most urgent first: of every open session (owners only), or of one.

    Raises
    ------
    BadInput
        Credentials that are no owner's, and no session is named.
    UnknownSession
        There is no such session.
    """
    if session:
        tasks = {session: ""}
    else:
        rows = await client.sessions()
        tasks = {r.session: r.question for r in rows if r.status == "open" and r.protocol not in _NO_ITEMS}
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(sid: str) -> Story:
        async with gate:
            return await _story(client, sid, must=bool(session))

    stories = await asyncio.gather(*(one(sid) for sid in tasks))
    now_ns = time.time_ns()
    found = [
        Waiting(
            session=sid, task=task, item=i.id, kind=i.kind, question=i.question, choices=i.choices, default=i.default,
            deadline_ns=i.deadline_ns, seconds_left=round(max(0.0, (i.deadline_ns - now_ns) / 1e9), 1),
        )
        for (sid, task), story in zip(tasks.items(), stories, strict=True)
        for i in story.open.values()
    ]  # fmt: skip
    return sorted(found, key=lambda w: w.deadline_ns)


async def _story(client: "Client", sid: str, *, must: bool) -> Story:
    """The items of a session; one that went meanwhile has none."""
    try:
        return Story(await client.inbox(sid))
    except UnknownSession:
        if must:
            raise
        return Story()


async def answer(client: "Client", sid: str, item: str, choice: str, note: str = "") -> None:
    """Answer an item, or say who is to lead (`expert`).

    Raises
    ------
    BadInput
        No such item, one that is closed, or a choice that it does not have: with those that there are.
    Refusal
        The moderator refused it: the session is over, somebody else's, or knows no such expert.
    UnknownSession
        There is no such session.
    """
    story = Story(await client.inbox(sid))
    if item != OVERRIDE:
        check(story, item, choice)
    try:
        decision = DecideItem(item=item, choice=choice, note=note)
    except InvalidValue as error:
        raise BadInput(error.field.rpartition(".")[2], str(error)) from error
    await client.decide(sid, decision)


def check(story: Story, item: str, choice: str) -> None:
    """Raise BadInput where an answer cannot be right: before anybody is asked."""
    asked = story.open.get(item)
    if asked is None:
        there = ", ".join(f"{i.id} ({i.kind})" for i in story.open.values()) or "none"
        why = "is closed" if item in story.items else "does not exist"
        raise BadInput(
            "item", f"item {item!r} {why}; open are: {there}; `{OVERRIDE}` with an expert's id changes who leads"
        )
    if asked.choices and choice not in asked.choices:
        raise BadInput("choice", f"got {choice!r}; item {item} ({asked.kind}) takes {', '.join(asked.choices)}")


def of(settings: "Settings", session: str) -> list[Waiting]:
    """Open items of all sessions, or of one; none where no stack ever ran. Raises as `waiting`; NoSession."""

    async def main() -> list[Waiting]:
        async with last_stack(settings) as parley:
            return [] if parley is None else await waiting(parley.client, session)

    with _known(settings, session):
        return run(main())


def decide(settings: "Settings", sid: str, item: str, choice: str, note: str) -> None:
    """Answer an item, or change who leads. Raises as `answer`; NoSession."""

    async def main() -> None:
        async with last_stack(settings) as parley:
            if parley is None:
                raise NoSession(sid, place(settings))
            await answer(parley.client, sid, item, choice, note)

    with _known(settings, sid):
        run(main())


@contextmanager
def _known(settings: "Settings", sid: str) -> Iterator[None]:
    try:
        yield
    except UnknownSession as error:
        if error.why:
            raise Refusal("session", str(error)) from error
        raise NoSession(sid, place(settings)) from None


def taken(sid: str, item: str, choice: str) -> None:
    """Print that an answer was taken."""
    print(f"session {line(sid)}: {line(item)} is answered with {line(choice)}")


def words(found: Sequence[Waiting], where: str = "") -> Iterator[str]:
    """Each with how it is answered. `where`: options that name the bus."""
    if not found:
        yield "nothing waits for a human"
    for w in found:
        if w.task:
            yield f"{line(w.session)}: {line(w.task, 160)}"
        item = Item(
            id=w.item, kind=w.kind, question=w.question, choices=w.choices, default=w.default,  # type: ignore[arg-type]
            deadline_ns=w.deadline_ns,
        )  # fmt: skip
        at_ns = w.deadline_ns - int(w.seconds_left * 1e9)
        yield from (text for _, text in transcript_madp.item_lines(w.session, item, at_ns, where))
