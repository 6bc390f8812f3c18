"""Seats that people take in the browser: each is a worker of the seat's own queue, with the seat's own credentials.

Who sits where is known to this process alone. Behind a load balancer a person's requests have to reach the same copy
of the gateway. A person whose gateway ended sits down again, and gets the turn that waits. If nobody does, the
sitting's own rule holds (parley.schemas.turn.Sit). The one person of a gateway without a folder of keys leaves with it.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from parley.agents.worker import Worker
from parley.bus.accounts import Credentials, load_credentials
from parley.bus.connection import Connection
from parley.bus.errors import BadKeyFile, BusError
from parley.client.api import connected
from parley.client.errors import BadInput, NotAllowed, ParleyError, Refusal
from parley.client.people import sitting
from parley.observability.metrics import Metrics
from parley.schemas.post import CLOSED
from parley.schemas.session import human_queue
from parley.schemas.turn import Sit
from parley.web.page.feed import Feed
from parley.web.page.person import PagePerson
from parley.web.page.shapes import HumanTurn, SeatToTake
from parley.web.principals import LOCAL, Principal

ROOM = 32
"""Turns of one seat that wait at once, each of another session."""
MOST = 64
"""Seats that are taken here at once."""
IDLE_S = 600.0
"""A seat is given back when no page of its person has watched for so long."""
_LEAVE_S = 5.0
_LOOK_S = 15.0
_Key = tuple[str, str, str]


class Chair:
    """The worker of one seat's person here, for all sessions in which people sit on that seat: they share it, since a
    queue's turns come to whoever serves the queue."""

    def __init__(self, url: str, seat: str, credentials: Credentials, ack_wait_s: float) -> None:
        self.person = PagePerson()
        self._url, self._seat, self._credentials, self._ack_wait_s = url, seat, credentials, ack_wait_s
        self._users = 0
        self._lock = asyncio.Lock()
        self._open = AsyncExitStack()
        self._connection: Connection | None = None

    @asynccontextmanager
    async def used(self) -> AsyncIterator[Connection]:
        """Its connection, while its worker serves. Raises Unreachable."""
        async with self._lock:
            if self._connection is None or self._connection.nc.is_closed:
                self._connection = await self._begun()
            self._users += 1
        try:
            yield self._connection
        finally:
            async with self._lock:
                self._users -= 1
                if not self._users:
                    self._connection = None
                    await self._open.aclose()

    async def _begun(self) -> Connection:
        spec = sitting.spec_of(self._credentials, self._seat).model_copy(update={"room": ROOM})
        connection = await self._open.enter_async_context(await connected(self._url, self._credentials))
        worker = Worker(
            connection, spec=spec, model=self.person, metrics=Metrics(), ack_wait_s=self._ack_wait_s, drain_s=0.1
        )
        await self._open.enter_async_context(worker)
        return connection


class Sitting:
    """One person on one seat. `person`: name of the principal."""

    def __init__(self, person: str, sid: str, seat: str, chair: Chair, credentials: Credentials) -> None:
        self.person, self.sid, self.seat = person, sid, seat
        self.turn: HumanTurn | None = None
        self.message = ""
        self.seen_at = time.monotonic()
        """When a page of the person last watched."""
        self.feeds: set[Feed] = set()
        """Where its turns are told."""
        self._chair, self._credentials = chair, credentials
        self._seated: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._leaving = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def over(self) -> bool:
        """The person sits there no more."""
        return self._task is not None and self._task.done()

    async def begin(self, order: Sit) -> None:
        """Sit down. Raises BadInput, Refusal, Unreachable."""
        self._task = asyncio.create_task(self._sit(order))
        await asyncio.wait((self._seated, self._task), return_when=asyncio.FIRST_COMPLETED)
        if not self._seated.done():
            await self._task  # raises why
            raise Refusal("seat", "the seat was left at once")

    async def leave(self) -> None:
        """Give the seat back to its agent."""
        self._leaving.set()
        if self._task is not None:
            await asyncio.wait((self._task,), timeout=2 * _LEAVE_S)

    async def close(self) -> None:
        """The gateway ends: the seat waits for its person, as the sitting says."""
        if self.person == LOCAL:
            await self.leave()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _sit(self, order: Sit) -> None:
        """Until the session is closed, the agent has the seat again, or the person leaves."""
        async with self._chair.used() as connection:
            await sitting.check_open(connection, "this bus", self.sid)
            self._chair.person.sits(self.sid, self._tell)
            try:
                answer = await sitting.submit(connection, self._credentials, self.sid, order, sitting.PATIENCE_S)
                if answer.verdict != "accepted":
                    raise Refusal("seat", answer.why)
                self._seated.set_result(None)
                if self.turn is None:
                    self._tell(None, f"You sit on {self.seat}.")
                await self._stay(connection, order, answer.n)
            finally:
                self._chair.person.leaves(self.sid)

    async def _stay(self, connection: Connection, order: Sit, n: int) -> None:
        ended = asyncio.create_task(sitting.end(connection, self.sid, self.seat, n))
        leaves = asyncio.create_task(self._leaving.wait())
        try:
            await asyncio.wait((ended, leaves), return_when=asyncio.FIRST_COMPLETED)
            if not ended.done():
                await sitting.submit(connection, self._credentials, self.sid, sitting.leaving(order), _LEAVE_S)
                self._tell(None, f"You have left seat {self.seat}; its agent goes on.")
            elif ended.exception() is None:
                closed = ended.result().kind == CLOSED
                self._tell(None, "The session is over." if closed else f"The agent has seat {self.seat} again.")
        finally:
            for task in (ended, leaves):
                task.cancel()
            await asyncio.gather(ended, leaves, return_exceptions=True)

    def says(self, turn: str, body: dict[str, Any]) -> None:
        """Reply to a turn of this session. Raises BadInput."""
        self._chair.person.says(self.sid, turn, body)

    def _tell(self, turn: HumanTurn | None, message: str) -> None:
        self.turn, self.message = turn, message
        for feed in self.feeds:
            feed.tell_turn(self.seat, turn, message)


