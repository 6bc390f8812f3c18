"""The model that is a person at a page: a turn is told with its fields, and the reply comes in one piece.

What was sent is checked by the reply's own struct; a fault goes back to the page, which keeps what was typed.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from parley.agents.context import Shown
from parley.agents.model.base import Completion, Emit
from parley.agents.models.human import turn_words
from parley.agents.worker import HANDED_BACK
from parley.client.errors import BadInput
from parley.client.text import hung
from parley.schemas.wire import Undecodable, decode, encode
from parley.web.page.shapes import HumanTurn
from parley.web.page.turns.forms import asked, fields_of

MOST_PROMPT = 400_000
"""Characters of what a turn shows."""
OVER = "this turn is over, or another one waits: nothing was sent"
SENT = "Sent. Waiting for the next turn."
_UNWANTED = "The time for this turn is over, or it is wanted no more."
_REMEMBERED_MS = 10_000
OnTurn = Callable[[HumanTurn | None, str], None]
"""Takes the turn that waits now, or None, and a message."""


class Waits(msgspec.Struct, frozen=True):
    """A turn that waits."""

    session: str
    turn: str
    since_ms: int
    """Unix time at which it came to this copy."""


class TurnClosed(msgspec.Struct, frozen=True):
    """A turn that waits no more."""

    session: str
    turn: str
    message: str
    at_ms: int


class _Waiting(NamedTuple):
    shown: Shown
    reply: asyncio.Future[Any]
    since_ms: int


class PagePerson:
    """Model `human`, at pages: it reserves and costs nothing.

    One queue brings the turns of every session in which its person has the seat. A turn is told at the page of its own
    session, and only a reply from there answers it. Where nobody sits in that session here, it waits until somebody
    does, at this copy of the gateway or at another one, or until its time is over. Turns that wait at another copy are
    told here, too.
    """

    name = "human"
    family = "human"
    metered = False
    words = True
    usd_per_million_input = 0.0
    usd_per_million_output = 0.0

    def __init__(self) -> None:
        self.changed: Callable[[], None] = lambda: None
        """Called when a turn came or ended here, or somebody sat down."""
        self.elsewhere: dict[tuple[str, str], HumanTurn] = {}
        """(session, turn) that wait at other copies and are told here."""
        self.ended: deque[TurnClosed] = deque(maxlen=64)
        """Turns that ended here in the last seconds. One that was handed back to the queue has not ended."""
        self._listeners: dict[str, OnTurn] = {}
        """Session -> where its turns are told."""
        self._waiting: dict[tuple[str, str], _Waiting] = {}
        """(session, turn) -> what it shows, and its reply."""

    def sits(self, sid: str, on_turn: OnTurn) -> None:
        """Tell the turns of a session there, those that wait already, too."""
        self._listeners[sid] = on_turn
        for (of, _), turn in self.elsewhere.items():
            if of == sid:
                on_turn(turn, "")
        for (of, _), waiting in self._waiting.items():
            if of == sid:
                on_turn(turn_of(waiting.shown), "")
        self.changed()

    def leaves(self, sid: str) -> None:
        """Tell the turns of a session nobody any more."""
        self._listeners.pop(sid, None)

    def listens(self, sid: str) -> bool:
        """Whether somebody sits here in that session."""
        return sid in self._listeners

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """Tell the turn, and wait for its reply."""
        key = shown.session, shown.turn
        reply: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        waiting = self._waiting[key] = _Waiting(shown, reply, _now_ms())
        self._tell(shown.session, turn_of(shown), "")
        self.changed()
        message = _UNWANTED
        try:
            body = await reply
            message = SENT
            return Completion(body=body)
        except asyncio.CancelledError as cancelled:
            if HANDED_BACK in cancelled.args:
                message = ""
            raise
        finally:
            if self._waiting.get(key) is waiting:
                del self._waiting[key]
            if message:
                self.ended.append(TurnClosed(*key, message, _now_ms()))
                self._tell(shown.session, None, message)
            self.changed()

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

    # -- for other copies
    def has(self, sid: str, turn: str) -> bool:
        """Whether a turn waits here."""
        return (sid, turn) in self._waiting

    def turn(self, sid: str, turn: str) -> HumanTurn | None:
        """A turn that waits here, as a page shows it."""
        waiting = self._waiting.get((sid, turn))
        return None if waiting is None else turn_of(waiting.shown)

    def waiting(self) -> tuple[Waits, ...]:
        """All turns that wait here."""
        return tuple(Waits(*key, w.since_ms) for key, w in self._waiting.items() if not w.reply.done())

    def forget_ended(self) -> None:
        """Forget turns that ended a while ago."""
        while self.ended and _now_ms() - self.ended[0].at_ms > _REMEMBERED_MS:
            self.ended.popleft()

    def waits_elsewhere(self, sid: str, turn: str, shown: HumanTurn) -> None:
        """Tell a turn that waits at another copy."""
        self.elsewhere[sid, turn] = shown
        self._tell(sid, shown, "")

    def ends_elsewhere(self, sid: str, turn: str, message: str) -> None:
        """Tell that it waits there no more."""
        if self.elsewhere.pop((sid, turn), None) is not None and not self.has(sid, turn):
            self._tell(sid, None, message)


def turn_of(shown: Shown) -> HumanTurn:
    """A turn as a page shows it."""
    return HumanTurn(
        seat=shown.seat,
        turn=shown.turn,
        kind=shown.kind,
        round=shown.round,
        deadline_ms=shown.deadline_ns // 1_000_000,
        error=shown.error,
        asked=asked(shown),
        question=shown.question,
        prompt="\n".join(map(hung, turn_words(shown, lambda _: True)))[:MOST_PROMPT],
        fields=fields_of(shown),
    )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
