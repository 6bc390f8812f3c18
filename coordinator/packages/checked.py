"""Looks at what a package brings for moderators before any session has it: what would end a session by a fault, as far
as it can be seen beforehand, is a fault of the package."""

from typing import Any

from parley.bus.channels import ACCOUNT_OF_ROLE, CHANNELS, may_write
from parley.coordinator.table import (
    Answered,
    AnsweredLate,
    Cell,
    ChildEnded,
    Decided,
    Missed,
    Protocol,
    Spoke,
    StopRule,
    Told,
    Unaffordable,
    WindowClosed,
)
from parley.schemas.stops import STOPS

_EVENTS = (Answered, AnsweredLate, Missed, Unaffordable, Spoke, WindowClosed, Decided, ChildEnded, Told)


def check_protocol(protocol: Protocol, name: str, _package: str) -> None:
    """Raises ValueError with the first thing that is wrong with a package's protocol."""
    if protocol.name != name:
        raise ValueError(f"its name is {protocol.name!r}, and its entry point is {name!r}")
    if protocol.standing:
        raise ValueError(f"standing: got {protocol.standing!r}; sessions that stand are Parley's own")
    for reason in protocol.stops:
        if reason not in STOPS:
            raise ValueError(f"stops: {reason!r} is no stop reason, of Parley's or of a loaded package's")
    _check_roles(protocol)
    phases = list(type(protocol.done))
    for phase in phases:
        if phase not in protocol.table:
            raise ValueError(f"table: phase {phase!s} has no row")
    for phase, row in protocol.table.items():
        if phase not in phases:
            raise ValueError(f"table: {phase!s} is no phase; phases are {', '.join(phases)}")
        for event, cell in row.items():
            _check_cell(f"table: phase {phase!s}, {getattr(event, '__name__', event)}", event, cell, phases)
    if protocol.table[protocol.done]:
        raise ValueError(f"table: phase {protocol.done!s} is the last, and its row is not empty")


def check_rule(rule: StopRule, name: str, _package: str) -> None:
    """Raises ValueError where a package's stop rule cannot be followed."""
    if rule.name != name:
        raise ValueError(f"its name is {rule.name!r}, and its entry point is {name!r}")
    row = STOPS.get(rule.reason)
    if row is None or row.converged or row.status != "finished":
        raise ValueError(f"reason: {rule.reason!r} is no stop reason that finishes a session without convergence")


def _check_roles(protocol: Protocol) -> None:
    """That its roles are known, and that one of them speaks where its participants do."""
    if not protocol.roles:
        raise ValueError("roles: it has none")
    for role in protocol.roles:
        if role.name not in ACCOUNT_OF_ROLE:
            raise ValueError(f"roles: {role.name!r} is no role; known are {', '.join(sorted(ACCOUNT_OF_ROLE))}")
    if protocol.channel not in CHANNELS:
        raise ValueError(f"channel: {protocol.channel!r} is no channel; known are {', '.join(CHANNELS)}")
    if not any(may_write(ACCOUNT_OF_ROLE[role.name], protocol.channel) for role in protocol.roles):
        raise ValueError(f"channel: none of its roles writes on {protocol.channel}")


def _check_cell(where: str, event: Any, cell: Any, phases: list[Any]) -> None:
    if event not in _EVENTS:
        raise ValueError(f"{where}: no such event; known are {', '.join(e.__name__ for e in _EVENTS)}")
    if not isinstance(cell, Cell) or not callable(cell.handler):
        raise ValueError(f"{where}: it is no cell; write to(handler, phase, ...)")
    for target in cell.targets:
        if target not in phases:
            raise ValueError(f"{where}: it leads to {target!s}, which is no phase")
    if not cell.targets:
        raise ValueError(f"{where}: it leads nowhere")
