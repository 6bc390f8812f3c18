"""`parley sit`: a person takes a seat of a running session, and is asked its turns at the terminal.

The process is a worker like any other, of the queue that the seat's person has (schemas.session.human_queue), with that
queue's own credential. Sitting down and leaving are submissions; a seat whose person is gone without a word is its
agent's again as the sitting says.
"""

import asyncio
import contextlib
import logging
import secrets
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, get_args

import msgspec

from agents.models.human import Human
from agents.specs import AgentSpec, builtin
from agents.worker import Worker
from bus import subjects
from bus.accounts import Credentials, load_credentials
from bus.channels import CONTROL, speaks_on
from bus.connection import Connection, connect
from bus.errors import BadKeyFile, BusError, UnknownSession
from bus.posts import Reader
from client.errors import BadInput, Refusal, Unreachable
from client.show import transcript
from client.turns import SEAT
from observability.metrics import Metrics
from parley.cli.process import INTERRUPTED
from parley.settings import Settings
from parley.show.typed_lines import Terminal
from parley.stack.access import run
from parley.stack.lease import Lease, Running, default_state, remembered
from schemas.post import CLOSED, Post
from schemas.result import Result
from schemas.session import human_queue
from schemas.turn import Answer, Sit, Then
from schemas.wire import SchemaError, decode, encode, figure

THEN = get_args(Then)
"""What may become of a turn whose time is over."""
LOST = 3
"""Exit status: the time of a turn was over, and the agent has the seat again."""
_PATIENCE_S = 20.0
_LEAVE_S = 5.0
_REQUEST_S = 4.0
_AGAIN_S = 0.1


def sit(settings: Settings, sid: str, seat: str, *, seconds: float, then: str) -> int:
    """Take a seat until the session is closed or the person leaves it; the exit status: 0, or LOST.

    Raises
    ------
    BadInput
        No such session, or it is closed; no such seat; credentials of another seat, or none; `then`, `seconds`.
    Unreachable
        The bus, or a moderator, does not answer.
    """
    if then not in THEN:
        raise BadInput("then", f"got {then!r}, expected one of {', '.join(THEN)}")
    logging.getLogger().addHandler(logging.NullHandler())  # the terminal is the person's
    try:
        order = msgspec.convert(
            {"t": "sit", "id": secrets.token_hex(8), "seat": seat, "seconds": seconds, "then": then}, Sit
        )
    except (msgspec.ValidationError, SchemaError) as error:
        raise BadInput("seconds", str(error)) from error

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
        if settings.nats.creds is None:
            raise BadInput("nats.creds", "a bus at --nats needs a credentials file, --creds FILE")
        try:
            credentials = load_credentials(settings.nats.creds)
        except BadKeyFile as error:
            raise BadInput("creds", str(error)) from error
        yield settings.nats.url, _of_seat(credentials, seat), settings.stack.ack_wait_s
        return
    state = settings.state or default_state()
    order = remembered(state)
    if order is None:
        raise BadInput("session", f"there is no session {sid} in {state}")
    async with Lease(order.stack, state, any_stack=True) as lease:
        path = lease.credentials(_user(lease.running(), seat))
        yield lease.url, _of_seat(load_credentials(path), seat), order.stack.ack_wait_s


def _user(running: Running, seat: str) -> str:
    """The user that a person in the seat is."""
    if human_queue(seat) in running.credentials:
        return human_queue(seat)
    if seat not in running.queues:
        raise BadInput("seat", f"there is no seat {seat}; seats are {', '.join(running.queues)}")
    raise BadInput(
        "seat",
        f"nobody may sit on {seat} here: start the stack with parley up --human {seat}, or ask with --human {seat}",
    )


def _of_seat(credentials: Credentials, seat: str) -> Credentials:
    if credentials.queue != human_queue(seat):
        raise BadInput(
            "creds",
            f"they are for {credentials.user!r}; a person in seat {seat} has those of {human_queue(seat)!r} "
            f"(parley bus config --human {seat})",
        )
    return credentials


