"""An embedded stack of its own on this machine, with a connection to it."""

import asyncio
import os
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import msgspec

from parley.agents.tools import allow
from parley.client.api import Parley, open_client
from parley.client.errors import BadInput, StackFailed, bad_input
from parley.client.learned import store
from parley.client.opening import Offer, known_protocol, with_panel
from parley.client.protocols import SETUPS, panel_setup, setup_of
from parley.client.records import opening, record_of
from parley.client.text import few
from parley.schemas.session import ForkSession, OpenSession, is_human
from parley.stack.lease import OWNER, Lease, Stack
from parley.stack.rows import AgentRow, rows_for, rows_of, rows_of_all
from parley.stack.usable_models import refuse_servers

if TYPE_CHECKING:
    from parley.agents.models.function import Agent
    from parley.client.client import Client

replace = msgspec.structs.replace
_HEARD_S = 20.0
"""A worker that serves announces itself in less."""
_AGAIN_S = 0.02
_DRAIN_S = 1.0
"""Seconds that a function's turn has to end once its stack does."""


RowsOf = Callable[[OpenSession], Sequence[AgentRow]]
"""Who is to serve a session, each with its model."""


class LocalParley(Parley):
    """A connection to an embedded stack, which lives as long as its lease.

    Parameters
    ----------
    rows
        Who serves its sessions. None: whoever serves on that stack.
    people
        Queue -> role of people who may take their seats.
    learned
        As Parley takes it.
    """

    def __init__(
        self,
        client: "Client",
        lease: Lease,
        protocol: str = "",
        panel: int | None = None,
        *,
        rows: RowsOf | None = None,
        people: Mapping[str, str] | None = None,
        learned: Path | None = None,
    ) -> None:
        super().__init__(client, protocol, learned=learned)
        self.lease = lease
        self._rows, self._people = rows, dict(people or {})
        client.connection.nc.hopeless = lambda: lease.failed
        if rows is not None:
            client.serve = self.serve
        self.panel = panel
        """How many sit in the role of which `protocol` has several; None: what it seats where nothing is said."""

    def _offer(self, protocol: str) -> Offer:
        """As many seats as the stack was started with; experts have the tools that ship, unless others are named."""
        several = setup_of(protocol).several if protocol == self.protocol else None
        size = {several.setting: self.panel} if several and self.panel is not None else {}
        shipped = not allow.named_file(os.environ, None)
        return msgspec.structs.replace(super()._offer(protocol), settings=size, shipped_tools=shipped)

    def offers(self) -> Iterator[Offer]:
        """What may be asked for by name from elsewhere: every protocol."""
        for protocol in SETUPS:
            yield msgspec.structs.replace(self._offer(protocol), name=protocol, here=False)

    async def serve(self, wanted: OpenSession | ForkSession) -> Mapping[str, str]:
        """Have whom a session needs served, and heard by a moderator; queue as it names it -> the queue that serves it.
        Raises as Lease.need."""
        assert self._rows is not None
        rows = self._rows(await self._record_of(wanted) if isinstance(wanted, ForkSession) else wanted)
        queues = await asyncio.to_thread(self.lease.need, rows, self._people)
        due = {queues[row.queue]: row.queue for row in rows}
        deadline = time.monotonic() + _HEARD_S
        while missing := due.keys() - {w.queue for w in (await self.client.workers()).workers}:
            if time.monotonic() > deadline:
                names = few(sorted(due[queue] for queue in missing))
                raise StackFailed(f"nobody serves {names} in {self.lease.state}; its logs and parley doctor say why")
            await asyncio.sleep(_AGAIN_S)
        return queues

    async def serve_again(self, sid: str) -> str:
        """Have the agents of an open session served that outlived its stack; why not all of them are, in words."""
        row = await self.client.row(sid)
        entries = await self.client.log(sid) if row is not None and row.status == "open" else []
        if not entries:
            return ""
        opened = opening(record_of(sid, entries))
        queues = (opened.queues or {}).values() or [seat.queue for seat in opened.seats if not is_human(seat.queue)]
        lost = await asyncio.to_thread(self.lease.need_again, sorted(queues), {s.seat: s.role for s in opened.seats})
        if not lost:
            return ""
        names = few(sorted(_called(queue, opened.queues or {}) for queue in lost))
        return f"{names} had other models than are set here, and wait until whoever asked asks again"

    async def _record_of(self, wanted: ForkSession) -> OpenSession:
        """The opening that a fork carries on, with its changes."""
        entries = await self.client.log(wanted.of)
        opened = opening(record_of(wanted.of, entries)) if entries else None
        if opened is None:
            raise BadInput("of", f"there is no session {wanted.of}")
        seats = wanted.seats or tuple(replace(s, queue=_called(s.queue, opened.queues or {})) for s in opened.seats)
        return OpenSession(
            question=opened.question,
            protocol=opened.protocol,
            settings={**opened.settings, **wanted.settings},
            seats=seats,
        )


