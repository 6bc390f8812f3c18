"""What a worker has for its turns: its model, and beside it an expert's specification and the operator's tools."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parley.agents.model.base import Model
from parley.schemas.expert import ExpertSpec

if TYPE_CHECKING:  # pydantic: not for whoever only shows turns to a model
    from parley.agents.hands.hand import Hands
    from parley.agents.tools.allow import AllowList


@dataclass(frozen=True)
class Equipment:
    """The equipment of one worker."""

    model: Model
    spec: ExpertSpec | None = None
    """None: the worker is no expert."""
    tools: "AllowList | None" = None
    """The operator's allow list; None: no tools."""
    hands: "Hands | None" = None
    """Who does its work and support in its place; None: its model. Reviews are its model's in any case."""

    @property
    def steps(self) -> bool:
        """Whether the model may take several steps in a turn: it is a language model."""
        return bool(getattr(self.model, "steps", False))

    @property
    def words(self) -> bool:
        """Whether replies are the model's own words."""
        return self.steps or bool(getattr(self.model, "words", False))

    @property
    def uses_tools(self) -> bool:
        """Whether its turns may use tools."""
        return self.steps and self.tools is not None and bool(self.tools.servers)
