"""Copies of the gateway at one person's seat tell one another where its turns wait.

A turn of the person's queue comes to one of the copies that serve it. The person's pages, and each request of a page,
may come to any copy. So each copy says which turns it has, when that changes and every BEAT_S. Another copy asks it for
what a turn shows, and hands it the reply. All of that goes over the broker's account of the seat's person, which
nobody else is in: the broker decides who hears it.

Why a turn is answered once: the copy that has a turn takes one reply to it, and a moderator takes one reply to a turn,
whoever sends it. A copy that is killed, or frozen, says nothing more. The server then hands its turn out again to a
copy that serves the queue. A reply waits for that here, and is not handed to two copies at once.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import msgspec

from parley.bus import subjects
from parley.bus.connection import Connection
from parley.bus.errors import BusError, Denied, NoAnswer, NoModerator
from parley.bus.library import Msg
from parley.client.errors import BadInput, Unreachable
from parley.schemas.wire import Undecodable, decode, encode
from parley.web.page.shapes import HumanTurn
from parley.web.page.turns.person import OVER, SENT, PagePerson, TurnClosed, Waits

BEAT_S = 2.0
"""Each copy says so often what it has."""
ASK_S = 4.0
"""A copy answers within that, or is taken for frozen."""
HEAR_S = 0.3
"""Copies that are asked who sits here answer within that."""
_ENDED = 256
"""Turns that are over and are remembered."""
_LOST = "No part of the gateway has this turn any more. If it is still open, it comes again by itself."
_DOUBT = "the part of the gateway that has this turn did not answer: the argument shows whether your words arrived"
_LOGGER = logging.getLogger(__name__)


class Sits(msgspec.Struct, frozen=True):
    """Somebody who sits on the seat in a session."""

    session: str
    person: str
    """Name of the principal."""
    n: int
    """The transition with which the sitting began: of two people with one key, the later one sits."""
    watched: bool
    """A page of the person is open at this copy."""


class Here(msgspec.Struct, frozen=True):
    """What one copy has."""

    copy: str
    sits: tuple[Sits, ...] = ()
    turns: tuple[Waits, ...] = ()
    ended: tuple[TurnClosed, ...] = ()
    """Turns that ended there in the last seconds."""


class Asked(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is asked about a turn: what it shows, or, with a body, that it be replied to."""

    session: str
    turn: str
    body: dict[str, Any] | None = None


class TurnAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The answer. `why`: it was not taken."""

    turn: HumanTurn | None = None
    field: str = ""
    why: str = ""


class _Place(NamedTuple):
    """Where a turn waits."""

    copy: str
    since_ms: int
    heard_at: float


class Copies:
    """What one copy knows of the others at a seat, while it serves that seat's queue.

    Parameters
    ----------
    sits
        Gives who sits here.
    heard
        Called with everybody who sits at another copy, whenever that copy says so.
    ack_wait_s
        Of the queue: silence after which the server hands a turn out again.
    """

    def __init__(
        self, person: PagePerson, sits: Callable[[], tuple[Sits, ...]], heard: Callable[[Sits], None], ack_wait_s: float
    ) -> None:
        self.id = secrets.token_hex(8)
        self._person, self._sits, self._heard = person, sits, heard
        self._settle_s = 2 * ack_wait_s + BEAT_S
        """Within that a turn of a copy that is gone comes to another one."""
        self._connection: Connection | None = None
        self._begun_at = time.monotonic()
        self._places: dict[tuple[str, str], _Place] = {}
        self._silent: set[str] = set()
        self._elsewhere: dict[str, tuple[float, tuple[Sits, ...]]] = {}
        self._ended: dict[tuple[str, str], int] = {}
        self._news = asyncio.Event()
        self._fetching: set[tuple[str, str]] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def begin(self, connection: Connection) -> None:
        """Hear the others, and ask what they have."""
        try:
            await connection.subscribe(subjects.SEAT_HERE, self._on_here)
            await connection.subscribe(subjects.SEAT_WHO, self._on_who)
            await connection.subscribe(_at(self.id), self._on_asked)
        except Denied:
            _LOGGER.warning(
                "the key of a person's seat may not speak to other copies of the gateway: write the bus's "
                "configuration anew (parley bus config). Until then the person has to reach one and the same copy"
            )
            self._begun_at -= self._settle_s  # nothing comes from another copy
            return
        self._connection = connection
        self._person.changed = self._changed
        self._spawn(self._beat())
        await self._publish(subjects.SEAT_WHO, b"{}")

    async def end(self) -> None:
        """Hear and say no more."""
        self._person.changed = _nothing
        self._connection = None
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # -- saying
    def _changed(self) -> None:
        """What this copy has has changed, or who sits here."""
        for key in [k for k in self._person.elsewhere if self._person.has(*k)]:
            del self._person.elsewhere[key]  # it was handed out again, to this copy
            self._places.pop(key, None)
        for ended in self._person.ended:
            self._is_over(ended)
        self._wakes()
        self._look()
        self._spawn(self._tell())

    async def _tell(self) -> None:
        here = Here(self.id, self._sits(), self._person.waiting(), tuple(self._person.ended))
        await self._publish(subjects.SEAT_HERE, encode(here))

    async def _publish(self, subject: str, data: bytes) -> None:
        if self._connection is not None:
            try:
                await self._connection.publish(subject, data)
            except BusError as error:
                _LOGGER.debug("not told to other copies: %s", error)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            now = time.monotonic()
            for key, place in list(self._places.items()):
                if now - place.heard_at > self._settle_s:
                    del self._places[key]
                    self._person.ends_elsewhere(*key, _LOST)
            self._elsewhere = {copy: said for copy, said in self._elsewhere.items() if now - said[0] < 3 * BEAT_S}
            self._person.forget_ended()
            await self._tell()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- hearing
    def _on_here(self, message: Msg) -> None:
        try:
            here = decode(message.data, Here)
        except Undecodable as fault:
            _LOGGER.warning("another copy of the gateway cannot be understood: %s", fault)
            return
        if here.copy == self.id:
            return
        now = time.monotonic()
        self._silent.discard(here.copy)
        self._elsewhere[here.copy] = now, here.sits
        for sits in here.sits:
            self._heard(sits)
        for ended in here.ended:
            self._is_over(ended)
        for waits in here.turns:
            key = waits.session, waits.turn
            known = self._places.get(key)
            if waits.since_ms > self._ended.get(key, -1) and (known is None or known.since_ms <= waits.since_ms):
                self._places[key] = _Place(here.copy, waits.since_ms, now)
        self._wakes()
        self._look()

    def _is_over(self, ended: TurnClosed) -> None:
        """A turn ended. One that was handed out later, since the reply never arrived, is not meant."""
        key = ended.session, ended.turn
        self._ended[key] = max(ended.at_ms, self._ended.pop(key, 0))
        while len(self._ended) > _ENDED:
            del self._ended[next(iter(self._ended))]
        place = self._places.get(key)
        if place is not None and place.since_ms <= ended.at_ms:
            del self._places[key]
            self._person.ends_elsewhere(*key, ended.message)

    def _wakes(self) -> None:
        """Let those look again who wait for a turn."""
        self._news.set()
        self._news = asyncio.Event()

    def _look(self) -> None:
        """Ask for turns that wait elsewhere, in sessions in which somebody sits here."""
        for key, place in self._places.items():
            known = key in self._person.elsewhere or self._person.has(*key) or key in self._fetching
            if not known and self._person.listens(key[0]) and place.copy not in self._silent:
                self._fetching.add(key)
                self._spawn(self._fetch(key, place.copy))

    async def _fetch(self, key: tuple[str, str], copy: str) -> None:
        try:
            told = await self._ask(copy, Asked(*key))
        except BusError:  # it is asked again once it says something
            return
        finally:
            self._fetching.discard(key)
        if told.turn is not None and key in self._places and not self._person.has(*key):
            self._person.waits_elsewhere(*key, told.turn)

    async def _on_who(self, _message: Msg) -> None:
        await self._tell()

    async def _on_asked(self, message: Msg) -> None:
        try:
            asked = decode(message.data, Asked)
        except Undecodable as fault:
            told = TurnAnswer(field="body", why=fault.why)
        else:
            told = self._told(asked)
        await self._publish(message.reply, encode(told))

    def _told(self, asked: Asked) -> TurnAnswer:
        if asked.body is None:
            return TurnAnswer(turn=self._person.turn(asked.session, asked.turn))
        try:
            self._person.says(asked.session, asked.turn, asked.body)
        except BadInput as fault:
            return TurnAnswer(field=fault.field, why=fault.why)
        return TurnAnswer()

    async def _ask(self, copy: str, asked: Asked) -> TurnAnswer:
        """Raises BusError."""
        subject = _at(copy)
        if self._connection is None:
            raise NoModerator(subject)
        message = await self._connection.request(subject, encode(asked), ASK_S)
        try:
            return decode(message.data, TurnAnswer)
        except Undecodable as fault:  # a copy of another release
            raise NoAnswer(subject, fault.why) from None

    # -- asking
    async def somebody_else(self, sid: str, person: str) -> bool:
        """Whether another copy says that another person sits here in that session."""
        if self._connection is None:
            return False
        await self._publish(subjects.SEAT_WHO, b"{}")
        await asyncio.sleep(HEAR_S)
        return any(s.person != person for s in self._at_others(sid))

    def is_served_elsewhere(self, sid: str, person: str) -> bool:
        """Whether another copy said lately that this person sits there, too."""
        return any(s.person == person for s in self._at_others(sid))

    def _at_others(self, sid: str) -> list[Sits]:
        return [sits for _, all_ in self._elsewhere.values() for sits in all_ if sits.session == sid]

    async def says(self, sid: str, turn: str, body: dict[str, Any]) -> None:
        """Reply to a turn, wherever it waits. Raises BadInput: it was not taken; Unreachable: that is not known."""
        key = sid, turn
        until = self._begun_at + self._settle_s  # what another copy had may be on its way to this one
        doubt = False
        while True:
            news = self._news
            if self._person.has(*key):
                self._person.says(*key, body)
                return
            place = self._places.get(key)
            if place is not None and place.copy not in self._silent:
                try:
                    told = await self._ask(place.copy, Asked(*key, body))
                except BusError as error:
                    doubt = doubt or isinstance(error, NoAnswer)
                    self._silent.add(place.copy)
                    until = max(until, time.monotonic() + self._settle_s)
                    continue
                if told.why:
                    raise BadInput(told.field, told.why)
                self._is_over(TurnClosed(*key, SENT, max(place.since_ms, time.time_ns() // 1_000_000)))
                return
            left = until - time.monotonic()
            if key in self._ended and place is None:
                left = 0.0
            if left <= 0 and doubt:
                raise Unreachable(_DOUBT)
            if left <= 0:
                raise BadInput("turn", OVER)
            try:
                async with asyncio.timeout(left):
                    await news.wait()
            except TimeoutError:
                continue


def _at(copy: str) -> str:
    """Where a copy is asked about the turns that it has."""
    return subjects.SEAT_AT_ALL.replace("*", copy)


def _nothing() -> None:
    """Nobody is told."""


@asynccontextmanager
async def copies(connection: Connection, at: Copies) -> AsyncIterator[None]:
    """One copy's part, while the block lasts."""
    await at.begin(connection)
    try:
        yield
    finally:
        await at.end()
