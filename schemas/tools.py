"""Calls of tools, as they are reported."""

import msgspec


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a tool, for the log."""

    server: str
    tool: str
    arguments: str
    """As JSON, cut to 2,000 characters."""
    ok: bool
    result: str = ""
    """Cut to 2,000 characters."""
    seconds: float = 0.0


CUT = "[cut here: the diff goes on]\n"
"""How a diff ends that is too long."""
