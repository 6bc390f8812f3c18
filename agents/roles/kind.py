"""The row of one kind of turn."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Kind:
    """Types of a turn's brief, of its reply, and of the posts that it may show, by the posts' kind."""

    brief: Any
    reply: Any
    posts: Mapping[str, Any] = field(default_factory=dict)
    """A post whose kind is absent is shown as plain JSON values."""