class Seats:
    """All seats that are taken here.

    Parameters
    ----------
    url
        Of the bus.
    """

    def __init__(self, url: str, ack_wait_s: float) -> None:
        self._url, self._ack_wait_s = url, ack_wait_s
        self._taken: dict[_Key, Sitting] = {}
        self._chairs: dict[str, Chair] = {}
        """By the public key of the seat's credentials."""

    async def sit(self, principal: Principal, sid: str, order: Sit, allowed: Mapping[str, Credentials]) -> None:
        """Take a seat. `allowed`: seats that the principal may take. Raises BadInput, Refusal, Unreachable."""
        credentials = allowed.get(order.seat)
        if credentials is None:
            named = ", ".join(sorted(allowed)) or "none: a seat's keys are made by parley up --human SEAT"
            raise NotAllowed("seat", f"nobody may sit on {order.seat[:64]!r} here; seats that you may take: {named}")
        self._forget()
        key = principal.name, sid, order.seat
        if key in self._taken:
            raise Refusal("seat", f"you sit on {order.seat} already")
        if len(self._taken) >= MOST:
            raise Refusal("seat", f"{MOST} seats are taken here, which is the limit")
        if any(other[1:] == key[1:] for other in self._taken):
            raise Refusal("seat", f"somebody else sits on {order.seat} already")
        chair = self._chairs.setdefault(credentials.public, Chair(self._url, order.seat, credentials, self._ack_wait_s))
        taken = self._taken[key] = Sitting(principal.name, sid, order.seat, chair, credentials)
        try:
            await taken.begin(order)
        except BaseException:
            self._taken.pop(key, None)
            raise

    async def leave(self, principal: Principal, sid: str, seat: str) -> None:
        """Give a seat back. Raises BadInput."""
        await self._of(principal, sid, seat).leave()
        self._forget()

    def says(self, principal: Principal, sid: str, seat: str, turn: str, body: dict[str, Any]) -> None:
        """Reply to a turn. Raises BadInput: it was not taken."""
        self._of(principal, sid, seat).says(turn, body)

    def attach(self, principal: Principal, feed: Feed) -> None:
        """Tell turns of the principal's seats in this feed, too."""
        for sat in self._sits(principal, feed.sid):
            sat.seen_at = time.monotonic()
            if feed not in sat.feeds:
                sat.feeds = {f for f in sat.feeds if not f.over} | {feed}
                feed.tell_turn(sat.seat, sat.turn, sat.message)

    def turns(self, principal: Principal, sid: str) -> tuple[tuple[str, ...], tuple[HumanTurn, ...]]:
        """Seats on which the principal sits in a session, and the turns that wait there."""
        sittings = self._sits(principal, sid)
        return tuple(s.seat for s in sittings), tuple(s.turn for s in sittings if s.turn is not None)

    def _sits(self, principal: Principal, sid: str) -> list[Sitting]:
        self._forget()
        return [s for (name, of, _), s in self._taken.items() if (name, of) == (principal.name, sid)]

    def _of(self, principal: Principal, sid: str, seat: str) -> Sitting:
        self._forget()
        taken = self._taken.get((principal.name, sid, seat))
        if taken is None:
            raise BadInput("seat", f"you do not sit on {seat[:64]!r} here: sit down first")
        return taken

    def _forget(self) -> None:
        self._taken = {key: s for key, s in self._taken.items() if not s.over}

    async def sweep(self) -> None:
        """Give back seats whose people are gone; runs until it is cancelled."""
        while True:
            await asyncio.sleep(_LOOK_S)
            self._forget()
            now = time.monotonic()
            for sat in self._taken.values():
                if any(feed.viewers for feed in sat.feeds):
                    sat.seen_at = now
                elif now - sat.seen_at > IDLE_S:
                    with contextlib.suppress(BusError, ParleyError):
                        await sat.leave()

    async def close(self) -> None:
        """The gateway ends."""
        await asyncio.gather(*(s.close() for s in self._taken.values()), return_exceptions=True)


@asynccontextmanager
async def seats(url: str, ack_wait_s: float) -> AsyncIterator[Seats]:
    """Seats, while the block lasts."""
    seats = Seats(url, ack_wait_s)
    sweeping = asyncio.create_task(seats.sweep())
    try:
        yield seats
    finally:
        sweeping.cancel()
        await asyncio.gather(sweeping, return_exceptions=True)
        await seats.close()


def to_take(free: Mapping[str, Credentials]) -> tuple[SeatToTake, ...]:
    """Seats as a page lists them."""
    return tuple(SeatToTake(seat=seat, role=c.role) for seat, c in sorted(free.items()))


def seats_in(folder: Path) -> dict[str, Credentials]:
    """Seats of the credentials files in a folder; one that cannot be used is passed over."""
    seats: dict[str, Credentials] = {}
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        with contextlib.suppress(BadKeyFile):
            credentials = load_credentials(path)
            if seat := seat_of(credentials):
                seats[seat] = credentials
    return seats


def seat_of(credentials: Credentials) -> str:
    """The seat whose person these credentials are for; empty: they are no person's."""
    seat = credentials.queue.removesuffix("_human")
    return seat if credentials.queue and human_queue(seat) == credentials.queue else ""
