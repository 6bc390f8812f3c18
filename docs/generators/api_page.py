"""`docs/api.md`, made from the docstrings of what `import parley` gives: python -m docs.generators.api_page
docs/api.md"""

import ast
import inspect
import re
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, get_args

import parley
from parley.client.api import AskOptions
from parley.client.setup.options import SESSION
from parley.schemas.result import ResultUsage, SeatUsage, Stop

_HEAD = """# The Python API

What `import parley` gives, in short; `help(parley.ask)` has all of it, also what it raises. The package has types.

In a script or a notebook use `parley.ask`. To ask more than one question, open `parley.local`, or `parley.connect` on a
bus that runs elsewhere: each gives a `Parley` (`p` below). Questions take the [options](options.md) by name; a
parameter that is named more than once always means the same.
"""
_ORDER = ("ask", "local", "start", "connect", "agent", "learn", "Parley", "Session", "Result", "Turn")
"""These first, with all that they take and hold; the others in a line each."""
_OPTIONS = {option.setting for option in SESSION if "python" in option.doors} - {"evidence"}
"""Told by the page of options."""
_SECTIONS = ("Attributes", "Parameters", "Returns")
_PARTS = {"Result": (Stop, ResultUsage, SeatUsage)}
"""What is told below a class, since its fields are that."""
_SHORT = {"Parley": "p"}
_INNER = {"recalls", "earlier", "posts_rows"}
"""Methods for Parley's own doors."""


def page() -> str:
    """The whole page."""
    names = sorted(parley.__all__, key=lambda n: (_ORDER.index(n) if n in _ORDER else len(_ORDER), n))
    whole, short = names[: len(_ORDER)], names[len(_ORDER) :]
    parts = [
        _HEAD,
        *("\n".join(_told(name)) for name in whole),
        "## Other classes\n",
        "\n".join(f"- `parley.{name}`: {_about(getattr(parley, name))}" for name in short),
    ]
    return "\n".join(part.rstrip() + "\n" for part in parts)


def _about(thing: Any) -> str:
    """What a class is, in one sentence."""
    return _sentence(" ".join(inspect.cleandoc(thing.__doc__ or "").partition("\n\n")[0].split()))


def _told(name: str) -> Iterator[str]:
    thing = getattr(parley, name)
    if not inspect.isclass(thing):
        before = "async with " if inspect.isasyncgenfunction(_inner(thing)) else ""
        yield from _function(f"parley.{name}", thing, before, "## ")
        return
    yield f"## `parley.{name}`"
    yield ""
    bases = ", ".join(
        f"`{b.__name__}`" for b in thing.__mro__[1:-1] if b.__name__ in parley.__all__ and b.__name__ != name
    )
    if bases:
        yield f"Is also {bases}."
        yield ""
    yield from _docstring(inspect.cleandoc(thing.__doc__ or ""))
    yield from _fields(thing)
    parts = [
        f"- `{part.__name__}`: {_about(part)} Fields: {', '.join(part.__struct_fields__)}."
        for part in _PARTS.get(name, ())
    ]
    yield from [*parts, ""] if parts else []
    for method, value in _methods(thing):
        if isinstance(value, property):
            yield f"### `{name}.{method}`"
            yield ""
            yield from _docstring(inspect.getdoc(value) or "")
        else:
            inner = _inner(value)
            awaited = "await " if inspect.iscoroutinefunction(inner) else ""
            yield from _function(f"{_SHORT.get(name, name.lower())}.{method}", value, awaited, "### ")


def _inner(thing: Any) -> Any:
    return inspect.unwrap(thing)


