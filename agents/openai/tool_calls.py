"""Tools in the field that chat completions have for them: names that an endpoint takes, and calls as they come back."""

from collections.abc import Iterable
from typing import Any

import msgspec

from parley.agents.context import NativeCall
from parley.agents.prompts.prompting import untitled
from parley.agents.tools.steps import LONGEST, OTHER, Call, function_names

_ARGUMENTS = 20_000
"""Characters of a tool's schema."""


class ToolNames:
    """The tools of a turn by the names that an endpoint is told, `server__tool`: one name for each, and back."""

    def __init__(self, offered: Iterable[Any]) -> None:
        self._tools: dict[str, tuple[str, str]] = {}
        self.listed: list[dict[str, Any]] = []
        """For the request's field `tools`."""
        tools = list(offered)
        for name, tool in zip(function_names(tools), tools, strict=True):
            self._tools[name] = str(tool.server), str(tool.tool)
            self.listed.append(_listed(name, tool))

    def call(self, native: NativeCall) -> Call:
        """What was asked for; a name that nobody was told keeps what it says of a server, so that it is refused."""
        server, tool = self._tools.get(native.name) or native.name.partition("__")[::2]
        return Call(server=server, tool=tool, arguments=native.arguments or "{}")


def echoed(native: NativeCall) -> NativeCall:
    """A call as it is sent back: with a name that the endpoint takes, whatever the model wrote."""
    return msgspec.structs.replace(native, name=OTHER.sub("_", native.name)[:LONGEST] or "unknown")


def _listed(name: str, tool: Any) -> dict[str, Any]:
    schema, about = tool.arguments, str(tool.description)
    if not isinstance(schema, dict) or schema.get("type") != "object":
        about = f"{about}\n\nIts arguments, as a JSON schema: {str(schema)[:_ARGUMENTS]}" if schema else about
        schema = {"type": "object"}
    parameters = {"properties": {}, **untitled(schema)}
    return {"type": "function", "function": {"name": name, "description": about, "parameters": parameters}}
