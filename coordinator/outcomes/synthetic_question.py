"""A synthetic question, asked again and again: whether somebody who asks now is answered.

It goes the way of every question (IN, a moderator, a queue, a model, LOG), in the name of `parley metrics`. It is in no
total and in no list. The next one has what is left of it removed. It costs one model call."""

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Mapping
from hashlib import sha256

from parley.bus import subjects
from parley.bus.channels import CLIENT
from parley.bus.connection import Connection
from parley.bus.errors import BusError
from parley.bus.log import Log
from parley.coordinator.outcomes.session import Record
from parley.coordinator.table import Protocol
from parley.observability.outcomes import Outcomes
from parley.schemas.session import METRICS, Budget, Document, OpenSession
from parley.schemas.wire import encode

_LOGGER = logging.getLogger(__name__)
EVERY_S = 60.0
TAKEN_S = 20.0
"""So long a moderator may take to open it; as long as somebody at a terminal waits."""
ENDED_S = 120.0
"""So long it may take to end, once it is open."""
_LOOK_S = 0.25
_TEXT = "The check phrase of this service is green lantern."


class Asking:
    """Asks every so many seconds; never with 0."""

    def __init__(
        self,
        connection: Connection,
        outcomes: Outcomes,
        protocols: Mapping[str, Protocol],
        every_s: float,
        taken_s: float = TAKEN_S,
    ) -> None:
        self._protocol = next((p for p in protocols.values() if p.synthetic), None)
        self._connection = connection
        self._outcomes = outcomes
        self._every_s = every_s
        self._taken_s = taken_s
        self._before = ""

    async def run(self) -> None:
        """Ask until cancelled."""
        while self._every_s and self._protocol is not None:
            began = time.monotonic()
            outcome = await self.ask()
            self._outcomes.asked.labels(outcome).inc()
            if outcome != "answered":
                _LOGGER.warning("a synthetic question was not answered: %s", outcome)
            await asyncio.sleep(max(0.0, self._every_s - (time.monotonic() - began)))

    async def ask(self) -> str:
        """Ask once: one of parley.observability.outcomes.ASKED."""
        sid = f"{METRICS}-{secrets.token_hex(8)}"
        before, self._before = self._before, sid
        taken = False
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._taken_s) as waiting:
                await self._store(sid, before)
                while True:
                    found = await self._found(sid)
                    if found not in ("", "open"):
                        return found
                    if found and not taken:
                        taken = True
                        waiting.reschedule(asyncio.get_running_loop().time() + ENDED_S)
                    await asyncio.sleep(_LOOK_S)
        return "unanswered"

    def question(self, before: str = "") -> OpenSession:
        """What is asked. `before`: the question before, which is removed."""
        assert self._protocol is not None and self._protocol.synthetic is not None
        document = Document(id=sha256(_TEXT.encode()).hexdigest(), name="check.txt", text=_TEXT)
        return OpenSession(
            question="What is the check phrase of this service?",
            protocol=self._protocol.name,
            documents=(document,),
            settings=dict(self._protocol.synthetic),
            budget=Budget(calls=2),
            continues=before,
            expires_s=self._taken_s,
        )

    async def _store(self, sid: str, before: str) -> None:
        """Submit it, as soon as the bus takes it."""
        subject = subjects.inbox(CLIENT, self._connection.credentials.user, sid)
        while True:
            try:
                await self._connection.store(subject, encode(self.question(before)), msg_id=sid)
                return
            except BusError:
                await asyncio.sleep(_LOOK_S)

    async def _found(self, sid: str) -> str:
        """What became of it; `open`: it runs; empty: nothing yet."""
        try:
            stored = await Log(self._connection).read(sid)
        except BusError:
            return ""
        if any(s.kind == subjects.REFUSED for s in stored):
            return "refused"
        close = Record([s.data for s in stored]).close
        if close is None:
            return "open" if stored else ""
        return "failed" if close.status == "failed" else "answered"
