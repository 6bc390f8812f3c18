"""The row of one kind of turn."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


def _none(brief: Any) -> dict[str, str]:
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
    telling: Callable[[Any], dict[str, Any]] | None = None
    """The brief as a prompt shows it, a line for each of these names; None: all of it, indented."""
    scope: Callable[[Any], Any] | None = None
    """Of an expert's specification, what a prompt shows; None: all of it."""
    orders: Callable[[Any], dict[str, str]] = _none
    """What the moderator asks for in the brief, as further slots of the prompt: it stands outside the fences."""
    apart: bool = False
    """What was said on a channel of the seat's own stands in the slot `aside`, apart from what everybody heard."""
