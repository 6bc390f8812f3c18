"""An embedded stack of its own on this machine, with a connection to it."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from parley.agents.tools import allow
from parley.client.api import Parley, connected
from parley.client.errors import BadInput
from parley.client.opening import Offer, known_protocol, with_panel
from parley.client.protocols import panel_setup, setup_of
from parley.client.reliability import store
from parley.coordinator.protocols import PROTOCOLS
from parley.planned import model_servers
from parley.schemas.expert import expert_of
from parley.schemas.session import ForkSession, OpenSession
from parley.stack.lease import OWNER, Lease, Stack, read_running
from parley.stack.rows import rows_of, rows_of_all
from parley.stack.wait_served import when_served

if TYPE_CHECKING:
    from parley.agents.models.function import Agent
    from parley.client.client import Client

GATHER_S = 10.0
"""So long a task waits for the experts of a stack that has just started."""
_AGAIN_S = 0.02
_DRAIN_S = 1.0
"""Seconds that a function's turn has to end once its stack does."""


class LocalParley(Parley):
    """A connection to an embedded stack, which lives as long as its lease."""

    def __init__(
        self,
        client: "Client",
        lease: Lease,
        protocol: str = "",
        panel: int | None = None,
        **learned: Any,
    ) -> None:
        """`learned`: as Parley takes it, with its switches."""
        super().__init__(client, protocol, **learned)
        self.lease = lease
        client.gives_up(lambda: lease.failed)
        self.panel = panel
        """How many sit in the role of which `protocol` has several; None: what it seats where nothing is said."""

    def _offer(self, protocol: str) -> Offer:
        """As many seats as the stack was started with; experts have the tools that ship, unless others are named."""
        several = setup_of(protocol).several if protocol == self.protocol else None
        size = {several.setting: self.panel} if several and self.panel is not None else {}
        shipped = not allow.named(os.environ, None)
        return msgspec.structs.replace(super()._offer(protocol), settings=size, shipped_tools=shipped)

    def _check_places(self, opening: OpenSession) -> None:
        """Raise BadInput where more are wanted in a role than the stack seats."""
        several = setup_of(opening.protocol).several
        if several is None or opening.protocol != self.protocol:
            return
        there = sum(q.rpartition("_")[0] == several.role for q in self.lease.running().queues)
        wanted = opening.settings.get(several.setting)
        if isinstance(wanted, int) and there and wanted > there:
            why = f"got {wanted}, this stack seats {there} of role {several.role}; start it with panel={wanted}"
            raise BadInput("panel", why)

    async def gathered(self, protocol: str, patience_s: float = GATHER_S) -> tuple[str, ...]:
        """Wait until every worker of one's own stack that the protocol may use has been heard: a session that comes
        before that finds fewer. The experts that were not heard in time."""
        row = PROTOCOLS[protocol]
        roles = {role.name for role in row.roles}
        queues = self.lease.running().queues
        experts = {name for queue in queues if (name := expert_of(queue))} if row.experts else set()
        seats = {queue for queue in queues if queue in roles or queue.rpartition("_")[0] in roles}
        deadline = time.monotonic() + patience_s
        while True:
            there = await self.client.workers()
            missing = experts - {e.id for e in there.experts}
            if (not missing and seats <= {w.queue for w in there.workers}) or time.monotonic() > deadline:
                return tuple(sorted(missing))
            await asyncio.sleep(_AGAIN_S)

    async def opened(self, opening: OpenSession, sid: str) -> str:
        """Open a session, again while the stack starts. Raises as when_served."""
        return await when_served(self.lease, lambda: self.client.open(opening, sid))

    async def forked(self, wanted: ForkSession) -> str:
        """Open a fork, again while the stack starts. Raises as when_served."""
        return await when_served(self.lease, lambda: self.client.fork(wanted))


def lease_of(parley: Parley) -> Lease | None:
    """The embedded stack behind a connection; None where the bus runs elsewhere."""
    return parley.lease if isinstance(parley, LocalParley) else None


