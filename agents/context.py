"""What a model is shown of one turn (agents/show_turn.py builds it)."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from parley.schemas.expert import ExpertSpec
from parley.schemas.session import Document
from parley.schemas.tools import LookUpResult
from parley.schemas.turn import Caps

if TYPE_CHECKING:  # the bus's client: not for whoever only shows turns to a model
    from parley.agents.expert_registry import ExpertRegistry


class Other(msgspec.Struct, frozen=True, kw_only=True):
    """Something that another said, without its name."""

    label: str = ""
    """What it is, where it is no post."""
    post: int
    """Number of the post, by which everybody refers to it; -1: it is none, but laid beside the posts for this turn."""
    kind: str
    round: int
    channel: str = "public"
    """Where it was said."""
    body: Any
    """Typed where the protocol knows the kind, else plain JSON values."""
    passing: bool = False
    """It is of this turn alone, and stands in a prompt behind what the next one shows again."""


class Tools(msgspec.Struct, frozen=True, kw_only=True):
    """What a model may call in one step of a turn (agents/tools/loop.py)."""

    offered: tuple[Any, ...]
    """Server, tool, description and arguments of each, as the servers tell them."""
    calls_left: int
    steps_left: int
    """Before the last one, which is without tools."""
    runs: bool = False
    """Whether one of them runs commands."""


class NativeCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call as an endpoint's own field for it held it."""

    name: str
    arguments: str
    extra: bytes = b""
    """What the endpoint put beside it and wants to see again, as JSON."""


class RawReply(msgspec.Struct, frozen=True, kw_only=True):
    """What a language model replied in one step, as it came."""

    text: str = ""
    calls: tuple[NativeCall, ...] = ()
    """Empty: it was asked for calls in its text, or made none."""
    reasoning: str = ""
    """What it thought, where its endpoint wants to see that again."""


class CallResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one call."""

    label: str
    """`Step 2, call 1`."""
    request: str
    """Server, tool and arguments, for a model that asked in its text; these may be cut."""
    ended: str
    """`ok`, `failed`, or how the command ended that it ran."""
    text: str


class PastStep(msgspec.Struct, frozen=True, kw_only=True):
    """A step that this turn has behind it."""

    reply: Any
    """The step (agents/tools/steps.py)."""
    raw: RawReply | None = None
    """None: not known. The reply as JSON stands for it."""
    returned: tuple[CallResult, ...] = ()
    """One for each call, in their order."""
    tools_after: Tools | None = None
    """What could be called in the step after it; None: nothing, that one is the last."""


class ToolLoop(msgspec.Struct, frozen=True, kw_only=True):
    """What is the same in all steps of a turn, and what was done in it so far: a prompt shows it in this order, so that
    each step's begins with all of the one before it."""

    step: Any
    """Type of a reply that may ask for calls."""
    end: Any
    """Type of the reply that ends the turn."""
    tools: Tools
    """As they were before the first step."""
    did: tuple[PastStep, ...] = ()


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What the model is shown of one turn."""

    session: str
    turn: str = ""
    """The turn's id: whatever is asked again under it is the same turn."""
    boundary: str = ""
    """The moderator's for this session and seat; empty: each prompt has a fresh one."""
    protocol: str
    question: str
    seat: str
    role: str
    kind: str
    round: int
    brief: Any
    """Message of the kind's brief type."""
    reply: Any
    """Type of the message that is wanted."""
    others: tuple[Other, ...] = ()
    own: Any = None
    """The seat's own last position, typed; None: it has none."""
    documents: tuple[Document, ...] = ()
    """Documents that the seat holds, in the turn's order, under the turn's names, without their holders."""
    background: str = ""
    """What was found before, in the sessions that this one follows up; empty: it follows up none. It is no evidence."""
    caps: Caps = Caps()
    stream: bool = False
    deadline_ns: int = 0
    attempt: int = 1
    step: int = 1
    """Which request of this turn it is: a language model may ask for tools first."""
    error: str = ""
    """Why the last attempt was not accepted."""
    refused: str = ""
    """What it said, as JSON; it may be cut. Empty: not known."""
    expert: ExpertSpec | None = None
    """Whose specification the seat's worker goes by."""
    tools: Tools | None = None
    """None: there are none, or no more in this step."""
    missing: tuple[str, ...] = ()
    """Servers of the operator's tools that are not there in this turn, or not with all of their tools."""
    steps: ToolLoop | None = None
    """Of a turn with tools, in its last step too, which is without them."""
    experts: "ExpertRegistry | None" = None
    """For turns that are computed by a helper: the experts that it has heard of."""


def laid_beside(label: str, body: Any, kind: str, passing: bool = False) -> Other:
    """A text that is no post, laid beside the posts for this turn; `passing`: and for no other."""
    return Other(label=label, post=-1, kind=kind, round=0, body=body, passing=passing)


def with_found(shown: Shown, found: Iterable[LookUpResult]) -> Shown:
    """The turn with what was looked up in it beside the seat's documents."""
    there = {d.id for d in shown.documents}
    new = {f.id: Document(id=f.id, name=f.name, text=f.text) for f in found if f.id not in there}
    return msgspec.structs.replace(shown, documents=(*shown.documents, *new.values())) if new else shown
