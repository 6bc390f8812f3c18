"""`parley sit`: a person takes a seat of a running session, and is asked its turns at the terminal.

The process is a worker like any other, of the queue that the seat's person has (parley.schemas.session.human_queue),
with that queue's own credential. Sitting down and leaving are submissions; a seat whose person is gone without a word
is its agent's again as the sitting says.
"""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from parley.agents.models.human import Human
from parley.agents.worker import Worker
from parley.bus.accounts import Credentials, load_credentials
from parley.bus.connection import Connection
from parley.bus.errors import BusError
from parley.bus.streams import ACK_WAIT_S
from parley.client.api import connected, open_client, read_credentials
from parley.client.errors import BadInput, Unreachable
from parley.client.people import sitting
from parley.client.show.control import SEAT
from parley.client.view.fold import of_result
from parley.observability.metrics import Metrics
from parley.planned.access import bus_options, run
from parley.planned.local_stack import LocalParley
from parley.process import INTERRUPTED
from parley.schemas.post import Post
from parley.schemas.result import Result
from parley.schemas.session import human_queue, plain_name
from parley.schemas.turn import Sit
from parley.schemas.wire import decode, figure
from parley.settings import Settings
from parley.show.typed_lines import Terminal
from parley.stack.lease import OWNER, Lease, Running, default_state, last_run

LOST = 3
"""Exit status: the time of a turn was over, and the agent has the seat again."""
_LEAVE_S = 5.0
_OWNER_S = 30.0


def sit(settings: Settings, sid: str, seat: str, *, seconds: float, then: str) -> int:
    """Take a seat until the session is closed or the person leaves it; the exit status: 0, or LOST.

    Raises
    ------
    BadInput
        No such session, or it is closed; no such seat; credentials of another seat, or none; `then`, `seconds`.
    Unreachable
        The bus, or a moderator, does not answer.
    """
    order = sitting.order_of(seat, seconds, then)
    logging.getLogger().addHandler(logging.NullHandler())  # the terminal is the person's

    async def main() -> int:
        async with _bus(settings, sid, seat) as (url, credentials, ack_wait_s):
            return await _sit(url, credentials, sid, order, ack_wait_s)

    try:
        return run(main())
    except BusError as error:
        raise Unreachable(str(error)) from error


@asynccontextmanager
async def _bus(settings: Settings, sid: str, seat: str) -> AsyncIterator[tuple[str, Credentials, float]]:
    """The bus's address, the person's credentials and the ack_wait of its turns: as given, or as the state directory's
    stack has them."""
    if settings.nats.url:
        yield settings.nats.url, sitting.of_seat(read_credentials(settings.nats.creds), seat), ACK_WAIT_S
        return
    state = settings.state or default_state()
    order = last_run(state)
    if order is None:
        raise BadInput("session", f"there is no session {sid} in {state}")
    async with Lease(order.stack, state, looks=True) as lease:
        async with open_client(lease.url, lease.credentials(OWNER), _OWNER_S) as client:
            await LocalParley(client, lease).serve_again(sid)
        path = lease.credentials(_user(lease.running(), seat, bus_options(settings)))
        yield lease.url, sitting.of_seat(load_credentials(path), seat), order.stack.ack_wait_s


def _user(running: Running, seat: str, where: str) -> str:
    """The user that a person in the seat is. `where`: the options that name the bus."""
    if human_queue(seat) in running.credentials:
        return human_queue(seat)
    seats = list(dict.fromkeys(map(plain_name, running.queues)))
    if seats and seat not in seats:
        raise BadInput("seat", f"there is no seat {seat}; seats are {', '.join(seats)}")
    start = f"start the stack with parley up --human {seat}{where}"
    raise BadInput("seat", f"nobody may sit on {seat} here: {start}, or ask with --human {seat}")


async def _sit(url: str, credentials: Credentials, sid: str, order: Sit, ack_wait_s: float) -> int:
    spec = sitting.spec_of(credentials, order.seat)
    async with await connected(url, credentials) as connection:
        await sitting.check_open(connection, url, sid)
        with Terminal() as terminal:
            worker = Worker(
                connection, spec=spec, model=Human(terminal), metrics=Metrics(), ack_wait_s=ack_wait_s, drain_s=0.1
            )
            async with worker:
                answer = await sitting.submit(connection, credentials, sid, order, sitting.PATIENCE_S)
                if answer.verdict != "accepted":
                    raise BadInput("seat", answer.why)
                terminal.say(_welcome(sid, order))
                return await _stay(connection, credentials, sid, order, answer.n, terminal)


def _welcome(sid: str, order: Sit) -> str:
    then = {
        "agent": f"{figure(order.seconds)} s for each turn, then the agent takes over",
        "miss": f"{figure(order.seconds)} s for each turn, then it is missed",
        "wait": "the session waits for you, up to a day a turn",
    }[order.then]
    return f"You sit on {order.seat} in session {sid}: {then}. Ctrl-C leaves the seat to its agent."


async def _stay(
    connection: Connection, credentials: Credentials, sid: str, order: Sit, n: int, terminal: Terminal
) -> int:
    loop = asyncio.get_running_loop()
    leaving = asyncio.Event()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in numbers:
        loop.add_signal_handler(number, leaving.set)
    tasks: list[asyncio.Task[Any]] = [
        asyncio.create_task(sitting.end(connection, sid, order.seat, n)),
        asyncio.create_task(leaving.wait()),
        asyncio.create_task(terminal.gone.wait()),
    ]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if tasks[0].done():
            return _told(tasks[0].result(), order.seat, terminal)
        return await _leave(connection, credentials, sid, order, terminal)
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _told(post: Post, seat: str, terminal: Terminal) -> int:
    if post.kind == SEAT:
        terminal.say(f"The agent has seat {seat} again. To take it back, sit down once more.")
        return LOST
    result = decode(post.body, Result)
    card = of_result(result)
    told = f"{card.stop} ({card.reason})" + (f": {card.open}" if card.open else "")
    terminal.say("", f"The session is over: {told}", *([f"  {card.text}"] if card.text else []))
    return 0


async def _leave(connection: Connection, credentials: Credentials, sid: str, order: Sit, terminal: Terminal) -> int:
    gone = sitting.leaving(order)
    try:
        answer = await sitting.submit(connection, credentials, sid, gone, _LEAVE_S)
    except BusError as error:
        terminal.say("", f"You have left, but no moderator has confirmed it: {error}")
        return INTERRUPTED
    if answer.verdict == "accepted":
        terminal.say("", f"You have left seat {order.seat}; its agent goes on.")
    else:
        terminal.say("", f"You have left: {answer.why}")
    return 0
