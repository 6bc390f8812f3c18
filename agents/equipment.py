"""What a worker has for its turns: its model, and beside it an expert's specification, tools and hands."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from parley.agents.endpoint.prices import Price
from parley.agents.model.base import Emit, Model
from parley.schemas.expert import ExpertSpec
from parley.schemas.tools import ToolCall
from parley.schemas.turn import Caps, Usage

if TYPE_CHECKING:  # pydantic: not for whoever only shows turns to a model
    from parley.agents.tools.allow import AllowList
    from parley.agents.tools.folder import TaskFolder


class HandsEnd(NamedTuple):
    """What became of a turn that an agent of others did."""

    words: str
    """What the agent said last."""
    ended: str
    """What ended it; empty: it ended by itself."""
    failed: str
    """Why it may have done nothing: its exit status, and the end of what it printed; empty: it says that it is done."""
    calls: tuple[ToolCall, ...]
    usage: Usage
    results: Mapping[str, str] = {}
    """Whole outputs of calls, by the name of a file."""


class Hands(Protocol):
    """An agent of others that works in an expert's place (parley.agents.hands)."""

    name: str
    """As the operator's list has it."""
    price: Price
    """Of its model."""
    why_not: str
    """Why it cannot work here; empty: it can, as far as is known."""

    async def work(self, prompt: str, folder: "TaskFolder", caps: Caps, deadline_ns: int, emit: Emit) -> HandsEnd:
        """Let the agent work until it ends or is ended; never longer than the turn. Raises ModelUnavailable: there is
        no sandbox, or no such program."""


@dataclass(frozen=True)
class Equipment:
    """The equipment of one worker."""

    model: Model
    spec: ExpertSpec | None = None
    """None: the worker is no expert."""
    tools: "AllowList | None" = None
    """The operator's allow list; None: no tools."""
    hands: Hands | None = None
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
