"""Calls of tools, as they are reported."""

import json
import re

import msgspec

_SHOWN = 80
"""Characters of the argument that a call is told by."""
_TELLING = ("path", "command", "pattern", "text", "query", "patch", "folder", "name")
"""Arguments that say what a call is about, the most telling first."""
_ENDED = re.compile(r"exit status (?!0\b)\d{1,3}(?=, after )")
"""How the result of a command begins that ended, and did not succeed."""
_PATCHED = re.compile(r"^\+\+\+ (?:b/)?(\S.*?)(?:\t.*)?$", re.M)


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


def call_words(call: ToolCall) -> str:
    """`files.read_file billing/money.py: ok (0.1 s)`, on one line; of a command that ran and did not succeed its exit
    status."""
    what = " ".join(main_argument(call.arguments).split())
    shown = f" {what if len(what) <= _SHOWN else what[: _SHOWN - 3] + '...'}" if what else ""
    return f"{call.server[:40]}.{call.tool[:60]}{shown}: {ended_words(call)} ({call.seconds:.1f} s)"


def ended_words(call: ToolCall) -> str:
    """How a call ended: `ok`, `failed`, or `exit status 1` of a command that ran and did not succeed."""
    if not call.ok:
        return "failed"
    ended = _ENDED.match(call.result)
    return ended[0] if ended else "ok"


def main_argument(arguments: str) -> str:
    """The argument that says what a call is about; of a patch the files; empty: there is none. `arguments`: as JSON,
    which may be cut."""
    try:
        found = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return arguments
    if not isinstance(found, dict):
        return arguments
    name = next((n for n in _TELLING if isinstance(found.get(n), str) and found[n]), "")
    value = str(found.get(name, "")) or next((v for v in found.values() if isinstance(v, str) and v), "")
    return ", ".join(_PATCHED.findall(value)) or value if name == "patch" else value
