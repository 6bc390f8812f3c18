"""A person on a seat of a running session, in any interface: sitting down, leaving, and what ends it.

Who sits there is a worker like any other, of the queue that the seat's person has
(parley.schemas.session.human_queue), with that queue's own credential. Sitting down and leaving are submissions; a
seat whose person is gone without a word is its agent's again as the sitting says.
"""

import asyncio
import contextlib
import secrets
import time
from typing import get_args

import msgspec

from parley.agents.specs import AgentSpec, builtin
from parley.bus import subjects
from parley.bus.accounts import Credentials
from parley.bus.channels import CONTROL, speaks_on
from parley.bus.connection import Connection
from parley.bus.errors import BusError, UnknownSession
from parley.bus.posts import Reader
from parley.client.errors import BadInput, Refusal, Unreachable, bad_input
from parley.client.show.control import SEAT
from parley.schemas.post import CLOSED, Post
from parley.schemas.session import human_queue
from parley.schemas.turn import Sit, SubmitAnswer, Then
from parley.schemas.wire import SchemaError, decode, encode

THEN = get_args(Then)
"""What may become of a turn whose time is over."""
PATIENCE_S = 20.0
_REQUEST_S = 4.0
_AGAIN_S = 0.1


def order_of(seat: str, seconds: float, then: str) -> Sit:
    """That somebody sits down. Raises BadInput."""
    if then not in THEN:
        raise BadInput("then", f"got {then!r}, expected one of {', '.join(THEN)}")
    with bad_input("seconds", msgspec.ValidationError, SchemaError):
        given = {"t": "sit", "id": secrets.token_hex(8), "seat": seat, "seconds": seconds, "then": then}
        return msgspec.convert(given, Sit)


def leaving(order: Sit) -> Sit:
    """That who sat down leaves."""
    return msgspec.structs.replace(order, id=secrets.token_hex(8), leave=True)


def of_seat(credentials: Credentials, seat: str) -> Credentials:
    """The same. Raises BadInput where they are not those of a person on this seat."""
    if credentials.queue != human_queue(seat):
        raise BadInput(
            "creds",
            f"they are for {credentials.user!r}; a person in seat {seat} has those of {human_queue(seat)!r} "
            f"(parley bus config --human {seat})",
        )
    return credentials


def spec_of(credentials: Credentials, seat: str) -> AgentSpec:
    """What the person's worker serves."""
    role = credentials.role or getattr(builtin(seat), "roles", ("",))[0]
    return AgentSpec(queue=credentials.queue, roles=(role,), model="human", room=1)


async def check_open(connection: Connection, url: str, sid: str) -> None:
    """Raise BadInput where there is no such session, or it is over; Refusal where it was refused."""
    try:
        posts = await Reader(connection, patience_s=PATIENCE_S).history(sid, CONTROL)
    except UnknownSession as error:
        if error.why:
            raise Refusal("session", str(error)) from None
        raise BadInput("session", f"there is no session {sid} in {url}") from None
    if any(post.kind == CLOSED for post in posts):
        raise BadInput("session", f"session {sid} is closed")


async def submit(
    connection: Connection, credentials: Credentials, sid: str, order: Sit, patience_s: float
) -> SubmitAnswer:
    """Told until a moderator answers; it is taken once. Raises BusError."""
    subject = subjects.say(subjects.ANY, speaks_on(credentials.account), credentials.queue, sid)
    until = time.monotonic() + patience_s
    while True:
        try:
            answer = decode((await connection.request(subject, encode(order), _REQUEST_S)).data, SubmitAnswer)
            if answer.verdict != "busy" or time.monotonic() > until:
                return answer
        except BusError:
            if time.monotonic() > until:
                raise
        await asyncio.sleep(_AGAIN_S)


async def end(connection: Connection, sid: str, seat: str, n: int) -> Post:
    """The post that ends the sitting that began with transition `n`: the session's last, or that the seat is the
    agent's again. Raises Unreachable."""
    reader = Reader(connection, patience_s=PATIENCE_S)
    async with contextlib.aclosing(reader.follow(sid, (CONTROL,))) as posts:
        async for post in posts:
            if post.kind == CLOSED or _ends(post, seat, n):
                return post
    raise Unreachable(f"session {sid} sends nothing any more")


def _ends(post: Post, seat: str, n: int) -> bool:
    """Whether the seat is the agent's again from this post on, of a person who sat down with transition `n`."""
    if post.kind != SEAT or post.transition <= n:
        return False
    body = msgspec.json.decode(post.body)
    return body["seat"] == seat and not body["human"]
