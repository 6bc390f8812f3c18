"""Turns whose reply is computed, whatever model their seat has: what decides over participants is asked of no model,
but for who should lead a task, where what is computed of that is unsure (agents/expert_matching/ask_model.py)."""

from typing import TYPE_CHECKING

from parley.agents.context import Shown
from parley.agents.model.base import Completion, Emit, Model
from parley.agents.protocols import kind_of

if TYPE_CHECKING:
    from parley.agents.models.extractive import Extractive


class Computing:
    """A model, and beside it what computes the turns that are none of a model's
    (parley.agents.turn_kinds.kit.Kind.computed).

    They are computed with the embedded encoder, if it can be had (docs/encoders.md).
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._computing: Extractive | None = None
        self.name = model.name
        self.family = model.family
        self.metered = model.metered
        self.usd_per_million_input = model.usd_per_million_input
        self.usd_per_million_output = model.usd_per_million_output
        self.reasoning_tokens: int | None = getattr(model, "reasoning_tokens", None)
        self.steps = bool(getattr(model, "steps", False))
        self.words = bool(getattr(model, "words", False))

    async def look(self) -> None:
        """The model's own."""
        look = getattr(self._model, "look", None)
        if look is not None:
            await look()

    async def prepare(self) -> None:
        """The model's own."""
        prepare = getattr(self._model, "prepare", None)
        if prepare is not None:
            await prepare()

    @property
    def speed(self) -> tuple[float, float] | None:
        """The model's own."""
        speed: tuple[float, float] | None = getattr(self._model, "speed", None)
        return speed

    @property
    def turn_s(self) -> float | None:
        """The model's own."""
        seconds: float | None = getattr(self._model, "turn_s", None)
        return seconds

    def learn_turn_s(self, seconds: float) -> None:
        """The model's own."""
        if (learn := getattr(self._model, "learn_turn_s", None)) is not None:
            learn(seconds)

    @property
    def no_server(self) -> str:
        """The model's own."""
        return str(getattr(self._model, "no_server", ""))

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """The model's reply, or the computed one."""
        if not kind_of(shown.protocol, shown.kind).computed:
            return await self._model.reply(shown, emit)
        if self._computing is None:
            from parley.agents.models.extractive import Extractive  # numpy: for the helper alone

            self._computing = Extractive(asks=self._model if self.steps else None)
        return await self._computing.reply(shown, emit)

    async def aclose(self) -> None:
        """Close both."""
        for model in (self._model, self._computing):
            close = getattr(model, "aclose", None)
            if close is not None:
                await close()


def with_computed(model: Model) -> Model:
    """The model itself if it computes such turns by its own options (`extractive`); else one beside it that does."""
    return model if getattr(model, "computes", False) else Computing(model)
