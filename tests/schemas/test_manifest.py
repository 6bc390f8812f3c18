"""Which commands a project's own files name."""

import json

import pytest

from parley.schemas.folders.manifest import commands
from parley.schemas.folders.manifest import test_command as found_test


def named(**files: str) -> list[tuple[str, str]]:
    given = {k.replace("__", "/").replace("_dot_", "."): v.encode() for k, v in files.items()}
    return [(f.kind, f.command) for f in commands(given)]


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
