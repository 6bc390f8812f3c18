"""Model `openai`: any server that speaks OpenAI's chat completions.

How one turn is answered, and what counts as a call, is in agents/openai/ladder.py; what an endpoint may do
instead of answering, in agents/endpoint/endpoint.py."""

import asyncio
import logging
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from parley.agents.context import Shown
from parley.agents.endpoint import prices
from parley.agents.endpoint.endpoint import Broken, Rejected
from parley.agents.endpoint.transport import certificates
from parley.agents.model.base import Completion, Emit, ModelUnavailable
from parley.agents.openai.connected_model import ConnectedModel
from parley.agents.openai.ladder import StructuredCall
from parley.agents.openai.options import parse
from parley.agents.openai.providers import NAMES
from parley.agents.openai.sizing import learn

_LOGGER = logging.getLogger(__name__)
_LOOK_S = 4.0
"""So long its server may take to list its models, before a worker says that nobody is there."""


def load_once() -> None:
    """Read what each process with such a model needs: whoever forks several calls this before."""
    prices.shipped()
    certificates()


class ModelChecked(msgspec.Struct, frozen=True, kw_only=True):
    """What can be said of a model without paying for a call."""

    answers: bool
    """The server is there and takes the key, or does not list models."""
    reachable: bool
    """False: nobody answers at its address, or the key is refused. No turn could be answered."""
    listed: bool | None
    """Whether it lists this model; None: it lists none."""
    why: str = ""
    """What is wrong; holds no key and no address."""
    structured: str
    """The rung at which the next turn begins: json_schema, json_object, text."""
    usd_per_million_input: float | None
    """None: no price is known."""
    usd_per_million_output: float | None


class OpenAIModel(ConnectedModel):
    """Model `openai`."""

    metered = True
    steps = True
    """It is a language model: a turn of work may take it several steps (agents/tools/loop.py)."""

    async def look(self) -> None:
        """Look whether its server is there."""
        checked = await self.check(_LOOK_S)
        self.saw_server("" if checked.reachable else checked.why)
        if not checked.reachable:
            _LOGGER.warning("model %s at %s: %s", self.name, self.options.base_url, checked.why)

    async def prepare(self) -> None:
        """Learn what its server tells, and how fast it is, unless that is known, or nobody is there."""
        if not self.no_server:
            await learn(self.options, self.memory, self.open)

    async def check(self, timeout_s: float = 5.0) -> ModelChecked:
        """Look whether the server is there, takes the key and has the model. Never raises a ModelError."""
        listed, why, reachable = None, "", True
        try:
            async with asyncio.timeout(timeout_s):
                names = await self.open()[0].models()
            listed = self.name in names if names else None
            why = "" if listed is not False else f"the server does not list {self.name}"
        except TimeoutError:
            why, reachable = f"no answer within {timeout_s:g} s", False
        except Rejected as error:
            # Some servers that chat do not list their models.
            why = "" if error.status in (404, 405, 501) else error.why
            reachable = error.status not in (401, 403)
        except Broken as error:
            why, reachable = error.why, error.reached
        price = self._options.price
        return ModelChecked(
            answers=not why or listed is False,
            reachable=reachable,
            listed=listed,
            why=why,
            structured=NAMES[self.rung()],
            usd_per_million_input=None if price is None else price.input,
            usd_per_million_output=None if price is None else price.output,
        )

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

    Raises
    ------
    ModelMisconfigured
        An option that is unknown, out of range or missing, no key for a provider that needs one, a price table that
        cannot be used.
    """
    return OpenAIModel(parse(options, environ))
