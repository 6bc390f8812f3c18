"""Messages of a stream read directly, without a consumer: the next ones behind a place, and the last one of a subject.

Nothing here depends on how much the stream holds: the server finds a subject by its own index.
"""

import asyncio
import contextlib
import json

import msgspec

from bus.connection import Connection
from bus.errors import BusError
from bus.library import Msg

_WAIT_S = 2.0


class Got(msgspec.Struct, frozen=True):
    """A stored message as it was read."""

    seq: int
    subject: str
    data: bytes


async def following(connection: Connection, stream: str, subject: str, after: int) -> Got | None:
    """The next message of a subject, which may have wildcards, behind sequence `after`; None where there is none."""
    body = json.dumps({"seq": after + 1, "next_by_subj": subject}).encode()
    return _got(stream, await connection.request(f"$JS.API.DIRECT.GET.{stream}", body, _WAIT_S))


async def last(connection: Connection, stream: str, subject: str) -> Got | None:
    """The last message of a subject, which may have wildcards; None where there is none."""
    body = json.dumps({"last_by_subj": subject}).encode()
    return _got(stream, await connection.request(f"$JS.API.DIRECT.GET.{stream}", body, _WAIT_S))


async def batch(connection: Connection, stream: str, subject: str, after: int, count: int) -> list[Got]:
    """At most `count` messages of a subject behind sequence `after`, in order.

    Raises
    ------
    BusError
        The stream did not answer, or refused.
    """
    inbox = connection.nc.new_inbox()
    got: asyncio.Queue[Msg] = asyncio.Queue()

    async def receive(msg: Msg) -> None:
        got.put_nowait(msg)

    sub = await connection.nc.subscribe(inbox, cb=receive)
    try:
        body = {"seq": after + 1, "next_by_subj": subject, "batch": count}
        await connection.nc.publish(f"$JS.API.DIRECT.GET.{stream}", json.dumps(body).encode(), reply=inbox)
        page: list[Got] = []
        while True:
            try:
                async with asyncio.timeout(_WAIT_S):
                    msg = await got.get()
            except TimeoutError:
                raise BusError(f"stream {stream} did not answer within {_WAIT_S:g} s") from None
            found = _got(stream, msg)
            if found is None:
                return page
            page.append(found)
    finally:
        with contextlib.suppress(Exception):
            await sub.unsubscribe()


def _got(stream: str, msg: Msg) -> Got | None:
    """The message of an answer; None where the server says that there is none, or that a batch ended."""
    headers = msg.headers or {}
    status = headers.get("Status", "")
    if status in ("204", "404"):
        return None
    if status:
        raise BusError(f"stream {stream} answered {status} {headers.get('Description', '')}".rstrip())
    return Got(int(headers["Nats-Sequence"]), headers["Nats-Subject"], msg.data)
