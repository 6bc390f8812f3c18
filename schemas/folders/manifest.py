"""The commands that a project itself names for testing, linting and building it, read from its manifest.

Read are, in this order: `[tool.pytest]` and its other places, and tests in Python; scripts of package.json; targets
of a Makefile; go.mod; Cargo.toml; tox.ini; and of a README a line of code that calls a known test runner. A command
is text from the project, so it is data: it is shown before it is run, and run in a sandbox alone.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

Kind = Literal["test", "lint", "build"]
_MOST = 200_000
"""Bytes of a file that is read."""
_NODE: tuple[tuple[str, Kind], ...] = (
    ("test", "test"),
    ("test:unit", "test"),
    ("lint", "lint"),
    ("typecheck", "lint"),
    ("build", "build"),
)
_MAKE: tuple[tuple[str, Kind], ...] = (
    ("test", "test"),
    ("check", "test"),
    ("tests", "test"),
    ("lint", "lint"),
    ("build", "build"),
)
_NO_TEST = "no test specified"
"""What npm writes into a new project's script, which fails."""
_RUNNERS = re.compile(
    r"(?:(?:python3?|\.?/?\.venv/bin/python) -m (?:pytest|unittest)|pytest|npm (?:run )?test|node --test|go test"
    r"|cargo test|make (?:test|check)|tox|(?:sh|bash) \S*test\S*\.sh|\./\S*test\S*)(?= |$)"
)
_CODE = re.compile(r"`([^`\n]{3,200})`|^(?:    |\t|\$ )(\S[^\n]{2,200})$", re.M)
_FENCED = re.compile(r"^```[a-z]*\n(.*?)^```", re.M | re.S)


class ProjectCommand(NamedTuple):
    """A command that a project names."""

    kind: Kind
    command: str
    source: str
    """The file, and where in it."""


def discover_commands(files: Mapping[str, bytes]) -> tuple[ProjectCommand, ...]:
    """What a project's files name, the most telling first; each command once. `files`: path in the folder -> its bytes;
    only files at the top are read."""
    by_command: dict[str, ProjectCommand] = {}
    for command in (*_python(files), *_node(files), *_make(files), *_others(files), *_readme(files)):
        by_command.setdefault(command.command, command)
    return tuple(by_command.values())


def test_command(files: Mapping[str, bytes]) -> ProjectCommand | None:
    """The command that tests the project; None: it names none."""
    return next((command for command in discover_commands(files) if command.kind == "test"), None)


def _text(files: Mapping[str, bytes], name: str) -> str:
    data = files.get(name, b"")
    return data.decode("utf-8", "replace") if len(data) <= _MOST else ""


def _python(files: Mapping[str, bytes]) -> Iterator[ProjectCommand]:
    project = _toml(_text(files, "pyproject.toml"))
    tool = project.get("tool")
    tool = tool if isinstance(tool, dict) else {}
    source = ""
    if "pytest" in tool:
        source = "pyproject.toml [tool.pytest]"
    elif "pytest.ini" in files or ".pytest.ini" in files:
        source = "pytest.ini"
    elif "[tool:pytest]" in _text(files, "setup.cfg"):
        source = "setup.cfg [tool:pytest]"
    elif "[pytest]" in _text(files, "tox.ini"):
        source = "tox.ini [pytest]"
    elif _has_pytest(files):
        source = "tests for pytest"
    if source:
        yield ProjectCommand("test", "python -m pytest -q", source)
    elif any(re.fullmatch(r"(?:tests?/)?test_\w+\.py", path) for path in files):
        yield ProjectCommand("test", "python -m unittest", "tests in Python")
    for linter, command in (("ruff", "ruff check ."), ("mypy", "mypy .")):
        if linter in tool:
            yield ProjectCommand("lint", command, f"pyproject.toml [tool.{linter}]")


def _has_pytest(files: Mapping[str, bytes]) -> bool:
    """Whether tests are there that only pytest runs: a conftest, or functions outside a class."""
    tests = [path for path in files if re.fullmatch(r"(?:tests?/)?(?:test_\w+|\w+_test|conftest)\.py", path)]
    return any(
        path.endswith("conftest.py") or re.search(r"^(?:import pytest|def test_)", _text(files, path), re.M)
        for path in tests
    )


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}


def _node(files: Mapping[str, bytes]) -> Iterator[ProjectCommand]:
    try:
        package = json.loads(_text(files, "package.json") or "{}")
    except (ValueError, RecursionError):
        return
    scripts = package.get("scripts") if isinstance(package, dict) else None
    if not isinstance(scripts, dict):
        return
    for name, kind in _NODE:
        script = scripts.get(name)
        if isinstance(script, str) and script.strip() and _NO_TEST not in script:
            yield ProjectCommand(
                kind, "npm test" if name == "test" else f"npm run {name}", f"package.json scripts.{name}"
            )


def _make(files: Mapping[str, bytes]) -> Iterator[ProjectCommand]:
    for name in ("Makefile", "makefile", "GNUmakefile"):
        text = _text(files, name)
        for target, kind in _MAKE:
            if re.search(rf"^{target}\s*:(?!=)", text, re.M):
                yield ProjectCommand(kind, f"make {target}", f"{name}, target {target}")


def _others(files: Mapping[str, bytes]) -> Iterator[ProjectCommand]:
    if "go.mod" in files:
        yield ProjectCommand("test", "go test ./...", "go.mod")
        yield ProjectCommand("lint", "go vet ./...", "go.mod")
        yield ProjectCommand("build", "go build ./...", "go.mod")
    if "Cargo.toml" in files:
        yield ProjectCommand("test", "cargo test --offline", "Cargo.toml")
        yield ProjectCommand("build", "cargo build --offline", "Cargo.toml")
    if "tox.ini" in files and "[testenv" in _text(files, "tox.ini"):
        yield ProjectCommand("test", "tox", "tox.ini")


def _readme(files: Mapping[str, bytes]) -> Iterator[ProjectCommand]:
    for name in ("README.md", "README.rst", "README.txt", "README", "CONTRIBUTING.md"):
        text = _text(files, name)
        fenced = "\n".join(_FENCED.findall(text))
        lines = [m[1] or m[2] for m in _CODE.finditer(text) if m[1] or m[2]] + fenced.splitlines()
        for line in lines:
            command = line.strip().removeprefix("$ ").split(" #")[0].strip()
            if _RUNNERS.match(command) and not re.search(r"[;&|<>$`\\]", command):
                yield ProjectCommand("test", command, name)
