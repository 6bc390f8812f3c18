"""The work of `parley route`, after its arguments are read."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from parley.cli.options import read_question
from parley.client.errors import BadInput
from parley.client.setup.expert_choice import Route
from parley.client.show.printing import give, warn
from parley.client.text import clean, count
from parley.routing.many import route_many
from parley.routing.route import Line, PromptLine, read_prompts, route_one, specs_of, task_of
from parley.schemas.expert import ExpertSpec
from parley.schemas.wire import InvalidValue, decode, encode


def route(prompt: str | None, files: Sequence[str], experts: Path | None, *, keyword: bool) -> Route:
    """Where one task goes.

    Raises
    ------
    BadInput
        No task, or one that cannot be routed; names the field, the value and the limit.
    """
    if prompt is None:
        raise BadInput("task", "there is nothing to route: give a task, - to read it, or --file")
    try:
        task, notes = task_of(PromptLine(prompt=read_question() if prompt == "-" else prompt, files=tuple(files)))
    except InvalidValue as error:
        raise BadInput(error.field, str(error)) from error
    for note in notes:
        warn(f"parley: task: {note}")
    routed = asyncio.run(route_one(task, specs_of(experts), keyword=keyword))
    return msgspec.structs.replace(routed, cleaned=notes)


def route_file(path: str, experts: Path | None, *, keyword: bool) -> int:
    """Print where each task of a file goes, one JSON document a line; a bad line gets one that says why, in its place.

    Returns
    -------
    The exit status: 1 where a line was bad.

    Raises
    ------
    BadInput
        As read_prompts.
    """
    specs = specs_of(experts)
    lines = read_prompts(path)
    asyncio.run(_print(lines, specs, keyword))
    bad = sum(one.task is None for one in lines)
    if bad:
        warn(f"parley: file: {count(bad, 'line')} of {len(lines):,} bad, the others are answered")
    return 1 if bad else 0


async def _print(lines: Sequence[Line], specs: Sequence[ExpertSpec], keyword: bool) -> None:
    left = iter(lines)
    async for route in route_many([one.task for one in lines if one.task is not None], specs, keyword=keyword):
        one = _bad_ones(left)
        assert one is not None, "a route for each task"
        if one.cleaned:
            route = encode(msgspec.structs.replace(decode(route, Route), cleaned=one.cleaned))
        give(route.decode())
    _bad_ones(left)


def _bad_ones(left: Iterator[Line]) -> Line | None:
    """Tell the bad lines that come next, and return the first good one after them."""
    for one in left:
        if one.task is not None:
            return one
        why = clean(one.why)
        warn(f"parley: file: {why}")
        give(encode({"line": one.number, "error": {"field": "file", "message": why}}).decode())
    return None
