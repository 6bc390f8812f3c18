"""Feeds a view with a running session: its posts in order, the state of its turns and seats, and who is there."""

import asyncio
import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from parley.bus.channels import CLIENTS, may_read
from parley.bus.errors import BusError
from parley.client import visible_posts
from parley.client.api import Parley
from parley.client.errors import ParleyError
from parley.client.opened_session import Session
from parley.client.post_order import in_order
from parley.client.turns import Turns
from parley.schemas import log
from parley.schemas.post import CLOSED, Live, Post
from parley.schemas.result import Result
from parley.schemas.wire import SchemaError, decode

if TYPE_CHECKING:
    from parley.client.client import Client

_LOG_S = 0.4


class View(Protocol):
    """Takes what happens."""

    wants_log: bool
    tells: bool

    def knows(self, turns: Turns) -> None: ...
    def runs(self, protocol: str, settings: Mapping[str, Any]) -> None: ...
    def located(self, where: str) -> None: ...
    def forgets(self) -> None: ...
    def is_led_on(self) -> None: ...
    def leads_on(self, step: str) -> None: ...
    def opened(self, sid: str, protocol: str, question: str, continues: str = "") -> None: ...
    def post(self, post: Post) -> None: ...
    def live(self, live: Live) -> None: ...
    def entry(self, entry: str) -> None: ...
    def caught_up(self) -> None: ...
    def workers(self, queues: frozenset[str]) -> None: ...
    def note(self, text: str) -> None: ...
    def result(self, result: Result) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def close(self) -> None: ...


async def show(session: Session, view: View, client: "Client", *, everything: bool) -> Result:
    """Every post, to the session's end; what it came to. `everything`: of every channel."""
    closed: Post | None = None
    turns = Turns(may_see=lambda channel: everything or may_read(CLIENTS, channel), sid=session.sid)
    view.knows(turns)
    posts = session.posts(on_live=view.live)
    ordered = visible_posts.every_post(client, session.sid, posts) if everything else in_order(posts)
    async for post in ordered:
        if client.owner and post.transition >= turns.read and (view.tells or post.kind == CLOSED):
            await _catch_up(turns, client, session.sid)
        view.post(post)
        closed = post
    assert closed is not None, "a session's posts end with its closing"
    return msgspec.json.decode(closed.body, type=Result)


async def _catch_up(turns: Turns, client: "Client", sid: str) -> None:
    """What becomes of turns stands in the log, which owners may read."""
    with contextlib.suppress(ParleyError, BusError, SchemaError):
        for text in await client.log(sid, turns.read):
            turns.take(decode(text.encode(), log.Entry))


async def watch_log(parley: Parley, sid: str, view: View) -> None:
    """Who was asked, what was answered and not posted yet, and what was used, where the credential may read the log."""
    if not view.wants_log or not parley.client.owner:
        return
    read = 0
    while True:
        with contextlib.suppress(ParleyError, BusError):  # the posts say how it goes on, and whether
            entries = await parley.client.log(sid, read)
            for entry in entries:
                view.entry(entry)
            read += len(entries)
            view.caught_up()
            there = await parley.client.workers()
            if there.heard:
                view.workers(frozenset(w.queue for w in there.workers))
        await asyncio.sleep(_LOG_S)
