"""Which commands a project's own files name, and a call of a tool in one line."""

import json
from typing import Any

import pytest

from parley.schemas.folders.manifest import discover_commands
from parley.schemas.folders.manifest import test_command as found_test
from parley.schemas.tools import ToolCall, call_words


def named(**files: str) -> list[tuple[str, str]]:
    given = {k.replace("__", "/").replace("_dot_", "."): v.encode() for k, v in files.items()}
    return [(f.kind, f.command) for f in discover_commands(given)]


@pytest.mark.parametrize(
    ("files", "command", "source"),
    [
        ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, "python -m pytest -q", "pyproject.toml [tool.pytest]"),
        ({"setup.cfg": "[tool:pytest]\n"}, "python -m pytest -q", "setup.cfg [tool:pytest]"),
        ({"tests/test_a.py": "def test_a():\n    pass\n"}, "python -m pytest -q", "tests for pytest"),
        ({"test_a.py": "import unittest\nclass T(unittest.TestCase): ...\n"}, "python -m unittest", "tests in Python"),
        ({"package.json": json.dumps({"scripts": {"test": "node --test"}})}, "npm test", "package.json scripts.test"),
        ({"Makefile": "build:\n\tcc\ntest: build\n\t./t\n"}, "make test", "Makefile, target test"),
        ({"go.mod": "module x\n"}, "go test ./...", "go.mod"),
        ({"Cargo.toml": "[package]\n"}, "cargo test --offline", "Cargo.toml"),
        ({"README.md": "Run the tests with `sh tests.sh`.\n"}, "sh tests.sh", "README.md"),
        (
            {"README.md": "Run:\n\n```sh\npip install x\n$ python -m pytest -x\n```\n"},
            "python -m pytest -x",
            "README.md",
        ),
    ],
)
def test_the_command_that_tests_a_project_is_found(files: dict[str, str], command: str, source: str) -> None:
    found = found_test({name: text.encode() for name, text in files.items()})
    assert found is not None and (found.command, found.source) == (command, source)


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"package.json": json.dumps({"scripts": {"test": 'echo "Error: no test specified" && exit 1'}})},
        {"package.json": "[1, 2"},
        {"package.json": "[" * 100_000},
        {"pyproject.toml": "[tool.pytest"},
        {"README.md": "Run `make it so` or `rm -rf /; pytest` or `pytest > out`.\n"},
        {"Makefile": "test := 3\n"},
        {"README.md": "`pytest`" + " " * 300_000},
    ],
)
def test_what_names_none_names_none(files: dict[str, str]) -> None:
    assert found_test({name: text.encode() for name, text in files.items()}) is None


def test_linters_and_builds_are_named_too_and_each_command_once() -> None:
    package = json.dumps({"scripts": {"test": "vitest", "lint": "eslint", "build": "vite build"}})
    found = named(package_dot_json=package, README_dot_md="`npm test`")
    assert found == [("test", "npm test"), ("lint", "npm run lint"), ("build", "npm run build")]


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
        (ToolCall(server="s", tool="t", arguments='{"path": "a", "text": "cu', ok=True), "s.t a: ok (0.0 s)"),
        (ToolCall(server="s", tool="t", arguments="[1]", ok=True), "s.t [1]: ok (0.0 s)"),
        (ToolCall(server="s", tool="t", arguments="{}", ok=True, ended="exit 0"), "s.t: ok (0.0 s)"),
        (ToolCall(server="s", tool="t", arguments="{}", ok=True, ended="exit 1"), "s.t: exit 1 (0.0 s)"),
        (ToolCall(server="s", tool="t", arguments="{}", ok=False, ended="exit 0"), "s.t: failed (0.0 s)"),
        (ToolCall(server="s", tool="t", arguments="{}", ok=False, ended="stopped: it\ntook longer than 1 s"),
         "s.t: stopped: it took longer than 1 s (0.0 s)"),
    ],
)  # fmt: skip
def test_a_call_is_told_in_one_line(made: ToolCall, told: str) -> None:
    assert call_words(made) == told and "\n" not in call_words(made)
