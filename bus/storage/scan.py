"""The subjects of a stream's messages in the order in which they were stored, without their bodies. They are read by a
consumer, which is removed with its reader."""

import contextlib
import secrets
from collections.abc import Sequence
from typing import Any, Self

from parley.bus.connection import Connection
from parley.bus.errors import BusError

_FETCH = 256
_FETCH_S = 5.0
_IDLE_NS = 5_000_000_000


class Scan:
    """One reading of a stream, an async context manager.

    Parameters
    ----------
    only
        Subjects, which may have wildcards.
    after
        The sequence behind which it begins.
    """

    def __init__(self, connection: Connection, stream: str, only: Sequence[str], after: int = 0) -> None:
        self._connection = connection
        self._stream = stream
        self._only = list(only)
        self._after = after
        self._name = f"scan-{secrets.token_hex(6)}"
        self.count = 0
        """Number of messages that it will read, counted when it began."""

    async def __aenter__(self) -> Self:
        if self._connection.clustered:
            await self._check_complete()
        config: dict[str, Any] = {
            "name": self._name,
            "deliver_policy": "by_start_sequence",
            "opt_start_seq": self._after + 1,
            "ack_policy": "none",
            "headers_only": True,
            "filter_subjects": self._only,
            "mem_storage": True,
            "num_replicas": 1,
            "inactive_threshold": _IDLE_NS,
        }
        body = {"stream_name": self._stream, "config": config}
        consumer = await self._connection.api(f"CONSUMER.CREATE.{self._stream}.{self._name}", body, 10.0)
        self.count = int(consumer.get("num_pending", 0))
        return self

    async def _check_complete(self) -> None:
        """Check that the server has the whole stream: a reader lies on one server. Raises BusError."""
        info = await self._connection.api(f"STREAM.INFO.{self._stream}")
        for other in (info.get("cluster") or {}).get("replicas") or ():
            if not other.get("current") and not other.get("offline"):
                raise BusError(f"stream {self._stream} is not whole yet on the server {other.get('name')}")

    async def __aexit__(self, *_: object) -> None:
        with contextlib.suppress(BusError):
            await self._connection.api(f"CONSUMER.DELETE.{self._stream}.{self._name}", {})

    async def page(self) -> list[tuple[int, str]]:
        """(sequence, subject) of the next messages; empty: there are no more. Raises BusError."""
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{self._stream}.{self._name}"
        page: list[tuple[int, str]] = []
        try:
            asked = self._connection.answers(subject, {"batch": _FETCH, "no_wait": True}, _FETCH_S)
            async with contextlib.aclosing(asked) as answers:
                async for msg in answers:
                    if msg.reply:
                        page.append((int(msg.reply.split(".")[-4]), msg.subject))
                    if not msg.reply or len(page) == _FETCH:  # a status message: there are no more
                        break
        except TimeoutError:
            raise BusError(f"stream {self._stream} did not list its messages within {_FETCH_S:g} s") from None
        return page
