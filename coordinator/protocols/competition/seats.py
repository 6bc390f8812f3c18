"""competition: which seats a session has. Every seat is a queue of its own, because what is served by one queue can be
taken by whoever serves it."""

from collections.abc import Iterator
from typing import Any

import msgspec

from parley.coordinator.admission import refuse_controls
from parley.coordinator.protocols.competition.state import AUDIENCE, CON, JUDGE, PRO
from parley.coordinator.table import Inadmissible, Role
from parley.schemas.presence import Announcement
from parley.schemas.protocols.competition.format import TEAMS, Format, seats_of
from parley.schemas.protocols.competition.messages import Settings
from parley.schemas.session import OpenSession, Seat

ROLES = (Role(PRO, 1), Role(CON, 1), Role(JUDGE, 1))


def audience_of(f: Format) -> tuple[str, ...]:
    """Seats that vote: audience_1, audience_2, ..."""
    return tuple(f"{AUDIENCE}_{i}" for i in range(1, f.audience + 1))


def due(f: Format) -> dict[str, str]:
    """Every seat that the format needs, and its role."""
    debaters = {seat: team for team in TEAMS for seat in seats_of(f, team)}
    return {**debaters, JUDGE: JUDGE, **dict.fromkeys(audience_of(f), AUDIENCE)}


def seat(request: OpenSession, settings: Settings, workers: tuple[Announcement, ...]) -> tuple[Seat, ...]:
    """All seats that the format needs: those that the request names as it names them, each other one on the queue of
    its own name. Raises Inadmissible: a seat that the format does not have, or in another role; two seats on one queue;
    seats that nobody serves; texts with control characters."""
    refuse_controls("question", request.question)
    for field, text in texts(msgspec.to_builtins(settings), "competition"):
        refuse_controls(field, text)
    wanted = due(settings.format)
    named = {s.seat: s for s in request.seats}
    for s in request.seats:
        if s.seat not in wanted:
            why = f"seat {s.seat}: {settings.format.name} has no such seat; seats are {', '.join(wanted)}"
            raise Inadmissible(f"seats.{s.seat}", why)
        if s.role != wanted[s.seat]:
            raise Inadmissible(f"seats.{s.seat}", f"seat {s.seat}: got role {s.role}, its role is {wanted[s.seat]}")
    seated = tuple(named.get(name) or Seat(seat=name, role=role, queue=name) for name, role in wanted.items())
    _apart(seated)
    _served(seated, named, workers)
    return seated


def _apart(seated: tuple[Seat, ...]) -> None:
    taken: dict[str, str] = {}
    for s in seated:
        if s.queue in taken:
            why = f"seat {s.seat}: queue {s.queue} is that of seat {taken[s.queue]}; each seat has a queue of its own"
            raise Inadmissible(f"seats.{s.seat}", why)
        taken[s.queue] = s.seat


def _served(seated: tuple[Seat, ...], named: dict[str, Seat], workers: tuple[Announcement, ...]) -> None:
    """Seats that the request names are looked at by admission, one by one."""
    alive = {(role, w.queue) for w in workers if not w.draining for role in w.roles}
    for role, what in ((PRO, "team pro"), (CON, "team con"), (JUDGE, "the judge"), (AUDIENCE, "the audience")):
        mine = [s for s in seated if s.role == role]
        missing = [s.seat for s in mine if s.seat not in named and (s.role, s.queue) not in alive]
        if missing:
            present = len(mine) - len(missing)
            start = "; ".join(f"parley agent {name}" for name in missing)
            raise Inadmissible(
                "seats", f"{what}: {len(mine)} due, {present} there; missing {', '.join(missing)}; start: {start}"
            )


def texts(value: Any, field: str) -> Iterator[tuple[str, str]]:
    """Every text in plain values, keys included, with the field that it stands in."""
    match value:
        case str():
            yield field, value
        case dict():
            for key, inner in value.items():
                yield f"{field} (a key)", str(key)
                yield from texts(inner, f"{field}.{key}")
        case list() | tuple():
            for i, inner in enumerate(value):
                yield from texts(inner, f"{field}[{i}]")
