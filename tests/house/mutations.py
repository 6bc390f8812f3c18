"""Small changes to lines of Python, each of which a test ought to notice, and where they stand in another commit.

A mutant is one line and what it becomes. It is known by the function that holds the line, the line's text and the
line above, so that it is found again where files were moved.

Not changed: docstrings, annotations, decorators, imports, `__all__`, f-strings, what is logged, help texts, and lines
with a pragma. A mutant lies on one line, since that is how it is found again.
"""

import ast
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

PACKAGES = ("agents", "bus", "coordinator", "observability", "parley", "schemas")
"""Folders of the product; those that a commit does not have are passed over."""
FLIPPED = {
    ast.Lt: ("<", (">=", "<=")),
    ast.LtE: ("<=", (">", "<")),
    ast.Gt: (">", ("<=", ">=")),
    ast.GtE: (">=", ("<", ">")),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: ("is not", ("is",)),
    ast.In: ("in", ("not in",)),
    ast.NotIn: ("not in", ("in",)),
}
EMPTY = {ast.Tuple: "()", ast.List: "[]", ast.Dict: "{}", ast.Set: "set()"}
UNSEEN_NAMES = {"__all__", "__slots__"}
UNSEEN_KEYWORDS = {"help", "description", "title", "summary", "frozen", "kw_only"}
LOG = re.compile(r"_?log(ger)?", re.IGNORECASE)


@dataclass(frozen=True)
class Mutant:
    """A line of a commit, and what it becomes. `old`, `new` and `above` are without indentation."""

    file: str
    function: str
    lineno: int
    old: str
    new: str
    above: str
    kind: str


class Source:
    """A module: for each line its function (or class), and whether it runs when the module is imported."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self.lines = text.splitlines()
        self.tree = ast.parse(text)
        self.function: dict[int, str] = {}
        self.statement: dict[int, int] = {}
        self.called: set[int] = set()
        """The lines of functions' bodies: what the import does not run."""
        self._mark(self.tree, "")

    def _mark(self, node: ast.AST, name: str) -> None:
        for child in ast.iter_child_nodes(node):
            inner = name
            if isinstance(child, ast.stmt):
                span = range(child.lineno, (child.end_lineno or child.lineno) + 1)
                self.statement |= dict.fromkeys(span, child.lineno)
                if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    inner = f"{name}.{child.name}" if name else child.name
                    self.function |= dict.fromkeys(span, inner)
                    if not isinstance(child, ast.ClassDef):
                        self.called.update(range(child.body[0].lineno, span.stop))
            self._mark(child, inner)

    def line(self, lineno: int) -> str:
        return self.lines[lineno - 1].strip()

    def above(self, lineno: int) -> str:
        """The next line above that is not empty."""
        return next((line.strip() for line in reversed(self.lines[: lineno - 1]) if line.strip()), "")

    @cached_property
    def mutants(self) -> list[Mutant]:
        """Each that can be made here. Some may not compile: see `compiles`."""
        found = []
        for lineno, start, end, new, kind in _edits(self, self.tree):
            raw = self.lines[lineno - 1].encode()
            changed = (raw[:start] + new.encode() + raw[end:]).decode().strip()
            old = self.line(lineno)
            if changed != old and "pragma" not in old:
                function = self.function.get(lineno, "")
                found.append(Mutant(self.file, function, lineno, old, changed, self.above(lineno), kind))
        return found

    def changed(self, lineno: int, new: str) -> str:
        """The module's text with one line replaced."""
        lines = self.text.splitlines(keepends=True)
        raw = lines[lineno - 1]
        lines[lineno - 1] = raw.replace(raw.strip(), new, 1)
        return "".join(lines)

    def compiles(self, mutant: Mutant) -> bool:
        """Whether the module with this mutant is Python, and another program."""
        try:
            return ast.dump(ast.parse(self.changed(mutant.lineno, mutant.new))) != ast.dump(self.tree)
        except SyntaxError:
            return False


Edit = tuple[int, int, int, str, str]
"""Line, first and last column (in bytes), what stands there then, kind."""


def _edits(source: Source, node: ast.AST) -> Iterator[Edit]:
    for child in _seen(node):
        yield from _edits_of(source, child, node)
        yield from _edits(source, child)


