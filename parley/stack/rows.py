"""What runs in a stack: the queues that each protocol needs, as rows, and the services around them."""

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from parley.bus.files.plain import is_named
from parley.client.errors import BadInput
from parley.client.protocols import SETUPS, all_setups, setup_of
from parley.schemas.session import OpenSession, human_queue

_NAME = 64
"""Characters of a queue's name."""


class AgentRow(msgspec.Struct, frozen=True, kw_only=True):
    """One queue of the stack and how many copies serve it."""

    queue: str
    spec: str = ""
    """A built-in name or an agent file; empty: the queue's name."""
    copies: int = 1
    """0: none runs here. Somebody else serves the queue with its credentials."""
    model: str = ""
    """In place of the spec's: as parley.agents.models.make_model takes it."""
    options: dict[str, Any] = {}
    room: int | None = None
    roles: tuple[str, ...] = ()
    """Roles in place of the spec's. With roles a queue needs no spec."""
    expertise: tuple[str, ...] = ()
    process: str = ""
    """Rows with the same name here share one process, each with its own connection and credential; empty: the row has
    its own process."""


class Counting(msgspec.Struct, frozen=True, kw_only=True):
    """The service that counts sessions, and for which tenant."""

    tenant: str = "default"
    budget_usd: float = 0.0
    """What a day may cost; 0: no budget."""


class Stack(msgspec.Struct, frozen=True, kw_only=True):
    """The processes of a stack."""

    agents: tuple[AgentRow, ...]
    bus: str = ""
    """`module:attribute` of what starts the bus in place of parley.stack.server.started: for tests."""
    moderators: int = 1
    ack_wait_s: float = 8.0
    turns_per_message: int = 0  # of one round to a queue, at most; 0: as many as let its copies share the round
    log_max_age_s: float = 90 * 86_400.0  # how long sessions are kept; 0: for ever
    idle_s: float = 60.0
    """How long agents that nobody needs are kept."""
    unreadable_s: float = 3_600.0
    """How long a session waits for a moderator that can run it."""
    humans: dict[str, str] = {}
    """Queue -> role of people who may take seats (`people`)."""
    imports: tuple[str, ...] = ()
    """Modules loaded before anything starts: they register further protocols."""
    checkpoint: str = ""
    """`module:attribute` of a function (point, session), called at named points of every service: for tests."""
    counting: "Counting | None" = None
    """A service counts sessions (parley metrics); None: none runs."""
    env: dict[str, str] = {}
    log_level: str = "INFO"

    def __post_init__(self) -> None:
        refuse_twice([row.queue for row in self.agents])


def refuse_twice(queues: Sequence[str]) -> None:
    """Two rows may not name one queue: each would wait for the other's workers. Raises BadInput."""
    rows: dict[str, list[str]] = {}
    for number, queue in enumerate(queues, 1):
        rows.setdefault(queue, []).append(str(number))
    for queue, numbers in rows.items():
        if len(numbers) > 1:
            which = f"{', '.join(numbers[:-1])} and {numbers[-1]}"
            raise BadInput("agents", f"rows {which} name the queue {queue}; copies in one row run it several times")


SHARED = "seats"
"""The process of seats that no protocol wants elsewhere, where one stack serves them all."""


def rows_of_all(settings: Mapping[str, Mapping[str, Any]], copies: int = 1, **more: Any) -> tuple[AgentRow, ...]:
    """Rows for every protocol at once, in few processes. `settings`: each protocol's own; `more`: as
    rows_of takes it. Raises BadInput."""
    rows: dict[str, AgentRow] = {}
    setups = all_setups()
    for setup in setups:
        for row in rows_of(setup.name, settings=settings.get(setup.name, {}), copies=copies, **more):
            process = next(filter(None, (s.process(row.queue) for s in setups)), SHARED)
            rows.setdefault(row.queue, msgspec.structs.replace(row, process=process))
    return tuple(rows.values())


def rows_of(
    protocol: str,
    size: int | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    copies: int = 1,
    model: str = "",
    options: dict[str, Any] | None = None,
) -> tuple[AgentRow, ...]:
    """Rows for what a session of a protocol's settings seats. `size`: of the role of which there are several. `copies`,
    `model`, `options`: of each row. Raises BadInput."""
    queues = setup_of(protocol).queues(settings or {}, size)
    return tuple(AgentRow(queue=q, copies=copies, model=model, options=options or {}) for q in queues)


def rows_for(
    opening: OpenSession, *, copies: int = 1, model: str = "", options: dict[str, Any] | None = None
) -> tuple[AgentRow, ...]:
    """Rows for a session: whom its protocol seats with its settings, whom it names, and whom a session seats that it
    may start. Takes and raises as `rows_of`."""
    made = partial(rows_of, copies=copies, model=model, options=options)
    prefix = f"{opening.protocol}."
    settings = {name.removeprefix(prefix): value for name, value in opening.settings.items()}
    rows = {row.queue: row for row in made(opening.protocol, settings=settings)}
    beneath = setup_of(opening.protocol).beneath(settings)
    if beneath is not None and beneath.protocol in SETUPS:
        rows = {row.queue: row for row in made(beneath.protocol, settings=beneath.settings)} | rows
    for seat in opening.seats:
        named = AgentRow(queue=seat.queue, copies=copies, model=model, options=options or {}, roles=(seat.role,))
        rows.setdefault(seat.queue, named)
    return tuple(rows.values())


def names_models(rows: tuple[AgentRow, ...], environment: Mapping[str, str] = os.environ) -> bool:
    """Whether a row, the environment or `.env` may name another model than the extractive one."""
    if any(row.spec or row.model not in ("", "extractive") for row in rows):
        return True
    return is_named(Path(".env")) or any("LLM_" in name or name.endswith("ENCODER") for name in environment)


def people(seats: Iterable[str], roles: Mapping[str, str]) -> dict[str, str]:
    """Queue -> role of the people who may take these seats.

    Parameters
    ----------
    roles
        Seat -> role, of all seats that there are.

    Raises
    ------
    BadInput
        No such seat, or a name that is too long for a queue's.
    """
    users = {}
    for seat in seats:
        if seat not in roles:
            raise BadInput("human", f"there is no seat {seat}; seats are {', '.join(roles)}")
        if len(human_queue(seat)) > _NAME:
            most = _NAME - len(human_queue(""))
            raise BadInput("human", f"seat {seat}: {len(seat)} characters, a person's seat has at most {most}")
        users[human_queue(seat)] = roles[seat]
    return users
