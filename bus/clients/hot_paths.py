"""The nats-py client with its two hot paths shortened; everything else (reconnect, pings, errors, limits) is nats-py's,
and on a cluster parley.bus.clients.moving's.

* Receiving: a subscription made by `hear` has its function called as the message is parsed, without a queue and a task
  between. Such a function must not block, and what it raises is logged.
* Sending: a small publish is appended to what is pending, and one write joins all of a loop turn.

Both touch private parts of nats-py, which is pinned for that reason.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping

from parley.bus.clients.moving import MovingClient
from parley.bus.library import Msg, Subscription

_LOGGER = logging.getLogger(__name__)
HEADROOM = 16 * 1024
"""Bytes that are left free under the server's max_payload."""
_SMALL = 65_536
"""Bytes; a larger publish goes the library's way, which waits for the socket."""
_MOST_PENDING = 1_048_576
_PLAIN_HEADERS = b"NATS/1.0\r\n"
_NOBODY = b"NATS/1.0 503"


def size_of(payload: bytes, headers: Mapping[str, str] | None) -> int:
    """Bytes of a message as the server counts them against its limit."""
    if not headers:
        return len(payload)
    size = len(payload) + 12
    for key, value in headers.items():
        size += len(key) + len(value) + 4 if key.isascii() and value.isascii() else len(f"{key}{value}".encode()) + 4
    return size


class ConnectionClient(MovingClient):
    """A client of one connection."""

    def __init__(self) -> None:
        super().__init__()
        self._now: dict[int, Callable[[Msg], None]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        """Read once: each time, the interpreter asks the system for the process's id."""
        self._write_due = False

    async def hear(self, subject: str, queue: str, now: Callable[[Msg], None]) -> Subscription:
        """Subscribe with a plain function, called for each message in the order in which they come."""

        async def later(msg: Msg) -> None:
            now(msg)

        subscription = await self.subscribe(subject, queue, later, pending_msgs_limit=-1, pending_bytes_limit=-1)
        self._now[subscription._id] = now
        return subscription

    def _remove_sub(self, sid: int, max_msgs: int = 0) -> None:
        self._now.pop(sid, None)
        super()._remove_sub(sid, max_msgs)

    async def _process_pong(self) -> None:
        """The answer of a flush. A flush may have been given up, after its time or because its caller was cancelled.
        The library would set its result all the same; that raises, and ends the loop that reads for good."""
        if self._pongs and self._pongs[0].done():
            self._pongs[0] = asyncio.get_running_loop().create_future()
        await super()._process_pong()

    async def _process_msg(self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes) -> None:
        now = self._now.get(sid)
        if now is None:
            await super()._process_msg(sid, subject, reply, data, headers)
            return
        self.stats["in_msgs"] += 1
        self.stats["in_bytes"] += len(data)
        parsed: dict[str, str] | None = None
        try:
            if headers and headers.startswith(_PLAIN_HEADERS):
                parsed = {}
                for line in headers[10:-4].decode(errors="replace").split("\r\n"):
                    key, _, value = line.partition(":")
                    parsed[key] = value.strip()
            elif headers and headers.startswith(_NOBODY):
                parsed = {"Status": "503"}
            elif headers:
                parsed = await self._process_headers(headers)
            now(Msg(self, subject.decode(), reply.decode(), data, parsed, _sid=sid))
        except Exception:  # an error in what a sender put there must not end the loop that reads
            _LOGGER.exception("a message was not handled", extra={"subject": subject.decode(errors="replace")})

    async def publish(
        self, subject: str, payload: bytes = b"", reply: str = "", headers: dict[str, str] | None = None
    ) -> None:
        if not self.put(subject, payload, reply, headers):
            await super().publish(subject, payload, reply, headers)

    def put(self, subject: str, payload: bytes, reply: str = "", headers: Mapping[str, str] | None = None) -> bool:
        """Publish at once, without waiting. False: nothing was sent; only `publish` can send it, or say why it cannot
        be sent. A message that leaves less than `HEADROOM` under the server's limit is too large."""
        if (
            len(payload) > _SMALL
            or self._status != self.CONNECTED
            or self._pending_data_size > _MOST_PENDING
            or not subject
            or not (line := subject + reply).isprintable()
            or " " in line  # white space would end a subject early: the library's own call names the error
        ):
            return False
        if headers:
            lines = "NATS/1.0\r\n"
            for k, v in headers.items():
                lines += f"{k}: {v if v.isprintable() else _one_line(v)}\r\n"
            block = f"{lines}\r\n".encode()
            size = len(block)
            if size + len(payload) > self._max_payload - HEADROOM:
                return False
            command = b"".join(
                (f"HPUB {subject} {reply} {size} {size + len(payload)}\r\n".encode(), block, payload, b"\r\n")
            )
        else:
            if len(payload) > self._max_payload - HEADROOM:
                return False
            command = b"".join((f"PUB {subject} {reply} {len(payload)}\r\n".encode(), payload, b"\r\n"))
        self.stats["out_msgs"] += 1
        self.stats["out_bytes"] += len(payload)
        self._pending.append(command)
        self._pending_data_size += len(command)
        if not self._write_due:
            self._write_due = True
            if self._loop is None:
                self._loop = asyncio.get_running_loop()
            self._loop.call_soon(self._write)
        return True

    def _write(self) -> None:
        """Write all that is pending at once; what the library's flusher has taken meanwhile is not there any more."""
        self._write_due = False
        if not self._pending or not self.is_connected or self._transport is None:
            return  # it stays pending: a reconnect sends it
        commands, self._pending, self._pending_data_size = self._pending, [], 0
        try:
            self._transport.write(b"".join(commands))
        except (OSError, RuntimeError, AttributeError) as error:
            _LOGGER.info("the connection broke under a write: %s", error)


def _one_line(value: str) -> str:
    return value if "\n" not in value and "\r" not in value else " ".join(value.split())
