"""compound: who sits in a session, and in those of its parts."""

from collections.abc import Iterable

import msgspec

from parley.coordinator.table import Inadmissible, Role
from parley.schemas import log
from parley.schemas.presence import Announcement
from parley.schemas.protocols.compound import Asked, Settings
from parley.schemas.session import OpenSession, Seat

ANALYST, PANELIST = "analyst", "panelist"
ROLES = (Role(PANELIST, 2), Role(ANALYST, 1))
OF = "consensus"
"""The protocol of the parts."""
MOST_PANEL = 16
_OF_TIME = 0.8
"""Share of the session's seconds that a part has: the rest is for putting the parts together."""
replace = msgspec.structs.replace


def seat(request: OpenSession, settings: Settings, workers: tuple[Announcement, ...]) -> tuple[Seat, ...]:
    """The analyst, and everybody who may sit in a part: whom the request names, else each queue that is alive.

    Raises
    ------
    Inadmissible
        Too few are there, another role is named, a part names a document or a seat that is not there.
    """
    documents = {d.name for d in request.documents}
    for part in settings.asked:
        _there("evidence", part.evidence, documents)
    seats: list[Seat] = []
    for role, least, most in ((PANELIST, 2, MOST_PANEL), (ANALYST, 1, 1)):
        named = [s for s in request.seats if s.role == role]
        queues = sorted({w.queue for w in workers if role in w.roles and not w.draining})
        found = named or [Seat(seat=q, role=role, queue=q) for q in queues][:most]
        if len(found) < least:
            what = f"role {role}: {least} needed, {len(found)} alive; start one: parley agent {role}"
            raise Inadmissible("seats", what, worker=True)
        if len(found) > most:
            raise Inadmissible("seats", f"role {role}: got {len(found)}, allowed are at most {most}")
        seats += found
    odd = next((s for s in request.seats if s.role not in (ANALYST, PANELIST)), None)
    if odd is not None:
        raise Inadmissible(f"seats.{odd.seat}", f"seat {odd.seat}: no role {odd.role}; roles are {PANELIST}, {ANALYST}")
    panel = {s.seat for s in seats if s.role == PANELIST}
    for part in settings.asked:
        _there("panel", part.panel, panel)
    return tuple(seats)


def _there(field: str, named: Iterable[str], there: set[str]) -> None:
    for name in named:
        if name not in there:
            known = ", ".join(sorted(there)[:8]) or "none"
            raise Inadmissible("compound.parts", f"compound.parts: {field} {name!r} is not there; there are {known}")


def beneath(request: OpenSession, settings: Settings) -> OpenSession:
    """The session of a part, with all documents, as far as it is known at the opening."""
    documents = tuple(replace(d, holders=()) for d in request.documents)
    return OpenSession(
        question=request.question,
        protocol=OF,
        settings=_settings(settings, ()),
        seats=request.seats,
        documents=documents,
        turn_timeout_s=request.turn_timeout_s,
    )


def child(opened: log.Opened, settings: Settings, part: Asked) -> OpenSession:
    """The session of a part: the documents that it names, its panel and the analyst, its own limits."""
    seconds = opened.budget.seconds
    own = part.budget
    if seconds is not None and (own.seconds is None or own.seconds > _OF_TIME * seconds):
        own = replace(own, seconds=_OF_TIME * seconds)
    names = {queue: name for name, queue in (opened.queues or {}).items()}
    sits = [s for s in opened.seats if s.role == ANALYST or not part.panel or s.seat in part.panel]
    return OpenSession(
        question=part.question,
        protocol=OF,
        settings=_settings(settings, part.panel),
        inherits=True,
        only=part.evidence or msgspec.UNSET,
        turn_timeout_s=opened.turn_timeout_s,
        learned=opened.learned,
        budget=own,
        seats=tuple(Seat(seat=s.seat, role=s.role, queue=names.get(s.queue, s.queue), weight=s.weight) for s in sits),
    )


def _settings(settings: Settings, panel: tuple[str, ...]) -> dict[str, object]:
    return {"panel": len(panel) or settings.panel, **settings.part_settings}
