"""A worker's model, with what the protocols of its turns lay around it (parley.agents.turn_kinds.kit.Kit.serve)."""

from collections import deque
from statistics import median

from parley.agents.artifacts import ArtifactAccess, NoArtifacts
from parley.agents.context import Shown, with_found
from parley.agents.endpoint.prices import Price
from parley.agents.equipment import Equipment, Hands
from parley.agents.model.base import Completion, Emit, Model
from parley.agents.protocols import KITS
from parley.agents.tools.allow import AllowList
from parley.agents.tools.sandbox import possible
from parley.agents.turn_kinds.quotations import verbatim
from parley.schemas.expert import ExpertSpec

_NO_ARTIFACTS = NoArtifacts()
_LAST = 15
"""Turns of which the median is taken."""


class WorkerModel:
    """A model and what its worker has beside it.

    Parameters
    ----------
    spec
        None: the worker is no expert.
    tools
        The operator's allow list; None: no tools.
    hands
        Who does the expert's work in the model's place; None: the model does.
    """

    def __init__(
        self,
        model: Model,
        spec: ExpertSpec | None = None,
        tools: AllowList | None = None,
        hands: Hands | None = None,
    ) -> None:
        self.no_run = ""
        """Why commands cannot be run here, where the list has a tool for that; empty: they can."""
        if tools is not None and Equipment(model, spec, tools).uses_tools:
            tools, self.no_run = possible(tools)
        self.no_tools = ""
        """Which servers of the list do not start here, and why; empty: all do, or nobody has looked."""
        self._equipment = Equipment(model, spec, tools, hands)
        self.tools = self._equipment.uses_tools or hands is not None
        """Whether its turns may use tools."""
        self.name = model.name
        self.family = model.family
        self.metered = model.metered or hands is not None
        price = Price() if hands is None else hands.price
        self.usd_per_million_input = max(model.usd_per_million_input, price.input)
        self.usd_per_million_output = max(model.usd_per_million_output, price.output)
        self.reasoning_tokens: int | None = getattr(model, "reasoning_tokens", None)
        self._took: deque[float] = deque(maxlen=_LAST)

    async def look(self) -> None:
        """Look whether the model's server is there, if it has one: `no_server` says it then."""
        await self._let("look")

    async def prepare(self) -> None:
        """Let the model learn of its server before the first turn, if it wants to."""
        await self._let("prepare")

    async def look_at_tools(self) -> None:
        """Look whether the tool servers start: `no_tools` says it then, and so does the next announcement. It may take
        as long as a server's time-out."""
        tools, spec = self._equipment.tools, self._equipment.spec
        if (hands := self._equipment.hands) is not None:
            self.no_tools = hands.why_not and f"hands {hands.name}: {hands.why_not}"
        if tools is None or not self._equipment.uses_tools:
            return
        if spec is not None and spec.tools is not None:
            tools = tools.only(spec.tools)
        from parley.agents.tools.server_check import (
            missing_servers,  # the tool servers' client: for who has an operator's list
        )

        self.no_tools = self.no_tools or await missing_servers(tools)

    @property
    def no_server(self) -> str:
        """Why the model's server cannot be used, as it was last looked at; empty: it can, or it has none."""
        return str(getattr(self._equipment.model, "no_server", ""))

    @property
    def speed(self) -> tuple[float, float] | None:
        """Tokens a second of a prompt and of a reply, where they were measured."""
        speed: tuple[float, float] | None = getattr(self._equipment.model, "speed", None)
        return speed

    @property
    def turn_s(self) -> float | None:
        """The median of the seconds that its last turns took, to two digits; where it has answered none, what is known
        of the model from before."""
        if self._took:
            return max(0.001, float(f"{median(self._took):.2g}"))
        known: float | None = getattr(self._equipment.model, "turn_s", None)
        return known

    def took(self, seconds: float) -> None:
        """Note what a turn took that it answered."""
        self._took.append(seconds)
        if (learn := getattr(self._equipment.model, "learn_turn_s", None)) is not None:
            learn(self.turn_s)

    async def reply(self, shown: Shown, emit: Emit, artifacts: ArtifactAccess = _NO_ARTIFACTS) -> Completion:
        """Answer one turn. Quotations are word for word in it, and those that stand nowhere are left out. Raises
        ModelError: as the model's, or what the protocol's `serve` raises."""
        kit = KITS.get(shown.protocol)
        if kit is None or kit.serve is None:
            return verbatim(shown, await self._equipment.model.reply(shown, emit))
        done = await kit.serve(self._equipment, shown, emit, artifacts)
        return verbatim(with_found(shown, done.found), done)

    async def aclose(self) -> None:
        """Close the model."""
        await self._let("aclose")

    async def _let(self, do: str) -> None:
        """Let the model do what not every model can."""
        method = getattr(self._equipment.model, do, None)
        if method is not None:
            await method()
