"""A room a protocol: general code names no protocol, and no folder is crowded."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from parley.coordinator.protocols import PROTOCOLS

ROOT = Path(__file__).parents[2]
PACKAGES = ("schemas", "observability", "bus", "coordinator", "agents", "parley")
NAMES = tuple(PROTOCOLS)
REGISTRIES = {
    "coordinator/protocols/__init__.py",  # the default protocol, and the standing sessions
    "bus/channels.py",  # `critic` is a role there
}
"""General modules that may name a protocol."""
MOST_FILES = 20
WORDS_OF_ENGLISH = ("breaker", "competition", "consensus", "critic", "single")
"""Names that prose may hold: of a text only the name itself counts, and a setting of it (`consensus.threshold`)."""


def room(path: str) -> str:
    """The protocol whose room a module stands in; empty: it is a general module."""
    match = re.match(r"(?:parley/)?\w+/protocols/(\w+?)(?:/|\.py$)", path)
    return match[1] if match and match[1] in NAMES else ""


def named(source: str) -> set[str]:
    """Protocols that a module's code names: in an import, an identifier, or a text that is no docstring."""
    tree = ast.parse(source)
    prose = {id(text) for text in _bare_texts(tree)}
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            found |= {name for name in NAMES if _text_names(node.value, name)}
        for identifier in _identifiers(node):
            found |= {name for name in NAMES if _identifier_names(identifier.lower(), name)}
            found |= {name for name in NAMES if re.search(rf"{name.capitalize()}(?![a-z])", identifier)}
    return found


def _bare_texts(tree: ast.Module) -> Iterator[ast.Constant]:
    """Docstrings, of attributes too: texts that stand by themselves."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def _text_names(text: str, name: str) -> bool:
    if name in WORDS_OF_ENGLISH:
        return text == name or bool(re.match(rf"{name}[.:]\w", text))
    return bool(re.search(rf"(?<![a-z]){name}(?![a-z]|\.md)", text, re.I))  # `docs/maci.md` is a page


def _identifier_names(identifier: str, name: str) -> bool:
    parts = re.split(r"[._]", identifier)
    return name == parts[0] if name in WORDS_OF_ENGLISH and "." not in identifier else name in parts


def _identifiers(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.keyword(arg=str(name)):
            yield name
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=module, names=names):
            yield module or ""
            yield from (alias.name for alias in names)


def modules() -> Iterator[tuple[str, str]]:
    """(path from the root, text) of every module of the packages."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


def test_general_modules_name_no_protocol() -> None:
    found = {path: named(text) for path, text in modules() if not room(path)}
    assert {path: names for path, names in found.items() if names and path not in REGISTRIES} == {}
    assert {path for path, names in found.items() if names} == REGISTRIES, "a registry that names none is none"
    assert len(REGISTRIES) <= 8


@pytest.mark.parametrize(
    "planted",
    [
        'if opened.protocol == "maci": pass',
        "from parley.client.protocols.madp import story",
        "import parley.schemas.protocols.critic",
        "match protocol:\n    case 'consensus':\n        pass",
        "critic_lines = []",
        "class MaciView: pass",
        "def _madp(record): return record",
        'show(settings.consensus["threshold"])',
        'raise BadInput("critic.min_rounds", "")',
        "PARSERS = dict(competition=1)",
    ],
)
def test_a_planted_name_is_found(planted: str) -> None:
    assert named(planted)


def test_prose_is_no_name() -> None:
    assert not named('"""Of madp alone."""\nX = 1\n"""As maci has it."""\n')
    assert not named('raise ValueError("the round ended without consensus")')
    assert not named("criticism = macintosh = near_consensus = 1")
    assert not named('"see docs/maci.md"')


def test_folders_are_not_crowded() -> None:
    folders: dict[str, int] = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).parts
        if not parts[0].startswith(".") and "__pycache__" not in parts:
            folders["/".join(parts[:-1])] = folders.get("/".join(parts[:-1]), 0) + 1
    assert {folder: n for folder, n in folders.items() if n > MOST_FILES} == {}
