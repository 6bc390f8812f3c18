"""Which of the work's own code is made for its tests: code that asks for their runner, reads their files, ends their
run, or is equal to everything.

Such code makes a check green and the work no better, and the check runs it, so nothing that it prints can say so. It is
found by reading what the work adds beside the tests: of Python as syntax, of JavaScript, TypeScript and Go by words.
"""

import ast
import re
from collections.abc import Iterator
from posixpath import basename

from parley.agents.protocols.madp.weakened import helps_tests, is_test_file, nodes
from parley.schemas.folders.archive import Files

_RUNNER = re.compile(r"_?pytest(?:\.\S+)?|_?unittest(?:\.\S+)?|PYTEST_\w+")
_ENDS = re.compile(r"(?:os\._exit|os\.abort|sys\._getframe|inspect\.(?:stack|currentframe))\Z")
_EQUAL = frozenset({"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"})
_WORDS = re.compile(
    r"NODE_TEST_CONTEXT|JEST_WORKER_ID|VITEST\w*|process\.(?:reallyExit|abort)|(?<=['\"])node:test(?=['\"])|"
    r"(?<=['\"])(?:vitest|mocha|@?jest(?:/\w+)?)(?=['\"])|testing\.Testing\(\)|assert\.\w+(?=\s*=[^=])"
)
_SCRIPTS = re.compile(r".+\.(?:[cm]?[jt]sx?|go)", re.I)


def made_for_tests(base: Files, files: Files) -> tuple[str, ...]:
    """`made for tests: shop/price.py: PYTEST_CURRENT_TEST` for what a file holds after the work and not before it."""
    names = frozenset(basename(path) for path in base if is_test_file(path))
    rows: list[str] = []
    for path in sorted(p for p, file in files.items() if base.get(p) != file and not helps_tests(p)):
        before = set(_marks(path, base[path][0], names)) if path in base else set()
        marks = dict.fromkeys(x for x in _marks(path, files[path][0], names) if x not in before)
        rows += [f"made for tests: {path}: {mark}" for mark in marks]
    return tuple(rows)


def _marks(path: str, data: bytes, names: frozenset[str]) -> Iterator[str]:
    text = data.decode("utf-8", "replace")
    if path.endswith(".py"):
        for node in nodes(text):
            yield from _of_node(node, names)
    elif _SCRIPTS.fullmatch(path):
        yield from (m[0] for m in _WORDS.finditer(text))


def _of_node(node: ast.AST, names: frozenset[str]) -> Iterator[str]:
    match node:
        case ast.Import():
            yield from (alias.name for alias in node.names if _RUNNER.fullmatch(alias.name))
        case ast.ImportFrom(module=str(module)):
            yield from [module] if _RUNNER.fullmatch(module) else []
            yield from (x for alias in node.names if _ENDS.match(x := f"{module}.{alias.name}"))
        case ast.Constant(value=str(value)):
            yield from [value] if _RUNNER.fullmatch(value) or basename(value) in names else []
        case ast.Attribute():
            yield from [text] if _ENDS.match(text := ast.unparse(node)) else []
        case ast.FunctionDef(name=name, body=[*_, ast.Return(value=ast.Constant(value=True))]) if name in _EQUAL:
            yield from [name] if not any(isinstance(x, ast.If | ast.Return) for x in node.body[:-1]) else []
