"""What agents do in one protocol, as one object: KIT in each package here, and in those of installed packages."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.agents.artifacts import ArtifactAccess
from parley.agents.context import Shown
from parley.agents.equipment import Equipment
from parley.agents.hearing import Hear
from parley.agents.model.base import Completion, Emit
from parley.schemas.expert import ExpertSpec

if TYPE_CHECKING:  # numpy: for the extractive model alone
    from parley.agents.extractive.turn_method import TurnMethod


NOTHING: dict[str, Any] = {"not": {}}
"""Keywords of a field in a list or in an object that can have its default alone (Kind.narrow): it is left out."""


def _none(shown: Shown) -> dict[str, str]:
    return {}


@dataclass(frozen=True)
class Kind:
    """Types of a turn's brief, of its reply, and of the posts that it may show, by the posts' kind."""

    brief: Any
    reply: Any
    posts: Mapping[str, Any] = field(default_factory=dict)
    """A post whose kind is absent is shown as plain JSON values."""
    temperature: float | None = None
    """What a language model is asked with where its options name none; None: the server's own."""
    computed: bool = False
    """Whatever model the seat has, it is computed beside it (agents/models/computed.py). Where that may ask the model,
    it says what it is asked."""
    prompt_brief: Callable[[Any], dict[str, Any]] | None = None
    """The brief as a prompt shows it, a line for each of these names; None: all of it, indented."""
    prompt_post: Callable[[Any], Any] | None = None
    """A post's body as a prompt shows it; None: all of it."""
    shuffled: bool = True
    """Whether a prompt shows posts in the turn's own order, so that no place is favoured; False: in the order of their
    numbers, so that what is new comes last."""
    prompt_spec: Callable[[Any], Any] | None = None
    """Of an expert's specification, what a prompt shows, values or a text; None: all of it."""
    prompt_slots: Callable[[Shown], dict[str, str]] = _none
    """Who the seat is and what the moderator asks for, as further slots of the prompt: outside the fences."""
    head: str = ""
    """What the prompts of this kind begin with, `heads/<head>.md` (agents/prompts/templates.py): kinds of the same seat
    name the same one. Empty: `<kind>.md` has all of it."""
    passing: frozenset[str] = frozenset()
    """Kinds of posts that a prompt shows behind what the seat's next one shows again."""
    sums_up: str = ""
    """Kind of the posts in which the seat itself sums up a round: they stand for it where not everything fits."""
    narrow: Callable[[Shown], dict[str, dict[str, Any]]] | None = None
    """What the check demands of this turn's reply beyond its type: keywords of JSON Schema by field (`belief.outcome`,
    lists gone into), for a server that holds a model to its schema. An estimate asks it of a turn of which nothing is
    known (agents/turn_kinds/blank.py)."""
    order: tuple[str, ...] = ()
    """Fields in the order in which a model is asked for them, reasons before what they lead to; the others follow."""
    aside: bool = False
    """What was said on a channel of the seat's own is marked as a note, apart from what everybody heard."""


Serve = Callable[[Equipment, Shown, Emit, ArtifactAccess], Awaitable[Completion]]


@dataclass(frozen=True)
class Kit:
    """What agents do in one protocol. General code looks it up by the session's protocol
    (parley.agents.protocols.KITS)."""

    kinds: Mapping[str, Kind]
    """Kinds of turns."""
    parts: Mapping[str, Kind] = field(default_factory=dict)
    """First parts of turns, which no moderator asks for: by the name of their prompt."""
    prompts: Path | None = None
    """Folder of `<kind>.md` and heads (agents/prompts/templates.py); None: no language model can be asked."""
    computed: Callable[[], Mapping[str, "TurnMethod"]] | None = None
    """How each kind of turn is computed that is asked of no model (Kind.computed). The call imports what that takes
    (numpy and the reading of documents, 0.2 s)."""
    extractive: Callable[[], Mapping[str, "TurnMethod"]] | None = None
    """How the extractive model answers each of the other kinds. The call imports what that takes. None: it plays no
    seat of this protocol."""
    serve: Serve | None = None
    """Answers a turn with what a worker has, where there is more to it than asking the model. Raises ModelError."""
    looks_up: frozenset[str] = frozenset()
    """Roles whose seats may look things up before they answer, with the operator's tools that read."""
    hear: Callable[[ExpertSpec], Hear] | None = None
    """Makes what one expert's process does about posts of such sessions; None: nothing."""

    def methods(self) -> dict[str, "TurnMethod"]:
        """What is answered without a language model, by kind of turn: computed turns, and the extractive model's."""
        return {kind: method for of in (self.computed, self.extractive) if of for kind, method in of().items()}