def _seen(node: ast.AST) -> Iterator[ast.AST]:
    """The children of a node that may be changed, or hold what may be."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            match child:
                case ast.JoinedStr() | ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()):
                    continue
                case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=owner)))) if LOG.fullmatch(owner):
                    continue
                case ast.Assign(targets=[ast.Name(id=target)]) if target in UNSEEN_NAMES:
                    continue
                case ast.keyword(arg=keyword) if keyword in UNSEEN_KEYWORDS:
                    continue
                case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                    continue
                case ast.AST():
                    yield child


def _edits_of(source: Source, node: ast.AST, parent: ast.AST) -> Iterator[Edit]:
    """What can be changed of this node itself."""
    match node:
        case ast.Compare():
            operands = [node.left, *node.comparators]
            for left, op, right in zip(operands, node.ops, operands[1:], strict=False):
                old, news = FLIPPED[type(op)]
                for new in news:
                    yield from _between(source, left, right, old, new, "comparison")
        case ast.BoolOp():
            old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            for left, right in zip(node.values, node.values[1:], strict=False):
                yield from _between(source, left, right, old, new, "and, or")
        case ast.UnaryOp(op=ast.Not()) if node.lineno == node.operand.lineno:
            yield node.lineno, node.col_offset, node.operand.col_offset, "", "not"
        case ast.BinOp(op=ast.Add() | ast.Sub()) if not any(_is_text(side) for side in (node.left, node.right)):
            old, new = ("+", "-") if isinstance(node.op, ast.Add) else ("-", "+")
            yield from _between(source, node.left, node.right, old, new, "sign")
        case ast.Constant(value=bool() as value):
            yield from _whole(node, str(not value), "constant")
        case ast.Constant(value=int() | float() as number):
            yield from _whole(node, repr(number + 1 if abs(number) < 100 else number * 2), "constant")
        case ast.Constant(value=str() as text):
            yield from _whole(node, '""' if text else '"mutant"', "constant")
        case ast.Return(value=ast.expr() as returned) if not _is_none(returned):
            yield from _whole(returned, "None", "return")
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.AugAssign():
            yield from _whole(node, "pass", "statement")
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield from _whole(node, "pass", "statement")
        case ast.Tuple(elts=[_, *_], ctx=ast.Load()) if not isinstance(parent, ast.Subscript | ast.Assign):
            yield from _whole(node, EMPTY[type(node)], "literal")
        case ast.List(elts=[_, *_], ctx=ast.Load()) | ast.Set() | ast.Dict(values=[_, *_]):
            yield from _whole(node, EMPTY[type(node)], "literal")
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            if not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Constant | ast.NamedExpr):
                raw = source.lines[test.lineno - 1].encode()[test.col_offset : test.end_col_offset]
                yield from _whole(test, f"(not {raw.decode()})", "condition")


def _between(source: Source, left: ast.expr, right: ast.expr, old: str, new: str, kind: str) -> Iterator[Edit]:
    """Replace the operator between two operands, if all of it is on one line."""
    for lineno in range(left.end_lineno or 0, right.lineno + 1):
        raw = source.lines[lineno - 1].encode()
        start = left.end_col_offset or 0 if lineno == left.end_lineno else 0
        gap = raw[start : right.col_offset if lineno == right.lineno else len(raw)].decode()
        operator = re.search(rf"(?<![\w<>=!]){re.escape(old)}(?![\w<>=])", gap.partition("#")[0])
        if operator:
            before = start + len(gap[: operator.start()].encode())
            yield lineno, before, before + len(old), new, kind
            return


def _whole(node: ast.expr | ast.stmt, new: str, kind: str) -> Iterator[Edit]:
    """Replace a node, if it is on one line."""
    if node.lineno == node.end_lineno and node.end_col_offset is not None:
        yield node.lineno, node.col_offset, node.end_col_offset, new, kind


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


class Tree:
    """The product of a commit that is checked out in a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._sources: dict[str, Source] = {}

    @cached_property
    def files(self) -> list[str]:
        """Of all modules; those behind a link to a folder are named once, where they lie."""
        found = []
        for package in PACKAGES:
            for folder, _, names in os.walk(self.root / package):
                found += [Path(folder, name).relative_to(self.root).as_posix() for name in names if name[-3:] == ".py"]
        return sorted(found)

    def source(self, file: str) -> Source:
        if file not in self._sources:
            self._sources[file] = Source(file, (self.root / file).read_text(encoding="utf-8"))
        return self._sources[file]

    @cached_property
    def _places(self) -> dict[tuple[str, str], list[tuple[str, int]]]:
        """Where a line of a function stands, by both."""
        found = defaultdict(list)
        for file in self.files:
            source = self.source(file)
            for lineno in range(1, len(source.lines) + 1):
                found[source.function.get(lineno, ""), source.line(lineno)].append((file, lineno))
        return found

    def find(self, mutant: Mutant) -> Mutant | None:
        """The mutant as it is in this commit; None where its line no longer stands in its function."""
        places = self._places.get((mutant.function, mutant.old), [])
        for same in _likely_files(mutant.file, {file for file, _ in places}, mutant.function):
            lines = [lineno for file, lineno in places if file == same]
            source = self.source(same)
            lines = [n for n in lines if source.above(n) == mutant.above] or lines
            lineno = min(lines, key=lambda n: abs(n - mutant.lineno))
            found = Mutant(same, mutant.function, lineno, mutant.old, mutant.new, source.above(lineno), mutant.kind)
            if source.compiles(found):
                return found
        return None


def _likely_files(file: str, among: set[str], function: str) -> list[str]:
    """Where the file may be now: where it was, a namesake, the only one with the line."""
    namesakes = [f for f in among if Path(f).name == Path(file).name and function]
    for candidates in ([file], namesakes, list(among) if function else []):
        here = [candidate for candidate in candidates if candidate in among]
        if len(here) == 1:
            return here
    return []
