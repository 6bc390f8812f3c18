"""Calls people by a webhook: a few tries at most, and never in the way of a transition."""

import asyncio
import logging
from collections import OrderedDict
from urllib.parse import urlsplit

import msgspec

from parley.observability.metrics import Metrics
from parley.schemas.wire import InvalidValue, encode

_LOGGER = logging.getLogger(__name__)
TIMEOUT_S = 5.0
TRIES = 3
BACKOFF_S = 0.5
"""Before the second try; twice that before the third."""
_REMEMBERED = 10_000
_MOST_AT_ONCE = 100


class Notification(msgspec.Struct, frozen=True, kw_only=True):
    """What the webhook is sent, as JSON."""

    id: str
    """Of its place in the log: who gets it twice (a moderator was killed) drops the second."""
    session: str
    severity: str
    """info | warning | error"""
    text: str
    at_ns: int


class Notifier:
    """Sends notifications to one address; without an address it does nothing.

    Parameters
    ----------
    url
        http or https; what it holds beside the host is kept out of the logs.

    Raises
    ------
    parley.schemas.wire.InvalidValue
        It is no such address.
    """

    def __init__(self, metrics: Metrics, url: str = "") -> None:
        parts = urlsplit(url)
        if url and (parts.scheme not in ("http", "https") or not parts.hostname):
            raise InvalidValue("notify.webhook", f"{parts.scheme or 'no scheme'}", "wanted is an http or https address")
        self._url = url
        self._shown = f"{parts.scheme}://{parts.hostname}"
        self._metrics = metrics
        self._known: OrderedDict[str, None] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()

    def call(self, session: str, id: str, severity: str, text: str, at_ns: int) -> None:
        """Begin to send one; one that this process sent before, or is sending, is not sent again."""
        if not self._url or id in self._known:
            return
        self._known[id] = None
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        if len(self._tasks) >= _MOST_AT_ONCE:
            self._failed(session, "too many are under way")
            return
        notification = Notification(id=id, session=session, severity=severity, text=text, at_ns=at_ns)
        task = asyncio.create_task(self._send(notification))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self, patience_s: float = TIMEOUT_S) -> None:
        """Wait for what is under way, at most so long."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=patience_s)
        for task in self._tasks:
            task.cancel()

    async def _send(self, notification: Notification) -> None:
        import aiohttp  # few moderators have somebody to call

        why = ""
        headers = {"Content-Type": "application/json"}
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=TIMEOUT_S)) as http:
            for i in range(TRIES):
                if i:
                    await asyncio.sleep(BACKOFF_S * 2 ** (i - 1))
                try:
                    async with http.post(
                        self._url, data=encode(notification), headers=headers, allow_redirects=False
                    ) as answer:
                        if answer.status < 300:
                            self._metrics.webhooks.labels(outcome="sent").inc()
                            return
                        why = f"it answered {answer.status}"
                except (aiohttp.ClientError, TimeoutError, OSError) as error:
                    why = type(error).__name__
        self._failed(notification.session, why)

    def _failed(self, session: str, why: str) -> None:
        self._metrics.webhooks.labels(outcome="failed").inc()
        _LOGGER.warning("webhook %s not reached: %s", self._shown, why, extra={"session": session})
