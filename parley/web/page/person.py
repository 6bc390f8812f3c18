"""The model that is a person at a page: a turn is told with its fields, and the reply comes in one piece.

What was sent is checked by the reply's own struct; a fault goes back to the page, which keeps what was typed.
"""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

from parley.agents.context import Shown
from parley.agents.model.base import Completion, Emit
from parley.agents.models.human import turn_words
from parley.agents.worker import HANDED_BACK
from parley.client.errors import BadInput
from parley.client.text import hung
from parley.schemas.wire import Undecodable, decode, encode
from parley.web.page.form_fields import fields_of, turn_request_text
from parley.web.page.shapes import HumanTurn

MOST_PROMPT = 400_000
"""Characters of what a turn shows."""
OVER = "this turn is over, or another one waits: nothing was sent"
SENT = "Sent. Waiting for the next turn."
_UNWANTED = "The time for this turn is over, or it is wanted no more."
OnTurn = Callable[[HumanTurn | None, str], None]
"""Takes the turn that waits now, or None, and a message."""


class _Waiting(NamedTuple):
    shown: Shown
    reply: asyncio.Future[Any]


class PagePerson:
    """Model `human`, at pages: it reserves and costs nothing.

    One queue brings the turns of every session in which its person has the seat. A turn is told at the page of its own
    session, and only a reply from there answers it. Where nobody sits in that session, it waits until somebody does, or
    until its time is over.
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
        self._waiting: dict[tuple[str, str], _Waiting] = {}
        """(session, turn) -> what it shows, and its reply."""

    def sits(self, sid: str, on_turn: OnTurn) -> None:
        """Tell the turns of a session there, those that wait already, too."""
        self._listeners[sid] = on_turn
        for (of, _), waiting in self._waiting.items():
            if of == sid:
                on_turn(turn_of(waiting.shown), "")

    def leaves(self, sid: str) -> None:
        """Tell the turns of a session nobody any more."""
        self._listeners.pop(sid, None)

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """Tell the turn, and wait for its reply."""
        key = shown.session, shown.turn
        reply: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        waiting = self._waiting[key] = _Waiting(shown, reply)
        self._tell(shown.session, turn_of(shown), "")
        message = _UNWANTED
        try:
            body = await reply
            message = SENT
            return Completion(body=body)
        except asyncio.CancelledError as cancelled:
            if HANDED_BACK in cancelled.args:  # to the queue: it has not ended
                message = ""
            raise
        finally:
            if self._waiting.get(key) is waiting:
                del self._waiting[key]
            if message:
                self._tell(shown.session, None, message)

    def _tell(self, sid: str, turn: HumanTurn | None, message: str) -> None:
        if (on_turn := self._listeners.get(sid)) is not None:
            on_turn(turn, message)

    def says(self, sid: str, turn: str, body: dict[str, Any]) -> None:
        """Reply to a turn that waits here. Raises BadInput: there is no such turn, or this cannot be sent."""
        waiting = self._waiting.get((sid, turn))
        if waiting is None or waiting.reply.done():
            raise BadInput("turn", OVER)
        try:
            waiting.reply.set_result(decode(encode(body), waiting.shown.reply))
        except Undecodable as fault:
            raise BadInput("body", f"that cannot be sent: {fault.why}") from fault


def turn_of(shown: Shown) -> HumanTurn:
    """A turn as a page shows it."""
    return HumanTurn(
        seat=shown.seat,
        turn=shown.turn,
        kind=shown.kind,
        round=shown.round,
        deadline_ms=shown.deadline_ns // 1_000_000,
        error=shown.error,
        asked=turn_request_text(shown),
        question=shown.question,
        prompt="\n".join(map(hung, turn_words(shown, lambda _: True)))[:MOST_PROMPT],
        fields=fields_of(shown),
    )