def _methods(thing: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties with a docstring, those of ours that it inherits included."""
    seen: set[str] = set()
    for owner in thing.__mro__:
        if owner is object or owner.__module__.split(".")[0] not in ("client", "parley", "schemas"):
            continue
        for name, value in vars(owner).items():
            plain = inspect.isfunction(value) or isinstance(value, property)
            if plain and not name.startswith("_") and name not in seen | _INNER and inspect.getdoc(value):
                seen.add(name)
                yield name, value


def _function(shown: str, function: Any, before: str, head: str) -> Iterator[str]:
    inner = _inner(function)
    parameters = [q for p in inspect.signature(inner).parameters.values() if p.name != "self" for q in _keywords(p)]
    signature = [p.name for p in parameters if p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD)]
    more = ["…"] if len(signature) < len(parameters) else []
    result = _type(inspect.signature(inner).return_annotation)
    gives = "" if result == "None" or result.startswith("Callable") else f" -> {result}"
    yield f"{head}`{before}{shown}({', '.join([*signature, *more])}){gives}`"
    yield ""
    asks = any(AskOptions in get_args(p.annotation) for p in inspect.signature(inner).parameters.values())
    yield from _docstring(inspect.getdoc(function) or "", _OPTIONS if asks else ())


def _keywords(parameter: inspect.Parameter) -> Iterator[inspect.Parameter]:
    """The parameter; in place of `**options: Unpack[Options]`, one for each of these."""
    options = next(iter(get_args(parameter.annotation)), None)
    if parameter.kind is not parameter.VAR_KEYWORD or options is None:
        yield parameter
        return
    for name, kind in options.__annotations__.items():
        default = None if "None" in str(kind) else ...
        yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _type(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = re.sub(r"\b(?:[A-Za-z_]+\.)+(?=[A-Z_a-z])", "", text.strip("'\""))
    return (
        re.sub(r"AsyncIterator\[(\w*Parley)\]", r"\1", text)
        .replace("NoneType", "None")
        .replace("LocalParley", "Parley")
    )


def _fields(thing: type) -> Iterator[str]:
    """Fields of a message, with what stands below each in the source."""
    fields: dict[str, tuple[str, str]] = {}
    for owner in reversed(thing.__mro__):
        if not getattr(owner, "__struct_fields__", ()) or owner.__module__.startswith("msgspec"):
            continue
        body = ast.parse(inspect.getsource(owner)).body[0]
        assert isinstance(body, ast.ClassDef)
        for at, node in enumerate(body.body):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                after = body.body[at + 1] if at + 1 < len(body.body) else None
                text = (
                    after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
                )
                value = f" = {ast.unparse(node.value)}" if node.value is not None else ""
                fields[node.target.id] = (f"{ast.unparse(node.annotation)}{value}", " ".join(str(text).split()))
    yield from (f"- `{name}`: {_sentence(text)}" for name, (_, text) in fields.items() if text)
    if bare := [
        f"`{name}: {annotation.partition(' = ')[0]}`" for name, (annotation, text) in fields.items() if not text
    ]:
        yield "- " + ", ".join(bare)
    if fields:
        yield ""


def _docstring(text: str, elsewhere: Collection[str] = ()) -> Iterator[str]:
    """A docstring in short: its first paragraph, and what it takes but for what another page tells."""
    lines = text.split("\n")
    yield from lines[: next((n for n, row in enumerate(lines) if not row), len(lines))]
    yield ""
    for section in _SECTIONS:
        rows = _rows(lines, section)
        told = {name: words for name, words in rows if name not in elsewhere and not words.startswith("As `")}
        yield from (f"- `{name}`: {_sentence(words)}" for name, words in told.items())
        yield from [""] if told else []


def _rows(lines: list[str], section: str) -> Iterator[tuple[str, str]]:
    """What a section of a docstring names, with its words."""
    inside = False
    for at, row in enumerate(lines):
        if lines[at + 1 : at + 2] == ["-" * len(row)] and row:
            inside = row == section
        elif inside and row and not row.startswith((" ", "-")):
            yield row, " ".join(_below(lines[at + 1 :]))


def _sentence(text: str) -> str:
    """The first sentence."""
    return re.split(r"(?<=[.)]) (?=[A-Z`])", text, maxsplit=1)[0]


def _below(lines: list[str]) -> Iterator[str]:
    for row in lines:
        if not row.startswith(" "):
            return
        yield row.strip()


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
