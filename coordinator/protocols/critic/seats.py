"""critic: which seats a session has. Each role has one."""

from collections.abc import Mapping
from typing import Any

from parley.coordinator.protocol_parts import only_seat, refuse_other_roles
from parley.coordinator.protocols.critic.state import ANSWERER, CRITIC, JUDGE
from parley.coordinator.table import Inadmissible, Role
from parley.schemas.presence import Announcement
from parley.schemas.protocols.critic import Settings
from parley.schemas.session import OpenSession, Seat

ROLES = (Role(ANSWERER, 1), Role(CRITIC, 1), Role(JUDGE, 1))


def seat(request: OpenSession, settings: Settings, workers: tuple[Announcement, ...]) -> tuple[Seat, ...]:
    """Answerer, critic and judge: those that the request names, else the first queue alive for each role. Raises
    Inadmissible: a role without a living queue, with two seats, or none of this protocol's; settings that contradict
    each other."""
    if fault := contradiction(request.settings):
        setting, why = fault
        raise Inadmissible(f"critic.{setting}", why)
    refuse_other_roles(request, ANSWERER, CRITIC, JUDGE)
    return tuple(only_seat(role.name, request, workers) for role in ROLES)


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
