"""One connection to the bus: the nats-py client with the policy that Parley needs, and every foreign error mapped.

What the plain client does and must not: it closes for good when payload and headers exceed the server's limit (so the
sum is checked before the wire); it gives up after some reconnects (never, here, but at once when the credentials were
revoked); it shows a denied permission as a time-out (here it is `Denied` for whoever is waiting on that subject); it
lets requests that were under way when the connection broke wait out their time (here they fail at once as
`Disconnected`; it is not known whether they were carried out).

A request made while disconnected is kept by the client and goes out after the reconnect, also when its asker has given
up by then. So everything stored has a message id or a compare-and-swap.
"""

import asyncio
import contextlib
import inspect
import logging
import math
import re
import ssl
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any, cast

import msgspec

from parley.bus.accounts import Credentials
from parley.bus.clients.hot_paths import HEADROOM, ConnectionClient, size_of
from parley.bus.clients.moving import RECONNECT_WAIT_S
from parley.bus.clock import Clock, parsed_ns
from parley.bus.errors import (
    ApiError,
    BusError,
    Closed,
    Denied,
    Disconnected,
    NoModerator,
    PayloadTooLarge,
    Unreachable,
    WrongCredentials,
    addresses,
    shown_address,
)
from parley.bus.library import Msg, Subscription
from parley.bus.library import errors as library
from parley.bus.pending_requests import (
    Begun,
    PendingRequest,
    PendingRequests,
    PubAck,
    RepeatedRequest,
    Stores,
    answer_of,
)

_LOST = "Connection lost"
_AGAIN_S = (0.05, 0.2, 0.5)
"""A server that reads its configuration again refuses or drops whoever has not said yet who it is: so long after it is
tried again."""
PING_INTERVAL_S = 15
FLUSH_TIMEOUT_S = 2.0
"""Seconds that the rest of a large publish may take; without a limit it waits for ever if the connection breaks."""
_DENIAL = r'permissions violation for (publish|subscription|publish with reply) (?:to|of) "([^"]*)"'
_VIOLATION = re.compile(_DENIAL, re.IGNORECASE)
_OPERATIONS = {"publish": "publish", "subscription": "subscribe", "publish with reply": "be answered"}
_log = logging.getLogger(__name__)

Headers = Mapping[str, str]
Handler = Callable[[Msg], Awaitable[None]] | Callable[[Msg], None]