async def _sit(url: str, credentials: Credentials, sid: str, order: Sit, ack_wait_s: float) -> int:
    try:
        async with asyncio.timeout(_PATIENCE_S):
            connection = await connect(url, credentials, name=credentials.user)
    except TimeoutError:
        raise Unreachable(f"no NATS server answers at {url} within {_PATIENCE_S:g} s") from None
    role = credentials.role or getattr(builtin(order.seat), "roles", ("",))[0]
    spec = AgentSpec(queue=credentials.queue, roles=(role,), model="human", room=1)
    async with connection:
        await _look(connection, url, sid)
        with Terminal() as terminal:
            worker = Worker(
                connection, spec=spec, model=Human(terminal), metrics=Metrics(), ack_wait_s=ack_wait_s, drain_s=0.1
            )
            async with worker:
                answer = await _submit(connection, credentials, sid, order, _PATIENCE_S)
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


async def _look(connection: Connection, url: str, sid: str) -> None:
    """Raise BadInput where there is no such session, or it is over."""
    try:
        posts = await Reader(connection, patience_s=_PATIENCE_S).history(sid, CONTROL)
    except UnknownSession as error:
        if error.why:
            raise Refusal("session", str(error)) from None
        raise BadInput("session", f"there is no session {sid} in {url}") from None
    if any(post.kind == CLOSED for post in posts):
        raise BadInput("session", f"session {sid} is closed")


async def _submit(connection: Connection, credentials: Credentials, sid: str, order: Sit, patience_s: float) -> Answer:
    """Told until a moderator answers; it is taken once. Raises BusError."""
    subject = subjects.say(subjects.ANY, speaks_on(credentials.account), credentials.queue, sid)
    until = time.monotonic() + patience_s
    while True:
        try:
            answer = decode((await connection.request(subject, encode(order), _REQUEST_S)).data, Answer)
            if answer.verdict != "busy" or time.monotonic() > until:
                return answer
        except BusError:
            if time.monotonic() > until:
                raise
        await asyncio.sleep(_AGAIN_S)


async def _stay(
    connection: Connection, credentials: Credentials, sid: str, order: Sit, n: int, terminal: Terminal
) -> int:
    """Until the session is closed, the seat lost, or the person leaves."""
    loop = asyncio.get_running_loop()
    leaving = asyncio.Event()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in numbers:
        loop.add_signal_handler(number, leaving.set)
    tasks: list[asyncio.Task[Any]] = [
        asyncio.create_task(_end(connection, sid, order.seat, n)),
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


async def _end(connection: Connection, sid: str, seat: str, n: int) -> Post:
    """The post that ends the sitting: the session's last, or that the seat is the agent's again."""
    reader = Reader(connection, patience_s=_PATIENCE_S)
    async with contextlib.aclosing(reader.follow(sid, (CONTROL,))) as posts:
        async for post in posts:
            if post.kind == CLOSED or (post.kind == SEAT and post.transition > n and _left(post, seat)):
                return post
    raise Unreachable(f"session {sid} cannot be heard any more")


def _left(post: Post, seat: str) -> bool:
    body = msgspec.json.decode(post.body)
    return body["seat"] == seat and not body["human"]


def _told(post: Post, seat: str, terminal: Terminal) -> int:
    if post.kind == SEAT:
        terminal.say(f"The agent has seat {seat} again. To take it back, sit down once more.")
        return LOST
    result = decode(post.body, Result)
    answer = transcript.answer_of(result)
    terminal.say(f"\nThe session is over: {transcript.stop_words(result)}" + (f"\n{answer}" if answer else ""))
    return 0


async def _leave(connection: Connection, credentials: Credentials, sid: str, order: Sit, terminal: Terminal) -> int:
    gone = msgspec.structs.replace(order, id=secrets.token_hex(8), leave=True)
    try:
        answer = await _submit(connection, credentials, sid, gone, _LEAVE_S)
    except BusError as error:
        terminal.say(f"\nYou have left, but no moderator has confirmed it: {error}")
        return INTERRUPTED
    if answer.verdict == "accepted":
        terminal.say(f"\nYou have left seat {order.seat}; its agent goes on.")
    else:
        terminal.say(f"\nYou have left: {answer.why}")
    return 0
