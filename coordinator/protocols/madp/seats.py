"""madp: which seats a task has at its opening: the helper, if one is there. Experts get a seat when the task needs
them. And what would argue a question that blocks."""

import re

import msgspec

from parley.coordinator.protocol_parts import only_seat, queues_alive
from parley.coordinator.protocols.madp.state import CHECK, HELPER
from parley.coordinator.table import Inadmissible, Role
from parley.schemas.presence import Announcement
from parley.schemas.protocols.madp.messages import Settings
from parley.schemas.session import MAX_QUESTION, OpenSession, Seat

ROLES = (Role(HELPER, 0),)
"""Without a helper the experts' own words decide (docs/madp.md)."""
_STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
replace = msgspec.structs.replace


def seat(request: OpenSession, settings: Settings, workers: tuple[Announcement, ...]) -> tuple[Seat, ...]:
    """The helper's seat; none: no helper is alive. Raises Inadmissible: the request names another seat, or several; a
    check is set and nobody who runs it is alive."""
    for s in request.seats:
        if s.role != HELPER:
            why = f"seat {s.seat}: got role {s.role}; a task's experts are not named in advance, but for madp.expert"
            raise Inadmissible(f"seats.{s.seat}", why)
    there = request.seats or queues_alive(HELPER, workers, 0)
    roles = (*([HELPER] if there else []), *([CHECK] if settings.check else []))
    return tuple(only_seat(role, request, workers) for role in roles)


def beneath(request: OpenSession, settings: Settings) -> OpenSession | None:
    """The session that a question which blocks would be put to (6.1), with this one's documents; None: a human."""
    if not settings.deliberation:
        return None
    child = deliberation(settings, request.question, request.turn_timeout_s)
    return replace(child, documents=tuple(replace(d, holders=()) for d in request.documents))


def deliberation(settings: Settings, question: str, turn_timeout_s: float) -> OpenSession:
    """A session beneath this one, over a question that models may have worded: without the characters that steer a
    terminal, which competition refuses."""
    return OpenSession(
        question=_STEERS.sub("", question)[:MAX_QUESTION] or "What blocks the task?",
        protocol=settings.deliberation,
        settings=settings.deliberation_settings,
        inherits=True,
        turn_timeout_s=turn_timeout_s,
    )
