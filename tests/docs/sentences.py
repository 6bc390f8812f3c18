"""Finds sentences that are too long to be read once, in pages and in what the programs say.

    python -m tests.docs.sentences      prints each, with its place, and how many there are

Of a page it reads paragraphs, list items and cells of tables. It leaves out blocks of code, front matter and comments.
Of the code it reads the texts of exceptions, help texts, what is printed, and the docstrings of commands.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.docs.blocks import ROOT

LIMIT = 35
"""Words."""
FOLDERS = ("schemas", "observability", "bus", "coordinator", "agents", "parley", "research/parley_research")
PRINTING = ("echo", "say", "print", "warn", "note")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
_QUOTE = re.compile(r"^\s*>\s?")
_END = re.compile(r"(?<=[.!?])[)\"”*_]*\s+(?=[^a-z\s])")


@dataclass(frozen=True)
class Long:
    """One sentence that is too long."""

    where: str
    words: int
    text: str

    def __str__(self) -> str:
        return f"{self.where}: {self.words} words: {self.text}"


def sentences(text: str) -> list[str]:
    """The sentences of a paragraph. Code between back quotes is one word, of a link only its text is read."""
    text = re.sub(r"`[^`]*`", "CODE", text)
    text = re.sub(r"\]\([^)\s]*\)", "]", text)
    return _END.split(re.sub(r"\b(e\.g|i\.e|cf|vs|eq|fig)\. ", r"\1 ", re.sub(r"\s+", " ", text).strip()))


def words(sentence: str) -> int:
    """How many words it has. Signs alone are no words."""
    return sum(any(c.isalnum() for c in word) for word in sentence.split())


def too_long(where: str, text: str) -> list[Long]:
    return [Long(where, words(s), s) for s in sentences(text) if words(s) > LIMIT]


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Each paragraph, list item and cell of a page, with its line."""
    start, held = 0, ""
    lines = text.split("\n")
    fenced = comment = False
    front = lines[:1] == ["---"]
    for number, line in enumerate([*lines, ""], 1):
        if front:
            front = number == 1 or line != "---"
            continue
        if line.lstrip().startswith("```"):
            fenced = not fenced
        comment = comment or line.lstrip().startswith("<!--")
        alone = fenced or comment or not line.strip() or line.lstrip().startswith(("#", "|", "```", "---"))
        if comment and "-->" in line:
            comment = False
        if (alone or _ITEM.match(line)) and held:
            yield start, held
            held = ""
        if line.lstrip().startswith("|") and not fenced:
            yield from ((number, cell) for cell in re.split(r"(?<!\\)\|", line) if cell.strip())
        elif not alone:
            start = start if held else number
            held += " " + _QUOTE.sub("", _ITEM.sub("", line))


def of_page(path: Path) -> list[Long]:
    name = path.relative_to(ROOT).as_posix()
    return [x for n, text in paragraphs(path.read_text(encoding="utf-8")) for x in too_long(f"{name}:{n}", text)]


def pages() -> list[Path]:
    """README, CONTRIBUTING, the change log, and every page under docs/."""
    first = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    return [p for p in [*first, *sorted((ROOT / "docs").rglob("*.md"))] if p.exists()]


def _text(node: ast.AST) -> str | None:
    """What a string literal says; a value that is put in is one word."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) or "VALUE" for part in node.values)
    return None


def _texts(node: ast.AST) -> list[ast.AST]:
    """The parts of a syntax tree that tell a user something, if this node does."""
    if isinstance(node, ast.Raise) and node.exc is not None:
        return [node.exc]
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        told = [k.value for k in node.keywords if k.arg in ("help", "epilog", "reason", "description", "title")]
        return [*told, *(node.args if name in PRINTING else [])]
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        command = any("command" in ast.unparse(d) for d in node.decorator_list)
        return list(node.body[:1]) if command else []  # its docstring
    return []


def said(source: str) -> Iterator[tuple[int, str]]:
    """Each paragraph of a module that a user may read, with its line."""
    for root in (root for node in ast.walk(ast.parse(source)) for root in _texts(node)):
        inside: set[int] = set()
        for part in ast.walk(root):
            text = None if id(part) in inside else _text(part)
            if text is not None:
                inside |= {id(x) for x in ast.walk(part)}
                for paragraph in re.split(r"\n\s*\n|\n(?=\s*[-*] )|\f|\x08", text):
                    yield getattr(part, "lineno", 0), paragraph


def of_code(path: Path) -> list[Long]:
    name = path.relative_to(ROOT).as_posix()
    told = dict.fromkeys(said(path.read_text(encoding="utf-8")))
    return [x for n, text in told for x in too_long(f"{name}:{n}", text)]


def modules() -> list[Path]:
    """The modules of the packages; a folder that is no package holds samples."""
    return [p for f in FOLDERS for p in sorted((ROOT / f).rglob("*.py")) if (p.parent / "__init__.py").exists()]


def main() -> None:
    held = [x for p in pages() for x in of_page(p)], [x for p in modules() for x in of_code(p)]
    for x in (*held[0], *held[1]):
        print(x)
    print(f"{len(held[0])} sentences of pages and {len(held[1])} of the code have more than {LIMIT} words")


if __name__ == "__main__":
    main()
