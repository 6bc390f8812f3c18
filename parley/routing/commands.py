"""`parley route`: what it does once its arguments are read."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from client.errors import BadInput
from client.protocols.routing import Route
from parley.cli.options import read_question
from parley.routing.many import route_many
from parley.routing.route import Wanted, read_prompts, route_one, specs_of, task_of
from schemas.expert import ExpertSpec
from schemas.routing import Task
from schemas.wire import InvalidValue


def route(prompt: str | None, files: Sequence[str], experts: Path | None, *, keyword: bool) -> Route:
    """Where one task goes.

    Raises
    ------
    BadInput
        No task, or one that cannot be routed; names the field, the value and the limit.
    """
    if prompt is None:
        raise BadInput("task", "nothing is to be routed: give a task, - to read it, or --file")
    try:
        task = task_of(Wanted(prompt=read_question() if prompt == "-" else prompt, files=tuple(files)))
    except InvalidValue as error:
        raise BadInput(error.field, str(error)) from error
    return asyncio.run(route_one(task, specs_of(experts), keyword=keyword))


def route_file(path: str, experts: Path | None, *, keyword: bool) -> None:
    """Print where each task of a file goes, one JSON document a line. Raises BadInput."""
    specs = specs_of(experts)
    asyncio.run(_print(read_prompts(path), specs, keyword))


async def _print(tasks: Sequence[Task], specs: Sequence[ExpertSpec], keyword: bool) -> None:
    async for line in route_many(tasks, specs, keyword=keyword):
        print(line.decode(), flush=True)
