"""Which tests a work took away, skipped, emptied, loosened or changed, by what the folder holds before it and after.

A check says how many tests passed, and never which of them were still the same. So the tests are read: of Python as
syntax, of JavaScript, TypeScript, Go and Rust by the words that begin a test. A test that only moved to another file,
or that only has another name, is there still. A test is loosened where it compares less, or less exactly. What helps
tests (fixtures, helpers, data in a folder of tests) counts as changed where a line that it had is gone. Whoever writes
tests in code that makes them (parametrised names, generators) is not seen through.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from posixpath import basename
from typing import NamedTuple

from parley.schemas.folders.archive import Files
from parley.schemas.protocols.madp.work import MOST_WEAKENED

_FOLDERS = re.compile(r"(?:^|/)(?:tests?|__tests__|spec)/", re.I)
_FILES = re.compile(r"(?:test_.*|.*_test|.*[.-](?:test|spec)|tests?)\.(?:py|[cm]?[jt]sx?|go|rs)", re.I)
_SCRIPTS = re.compile(
    r"^[ \t]*(?:await )?(?P<off>x)?(?:it|test|describe)(?P<skip>\.(?:skip|todo)\b)?\s*\(\s*"
    r"(?P<q>['\"`])(?P<name>.+?)(?P=q)"
    r"|^func (?P<go>Test\w+)\(|#\[test\]\s*(?P<ignored>#\[ignore[^\]]*\]\s*)?(?:async )?fn (?P<rust>\w+)",
    re.M,
)
_IMPORT = re.compile(r"(?:from \S+ )?import ")
_SKIPS = re.compile(r"skip|xfail|expectedfailure|ignore", re.I)
_ASSERTS = re.compile(r"assert|raises|warns|fail|fatal|error|panic|expect|check|verify", re.I)
_EXACT = re.compile(r"==|equal|raises|throws|\.toBe\b|(?:^|\.)assertIs|assert_eq", re.I)
_IN = "\0"
"""Between a class and what stands in it."""
_WAYS = ("removed", "skipped", "emptied", "loosened", "changed")
"""What may become of a test, the gravest first."""
_NOTHING = "asserts nothing"
"""Of a new test."""


class _Test(NamedTuple):
    """One test as it is written."""

    path: str
    text: str
    """What it does, without comments and without its name; empty: nobody reads it."""
    skipped: bool
    asserts: int
    """What in it may fail it."""
    exact: int
    """What of that compares exactly."""


def weakened(base: Files, files: Files) -> tuple[str, ...]:
    """`removed: tests/test_a.py::test_b`, and so with the other ways: tests of `base` that are no longer so in `files`;
    the gravest first. `asserts nothing: ...`: a new test. Empty: the work touched none, and added none of these."""
    before, after = _tests(base), _tests(files)
    found: dict[str, list[str]] = {way: [] for way in _WAYS}
    others = {key: test for key, test in after.items() if key not in before}
    for key, old in before.items():
        new = after.get(key) or next(
            (t for k, t in others.items() if _name(k) == _name(key) or old.text == t.text), None
        )
        if new is None:
            found["removed"].append(key)
        elif new.skipped and not old.skipped:
            found["skipped"].append(key)
        elif old.asserts and not new.asserts:
            found["emptied"].append(key)
        elif new.asserts < old.asserts or new.exact < old.exact:
            found["loosened"].append(key)
        elif old.text != new.text:
            found["changed"].append(key)
    found["changed"] += [path for path in sorted(base) if helps_tests(path) and _lost(path, base, files)]
    texts = {old.text for old in before.values()}
    names = {_name(key) for key in before}
    found[_NOTHING] = [k for k, t in others.items() if not (t.asserts or t.text in texts or _name(k) in names)]
    rows = tuple(f"{how}: {name}" for how, names in found.items() for name in names)
    return rows[:MOST_WEAKENED]


def _name(key: str) -> str:
    return key.partition("::")[2]


def helps_tests(path: str) -> bool:
    """Whether tests may rest on a file."""
    return bool(_FOLDERS.search(path)) or is_test_file(path)


def is_test_file(path: str) -> bool:
    """Whether a file holds tests, by its name."""
    return bool(_FILES.fullmatch(basename(path)))


def _lost(path: str, base: Files, files: Files) -> bool:
    """Whether something that a file of tests had beside its tests is gone or has another meaning."""
    old, new = base[path][0], files[path][0] if path in files else b""
    if old == new:
        return False
    if path.endswith(".py"):
        before, after = _beside(old), _beside(new)
        if before is not None and after is not None:
            gone = {text for text in before - after if not _IMPORT.match(text)}
            return bool(gone or _bound(after - before) & (_bound(before) | _used(old)))
    return not {x for x in old.splitlines() if x.strip()} <= set(new.splitlines())


def _tests(files: Files) -> dict[str, _Test]:
    """`path::Class::test` -> the test."""
    found: dict[str, _Test] = {}
    for path, (data, _) in sorted(files.items()):
        if not is_test_file(path):
            continue
        text = data.decode("utf-8", "replace")
        found |= dict(_of_python(path, text) if path.endswith(".py") else _of_words(path, text))
    return found


def _of_python(path: str, text: str) -> Iterator[tuple[str, _Test]]:
    tree = _parsed(text)
    if tree is None:
        return
    off = any(_skips_all(node) for node in tree.body)
    yield from _within(path, tree.body, path, off)


def _within(path: str, body: list[ast.stmt], prefix: str, off: bool) -> Iterator[tuple[str, _Test]]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            out = off or _decorated(node) or any(_skips_all(inner) for inner in node.body)
            yield from _within(path, node.body, f"{prefix}::{node.name}", out)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            first = ast.unparse(node.body[0])
            skipped = off or _decorated(node) or bool(re.match(r"(?:raise )?[\w.]*skip\w*\(", first, re.I))
            text = (
                "" if isinstance(node.body[0], ast.Return) else ast.unparse(node).replace(f"def {node.name}(", "(", 1)
            )
            asserts = [x for x in _calls(node) if _ASSERTS.search(x)]
            exact = sum(bool(_EXACT.search(x)) for x in asserts)
            yield f"{prefix}::{node.name}", _Test(path, text, skipped, len(asserts), exact)


def _calls(node: ast.AST) -> Iterator[str]:
    """What in a test may fail it; what stands behind a `return` at its begin does nothing."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and isinstance(node.body[0], ast.Return):
        return
    for inner in ast.walk(node):
        if isinstance(inner, ast.Assert) and not (isinstance(inner.test, ast.Constant) and inner.test.value):
            exact = isinstance(inner.test, ast.Compare) and all(isinstance(x, ast.Eq | ast.Is) for x in inner.test.ops)
            yield "assert ==" if exact else "assert"
        elif isinstance(inner, ast.Call):
            yield ast.unparse(inner.func)


