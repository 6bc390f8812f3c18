"""The model that is a person at a page: a turn is told with its fields, and the reply comes in one piece.

What was sent is checked by the reply's own struct; a fault goes back to the page, which keeps what was typed.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from agents.context import Shown
from agents.models.base import Completion, Emit
from agents.models.human import turn_words
from client.errors import BadInput
from gateway.web.shapes import HumanTurn
from gateway.web.turns.forms import asked, fields_of
from schemas.wire import Undecodable, decode, encode

MOST_PROMPT = 400_000
"""Characters of what a turn shows."""
OnTurn = Callable[[HumanTurn | None, str], None]
"""Takes the turn that waits now, or None, and a message."""


class PagePerson:
    """Model `human`, at pages: it reserves and costs nothing.

    One queue brings the turns of every session in which its person has the seat. A turn is told at the page of its own
    session, and only a reply from there answers it. Where nobody sits in that session here, it waits until somebody
    does, or until its time is over.
    """

    name = "human"
    family = "human"
    metered = False
    words = True
    usd_per_million_input = 0.0
    usd_per_million_output = 0.0

    def __init__(self) -> None:
        self._listeners: dict[str, OnTurn] = {}
        """Session -> where its turns are told."""
        self._waiting: dict[tuple[str, str], tuple[Shown, asyncio.Future[Any]]] = {}
        """(session, turn) -> what it shows, and its reply."""

    def sits(self, sid: str, on_turn: OnTurn) -> None:
        """Tell the turns of a session there, those that wait already, too."""
        self._listeners[sid] = on_turn
        for (of, _), (shown, _) in self._waiting.items():
            if of == sid:
                on_turn(turn_of(shown), "")

    def leaves(self, sid: str) -> None:
        """Tell the turns of a session nobody any more."""
        self._listeners.pop(sid, None)

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """Tell the turn, and wait for its reply."""
        key = shown.session, shown.turn
        reply: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[key] = shown, reply
        self._tell(shown.session, turn_of(shown), "")
        message = "The time for this turn is over, or it is wanted no more."
        try:
            body = await reply
            message = "Sent. Waiting for the next turn."
            return Completion(body=body)
        finally:
            if self._waiting.get(key, (None, None))[1] is reply:
                del self._waiting[key]
            self._tell(shown.session, None, message)

    def _tell(self, sid: str, turn: HumanTurn | None, message: str) -> None:
        if (on_turn := self._listeners.get(sid)) is not None:
            on_turn(turn, message)

    def says(self, sid: str, turn: str, body: dict[str, Any]) -> None:
        """Reply to a turn that waits. Raises BadInput: there is no such turn, or this cannot be sent."""
        shown, reply = self._waiting.get((sid, turn), (None, None))
        if shown is None or reply is None or reply.done():
            raise BadInput("turn", "this turn is over, or another one waits: nothing was sent")
        try:
            reply.set_result(decode(encode(body), shown.reply))
        except Undecodable as fault:
            raise BadInput("body", f"that cannot be sent: {fault.why}") from fault


def turn_of(shown: Shown) -> HumanTurn:
    """A turn as a page shows it."""
    return HumanTurn(
        seat=shown.seat, turn=shown.turn, kind=shown.kind, round=shown.round,
        deadline_ms=shown.deadline_ns // 1_000_000, error=shown.error, asked=asked(shown), question=shown.question,
        prompt="\n".join(turn_words(shown, lambda _: True))[:MOST_PROMPT], fields=fields_of(shown),
    )  # fmt: skip