@asynccontextmanager
async def local(
    panel: int | None = None,
    *,
    stack: Stack | None = None,
    state: Path | str | None = None,
    model: str = "",
    options: Mapping[str, Any] | None = None,
    protocol: str = "",
    patience_s: float = 30.0,
    agents: Sequence["Agent"] = (),
    learned: Path | str | None = None,
    reliability: bool = True,
    calibration: bool = True,
) -> AsyncIterator[LocalParley]:
    """A stack of your own on this machine: bus, moderator, and a process for each seat. It ends with the block.

    Parameters
    ----------
    panel
        Number of panelists or debaters of the stack, and of its sessions unless they say otherwise. None: the
        protocol's default.
    stack
        Use this stack in place of the protocol's own.
    state
        Folder that keeps the sessions; None: a temporary one.
    model, options
        A model in place of the extractive one, as parley.agents.models.make_model takes it.
    protocol
        The protocol whose seats the stack has. Sessions that name no protocol use it too. Empty: the stack serves every
        protocol, or panels if `panel` is given, and what is asked decides.
    agents
        Functions that hold seats (`parley.agent`). Each runs in this process with its own connection, in place of the
        process of its queue.
    learned
        The file of records (`parley reliability learn`). None: `learned.json` in `state`, which may be missing.
    reliability, calibration
        Whether sessions use the records of members, and the calibration of their confidence. The same as
        `learned.reliability` and `learned.calibration` on the command line.

    Raises
    ------
    BadInput
        There is no such protocol. It has no panel, but `panel` is given. No queue is free for an agent. The file
        `learned` cannot be used. A model's server does not answer, or does not take the key.
    StackFailed
        The stack did not start.
    """
    file = _learned_file(learned, state)
    if file is not None:
        store.read(file)  # what is wrong with it is said before a stack starts
    protocol = protocol or ("" if panel is None else panel_setup().name)
    if protocol:
        known_protocol(protocol)
        with_panel(protocol, {}, panel)
        own = rows_of(protocol, panel, model=model, options=dict(options or {}))
    else:
        own = rows_of_all({}, model=model, options=dict(options or {}))
    order = stack or Stack(agents=own)
    seats = _seats(agents, order)
    rows = tuple(msgspec.structs.replace(row, copies=0) if row.queue in seats else row for row in order.agents)
    order = msgspec.structs.replace(order, agents=rows)
    if state is None or read_running(Path(state)) is None:
        await model_servers.refuse_rows(tuple(row for row in rows if row.copies))
    async with Lease(order, Path(state) if state is not None else None) as lease:
        dialling = connected(lease.url, lease.credentials(OWNER), patience_s, outlasts=True)
        async with serving(lease, seats), dialling as client:
            yield LocalParley(
                client, lease, protocol, panel, learned=file, reliability=reliability, calibration=calibration
            )


def _learned_file(learned: Path | str | None, state: Path | str | None) -> Path | None:
    """The file of what was learned; None: a temporary stack, and none is named. Raises BadInput where one is named and
    is not there."""
    if learned is not None:
        return store.named(learned)
    return None if state is None else Path(state) / store.NAME


def _seats(agents: Sequence["Agent"], stack: Stack) -> "dict[str, Agent]":
    """Queue -> the function that serves it. Raises BadInput."""
    if not agents:
        return {}
    from parley.agents.model.base import ModelMisconfigured
    from parley.agents.models.function import seated

    try:
        return seated(agents, [row.queue for row in stack.agents])
    except ModelMisconfigured as error:
        raise BadInput("agents", str(error)) from error


@asynccontextmanager
async def serving(lease: Lease, seats: "Mapping[str, Agent]") -> AsyncIterator[None]:
    """Functions at work, each as a worker of its queue with that queue's own credentials."""
    async with AsyncExitStack() as stack:
        for queue, agent in seats.items():
            from parley.agents.worker import Worker
            from parley.bus.accounts import load_credentials
            from parley.bus.connection import connect
            from parley.observability.metrics import Metrics

            credentials = load_credentials(lease.credentials(queue))
            connection = await stack.enter_async_context(await connect(lease.url, credentials, name=queue))
            worker = Worker(
                connection, spec=agent.spec(queue), model=agent.model(), metrics=Metrics(), hear=agent.hear,
                drain_s=_DRAIN_S,
            )  # fmt: skip
            await stack.enter_async_context(worker)
        yield
