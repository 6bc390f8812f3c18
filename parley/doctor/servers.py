"""Which servers of the bus answer, how many are needed, and what to do about those that do not."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from parley.bus.clients.moving import PROBE_S, greeting
from parley.bus.errors import addresses, shown_address
from parley.doctor.report import Component
from parley.stack.lease import last_run, read_running

_SILENT = "does not answer"


async def look(url: str) -> tuple[Component, ...]:
    """Ask each server of an address for the first that it says to anybody."""
    return tuple(await asyncio.gather(*(_look(shown_address(one)) for one in addresses(url))))


async def _look(address: str) -> Component:
    parts = urlsplit(address)
    try:
        said = await greeting(parts.hostname or "", parts.port or 4222)
    except TimeoutError:
        why = f"{_SILENT} within {PROBE_S:g} s: it is frozen, or cut off from here"
        return Component(name=address, status="missing", what=why)
    except (OSError, ValueError) as error:
        why = "nothing listens there" if isinstance(error, ConnectionRefusedError) else "no NATS server answers there"
        return Component(name=address, status="missing", what=why)
    reached = len(said.get("connect_urls") or ())
    reaches = f"it reaches {reached} servers, itself among them" if reached > 1 else "it reaches no other server"
    return Component(name=address, status="ok", what=reaches if said.get("cluster") else "answers")


def majority(servers: Sequence[Component]) -> str:
    """How many of these answer, and how many are needed."""
    if len(servers) == 1:
        return f"no NATS server answers at {servers[0].name}: {servers[0].what}"
    return _answering(sum(server.status == "ok" for server in servers), len(servers))


def _answering(count: int, most: int) -> str:
    answer = f"{count or 'none'} of {most} servers of the bus answer{'s' * (count < 2)}"
    return f"{answer}, {most // 2 + 1} are needed"


def there(servers: Sequence[Component], reached: int) -> int:
    """How many servers of a cluster are there. One that ended is missed by the others at once, one that froze is not.
    An address may be reached by them, and not from here. `reached`: how many the one that is connected says it reaches,
    itself among them."""
    silent = sum(_SILENT in server.what for server in servers)
    return max(sum(server.status == "ok" for server in servers), reached - silent)


def lacking(count: int, most: int) -> str:
    """That so few of `most` servers are there that the bus stores nothing; empty: enough are."""
    if count > most // 2:
        return ""
    return f"{_answering(count, most)}. Nothing is stored; sessions wait, and go on by themselves once enough are back"


def fewer(servers: Sequence[Component], count: int, most: int) -> str:
    """Which servers are missing of a bus that serves, and how many more it may lose; empty: none is."""
    missing, spare = most - count, count - (most // 2 + 1)
    if missing <= 0:
        return ""
    away = ", ".join(server.name for server in servers if server.status != "ok")
    which = f"({away})" if away else "(cut off from the others)"
    return f"of {most} servers of the bus {missing} missing {which}. Sessions go on, also if {spare} more are lost"


def reached_by_others(servers: Sequence[Component]) -> tuple[Component, ...]:
    """These, of a bus of which no server is missing: one that is not reached from here is not known to be missing."""
    return tuple(
        server
        if server.status == "ok"
        else msgspec.structs.replace(server, status="unknown", what=f"{server.what}, seen from here; others reach it")
        for server in servers
    )


def mend(servers: Sequence[Component], state: Path | None) -> str:
    """What to do about those that are missing. `state`: the folder of the stack whose keys are used; None: of none."""
    if state is not None and (running := read_running(state)) is not None:
        return (
            f"wait some seconds: the supervisor of the stack (process {running.supervisor}) starts a server that ended "
            f"again. If one stays away, end the supervisor, then: parley up --state {state}. Logs are in {state}"
        )
    if state is not None and last_run(state) is not None:
        return f"the stack in {state} does not run; start it again: parley up --state {state}"
    return (
        "start what is missing, where and how it was started; of a cluster name every address, with commas between, "
        "and see that the servers reach each other (docs/operations/cluster.md)"
    )
