"""Seats that say what a test wrote down."""

from collections.abc import Mapping, Sequence
from typing import Any

from parley.agents.context import Shown
from parley.agents.model.base import Completion, Emit, ModelError
from parley.agents.models.function import Turn, typed
from parley.schemas.turn import Usage

SILENT = None
"""In a script: no reply, until the turn's deadline."""


class Silent(Exception):
    """A scripted seat does not answer this turn."""


class ScriptOver(AssertionError):
    """A seat was asked once more than its script has replies."""


class Scripted:
    """A model of replies in their order (parley.agents.model.base.Model).

    Attributes
    ----------
    turns
        What it was asked, each as an agent gets it.
    """

    name = family = "scripted"
    metered = False
    usd_per_million_input = usd_per_million_output = 0.0

    def __init__(self, replies: Sequence[Any] | Mapping[str, Sequence[Any]]) -> None:
        self._of_kind = {k: list(v) for k, v in replies.items()} if isinstance(replies, Mapping) else None
        self._replies = [] if self._of_kind is not None else list(replies)
        self.turns: list[Turn] = []

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """The next reply of the script. Raises what the script says, and ScriptOver behind its end."""
        self.turns.append(Turn(shown, emit))
        left = self._replies if self._of_kind is None else self._of_kind.get(shown.kind, [])
        if not left:
            raise ScriptOver(f"{shown.seat}: the script has no reply to turn {len(self.turns)}, of kind {shown.kind}")
        said = left.pop(0)
        if said is SILENT:
            raise Silent
        if isinstance(said, Exception):
            raise said if isinstance(said, ModelError) else ModelError(str(said))
        return Completion(body=typed(said, shown.reply), usage=getattr(said, "usage", None) or Usage(calls=1))


def scripted(*replies: Any, **of_kinds: Sequence[Any]) -> Scripted:
    """A seat that gives these replies, one a turn: `scripted({"answer": "Canary", "confidence": 0.8}, None)`.

    Parameters
    ----------
    replies
        Each as an agent may return it: a `parley.Reply`, a mapping, a text. None: it stays silent until the deadline.
        An exception: the turn fails with its words.
    of_kinds
        Kind of turn -> its replies, for a seat that is asked different things: `scripted(answer=[...], revise=[...])`.
    """
    if replies and of_kinds:
        raise TypeError("scripted: replies in one order, or by kind of turn; not both")
    return Scripted(of_kinds or replies)