class Connection:
    """A connection of one user; made by `connect`, closed by `close` or at the end of `async with`.

    Attributes
    ----------
    nc
        The client underneath.
    clock
        The server's time.
    on_reconnect, on_disconnect, on_denied
        Synchronous callbacks, called in order; they start tasks for what takes longer.
    denials
        The last refusals by the broker, newest last.
    stores
        What the streams did not take for want of room.
    breaks
        How often it broke: what was published just before may not have got through.
    """

    def __init__(
        self, url: str, credentials: Credentials, on_closed: Callable[[], None] | None, clock: Clock | None = None
    ) -> None:
        self.url = shown_address(url)
        self.credentials = credentials
        self.nc = ConnectionClient()
        self.clock = clock or Clock()
        self._connected_local_ns = 0
        self.breaks = 0
        self.on_reconnect: list[Callable[[], None]] = []
        self.on_disconnect: list[Callable[[], None]] = []
        self.on_denied: list[Callable[[], None]] = []
        self.denials: deque[Denied] = deque(maxlen=100)
        self.stores = Stores()
        self._on_closed = on_closed
        self._closing = False
        self._ending: asyncio.Task[None] | None = None
        self._opening = True
        self._retry_first = False
        self._silent = 0
        self._answers = PendingRequests()
        self._inbox = ""

    # -- life

    async def _open(self, url: str, name: str, retry_first: bool) -> None:
        self._retry_first = retry_first
        try:
            await self.nc.connect(
                addresses(url),
                name=name,
                nkeys_seed_str=self.credentials.seed,
                inbox_prefix=self.credentials.inbox_prefix,
                max_reconnect_attempts=-1,
                reconnect_time_wait=RECONNECT_WAIT_S,
                ping_interval=PING_INTERVAL_S,
                flush_timeout=FLUSH_TIMEOUT_S,
                error_cb=self._error,
                closed_cb=self._closed,
                disconnected_cb=self._disconnected,
                reconnected_cb=self._reconnected,
            )
            self._opening = False
            self._connected_local_ns = self.clock.local()
            self._inbox = self.nc.new_inbox()
            await self.nc.hear(f"{self._inbox}.*", "", self._answered)
        except library.Error as error:
            if not self._opening:
                await self.close()  # before that, an error of the client is about the address: nothing is open
            raise Unreachable(self.url, str(error).removeprefix("nats: ")) from None
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End the connection; closing twice is fine. What is under way fails with `Closed`."""
        self._closing = True
        if self._ending is not None:
            await asyncio.wait((self._ending,))
        if not self.nc.is_closed:
            if self.nc.is_connected:
                try:
                    await self.nc.flush(1)
                except library.Error as error:
                    _log.info("bus: closed without a last flush: %s", error)
            self._answers.fail_all(lambda subject: Closed())
            await self._end()
        await self.nc.reconnect_no_more()
        transport: Any = self.nc._transport
        if transport:  # the client is closed as soon as it begins to close; its socket is closed later
            transport.close()
            with contextlib.suppress(OSError):
                await transport.wait_closed()

    async def _end(self) -> None:
        await self.nc.reconnect_no_more()
        if not self.nc.is_connected:
            # The client would write what it buffers to the broken transport, and stop half-way through closing.
            self.nc._pending, self.nc._pending_data_size = [], 0
        await self.nc.close()

    async def __aenter__(self) -> "Connection":
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    @property
    def connected_at_ns(self) -> int:
        """The server's time at the last (re)connect, ns."""
        return self._connected_local_ns + self.clock.ahead_ns

    @property
    def connected(self) -> bool:
        """Whether the connection stands now."""
        return self.nc.is_connected

    @property
    def clustered(self) -> bool:
        """Whether the server is one of several."""
        return bool(self.nc._server_info.get("cluster"))

    @property
    def server_id(self) -> str:
        """The server's name."""
        return str(self.nc._server_info.get("server_id", ""))

    @property
    def certificate_ends(self) -> float | None:
        """When the certificate ends that the server showed, as Unix time; None: it showed none."""
        transport: Any = self.nc._transport
        secured = transport._io_writer.get_extra_info("ssl_object") if transport is not None else None
        return None if secured is None else float(ssl.cert_time_to_seconds(secured.getpeercert()["notAfter"]))

    @property
    def max_size(self) -> int:
        """Bytes that payload and headers may have together."""
        return self.nc.max_payload - HEADROOM

    # -- sending

    async def publish(
        self, subject: str, payload: bytes, headers: Headers | None = None, *, reply: str = "", confirm: bool = False
    ) -> None:
        """Publish over core NATS: lossy by nature.

        Parameters
        ----------
        reply
            Where answers go; under the user's inbox prefix, or nobody hears them.
        confirm
            Wait until the server has seen it, so that a refusal shows.

        Raises
        ------
        PayloadTooLarge, Disconnected, Closed
            Before anything was sent.
        Denied
            With `confirm`: the broker refused.
        """
        if not confirm:
            await self._send(subject, payload, reply, headers)
            return
        token, pending = self._register(subject, reply)
        try:
            await self._send(subject, payload, reply, headers)
            await self.flush(subject)
            if pending.future.done():
                pending.future.result()
        finally:
            self._answers.forget(token)

    async def request(self, subject: str, payload: bytes, timeout_s: float, headers: Headers | None = None) -> Msg:
        """Ask over core NATS, and wait for one answer.

        Not for pulls: a stream's message arrives under its own subject, not the one it was asked under.

        Raises
        ------
        NoModerator
            Nobody serves the subject.
        RequestTimeout, Disconnected
            It is not known whether it was carried out.
        Denied, PayloadTooLarge, Closed
            It was not.
        """
        token, pending = self._register(subject, timeout_s=timeout_s)
        try:
            await self._send(subject, payload, f"{self._inbox}.{token}", headers)
            answer = await pending.future
        finally:
            self._answers.forget(token)
        return answer_of(subject, answer)

    async def answers(self, subject: str, body: object, each_s: float) -> AsyncGenerator[Msg, None]:
        """Ask over core NATS, and give answer after answer. Raises TimeoutError where the next is not there in time."""
        inbox, answers = self.nc.new_inbox(), asyncio.Queue[Msg]()
        subscription = await self.nc.hear(inbox, "", answers.put_nowait)
        try:
            await self.nc.publish(subject, msgspec.json.encode(body), reply=inbox)
            while True:
                async with asyncio.timeout(each_s):
                    answer = await answers.get()
                yield answer
        finally:
            with contextlib.suppress(Exception):  # the connection may be gone
                await subscription.unsubscribe()

    def question(self) -> RepeatedRequest:
        """A question that is asked until it is answered, by anybody who may answer it. The asker closes it."""
        if self.nc.is_closed:
            raise Closed()
        return RepeatedRequest(self._answers, self._inbox, self._send)

    def store(
        self,
        subject: str,
        payload: bytes,
        *,
        msg_id: str | None = None,
        expected_last: tuple[str, int] | None = None,
        headers: Headers | None = None,
        timeout_s: float = 5.0,
    ) -> Awaitable[PubAck]:
        """Publish into a stream. The message is on its way when this returns; that it is stored is awaited, at once or
        later, and costs no task.

        Parameters
        ----------
        msg_id
            Within the stream's window, a second message of this id is not stored.
        expected_last
            Compare-and-swap: (subject filter, sequence of the last message under it; 0 for none).

        Raises
        ------
        Conflict, StoreError
            The compare-and-swap was lost; the stream refused it otherwise.
        NoStream
            No stream takes the subject.
        RequestTimeout, Disconnected
            It may be stored all the same, even later: repeat it with the same id or expectation.
        """
        all_headers = dict(headers) if headers else {}
        if msg_id is not None:
            all_headers["Nats-Msg-Id"] = msg_id
        if expected_last is not None:
            all_headers["Nats-Expected-Last-Subject-Sequence-Subject"], last = expected_last
            all_headers["Nats-Expected-Last-Subject-Sequence"] = str(last)
        token, pending = self._answers.expect(subject, "", timeout_s)
        if self.nc.put(subject, payload, f"{self._inbox}.{token}", all_headers):
            return Begun(self._answers, token, pending, self.stores)
        self._answers.forget(token)
        return asyncio.ensure_future(self._stored(subject, payload, all_headers, timeout_s))

    async def _stored(self, subject: str, payload: bytes, all_headers: Headers, timeout_s: float) -> PubAck:
        token, pending = self._register(subject, timeout_s=timeout_s)
        try:
            await self._send(subject, payload, f"{self._inbox}.{token}", all_headers or None)
            return await Begun(self._answers, token, pending, self.stores)
        finally:
            self._answers.forget(token)

    def put(self, subject: str, payload: bytes, headers: Headers | None = None, reply: str = "") -> bool:
        """`publish` at once, without waiting. False: nothing was sent; `publish` sends it, or says why it cannot."""
        return self.nc.put(subject, payload, reply, headers)

    async def api(self, suffix: str, body: object = None, timeout_s: float = 5.0) -> dict[str, Any]:
        """Ask JetStream's API (`STREAM.INFO.LOG`); the answer as it came. Raises ApiError: JetStream refused, with its
        err_code."""
        payload = b"" if body is None else msgspec.json.encode(body)
        asked_ns = self.clock.local()
        try:
            answer = await self.request(f"$JS.API.{suffix}", payload, timeout_s)
        except NoModerator:
            raise ApiError(0, "JetStream does not answer", suffix) from None
        reply: dict[str, Any] = msgspec.json.decode(answer.data)
        if not suffix.startswith("CONSUMER."):  # of a consumer that was there, it may be the time of the server's start
            self.clock.answered(parsed_ns(reply.get("ts", "")), asked_ns)
        error = reply.get("error")
        if error:
            raise ApiError(error.get("err_code", 0), error.get("description", ""), suffix)
        return reply

    async def subscribe(self, subject: str, cb: Handler, queue: str = "") -> Subscription:
        """Hear a subject. A plain function is called at once for each message, and must not block. Calls of a coroutine
        function run one after another, so it should hand over slow work. Raises Denied: the broker refused; the
        subscription is not there."""
        token, pending = self._register(subject)
        try:
            if inspect.iscoroutinefunction(cb):
                subscription = await self.nc.subscribe(subject, queue, cb)
            else:
                subscription = await self.nc.hear(subject, queue, cast("Callable[[Msg], None]", cb))
            with contextlib.suppress(Disconnected):  # it goes out with the reconnect then
                await self.flush(subject)
            if pending.future.done() and not isinstance(pending.future.exception(), Disconnected):
                await subscription.unsubscribe()
                pending.future.result()
            return subscription
        except library.Error as error:
            raise self._mapped(error, subject) from None
        finally:
            self._answers.forget(token)

    # -- inside

    async def _send(self, subject: str, payload: bytes, reply: str, headers: Headers | None) -> None:
        size = size_of(payload, headers)
        if size > self.max_size:
            raise PayloadTooLarge(size, self.max_size)
        try:
            await self.nc.publish(subject, payload, reply, dict(headers) if headers else None)
        except (library.Error, OSError) as error:
            raise self._mapped(error, subject) from None

    async def flush(self, subject: str, timeout_s: int = 5) -> None:
        """Wait until the server has told every refusal of what was sent; `subject` is for the error, Disconnected."""
        if not self.nc.is_connected:
            return  # goes out with the reconnect
        try:
            await self.nc.flush(timeout_s)  # the client's PING overtakes what it still buffers; that is out by now,
            await self.nc.flush(timeout_s)  # so the second PONG comes after the server has judged it
        except library.Error as error:
            raise self._mapped(error, subject) from None

    def _mapped(self, error: Exception, subject: str) -> BusError:
        if isinstance(error, library.OutboundBufferLimitError):
            return Disconnected(subject, "not connected, and the buffer for it is full")
        if isinstance(error, library.MaxPayloadError):
            return PayloadTooLarge(self.nc.max_payload + 1, self.nc.max_payload)
        if isinstance(error, (library.ConnectionClosedError, library.ConnectionDrainingError)):
            return Closed()
        if isinstance(error, (OSError, library.TimeoutError, library.StaleConnectionError)):
            return Disconnected(subject)
        return BusError(f"{subject}: {error}")

    def _register(self, subject: str, reply: str = "", timeout_s: float = math.inf) -> tuple[str, PendingRequest]:
        if self.nc.is_closed:
            raise Closed()
        return self._answers.expect(subject, reply, timeout_s)

    def _answered(self, msg: Msg) -> None:
        inbox, _, token = msg.subject.rpartition(".")
        pending = self._answers.pending.get(token) if inbox == self._inbox else None
        if pending is not None and not pending.future.done():  # else nobody waits for it any more
            pending.future.set_result(msg)

    # -- what the client tells us

    async def _error(self, error: Exception) -> None:
        opening = self._opening and not self._closing
        if "authorization" in str(error).lower() and not self._closing:
            refused = WrongCredentials(self.url, self.credentials.user)
            if opening:
                raise refused
            if self._ending is None:  # revoked while connected: another try would fail as well
                _log.error("bus: %s", refused)
                self._ending = asyncio.create_task(self._end())
            return
        if opening and not self._retry_first:
            self._silent += 1
            if self._silent < len(self.nc._server_pool):
                return  # another of the servers may answer
            silent = "it says nothing: it is frozen, or cut off from here" if isinstance(error, TimeoutError) else ""
            closed = "nothing listens there" if isinstance(error, ConnectionRefusedError) else ""
            why = closed or getattr(error, "strerror", None) or str(error) or silent or type(error).__name__
            raise Unreachable(self.url, why)
        match = _VIOLATION.search(str(error))
        if match is None:
            _log.info("bus: %s: %s", self.url, error)
            return
        operation = _OPERATIONS[match[1].lower()]
        denied = Denied(match[2], operation)
        for pending in self._answers.all():  # the client gives the text in lower case
            if match[2].lower() in (pending.subject.lower(), pending.reply.lower()) and not pending.future.done():
                denied = Denied(pending.reply if operation == "be answered" else pending.subject, operation)
                pending.future.set_exception(denied)
        self.denials.append(denied)
        for callback in self.on_denied:
            callback()
        _log.warning("bus: %s", denied)

    async def _disconnected(self) -> None:
        if self._closing:
            return
        self.breaks += 1
        self._answers.fail_all(Disconnected)
        for callback in self.on_disconnect:
            callback()

    async def _reconnected(self) -> None:
        self._connected_local_ns = self.clock.local()
        for callback in self.on_reconnect:
            callback()

    async def _closed(self) -> None:
        self._answers.fail_all(lambda subject: Closed())
        if not self._closing and self._on_closed is not None:
            self._on_closed()


async def connect(
    url: str,
    credentials: Credentials,
    *,
    name: str,
    on_closed: Callable[[], None] | None = None,
    retry_first: bool = False,
    clock: Clock | None = None,
) -> Connection:
    """Connect as one user.

    Parameters
    ----------
    name
        Shown in the server's monitoring.
    on_closed
        Called if the connection closed for good without `close` (the credentials were revoked, or the client gave
        up): the process should end and be restarted.
    retry_first
        Wait until the server is there, however long; otherwise the first failure is raised.
    clock
        None: this machine's.

    Raises
    ------
    Unreachable, WrongCredentials
        Nobody listens there; the server does not know this key.
    """
    for pause_s in (*_AGAIN_S, None):
        connection = Connection(url, credentials, on_closed, clock)
        try:
            await connection._open(url, name, retry_first)
            return connection
        except (Unreachable, WrongCredentials) as error:
            if pause_s is None or (isinstance(error, Unreachable) and _LOST not in str(error)):
                raise
        await asyncio.sleep(pause_s)
    raise AssertionError("it returns or raises")
