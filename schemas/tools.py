"""Calls of tools, as they are reported."""

import json
import re
from hashlib import sha256

import msgspec
from msgspec import UNSET, UnsetType

from parley.schemas.wire import at_most, not_empty, one_line

_SHOWN = 80
"""Characters of the argument that a call is told by."""
_MOST_ENDED = 240
"""Characters of how a command ended."""
_TELLING = ("path", "command", "pattern", "text", "query", "patch", "folder", "name")
"""Arguments that say what a call is about, the most telling first."""
_FIRST = re.compile(r'\{\s*"\w+":\s*"((?:[^"\\]|\\.)+)"')
"""The first argument of JSON that is cut behind it."""
_PATCHED = re.compile(r"^\+\+\+ (?:b/)?(\S.*?)(?:\t.*)?$", re.M)


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a tool, for the log."""

    server: str
    tool: str
    """START: its server did not start, so that none of its tools was there; what is not there of a server that did
    start is named in the result."""
    arguments: str
    """As JSON, cut to 2,000 characters."""
    ok: bool
    """It was made and answered. Whether what it ran succeeded too says `passed`."""
    result: str = ""
    """Cut to 2,000 characters."""
    seconds: float = 0.0
    ended: str | UnsetType = UNSET
    """How the command ended that it ran: `exit 1`, or `stopped: ` or `not run: ` and why; of START `not there: ` and
    why. Unset: it ran none."""
    whole: str | UnsetType = UNSET
    """Where the result was cut here: the file of the turn's `results` that has all of it."""
    tests: str | UnsetType = UNSET
    """What the command's output counts, where it is a test runner's: `5 passed, 1 failed`. Unset: it counts nothing."""

    @property
    def passed(self) -> bool:
        """It was made, and the command that it ran, if any, succeeded."""
        return self.ok and self.ended in (UNSET, PASSED)


class LookUpResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool returned to a seat that looked something up: a document of its session from then on."""

    server: str
    tool: str
    arguments: str
    """As JSON."""
    text: str

    @property
    def id(self) -> str:
        """SHA-256 of the text, hex."""
        return sha256(self.text.encode()).hexdigest()

    @property
    def name(self) -> str:
        """What it is quoted by. It does not tell who looked."""
        return f"{self.server}.{self.tool} {self.id[:_SHORT_ID]}"

    def __post_init__(self) -> None:
        one_line("found.server", self.server, 40)
        one_line("found.tool", self.tool, 128)
        at_most("found.arguments", self.arguments, MOST_ARGUMENTS)
        not_empty("found.text", self.text, MOST_FOUND)


def is_found(id: str, name: str) -> bool:
    """Whether a document of this id and name is what a tool returned."""
    return name.endswith(f" {id[:_SHORT_ID]}")


_SHORT_ID = 8
MOST_ARGUMENTS = 2_000
"""Characters of a call's arguments as they are kept."""
MOST_FOUND = 12_000
"""Characters of one result."""
MOST_LOOK_UPS = 8
"""Results of one turn."""
START = "(start)"
"""In place of a tool's name: the start of its server."""
PASSED = "exit 0"
"""How a command ended that succeeded."""
CUT = "[cut here: the diff goes on]\n"
"""How a diff ends that is too long."""


def call_words(call: ToolCall) -> str:
    """`files.read_file billing/money.py: ok (0.1 s)`, on one line."""
    what = " ".join(main_argument(call.arguments).split())
    shown = f" {what if len(what) <= _SHOWN else what[: _SHOWN - 3] + '...'}" if what else ""
    return f"{call.server[:40]}.{call.tool[:60]}{shown}: {ended_words(call)} ({call.seconds:.1f} s)"


def ended_words(call: ToolCall) -> str:
    """How a call ended, in words: `ok`, `failed`, or how the command ended that it ran, on one line."""
    if call.passed:
        return "ok"
    if isinstance(call.ended, UnsetType):
        return "failed"
    text = " ".join(call.ended.split())[:_MOST_ENDED]
    return text if text and text != PASSED else "failed"


def main_argument(arguments: str) -> str:
    """The argument that says what a call is about; of a patch the files; empty: there is none. `arguments`: as JSON,
    which may be cut."""
    try:
        parsed = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        first = _FIRST.match(arguments)
        return first[1] if first else arguments
    if not isinstance(parsed, dict):
        return arguments
    name = next((n for n in _TELLING if isinstance(parsed.get(n), str) and parsed[n]), "")
    value = str(parsed.get(name, "")) or next((v for v in parsed.values() if isinstance(v, str) and v), "")
    return ", ".join(_PATCHED.findall(value)) or value if name == "patch" else value
