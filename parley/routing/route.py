"""`parley route`: which experts would take a task, and how deep its coordination goes; in this process, without a bus.

How it is chosen is the business of the protocol that a task goes to where none is named
(parley.client.setup.expert_choice.Routing).
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from parley.agents.experts import ExpertError, builtin, read_all
from parley.client.errors import BadInput
from parley.client.files.json_file import loaded, struct_of
from parley.client.files.pasted import cleaned
from parley.client.protocols import setup_of
from parley.client.setup.expert_choice import Route, Router, Routing
from parley.client.text import line
from parley.coordinator.protocols import DEFAULT
from parley.schemas.expert import ExpertSpec
from parley.schemas.routing import Task
from parley.schemas.wire import InvalidValue

MAX_BYTES = 256_000_000
"""Of a file of prompts."""
_CHUNK = 16
"""Prompts that are matched together."""


class PromptLine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of a file of prompts."""

    prompt: str
    files: tuple[str, ...] = ()


def routing() -> Routing:
    """The routing of the protocol that takes tasks."""
    routing = setup_of(DEFAULT).routing()
    assert routing is not None, f"{DEFAULT} routes tasks"
    return routing


def router(specs: Sequence[ExpertSpec], *, keyword: bool = False) -> Router:
    """What routes tasks among these experts. `keyword`: trigger words alone choose. Raises BadInput."""
    return routing().router(specs, keyword=keyword)


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a file of prompts, as it was read: a task, or why it is none."""

    number: int
    task: Task | None = None
    cleaned: tuple[str, ...] = ()
    """What was taken out of its prompt."""
    why: str = ""


def task_of(wanted: PromptLine) -> tuple[Task, tuple[str, ...]]:
    """A prompt as it is matched, and what was taken out of it (parley.client.files.pasted).

    Raises
    ------
    InvalidValue
        Names the field, the value and the limit.
    """
    prompt = cleaned(wanted.prompt)
    return routing().task(prompt.text, wanted.files), prompt.notes


def specs_of(folder: Path | None) -> tuple[ExpertSpec, ...]:
    """The specifications of a folder; of none, the shipped ones. Raises BadInput."""
    try:
        return builtin() if folder is None else read_all(folder)
    except ExpertError as error:
        raise BadInput("experts", str(error)) from error


async def route_one(task: Task, specs: Sequence[ExpertSpec], *, keyword: bool = False) -> Route:
    """Where one task goes. Raises BadInput, as its router does."""
    task_router = router(specs, keyword=keyword)
    await task_router.ready()
    return (await task_router.route_all((task,)))[0]


def chunks(tasks: Sequence[Task]) -> Iterator[Sequence[Task]]:
    """Cuts tasks into groups that are matched together."""
    return (tasks[i : i + _CHUNK] for i in range(0, len(tasks), _CHUNK))


# ---------------------------------------------------------------- a file of prompts


def read_prompts(path: str) -> list[Line]:
    """The prompts of a file of JSON lines (`-`: standard input), all checked before any is routed; blank lines are
    passed over. One that is bad says why: file, line, field, value and what is allowed.

    Raises
    ------
    BadInput
        The file cannot be read, has no prompt, or has none that is good: names the first.
    """
    name = "standard input" if path == "-" else path
    lines = []
    for number, text in enumerate(_bytes(path, name).split(b"\n"), 1):
        if not text.strip():
            continue
        try:
            task, notes = task_of(_line(text))
        except InvalidValue as error:
            lines.append(Line(number=number, why=f"{name}, line {number}: {error}"))
        else:
            lines.append(Line(number=number, task=task, cleaned=notes))
    if not lines:
        raise BadInput("file", f"{name}: there is no prompt in it")
    if all(one.task is None for one in lines):
        raise BadInput("file", lines[0].why)
    return lines


def _bytes(path: str, name: str) -> bytes:
    try:
        if path == "-":
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(path).open("rb") as file:
                data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise BadInput("file", f"{path}: {error.strerror or error}") from error
    if len(data) > MAX_BYTES:
        raise BadInput("file", f"{name}: it is too large, the limit is {MAX_BYTES:,} bytes")
    return data.removeprefix(b"\xef\xbb\xbf")


def _line(text: bytes) -> PromptLine:
    return struct_of(loaded(text, "the line"), PromptLine, "", "the line")


# ---------------------------------------------------------------- as text


def words(route: Route) -> Iterator[str]:
    """A few lines for people."""
    confidence = {c.expert: c.confidence for c in route.candidates}
    if route.lead is None:
        yield "nobody takes it"
    else:
        sure = f", {confidence[route.lead.expert]:.0%} sure" if route.lead.expert in confidence else ""
        yield f"{route.lead.expert} leads ({route.depth}{sure})"
        yield f"  {line(route.lead.responsibility, 200)}"
    yield f"why: {line(route.rationale, 400)}"
    for part in route.support:
        yield f"support: {part.expert}: {line(part.responsibility, 160)}"
    for left in route.excluded:
        yield f"left out: {left.expert}: {line(left.reason, 160)}"
