"""Model `openai`: any server that speaks OpenAI's chat completions.

How one turn is answered, and what counts as a call, is in agents/openai/ladder.py; what an endpoint may do
instead of answering, in agents/endpoint/endpoint.py."""

import asyncio
import logging
import time
from collections.abc import Mapping
from typing import Any

from parley.agents.context import Shown
from parley.agents.endpoint import prices
from parley.agents.endpoint.endpoint import Broken, Rejected
from parley.agents.endpoint.transport import certificates
from parley.agents.model.base import Completion, Emit, ModelUnavailable
from parley.agents.openai.connected_model import ConnectedModel
from parley.agents.openai.ladder import StructuredCall
from parley.agents.openai.options import parse
from parley.agents.openai.sizing import learn

_LOGGER = logging.getLogger(__name__)
_LOOK_S = 4.0
"""So long its server may take to list its models, before a worker says that nobody is there."""


def load_once() -> None:
    """Read what each process with such a model needs: whoever forks several calls this before."""
    prices.shipped()
    certificates()


class OpenAIModel(ConnectedModel):
    """Model `openai`."""

    metered = True
    steps = True
    """It is a language model: a turn of work may take it several steps (agents/tools/loop.py)."""

    async def look(self) -> None:
        """Look whether its server is there."""
        self.saw_server(why := await self.check(_LOOK_S))
        if why:
            _LOGGER.warning("model %s at %s: %s", self.name, self.options.base_url, why)

    async def prepare(self) -> None:
        """Learn what its server tells, and how fast it is, unless that is known, or nobody is there."""
        if not self.no_server:
            await learn(self.options, self.memory, self.open)

    async def check(self, timeout_s: float = 5.0) -> str:
        """Why its server cannot be used, looked for without a paid call: no key and no address is in it. Empty: it can,
        as far as that tells. Never raises a ModelError."""
        try:
            async with asyncio.timeout(timeout_s):
                await self.open()[0].fetch("/models")
        except TimeoutError:
            return f"no answer within {timeout_s:g} s"
        except Rejected as error:  # some servers that chat do not list their models
            return error.why if error.status in (401, 403) else ""
        except Broken as error:
            return "" if error.reached else "; ".join(filter(None, (error.why, error.cure)))
        return ""

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """Answer one turn within its caps and its deadline.

        Raises
        ------
        ModelUnavailable
            The server is not there, is overloaded, or was too slow for the turn's deadline.
        ModelRefused
            No usable reply after the repair, or the model declined.
        ModelMisconfigured
            The key, the model's name or a setting is refused, or the prompt cannot be cut to its cap.
        """
        if not self._price_warned:  # where it is used, and not by each front door that looks at it
            self._price_warned = True
            _LOGGER.warning("model %s: no price is known, its calls count as free of charge", self.name)
        turn = StructuredCall(self, shown, emit)
        if not shown.deadline_ns:
            return await turn.run()
        left_s = (shown.deadline_ns - time.time_ns()) / 1e9
        try:
            # A little before the deadline, so that what was used is still booked.
            async with asyncio.timeout(max(0.0, left_s - min(1.0, left_s * 0.05))):
                return await turn.run()
        except TimeoutError:
            turn.lost()
            why = f"{self.name}: no reply before the turn's deadline; --turn-timeout gives a turn more time"
            raise ModelUnavailable(why, turn.usage) from None


def make(options: dict[str, Any], environ: Mapping[str, str] | None = None) -> OpenAIModel:
    """The model; options as in docs/models.md, a key that they do not bring as in parley.agents.openai.options.parse.
    Raises ModelMisconfigured: an option that is unknown, out of range or missing, no key for a provider that needs one,
    a price table that cannot be used."""
    return OpenAIModel(parse(options, environ))
