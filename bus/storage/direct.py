"""Messages of a stream read directly, without a consumer, and messages overwritten and removed.

Nothing here depends on how much the stream holds: the server finds a subject by its own index.

On a cluster any server that has the stream answers a direct get, also one that has not heard yet of the last message.
Such an answer is a beginning of the truth: nothing of it is wrong, and its end may be missing. Whoever decides by what
is *not* there asks the stream's leader (STREAM.MSG.GET), and that is what happens here unless the caller says that a
stale answer does no harm. Of several messages only the last look goes to the leader.

A purge by subject takes messages out of the stream and leaves their bytes in its file. The removal of one message by
its sequence overwrites them, on each server that has the stream (nats-server 2.15.1, measured). So what is to be gone
is removed one by one. What was acknowledged in WORK or IN before has no sequence any more: its bytes go with their
file, once no message in it waits, and at the latest when the stream's age limit is over. The journal of a cluster keeps
its copy until the servers write their state down: some two minutes.
"""

import base64
import contextlib
import json
from typing import Any

import msgspec

from parley.bus.connection import Connection
from parley.bus.errors import ApiError, BusError
from parley.bus.library import Msg

_WAIT_S = 2.0
_NO_MESSAGE, _NOT_FOUND = 10037, 10057
"""err_code: there is no such message, to be read and to be removed."""


class StoredMessage(msgspec.Struct, frozen=True):
    """A stored message as it was read."""

    seq: int
    subject: str
    data: bytes


async def following(connection: Connection, stream: str, subject: str, after: int) -> StoredMessage | None:
    """The next message of a subject, which may have wildcards, after sequence `after`; None if there is none."""
    return await _get_one(connection, stream, {"seq": after + 1, "next_by_subj": subject}, exact=True)


async def last(connection: Connection, stream: str, subject: str, *, exact: bool = True) -> StoredMessage | None:
    """The last message of a subject, which may have wildcards; None if there is none. `exact`: never one that was the
    last a moment ago."""
    return await _get_one(connection, stream, {"last_by_subj": subject}, exact=exact)


async def batch(
    connection: Connection, stream: str, subject: str, after: int, count: int, *, exact: bool = True
) -> list[StoredMessage]:
    """At most `count` messages of a subject behind sequence `after`, in order. `exact`: if they are fewer, there were
    no more. Raises BusError: the stream did not answer, or refused."""
    page = await _page(connection, stream, subject, after, count)
    while exact and connection.clustered and len(page) < count:
        message = await following(connection, stream, subject, page[-1].seq if page else after)
        if message is None:
            break
        page.append(message)
    return page


async def _get_one(connection: Connection, stream: str, body: dict[str, Any], *, exact: bool) -> StoredMessage | None:
    if not (exact and connection.clustered):
        request = json.dumps(body).encode()
        return _parse_answer(stream, await connection.request(f"$JS.API.DIRECT.GET.{stream}", request, _WAIT_S))
    return await _from_leader(connection, stream, body)


async def next_at_leader(connection: Connection, stream: str, subject: str, after: int) -> StoredMessage | None:
    """`following` for a stream that allows no direct gets."""
    return await _from_leader(connection, stream, {"seq": after + 1, "next_by_subj": subject})


async def _from_leader(connection: Connection, stream: str, body: dict[str, Any]) -> StoredMessage | None:
    try:
        message = (await connection.api(f"STREAM.MSG.GET.{stream}", body, _WAIT_S))["message"]
    except ApiError as error:
        if error.err_code == _NO_MESSAGE:
            return None
        raise
    return StoredMessage(int(message["seq"]), message["subject"], base64.b64decode(message.get("data", "")))


async def _page(connection: Connection, stream: str, subject: str, after: int, count: int) -> list[StoredMessage]:
    body = {"seq": after + 1, "next_by_subj": subject, "batch": count}
    page: list[StoredMessage] = []
    try:
        async with contextlib.aclosing(connection.answers(f"$JS.API.DIRECT.GET.{stream}", body, _WAIT_S)) as answers:
            async for answer in answers:
                if (message := _parse_answer(stream, answer)) is None:
                    break
                page.append(message)
    except TimeoutError:
        raise BusError(f"stream {stream} did not answer within {_WAIT_S:g} s") from None
    return page


def _parse_answer(stream: str, msg: Msg) -> StoredMessage | None:
    """The message of an answer; None if the server says that there is none, or that a batch ended."""
    headers = msg.headers or {}
    status = headers.get("Status", "")
    if status in ("204", "404"):
        return None
    if status:
        raise BusError(f"stream {stream} answered {status} {headers.get('Description', '')}".rstrip())
    return StoredMessage(int(headers["Nats-Sequence"]), headers["Nats-Subject"], msg.data)


async def erase(conn: Connection, stream: str, only: str, before: int | None = None) -> int:
    """Overwrite and remove the messages of a subject, which may have wildcards; how many there were. A repeat goes on
    where a killed one ended. `before`: messages from this sequence on stay."""
    erased = seq = 0
    while True:
        try:
            found = await conn.api(f"STREAM.MSG.GET.{stream}", {"seq": seq + 1, "next_by_subj": only})
        except ApiError as error:
            if error.err_code == _NO_MESSAGE:
                return erased
            raise
        seq = int(found["message"]["seq"])
        if before is not None and seq >= before:
            return erased
        await remove(conn, stream, seq)
        erased += 1


async def remove(conn: Connection, stream: str, seq: int) -> None:
    """Overwrite and remove one message. One that is gone already is fine."""
    try:
        await conn.api(f"STREAM.MSG.DELETE.{stream}", {"seq": seq})
    except ApiError as error:
        if error.err_code != _NOT_FOUND:
            raise
