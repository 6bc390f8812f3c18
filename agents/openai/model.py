"""Model `openai`: any server that speaks OpenAI's chat completions.

How one turn is answered, and what counts as a call, is in agents/openai/structured_call.py; what an endpoint may do
instead of answering, in agents/openai/endpoint.py."""

import asyncio
import logging
import random
import time
from collections.abc import Callable
from typing import Any

import msgspec

from agents.context import Shown
from agents.models import prompting
from agents.models.base import Completion, Emit, ModelUnavailable
from agents.models.presets import NAMES, Rung, family_of
from agents.openai.endpoint import Broken, Endpoint, Rejected
from agents.openai.limits import Gate, gate
from agents.openai.options import Options, parse
from agents.openai.probe import Memory
from agents.openai.structured_call import Descent

_LOGGER = logging.getLogger(__name__)


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """What can be said of a model without paying for a call."""

    answers: bool
    """The server is there and takes the key, or does not list models."""
    there: bool
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


class OpenAIModel:
    """One model at one endpoint. Safe for several turns at once on one event loop.

    Parameters
    ----------
    seed
        Makes boundaries and pauses repeatable, for tests; None: fresh ones.
    """

    metered = True
    steps = True
    """It is a language model: a turn of work may take it several steps (agents/tools/loop.py)."""

    def __init__(self, options: Options, seed: int | None = None) -> None:
        self._options = options
        self.name = options.model
        self.family = options.family or family_of(options.model, options.provider)
        self.price_known = options.price is not None
        price = options.effective_price
        self.usd_per_million_input = price.input
        self.usd_per_million_output = price.output
        self.memory = Memory(options.base_url, options.model, options.state)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._endpoint: Endpoint | None = None
        self._gate: Gate | None = None
        dice = random.Random(seed)
        self.dice: Callable[[], float] = dice.random
        self.boundary: Callable[[], str] = (
            prompting.fresh_boundary if seed is None else lambda: f"{dice.getrandbits(64):016x}"
        )
        self._told = self.price_known or options.preset.local

    def __repr__(self) -> str:
        return f"OpenAIModel({self._options.provider}, {self.name})"

    @property
    def options(self) -> Options:
        """What it was made with; the key in it shows itself to nobody."""
        return self._options

    def open(self) -> tuple[Endpoint, Gate]:
        """Connections and gate, made on first use on the event loop that uses them."""
        loop = asyncio.get_running_loop()
        if self._endpoint is None or self._gate is None or self._loop is not loop:
            o = self._options
            self._loop, self._gate = loop, gate(o.base_url, o.concurrency)
            self._endpoint = Endpoint(
                o.base_url, o.api_key, connections=o.concurrency, silence_s=o.silence_s, limits=o.limits
            )
        return self._endpoint, self._gate

    async def aclose(self) -> None:
        """Close the connections. The model can be used again."""
        endpoint, self._endpoint = self._endpoint, None
        if endpoint is not None:
            await endpoint.close()

    def rung(self) -> Rung:
        """Where the next turn begins: the preset's or configured rung, or the lower one that was learned."""
        known, highest = self.memory.get().rung, self._options.highest_rung
        return highest if known is None else min(known, highest)

    async def check(self, timeout_s: float = 5.0) -> Checked:
        """Look whether the server is there, takes the key and has the model. Never raises a ModelError."""
        listed, why, there = None, "", True
        try:
            async with asyncio.timeout(timeout_s):
                names = await self.open()[0].models()
            listed = self.name in names if names else None
            why = "" if listed is not False else f"the server does not list {self.name}"
        except TimeoutError:
            why, there = f"no answer within {timeout_s:g} s", False
        except Rejected as error:
            # Some servers that chat do not list their models.
            why = "" if error.status in (404, 405, 501) else error.why
            there = error.status not in (401, 403)
        except Broken as error:
            why, there = error.why, error.reached
        price = self._options.price
        return Checked(
            answers=not why or listed is False, there=there, listed=listed, why=why, structured=NAMES[self.rung()],
            usd_per_million_input=None if price is None else price.input,
            usd_per_million_output=None if price is None else price.output,
        )  # fmt: skip

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
        if not self._told:  # where it is used, and not by each front door that looks at it
            self._told = True
            _LOGGER.warning("model %s: no price is known, its calls count as free of charge", self.name)
        turn = Descent(self, shown, emit)
        if not shown.deadline_ns:
            return await turn.run()
        left_s = (shown.deadline_ns - time.time_ns()) / 1e9
        try:
            # A little before the deadline, so that what was used is still booked.
            async with asyncio.timeout(max(0.0, left_s - min(1.0, left_s * 0.05))):
                return await turn.run()
        except TimeoutError:
            turn.lost()
            raise ModelUnavailable(f"{self.name}: no reply before the turn's deadline", turn.usage) from None


def make(options: dict[str, Any]) -> OpenAIModel:
    """The model; options as in docs/models.md.

    Raises
    ------
    ModelMisconfigured
        An option that is unknown, out of range or missing, no key for a provider that needs one, a price table that
        cannot be used.
    """
    return OpenAIModel(parse(options))
