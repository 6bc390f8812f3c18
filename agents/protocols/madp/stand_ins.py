"""Keeps work from choosing what its own check runs: files that decide that are, for the check, as they were before.

A check is a command, and what it runs is looked up in the folder that was worked on: `python -m unittest` takes a new
`unittest.py` there, pytest takes `conftest.py` and its settings, make takes the Makefile. Whoever changes these can
have the check print and return anything. So the check runs in a copy of the folder in which they are the original
ones, and the new ones are gone. The rest of the copy is the work.

| file | where | when |
|---|---|---|
| module of a test runner, `sitecustomize`, `usercustomize` | anywhere | it is new |
| module with a name of Python's library | at the top, in `src`, `lib`, `tests`, `test` | it is new |
| the module behind `-m`, if Python has one without the folder | at the top | it is new |
| what makes a folder a package that Python takes for installed: `*.dist-info`, `*.egg-info`, `*.pth` | anywhere | new |
| conftest.py, settings of test runners, makefiles | anywhere | new, changed or removed; the task began with files |
| pyproject.toml, setup.cfg, tox.ini, package.json | anywhere | what they hold for runners and scripts changed |
| the check's own script, and its module where that is a file or has a `__main__.py` | as named | changed or removed |

This keeps out nothing that the work's own code does while the tests run, and no test that was rewritten.
"""

import configparser
import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import pairwise
from posixpath import basename, dirname, normpath
from typing import Any

from parley.schemas.folders.archive import Files

_RUNNERS = frozenset({
    "pytest", "_pytest", "py", "pluggy", "iniconfig", "unittest", "doctest", "nose", "nose2", "coverage", "tox", "nox",
    "sitecustomize", "usercustomize",
})  # fmt: skip
_ON_THE_PATH = ("", "src", "lib", "tests", "test")
_SETTINGS = re.compile(
    r"(?:conftest\.py|\.?pytest\.(?:ini|toml)|noxfile\.py|\.coveragerc|(?:gnu)?makefile|[^/]+\.mk|"
    r"(?:jest|vitest|vite|karma)\.(?:config|setup)\.\w+|\.mocharc(?:\.\w+)?|\.npmrc|justfile)",
    re.I,
)
_INSTALLED = re.compile(r"(?:.*/)?[^/]+\.(?:(?:dist|egg)-info/.+|egg-info|egg-link|pth)", re.I)
_SECTIONS = re.compile(r"(?:tool:)?(?:pytest|coverage|tox|nox|testenv|unittest)\b")
_SCRIPTS = ("scripts", "jest", "vitest", "mocha", "ava", "tap", "c8", "nyc")
_INTERPRETER = re.compile(r"(?:sh|bash|dash|zsh|ksh|python[\d.]*|pypy[\d.]*|node|deno|bun|ruby|perl|php)")


def as_checked(argv: Sequence[str], base: Files, files: Files) -> tuple[Files, tuple[str, ...]]:
    """(the files that the check runs on, paths that are not as the work has them).

    Parameters
    ----------
    argv
        The check's command.
    base
        The files that the task began with; empty: with none, and then only what hides a module is taken out.
    files
        The files after the work.
    """
    changed = sorted(p for p in base.keys() | files.keys() if base.get(p) != files.get(p))
    module = _module(argv)
    own = {p for p in _own(argv, module) if p in base}
    names = tuple(p for p in changed if p in own or _hides(p, module, base) or (base and _decides(p, base, files)))
    restored = {p: base[p] for p in names if p in base}
    others = {p: data for p, data in files.items() if p not in names and not any(_clash(p, r) for r in restored)}
    return {**others, **restored}, names


def _clash(one: str, other: str) -> bool:
    return one.startswith(f"{other}/") or other.startswith(f"{one}/")


def _module(argv: Sequence[str]) -> str:
    """The top name of the module behind Python's `-m`; empty: there is none."""
    after = [b for a, b in pairwise(argv) if a == "-m"]
    return after[0].split(".")[0] if after and any(basename(a).startswith(("py", "python")) for a in argv) else ""


def _own(argv: Sequence[str], module: str) -> Iterator[str]:
    if module:
        yield from (f"{module}.py", f"{module}/__main__.py")
        return
    yield from map(normpath, argv[:1])
    at = next((i for i, word in enumerate(argv) if _INTERPRETER.fullmatch(basename(word))), len(argv))
    rest = [word for word in argv[at + 1 :] if not word.startswith("-")]
    if rest and "--test" not in argv:
        yield normpath(rest[0])


def _hides(path: str, module: str, base: Files) -> bool:
    """Whether a new file stands where Python would look for a module that the check, or its runner, imports, or for
    what is installed: a package may bring plugins of a runner."""
    folder, file = dirname(path), basename(path)
    if _INSTALLED.fullmatch(path):
        return path not in base
    if not file.endswith((".py", ".pyc", ".pyd", ".so")):
        return False
    name = file.split(".")[0]
    if name == "__init__":
        folder, name = dirname(folder), basename(folder)
    at = f"{folder}/{name}" if folder else name
    if f"{at}.py" in base or f"{at}/__init__.py" in base:
        return False
    if name in _RUNNERS or (name == module and not folder and _is_installed(name)):
        return True
    return name in sys.stdlib_module_names and folder in _ON_THE_PATH


def _is_installed(module: str) -> bool:
    """Whether Python knows it without the folder: what it does not know is the work's own."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _decides(path: str, base: Files, files: Files) -> bool:
    name = basename(path).lower()
    if _SETTINGS.fullmatch(name):
        return True
    before, after = (state[path][0] if path in state else b"" for state in (base, files))
    match name:
        case "pyproject.toml":
            return _of_toml(before) != _of_toml(after)
        case "setup.cfg" | "tox.ini":
            return _of_sections(before) != _of_sections(after)
        case "package.json":
            return _of_package(before) != _of_package(after)
    return False


def _of_toml(data: bytes) -> object:
    try:
        tools = tomllib.loads(data.decode()).get("tool", {})
        return {k: v for k, v in tools.items() if _SECTIONS.match(k)}
    except (ValueError, AttributeError):
        return data


def _of_sections(data: bytes) -> object:
    parsed = configparser.RawConfigParser()
    try:
        parsed.read_string(data.decode())
    except (ValueError, configparser.Error):
        return data
    return {s: dict(parsed.items(s)) for s in parsed.sections() if _SECTIONS.match(s)}


def _of_package(data: bytes) -> object:
    try:
        package: Mapping[str, Any] = json.loads(data or b"{}")
        return {k: package[k] for k in _SCRIPTS if k in package}
    except (ValueError, TypeError):
        return data
