"""Questions of sessions to a human: which are open, and answering them."""

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from parley.bus.errors import UnknownSession
from parley.client.errors import BadInput
from parley.client.protocols import SHOWS, show_of, show_of_posts
from parley.client.show.open_items import OpenItem
from parley.client.view.fold import Fold
from parley.coordinator.protocols import STANDING
from parley.schemas.post import Post
from parley.schemas.session import DecideItem
from parley.schemas.wire import InvalidValue

if TYPE_CHECKING:
    from parley.client.client import Client

_AT_ONCE = 16
_NO_ITEMS = tuple(protocol.name for protocol in STANDING.values())
"""Protocols whose sessions ask nobody."""


class InboxItem(OpenItem, frozen=True, kw_only=True):
    """An open item of one of several sessions."""

    session: str
    task: str
    """The session's question; empty: not known."""
    seconds_left: float


async def waiting(client: "Client", session: str = "") -> list[InboxItem]:
    """Open items, the most urgent first: of every open session that the credentials read, or of one.

    Raises
    ------
    BadInput
        Credentials that are neither an owner's nor a client's, and no session is named.
    UnknownSession
        There is no such session.
    """
    if session:
        tasks = {session: ("", "")}
    else:
        rows = await client.sessions(only_open=True)
        tasks = {r.session: (r.question, r.protocol) for r in rows if r.protocol not in _NO_ITEMS}
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(sid: str, protocol: str) -> tuple[OpenItem, ...]:
        async with gate:
            return await _open_items(client, sid, protocol, must=bool(session))

    by_session = await asyncio.gather(*(one(sid, protocol) for sid, (_, protocol) in tasks.items()))
    now_ns = time.time_ns()
    questions = [
        InboxItem(
            **msgspec.structs.asdict(i),
            session=sid,
            task=task,
            seconds_left=round(max(0.0, (i.deadline_ns - now_ns) / 1e9), 1),
        )
        for (sid, (task, _)), items in zip(tasks.items(), by_session, strict=True)
        for i in items
    ]
    return sorted(questions, key=lambda w: w.deadline_ns)


async def _open_items(client: "Client", sid: str, protocol: str, *, must: bool) -> tuple[OpenItem, ...]:
    """The open items of a session; one that went meanwhile has none."""
    try:
        return fold_of_items(protocol, sid, await client.inbox(sid)).open_items()
    except UnknownSession:
        if must:
            raise
        return ()


def fold_of_items(protocol: str, sid: str, posts: Sequence[Post]) -> Fold:
    """A session after what it asked. `protocol`: empty where nobody has said it."""
    fold = Fold(sid)
    show = show_of(protocol) if protocol else show_of_posts(posts) or show_of("")
    fold.runs(protocol or show.setup.name, {})
    for post in posts:
        fold.post(post)
    return fold


async def answer(client: "Client", sid: str, item: str, choice: str, note: str = "") -> None:
    """Answer an item, or decide what may be decided unasked (Show.decisions).

    Raises
    ------
    BadInput
        No such item, one that is closed, or a choice that it does not have: with those that there are.
    Refusal
        The moderator refused it: the session is over, somebody else's, or knows no such expert.
    UnknownSession
        There is no such session.
    """
    check(fold_of_items("", sid, await client.inbox(sid)), item, choice)
    try:
        decision = DecideItem(item=item, choice=choice, note=note)
    except InvalidValue as error:
        raise BadInput(error.field.rpartition(".")[2], str(error)) from error
    await client.decide(sid, decision)


def check(fold: Fold, item: str, choice: str) -> None:
    """Raise BadInput where an answer cannot be right: before anybody is asked."""
    unasked = fold.show.decisions or {k: v for show in SHOWS.values() for k, v in show.decisions.items()}
    if item in unasked:
        return
    open_items = fold.open_items()
    asked = next((i for i in open_items if i.item == item), None)
    if asked is None:
        there = ", ".join(f"{i.item} ({i.kind})" for i in open_items) or "none"
        why = "is closed" if item in fold.asked else "does not exist"
        more = "".join(f"; `{name}` with {what}" for name, what in unasked.items())
        raise BadInput("item", f"item {item!r} {why}; open are: {there}{more}")
    if asked.choices and choice not in asked.choices:
        raise BadInput("choice", f"got {choice!r}; item {item} ({asked.kind}) takes {', '.join(asked.choices)}")
