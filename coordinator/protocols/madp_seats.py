"""madp: who sits down at the opening: the helper. Experts get a seat when the task needs them."""

from coordinator.protocols.madp_state import HELPER
from coordinator.table import Inadmissible, Role
from schemas.madp import Settings
from schemas.presence import Announcement
from schemas.session import OpenSession, Seat

ROLES = (Role(HELPER, 1),)


def seat(request: OpenSession, settings: Settings, workers: tuple[Announcement, ...]) -> tuple[Seat, ...]:
    """The helper's seat.

    Raises
    ------
    Inadmissible
        The request names another seat, or several; no helper is alive.
    """
    for s in request.seats:
        if s.role != HELPER:
            why = f"seat {s.seat}: got role {s.role}; a task's experts are not named in advance, but for madp.expert"
            raise Inadmissible(f"seats.{s.seat}", why)
    if len(request.seats) > 1:
        raise Inadmissible("seats", f"role {HELPER}: got {len(request.seats)}, allowed is 1")
    if request.seats:
        return request.seats
    queues = sorted({w.queue for w in workers if HELPER in w.roles and not w.draining})
    if not queues:
        raise Inadmissible("seats", f"role {HELPER}: 1 needed, 0 alive; start one: parley agent {HELPER}")
    return (Seat(seat=HELPER, role=HELPER, queue=queues[0]),)
