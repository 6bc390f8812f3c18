"""Which tests a work took away, skipped, emptied or changed, by what the folder holds before it and after.

A check says how many tests passed, and never which of them were still the same. So the tests are read: of Python as
syntax, of JavaScript, TypeScript, Go and Rust by the words that begin a test. A test that only moved to another file is
there still. What helps tests (fixtures, helpers, data in a folder of tests) counts as changed where a line that it had
is gone. Whoever writes tests in code that makes them (parametrised names, generators) is not seen through.
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
_ASSERTS = re.compile(r"assert|raises|warns|fail|expect|check|verify", re.I)


class _Test(NamedTuple):
    """One test as it is written."""

    path: str
    text: str
    """What it does, without comments; empty: nobody reads it."""
    skipped: bool
    asserts: bool


def weakened(base: Files, files: Files) -> tuple[str, ...]:
    """`removed: tests/test_a.py::test_b`, and so `skipped`, `emptied`, `changed`: tests of `base` that are no longer so
    in `files`; the gravest first. Empty: the work touched none."""
    before, after = _tests(base), _tests(files)
    found: dict[str, list[str]] = {"removed": [], "skipped": [], "emptied": [], "changed": []}
    for key, old in before.items():
        new = after.get(key) or next((t for k, t in after.items() if _name(k) == _name(key) and k not in before), None)
        if new is None:
            found["removed"].append(key)
        elif new.skipped and not old.skipped:
            found["skipped"].append(key)
        elif old.asserts and not new.asserts:
            found["emptied"].append(key)
        elif old.text != new.text:
            found["changed"].append(key)
    found["changed"] += [path for path in sorted(base) if _helps(path) and _lost(path, base, files)]
    rows = tuple(f"{how}: {name}" for how, names in found.items() for name in names)
    return rows[:MOST_WEAKENED]


def _name(key: str) -> str:
    return key.partition("::")[2]


def _helps(path: str) -> bool:
    """Whether tests may rest on a file."""
    return bool(_FOLDERS.search(path) or _FILES.fullmatch(basename(path)))


def _lost(path: str, base: Files, files: Files) -> bool:
    """Whether something that a file of tests had beside its tests is gone or has another meaning."""
    old, new = base[path][0], files[path][0] if path in files else b""
    if old == new:
        return False
    if path.endswith(".py"):
        before, after = _beside(old), _beside(new)
        if before is not None and after is not None:
            gone = {text for text in before - after if not _IMPORT.match(text)}
            return bool(gone or _bound(after - before) & _bound(before))
    return not {x for x in old.splitlines() if x.strip()} <= set(new.splitlines())


def _tests(files: Files) -> dict[str, _Test]:
    """`path::Class::test` -> the test."""
    found: dict[str, _Test] = {}
    for path, (data, _) in sorted(files.items()):
        if not _FILES.fullmatch(basename(path)):
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
            text = "" if isinstance(node.body[0], ast.Return) else ast.unparse(node)
            yield f"{prefix}::{node.name}", _Test(path, text, skipped, bool(_ASSERTS.search("\n".join(_calls(node)))))


def _calls(node: ast.AST) -> Iterator[str]:
    """What in a test may fail it; what stands behind a `return` at its begin does nothing."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and isinstance(node.body[0], ast.Return):
        return
    for inner in ast.walk(node):
        if isinstance(inner, ast.Assert) and not (isinstance(inner.test, ast.Constant) and inner.test.value):
            yield "assert"
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
            yield from _statements(node.body, f"{prefix}{node.name}: ")
        elif not (isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")):
            text = ast.unparse(node)
            yield "" if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) else f"{prefix}{text}"


def _bound(statements: set[str]) -> set[str]:
    """Names that statements give a meaning."""
    pattern = re.compile(r"^(?:\w+: )*(?:.*\bimport \S+ as (\w+)|(?:async )?def (\w+)|(\w+)\s*(?::.*)?=(?!=))", re.M)
    return {name for text in statements if (m := pattern.match(text)) for name in m.groups() if name}


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
        yield f"{path}::{name}", _Test(path, " ".join(calls.split()), skipped, bool(_ASSERTS.search(calls)))
