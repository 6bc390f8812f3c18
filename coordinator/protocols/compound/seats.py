"""compound: who sits in a session, and in those of its parts."""

from collections.abc import Iterable

import msgspec

from parley.coordinator.protocol_parts import only_seat, queues_alive, refuse_other_roles
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
    """The analyst, and everybody who may sit in a part: whom the request names, else each queue that is alive. Raises
    Inadmissible: too few are there, another role is named, a part names a document or a seat that is not there."""
    documents = {d.name for d in request.documents}
    for part in settings.asked:
        _there("evidence", part.evidence, documents)
    refuse_other_roles(request, PANELIST, ANALYST)
    panel = tuple(s for s in request.seats if s.role == PANELIST)
    if not panel:
        panel = tuple(Seat(seat=q, role=PANELIST, queue=q) for q in queues_alive(PANELIST, workers, 2)[:MOST_PANEL])
    if not 2 <= len(panel) <= MOST_PANEL:
        raise Inadmissible("seats", f"role {PANELIST}: got {len(panel)}, allowed are 2 to {MOST_PANEL}")
    for part in settings.asked:
        _there("panel", part.panel, {s.seat for s in panel})
    return (*panel, only_seat(ANALYST, request, workers))


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
