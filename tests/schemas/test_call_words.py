"""A call of a tool in one line: server, tool, what it is about, how it ended."""

import json
from typing import Any

import pytest

from parley.schemas.tools import ToolCall, call_words


def ran(result: str) -> ToolCall:
    """A command's, as it was recorded before `ended` was."""
    return ToolCall(server="commands", tool="run", arguments="{}", ok=True, result=result)


def call(tool: str, ok: bool = True, **arguments: Any) -> ToolCall:
    return ToolCall(server="files", tool=tool, arguments=json.dumps(arguments), ok=ok, seconds=0.14)


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (call("read_file", path="a/b.py", first=3), "files.read_file a/b.py: ok (0.1 s)"),
        (call("run", command="python -m pytest -q", ok=False), "files.run python -m pytest -q: failed (0.1 s)"),
        (call("search", pattern="two\nlines", path=""), "files.search two lines: ok (0.1 s)"),
        (call("apply_patch", patch="--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- a/y\n+++ b/y\n"),
         "files.apply_patch x, y: ok (0.1 s)"),
        (call("list_files"), "files.list_files: ok (0.1 s)"),
        (call("other", what="unknown"), "files.other unknown: ok (0.1 s)"),
        (call("read_file", path="x" * 200), f"files.read_file {'x' * 77}...: ok (0.1 s)"),
        (ToolCall(server="s", tool="t", arguments='{"path": "cut', ok=False), 's.t {"path": "cut: failed (0.0 s)'),
        (ToolCall(server="s", tool="t", arguments="[1]", ok=True), "s.t [1]: ok (0.0 s)"),
        (ToolCall(server="s", tool="t", arguments="{}", ok=True, ended="exit 0"), "s.t: ok (0.0 s)"),
        (ToolCall(server="s", tool="t", arguments="{}", ok=True, ended="exit 1"), "s.t: exit 1 (0.0 s)"),
        (ToolCall(server="s", tool="t", arguments="{}", ok=False, ended="exit 0"), "s.t: failed (0.0 s)"),
        (ToolCall(server="s", tool="t", arguments="{}", ok=False, ended="stopped: it\ntook longer than 1 s"),
         "s.t: stopped: it took longer than 1 s (0.0 s)"),
        (ran("exit status 1, after 0.3 s\n\n1 failed"), "commands.run: exit status 1 (0.0 s)"),
        (ran("exit status 137, after 0.3 s\n\n"), "commands.run: exit status 137 (0.0 s)"),
        (ran("exit status 0, after 0.3 s\n\nexit status 1, after"), "commands.run: ok (0.0 s)"),
        (ran("it said: exit status 1, after 2 s"), "commands.run: ok (0.0 s)"),
    ],
)  # fmt: skip
def test_a_call_is_told_in_one_line(made: ToolCall, told: str) -> None:
    assert call_words(made) == told and "\n" not in call_words(made)
