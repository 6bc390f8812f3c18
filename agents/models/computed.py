"""Turns whose reply is computed, whatever model their seat has: what decides over participants is asked of no model,
but for who should lead a task, where what is computed of that is unsure (agents/expert_matching/ask_model.py)."""

from typing import TYPE_CHECKING, cast

from parley.agents.context import Shown
from parley.agents.model.base import AroundModel, Completion, Emit, Model
from parley.agents.protocols import kind_of

if TYPE_CHECKING:
    from parley.agents.models.extractive import Extractive


class _Computing(AroundModel):
    """A model, and beside it what computes the turns that are none of a model's
    (parley.agents.turn_kinds.kit.Kind.computed).

    They are computed with the embedded encoder, if it can be had (docs/encoders.md).
    """

    _computing: "Extractive | None" = None

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """The model's reply, or the computed one."""
        if not kind_of(shown.protocol, shown.kind).computed:
            return await self._model.reply(shown, emit)
        if self._computing is None:
            from parley.agents.models.extractive import Extractive  # numpy: for the helper alone

            self._computing = Extractive(asks=self._model if getattr(self._model, "steps", False) else None)
        return await self._computing.reply(shown, emit)


def with_computed(model: Model) -> Model:
    """The model itself if it computes such turns by its own options (`extractive`); else one beside it that does."""
    return model if getattr(model, "computes", False) else cast(Model, _Computing(model))