def _decorated(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(_SKIPS.search(ast.unparse(d)) for d in node.decorator_list)


def _skips_all(node: ast.stmt) -> bool:
    """Whether a statement of a module or class takes its tests out: `pytestmark`, `__test__`, `pytest.skip(...)`."""
    text = ast.unparse(node) if isinstance(node, ast.Assign | ast.Expr | ast.Raise) else ""
    marked = text.startswith("pytestmark") and bool(_SKIPS.search(text))
    return marked or text.startswith("__test__ = False") or bool(re.match(r"(?:raise )?[\w.]*\bskip\w*\(", text, re.I))


def _beside(data: bytes) -> set[str] | None:
    """What a module holds beside its tests, statement by statement; of an import each name."""
    tree = _parsed(data.decode("utf-8", "replace"))
    return None if tree is None else set(_statements(tree.body, ""))


def _statements(body: list[ast.stmt], prefix: str) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            source = f"from {'.' * node.level}{node.module} " if isinstance(node, ast.ImportFrom) else ""
            yield from (f"{prefix}{source}import {name.name} as {name.asname or name.name}" for name in node.names)
        elif isinstance(node, ast.ClassDef):
            yield from _statements(node.body, f"{prefix}{node.name}{_IN}")
        elif not (isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")):
            text = ast.unparse(node)
            yield "" if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) else f"{prefix}{text}"


def _bound(statements: set[str]) -> set[str]:
    """Names that statements give a meaning, also those that they only spell: a fixture may replace them."""
    found: set[str] = set()
    for node in (node for text in statements for node in nodes(text.rpartition(_IN)[2])):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.alias(asname=str(name)):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                found.add(name)
            case ast.Constant(value=str(value)):
                found.add(value.rpartition(".")[2])
    return found


def _used(data: bytes) -> set[str]:
    found = list(nodes(data.decode("utf-8", "replace")))
    plain = {node.id for node in found if isinstance(node, ast.Name)}
    return plain | {node.attr for node in found if isinstance(node, ast.Attribute)}


def nodes(text: str) -> Iterator[ast.AST]:
    """All of a module's syntax; nothing if it is not Python."""
    return ast.walk(_parsed(text) or ast.Module([], []))


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _of_words(path: str, text: str) -> Iterator[tuple[str, _Test]]:
    marks = list(_SCRIPTS.finditer(text))
    ends: Mapping[int, int] = {m.start(): n.start() for m, n in pairwise(marks)}
    for m in marks:
        name = m["name"] or m["go"] or m["rust"]
        body = text[m.start() : ends.get(m.start(), len(text))]
        skipped = bool(m["off"] or m["skip"] or m["ignored"] or re.search(r"\bt\.Skip(?:Now|f)?\(", body))
        calls = re.sub(r"^\s*//.*$", "", body[len(m[0]) :], flags=re.M)
        counts = (len(pattern.findall(calls)) for pattern in (_ASSERTS, _EXACT))
        yield f"{path}::{name}", _Test(path, " ".join(calls.split()), skipped, *counts)
