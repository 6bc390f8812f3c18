"""Looks whether the tool servers of an operator's list start here, once, when an expert starts.

Looked at are servers that do not ship. A turn looks again: it starts its own servers, and goes on without those that do
not start.
"""

import asyncio

from parley.agents.tools.allow import AllowList
from parley.agents.tools.client import Toolbox
from parley.agents.tools.folder import TaskFolder

MOST_WORDS = 200
"""Characters of what is said of them."""
_LOOKS: dict[str, "asyncio.Task[str]"] = {}
"""By the list: experts of one process share a look."""


async def missing_servers(allowed: AllowList) -> str:
    """Which servers are not there, or not with all of their tools, and why, in one line; empty: all are."""
    foreign = allowed.where(lambda server: not server.shipped)
    if not foreign.servers:
        return ""
    loop, key = asyncio.get_running_loop(), foreign.model_dump_json()
    look = _LOOKS.get(key)
    if look is None or look.get_loop() is not loop or look.cancelled():
        look = _LOOKS[key] = loop.create_task(_look(foreign))
    return await asyncio.shield(look)


async def _look(allowed: AllowList) -> str:
    with TaskFolder() as folder:
        async with Toolbox(allowed, folder) as box:
            failures = "; ".join(f"{record.server}: {record.result}" for record in box.missing)
    return " ".join(failures.split())[:MOST_WORDS]
