"""Which servers of the bus answer, how many are needed, and what to do about those that do not."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from bus.cluster.moving import PROBE_S, greeting
from bus.errors import addresses, shown_address
from parley.doctor.report import ServerFound
from parley.stack.lease import read_running, remembered
from parley.stack.servers import SEVERAL, cluster_of

_SILENT = "says nothing"


async def look(url: str) -> tuple[ServerFound, ...]:
    """Ask each server of an address for the first that it says to anybody."""
    return tuple(await asyncio.gather(*(_look(shown_address(one)) for one in addresses(url))))


async def _look(address: str) -> ServerFound:
    parts = urlsplit(address)
    try:
        said = await greeting(parts.hostname or "", parts.port or 4222)
    except TimeoutError:
        why = f"{_SILENT} within {PROBE_S:g} s: it is frozen, or cut off from here"
        return ServerFound(address=address, status="missing", what=why)
    except (OSError, ValueError) as error:
        why = "nothing listens there" if isinstance(error, ConnectionRefusedError) else "no NATS server answers there"
        return ServerFound(address=address, status="missing", what=why)
    reached = len(said.get("connect_urls") or ())
    alone = "it reaches no other server" if reached == 1 else f"it reaches {reached} servers, itself among them"
    return ServerFound(address=address, status="ok", what=alone if said.get("cluster") else "answers")


def majority(servers: Sequence[ServerFound]) -> str:
    """How many of these answer, and how many are needed."""
    most = len(servers)
    answer = sum(server.status == "ok" for server in servers)
    if most == 1:
        return f"no NATS server answers at {servers[0].address}: {servers[0].what}"
    return f"{answer or 'none'} of {most} servers of the bus answer{'s' * (answer < 2)}, {most // 2 + 1} are needed"


def mend(servers: Sequence[ServerFound], state: Path | None) -> str:
    """What to do about those that are missing. `state`: the folder of the stack whose keys are used; None: of none."""
    if state is not None and (running := read_running(state)) is not None:
        logs = f"{state / SEVERAL}/server-1 and so on" if cluster_of(state) else str(state / "bus")
        frozen = any(server.what.startswith(_SILENT) for server in servers)
        return (
            f"the supervisor of the stack (process {running.supervisor}) starts servers anew that ended. "
            + ("One that is frozen is to be killed (kill -9). " if frozen else "")
            + f"Where it does not, end it, and start the stack again: parley up --state {state}. The servers' logs are "
            f"in {logs}"
        )
    if state is not None and remembered(state) is not None:
        return f"the stack in {state} does not run; start it again: parley up --state {state}"
    more = (
        "see that they reach each other" if len(servers) > 1 else "of a cluster name every address, with commas between"
    )
    return (
        "start what is missing. How it was started is not known here: `docker compose up -d`, `nats-server -c FILE` on "
        f"its machine, or a service there. Then {more} (docs/operations/cluster.md)"
    )
