"""critic: which seats a session has. Each role has one."""

from collections.abc import Mapping
from typing import Any

from parley.coordinator.protocols.critic.state import ANSWERER, CRITIC, JUDGE
from parley.coordinator.table import Inadmissible, Role
from parley.schemas.presence import Announcement
from parley.schemas.protocols.critic import Settings
from parley.schemas.session import OpenSession, Seat

ROLES = (Role(ANSWERER, 1), Role(CRITIC, 1), Role(JUDGE, 1))


def seat(request: OpenSession, settings: Settings, workers: tuple[Announcement, ...]) -> tuple[Seat, ...]:
    """Answerer, critic and judge: those that the request names, else the first queue alive for each role.

    Raises
    ------
    Inadmissible
        A role without a living queue, with two seats, or none of this protocol's; settings that contradict each other.
    """
    if fault := contradiction(request.settings):
        setting, why = fault
        raise Inadmissible(f"critic.{setting}", why)
    names = [role.name for role in ROLES]
    for s in request.seats:
        if s.role not in names:
            raise Inadmissible(f"seats.{s.seat}", f"seat {s.seat}: no role {s.role}; roles are {', '.join(names)}")
    return tuple(_only_seat(name, [s for s in request.seats if s.role == name], workers) for name in names)


def contradiction(settings: Mapping[str, Any]) -> tuple[str, str] | None:
    """(setting, why) of what cannot be meant in settings as they were given; None: nothing. A default is no wish:
    `round_limit` alone may be below that of `min_rounds`."""
    least, most = (_number(settings.get(name)) for name in ("min_rounds", "round_limit"))
    if least is None or most is None or least <= most:
        return None
    return (
        "min_rounds",
        f"critic.min_rounds: got {least:g}, and critic.round_limit {most:g} ends the debate before that",
    )


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _only_seat(role: str, named: list[Seat], workers: tuple[Announcement, ...]) -> Seat:
    if len(named) > 1:
        raise Inadmissible("seats", f"role {role}: got {len(named)}, allowed is 1")
    if named:
        return named[0]
    queues = sorted(w.queue for w in workers if role in w.roles and not w.draining)
    if not queues:
        raise Inadmissible("seats", f"role {role}: 1 needed, 0 alive; start one: parley agent {role}")
    return Seat(seat=role, role=role, queue=queues[0])
