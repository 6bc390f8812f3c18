"""One model at one endpoint: what every call of it shares."""

import asyncio
import random
from collections.abc import Callable

from parley.agents.endpoint.endpoint import Endpoint
from parley.agents.endpoint.limits import Gate, gate
from parley.agents.openai.options import EndpointOptions
from parley.agents.openai.probe import Memory
from parley.agents.openai.providers import Rung, family_of
from parley.agents.prompts import prompting


class ConnectedModel:
    """Its options, its connections, and what is learned of it. Safe for several turns at once on one event loop.

    Parameters
    ----------
    seed
        Makes boundaries and pauses repeatable, for tests; None: fresh ones.
    """

    def __init__(self, options: EndpointOptions, seed: int | None = None) -> None:
        self.options = options
        """What it was made with; the key in it shows itself to nobody."""
        self.record = options.record
        """The file that every reply is to be appended to; None: there is none."""
        self.reasoning_tokens = options.reasoning_tokens * 2
        """The most that it may think in one call: what it begins with, or that once more where it ran out."""
        self.name = options.model
        self.family = options.family or family_of(options.model, options.provider)
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
        self.no_server = ""
        """Why its server cannot be used, as far as anybody has looked; empty: it can."""
        self._price_warned = options.price is not None or options.preset.local

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.options.provider}, {self.name})"

    @property
    def speed(self) -> tuple[float, float] | None:
        """Tokens a second of a prompt and of a reply, as measured; None: they were not."""
        known = self.memory.get()
        return None if known.input_s is None or known.output_s is None else (known.input_s, known.output_s)

    def saw_server(self, away: str = "") -> None:
        """Note that its server is there, or why it cannot be used."""
        o = self.options
        settings = f"LLM_BASE_URL and {' or '.join(o.key_names)}"
        self.no_server = away and f"provider {o.provider} cannot be used: {away}; see {settings}"

    @property
    def turn_s(self) -> float | None:
        """Seconds that its turns took, as far as is known from before."""
        return self.memory.get().turn_s

    def learn_turn_s(self, seconds: float) -> None:
        """Keep what its turns take, where that is another figure than before."""
        known = self.memory.get().turn_s
        if known is None or not 0.8 < seconds / known < 1.25:
            self.memory.learn(turn_s=seconds)

    def open(self) -> tuple[Endpoint, Gate]:
        """Connections and gate, made on first use on the event loop that uses them."""
        loop = asyncio.get_running_loop()
        if self._endpoint is None or self._gate is None or self._loop is not loop:
            o = self.options
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
        known, highest = self.memory.get().rung, self.options.highest_rung
        return highest if known is None else min(known, highest)
