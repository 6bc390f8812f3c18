"""What a language model is asked for in a step with tools: calls, or the end of the turn."""

import hashlib
import re
from collections.abc import Iterable
from typing import Any, ClassVar

import msgspec

from parley.schemas.wire import InvalidValue, few

MOST_CALLS = 16
"""Calls of tools in one step."""
MOST_NOTE = 2_000
"""Characters of what a model says beside its calls."""
ENDED = "parley/ended"
"""Field of a result's metadata (`_meta`) in which a server says how the command ended that the call ran."""
MOST_ENDED = 300
"""Characters of that."""
OTHER = re.compile(r"[^a-zA-Z0-9_-]+")
"""What no endpoint takes in a function's name."""
LONGEST = 64
"""Characters of a function's name that every endpoint takes."""
USE_TOOLS = "use_tools"
"""Outcome of a step that asks for calls."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a tool, as a model asks for it."""

    server: str
    tool: str
    arguments: str = "{}"
    """A JSON object as text: tools' arguments have no schema that a strict one could hold."""


class ToolStep(msgspec.Struct, frozen=True, kw_only=True):
    """A reply in a step with tools: calls, or the end of the turn. A kind of turn adds the fields of its end."""

    ENDS_WITH: ClassVar[type[Any]]
    """What ends the turn. Its fields are among the step's, but for those that only a step without tools has."""
    outcome: str
    """USE_TOOLS: it asks for calls."""
    calls: tuple[Call, ...] = ()
    summary: str = ""
    """Of the end; of any other step, a note to itself."""

    def __post_init__(self) -> None:
        few("calls", self.calls, MOST_CALLS)
        if bool(self.calls) != (self.outcome == USE_TOOLS):
            why = "with the outcome use_tools, and with no other, calls are given"
            raise InvalidValue("calls", f"{len(self.calls)} of them", why)
        self.end()

    def end(self) -> Any:
        """The reply that ends the turn; None: it asks for calls. Raises InvalidValue for what the reply lacks."""
        if self.outcome == USE_TOOLS:
            return None
        fields = [name for name in self.ENDS_WITH.__struct_fields__ if hasattr(self, name)]
        return self.ENDS_WITH(**{name: getattr(self, name) for name in fields})


def function_names(offered: Iterable[Any]) -> list[str]:
    """The tools' names as functions, `server__tool`, in their order: one name for each, that every endpoint takes."""
    names: dict[str, None] = {}
    for tool in offered:
        name = OTHER.sub("_", f"{tool.server}__{tool.tool}")
        if len(name) > LONGEST or name in names:
            digest = hashlib.sha256(f"{tool.server}\n{tool.tool}".encode()).hexdigest()[:8]
            name = f"{name[: LONGEST - 9]}_{digest}"
        names[name] = None
    return list(names)


def asking(step: Any, calls: list[Call], note: str) -> Any:
    """The reply of a model that asks for calls in an endpoint's own field: at most as many as a step may have."""
    more = len(calls) - MOST_CALLS
    if more > 0:
        note = f"{note}\n[{more} more calls were left out: a step has at most {MOST_CALLS}]".strip()
    fields = {"outcome": USE_TOOLS, "calls": msgspec.to_builtins(calls[:MOST_CALLS]), "summary": note[:MOST_NOTE]}
    return msgspec.convert(fields, step)