def _called(queue: str, queues: Mapping[str, str]) -> str:
    return next((name for name, real in queues.items() if real == queue), queue)


def lease_of(parley: Parley) -> Lease | None:
    """The embedded stack behind a connection; None where the bus runs elsewhere."""
    return parley.lease if isinstance(parley, LocalParley) else None


class StackOptions(TypedDict, total=False):
    """What `local` takes."""

    panel: int | None
    stack: Stack | None
    state: Path | str | None
    model: str
    options: Mapping[str, Any] | None
    protocol: str
    patience_s: float
    agents: Sequence["Agent"]
    learned: Path | str | None


async def start(**stack: Unpack[StackOptions]) -> LocalParley:
    """As `local`, for a notebook: the stack runs until `close`, or until this process ends.

    Parameters
    ----------
    panel, stack, state, model, options, protocol, patience_s, agents, learned
        As `local` takes them.
    """
    held = AsyncExitStack()
    parley = await held.enter_async_context(local(**stack))
    parley.held = held
    return parley


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
    named = {queue: _function(queue) for queue in seats}
    rows = tuple(named.get(row.queue, row) for row in order.agents)
    order = replace(order, agents=rows)
    await refuse_servers(tuple(row for row in rows if row.copies))
    mine = {row.queue: row for row in rows}

    def rows_here(opening: OpenSession) -> tuple[AgentRow, ...]:
        if stack is not None:
            return rows
        return tuple(mine.get(r.queue, r) for r in rows_for(opening, model=model, options=dict(options or {})))

    async with Lease(order, Path(state) if state is not None else None) as lease:
        dialling = open_client(lease.url, lease.credentials(OWNER), patience_s, outlasts=True)
        async with serve_functions(lease, seats), dialling as client:
            yield LocalParley(client, lease, protocol, panel, rows=rows_here, learned=file)


def _function(queue: str) -> AgentRow:
    """The row of a queue that a function of this process serves, which is nobody else's."""
    return AgentRow(queue=queue, copies=0, model="function", options={"of": secrets.token_hex(8)})


def _learned_file(learned: Path | str | None, state: Path | str | None) -> Path | None:
    """The file of what was learned; None: a temporary stack, and none is named. Raises BadInput where one is named and
    is not there."""
    if learned is not None:
        return store.existing_file(learned)
    return None if state is None else Path(state) / store.NAME


def _seats(agents: Sequence["Agent"], stack: Stack) -> "dict[str, Agent]":
    if not agents:
        return {}
    from parley.agents.model.base import ModelMisconfigured
    from parley.agents.models.function import agents_by_queue

    with bad_input("agents", ModelMisconfigured):
        return agents_by_queue(agents, [row.queue for row in stack.agents])


@asynccontextmanager
async def serve_functions(lease: Lease, seats: "Mapping[str, Agent]") -> AsyncIterator[None]:
    """Functions at work, each as a worker of its queue with that queue's own credentials."""
    async with AsyncExitStack() as stack:
        for queue, agent in seats.items():
            from parley.agents.worker import Worker
            from parley.bus.accounts import load_credentials
            from parley.bus.connection import connect
            from parley.observability.metrics import Metrics

            credentials = load_credentials(lease.credentials(lease.queues[queue]))
            connection = await stack.enter_async_context(await connect(lease.url, credentials, name=queue))
            worker = Worker(
                connection,
                spec=agent.spec(credentials.queue),
                model=agent.model(),
                metrics=Metrics(),
                hear=agent.hear,
                drain_s=_DRAIN_S,
            )
            await stack.enter_async_context(worker)
        yield
