"""The door for callers of the NATS agent protocol (Synadia's, version 0.3): panels as agents on a NATS of theirs.

It is no bus of Parley's: the operator names its address. A prompt to the agent `parley` with a session's name NAME is
asked of the protocol or the panel NAME, in the name of one principal of the gateway. Posts are status chunks, an open
item is a query, the verdict is the response. A caller that goes away cancels nothing (parley.client.opened_session).
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import nats
from nats.aio.client import Client as NatsClient
from starlette.applications import Starlette
from synadia_ai.agent_service import AgentService, PromptStream, RequestRejectedError
from synadia_ai.agent_service.interceptor import CallNext, RequestInterceptorContext
from synadia_ai.agents import Envelope, ProtocolError, QueryTimeout, StatusChunk

from parley.bus.errors import BusError
from parley.client.client import Client
from parley.client.errors import BadInput, ParleyError, bad_input
from parley.client.evidence import SentFile
from parley.client.show.open_items import OpenItem
from parley.client.view.fold import Fold
from parley.observability import caller
from parley.schemas.wire import SchemaError
from parley.web import errors, program_sessions, verdicts
from parley.web.app import Door, Shared
from parley.web.doors import DoorOptions, own
from parley.web.guard import RATE, Bucket
from parley.web.offered_models import Offers
from parley.web.principals import LOCAL

_LOGGER = logging.getLogger(__name__)
AGENT, BY_QUESTION = "parley", "debate"
"""The agent's name, and the session's name of what is chosen by the question."""
_AT_ONCE = 32
"""Prompts of one name that are answered at the same time."""
_AGAIN_S = 5.0
_KNOWN = {"url": "nats://127.0.0.1:4222", "creds": "", "owner": LOCAL, "principal": LOCAL, "signed": False}


def door(options: DoorOptions, given: Mapping[str, Any]) -> Door:
    """The door. Raises BadInput."""
    told = own("nats-agents", given, _KNOWN)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        panels = _Panels(app.state.shared, options.offers, told["principal"])
        serving = asyncio.create_task(_serve(told, panels, options.offers.names), name="nats-agents")
        yield
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)

    return Door(lifespan=lifespan)


async def _serve(told: Mapping[str, Any], panels: "_Panels", names: Sequence[str]) -> None:
    """Be an agent for every name, until it is cancelled. A server that is not there is waited for."""
    async with AsyncExitStack() as stack:
        theirs = await _connected(told)
        stack.push_async_callback(theirs.close)
        for name in (BY_QUESTION, *names):
            service = AgentService(
                agent=AGENT, owner=told["owner"], session_name=name, nc=theirs, interceptors=(panels,),
                description="Several agents argue a question.", max_concurrent_prompts=_AT_ONCE,
                keepalive_interval_s=10.0, min_sender_trust="signed" if told["signed"] else "any",
            )  # fmt: skip
            service.on_prompt(panels.of("" if name == BY_QUESTION else name))
            await service.start()
            stack.push_async_callback(service.stop)
        await asyncio.Event().wait()


async def _connected(told: Mapping[str, Any]) -> NatsClient:
    """A connection to their server, which is asked until it is there."""
    while True:
        try:
            creds = told["creds"] or None
            return await nats.connect(told["url"], user_credentials=creds, max_reconnect_attempts=-1, error_cb=_heard)
        except (nats.errors.Error, OSError, TimeoutError) as error:
            _LOGGER.warning("nats-agents: no NATS server is reached: %s %s", type(error).__name__, error)
            await asyncio.sleep(_AGAIN_S)


async def _heard(error: Exception) -> None:
    _LOGGER.warning("nats-agents: %s %s", type(error).__name__, error)


class _Panels:
    def __init__(self, shared: Shared, offers: Offers, principal: str) -> None:
        self._shared, self._offers, self._principal = shared, offers, principal
        self._rate = Bucket(RATE, int(RATE))

    async def around_request(self, ctx: RequestInterceptorContext, call_next: CallNext) -> None:
        """What the guard is to other doors: the rate, and the trace of who asks."""
        if not self._rate.takes(self._principal):
            raise RequestRejectedError(429, f"more than {RATE:g} prompts a second")
        with caller.within(ctx.headers.get("traceparent", "")[:55]):
            await call_next()

    def of(self, name: str) -> Any:
        """What answers prompts to a name."""

        async def answer(prompt: Envelope, stream: PromptStream) -> None:
            try:
                principal = self._shared.principals.named(self._principal)
                if principal is None:
                    raise BadInput("doors.nats-agents.principal", f"there is no principal {self._principal}")
                await self._answered(await self._shared.pool.client(principal), name, prompt, stream)
            except (ParleyError, BusError, SchemaError) as error:
                raise RequestRejectedError(errors.http_error(error)[0], errors.error_text(error)) from error

        return answer

    async def _answered(self, client: Client, name: str, prompt: Envelope, stream: PromptStream) -> None:
        with bad_input("attachments", ValueError, what="it is no base64"):
            files = [SentFile(a.filename, a.to_bytes()) for a in prompt.attachments or ()]
        given = {**({"protocol": name} if name else {}), **prompt.extras}
        sid = await program_sessions.open_text_session(client, self._offers, prompt.prompt, given, files)
        await stream.send(StatusChunk(status=f"session {sid}"))

        async def say(text: str, _fold: Fold) -> None:
            if text:
                await stream.send(StatusChunk(status=text))

        async def ask(item: OpenItem) -> str:
            left_s = max(0.1, item.deadline_ns / 1e9 - time.time())
            with contextlib.suppress(QueryTimeout, ProtocolError):
                return (
                    await stream.ask(program_sessions.item_words(item, choices=True), timeout=left_s)
                ).prompt.strip()
            return ""

        await stream.send(verdicts.verdict(await program_sessions.follow_to_end(client, sid, say, ask)))
