"""`parley route`: which experts would take a task, and how deep its coordination goes; in this process, without a bus.

How it is chosen is the business of the protocol that a task goes to where none is named
(parley.client.setup.expert_choice.Routing).
"""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from parley.agents.experts import ExpertError, builtin, read_all
from parley.client.errors import bad_input
from parley.client.protocols import setup_of
from parley.client.setup.expert_choice import Route, Router, Routing
from parley.client.text import line
from parley.client.untrusted import cleaned
from parley.coordinator.protocols import DEFAULT
from parley.schemas.expert import ExpertSpec
from parley.schemas.routing import Task


def routing() -> Routing:
    """The routing of the protocol that takes tasks."""
    routing = setup_of(DEFAULT).routing()
    assert routing is not None, f"{DEFAULT} routes tasks"
    return routing


def router(specs: Sequence[ExpertSpec], *, keyword: bool = False) -> Router:
    """What routes tasks among these experts. `keyword`: trigger words alone choose. Raises BadInput."""
    return routing().router(specs, keyword=keyword)


def specs_of(folder: Path | None) -> tuple[ExpertSpec, ...]:
    """The specifications of a folder; of none, the shipped ones. Raises BadInput."""
    with bad_input("experts", ExpertError):
        return builtin() if folder is None else read_all(folder)


def route(prompt: str, files: Sequence[str], experts: Path | None, *, keyword: bool) -> Route:
    """Where a task goes, and what was taken out of its prompt (parley.client.untrusted). Raises BadInput: a task that
    cannot be routed; names the field, the value and the limit."""
    pasted = cleaned(prompt)
    with bad_input():
        task = routing().task(pasted.text, tuple(files))
    routed = asyncio.run(_routed(task, router(specs_of(experts), keyword=keyword)))
    return msgspec.structs.replace(routed, cleaned=pasted.notes)


async def _routed(task: Task, task_router: Router) -> Route:
    await task_router.ready()
    return (await task_router.route_all((task,)))[0]


def route_lines(route: Route) -> Iterator[str]:
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
