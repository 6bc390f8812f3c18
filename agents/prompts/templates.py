"""Templates of prompts: Markdown files, filled in one pass, in which what lasts stands before what changes.

A server that keeps the beginning of a prompt (a prefix cache) bills and reads again only what follows it. So a prompt
has three parts. `heads/<head>.md` has two of them, parted by a line `---`, and all kinds of a role's turns share it:
who the seat is, which becomes the system message, and the context, which only grows (question, documents, what was
said). `<kind>.md` is the third, which changes from turn to turn: the state of the debate and the task.

A kind that names no head has a `<kind>.md` of two parts, the system message and the user's.
"""

import re
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path

import msgspec

from parley.agents.model.base import ModelRefused
from parley.agents.protocols import KITS

_KIND = re.compile(r"[a-z0-9_]+")
_SLOT = re.compile(r"\{\{(\w+)\}\}")
_FIELD = re.compile(r"- `(\w+)`")
"""What a line begins with that explains a field of the reply."""
HEADS = "heads"
"""Folder of the heads, in that of the prompts."""


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a prompt."""

    identity: str
    """Rules, and who the seat is: the system message."""
    context: str
    """What grows: the beginning of the user's message."""
    task: str
    """What changes: the rest of it."""


def template(protocol: str, kind: str) -> Template:
    """The parts of this kind's prompt. Raises ModelRefused where none is written."""
    kit = KITS.get(protocol)
    if kit is None or kit.prompts is None or not (_KIND.fullmatch(kind) and (kit.prompts / f"{kind}.md").is_file()):
        raise ModelRefused(f"no prompt is written for {kind!r} turns of protocol {protocol!r}")
    path = kit.prompts / f"{kind}.md"
    of = kit.kinds.get(kind) or kit.parts.get(kind)
    head = "" if of is None else of.head
    if not head:
        identity, task = _parts(path)
        return Template(identity=identity, context="", task=task)
    identity, context = _parts(kit.prompts / HEADS / f"{head}.md")
    return Template(identity=identity, context=context, task=_read(path))


def render(text: str, values: dict[str, str]) -> str:
    """The text with each `{{name}}` replaced; what is put in is not looked at. A KeyError for an unknown name."""
    return _SLOT.sub(lambda slot: values[slot[1]], text)


def fill(text: str, values: dict[str, str]) -> str:
    """As `render`; a slot that stands alone and is empty is left out, with the line before it if that ends in `:`."""
    lines: list[str] = []
    for part in text.strip().split("\n\n"):
        alone = _SLOT.fullmatch(part.strip())
        if alone is None or values[alone[1]]:
            lines.append(part)
        elif lines and lines[-1].endswith(":"):
            lines.pop()
    return render("\n\n".join(lines), values)


def without_fields(text: str, names: Collection[str]) -> str:
    """The text without the lines that explain these fields of the reply."""
    told = ((line, _FIELD.match(line)) for line in text.split("\n"))
    return "\n".join(line for line, field in told if field is None or field[1] not in names)


def rules() -> str:
    """How fenced text is to be read, with a slot for the boundary."""
    return _read(Path(__file__).with_name("prompt_rules.md")).strip()


def same_answer() -> str:
    """When two answers are the same answer: for every analyst that groups them."""
    return _read(Path(__file__).with_name("same_answer.md")).strip()


def calling(native: bool) -> str:
    """How tools are called; called as functions, with a slot for their names."""
    return _read(Path(__file__).with_name("calls_native.md" if native else "calls_in_text.md")).strip()


def _parts(path: Path) -> tuple[str, str]:
    first, _, second = _read(path).partition("\n---\n")
    return first, second


@lru_cache(maxsize=256)
def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")
