"""consensus: which seats a session has, and the weight of each."""

import msgspec

from parley.coordinator.protocol_parts import only_seat, queues_alive, refuse_other_roles
from parley.coordinator.protocols.consensus.choosing import LEAST_AUTO, choose, members, occurs, reasons
from parley.coordinator.protocols.consensus.state import ANALYST, PANELIST
from parley.coordinator.protocols.consensus.strategies import check_named, dealt
from parley.coordinator.table import Inadmissible, Role
from parley.schemas import log
from parley.schemas.presence import EXTRACTIVE, Announcement
from parley.schemas.protocols.consensus import AUTO, Settings
from parley.schemas.session import OpenSession, Seat, is_human
from parley.schemas.voting import rule_of

replace = msgspec.structs.replace

ROLES = (Role(PANELIST, 2), Role(ANALYST, 1))


def seat(request: OpenSession, settings: Settings, workers: tuple[Announcement, ...]) -> tuple[Seat, ...]:
    """The panel and its analyst.

    Seats that the request names stand; a role of which it names none is filled from the queues that are alive, a seat
    for each queue. Of more members than the panel has seats, those sit who fit the question (choosing.py); of seats
    that the request names, only where it says how many are to sit. Declared expertise gives its weight to every seat
    whose weight the request leaves at 1. Raises Inadmissible: too few queues for the panel, no analyst or two, a quorum
    above the panel, an unknown strategy.
    """
    check_named(settings)
    panel = [s for s in request.seats if s.role == PANELIST]
    refuse_other_roles(request, PANELIST, ANALYST)
    wanted = LEAST_AUTO if settings.panel == AUTO else settings.panel
    said = not panel or not request.settings.keys().isdisjoint(("panel", "consensus.panel"))
    panel = panel or _alive(wanted, workers)
    if said and (settings.panel == AUTO or len(panel) > wanted):
        there = members(panel, workers, request.learned)
        why = reasons(choose(request.question, there, settings.panel), request.question)
        panel = [replace(s, chosen=why[s.seat]) for s in panel if s.seat in why]
        panel.sort(key=lambda s: list(why).index(s.seat))
    analyst = only_seat(ANALYST, request, workers)
    readers = {w.queue for w in workers if w.family == EXTRACTIVE}
    if rule_of(settings.decide).name == "judge" and analyst.queue in readers:
        what = f"consensus.decide: judge needs a language model on seat {analyst.seat}, which weighs the arguments"
        raise Inadmissible("consensus.decide", what)
    if len(panel) < settings.quorum:
        what = f"consensus.quorum: got {settings.quorum}, the panel has {len(panel)} seats"
        raise Inadmissible("consensus.quorum", what)
    weighed = (_weighed(s, request.question, settings, workers) for s in panel)
    return (*dealt(weighed, request, settings, request.seed or 0, workers), analyst)


def joining(opened: log.Opened, settings: Settings, name: str, workers: tuple[Announcement, ...]) -> Seat:
    """The seat that a member gets who joins a session.

    Parameters
    ----------
    workers
        Whoever is alive, each under the name that the session knows its queue by.

    Raises
    ------
    Inadmissible
        Nobody serves a queue of this name in the panel's role.
    """
    free = sorted({w.queue for w in workers if PANELIST in w.roles and not w.draining and not is_human(w.queue)})
    if name not in free:
        seated = {s.seat for s in opened.seats}
        others = ", ".join(queue for queue in free if queue not in seated) or "nobody"
        why = f"seat {name[:64]}: no worker is alive for role {PANELIST} on queue {name[:64]}"
        why += f"; alive without a seat: {others}; start one: parley agent {name[:64]}"
        raise Inadmissible("choice", why, worker=True)
    if away := next((w.no_server for w in workers if w.queue == name and w.no_server), ""):
        raise Inadmissible("choice", f"seat {name}: {away}")
    return _weighed(Seat(seat=name, role=PANELIST, queue=name), opened.question, settings, workers)


def _alive(wanted: int, workers: tuple[Announcement, ...]) -> list[Seat]:
    queues = queues_alive(PANELIST, workers, wanted, f" (credentials: parley bus config --panel {wanted})")
    return [Seat(seat=q, role=PANELIST, queue=q) for q in queues]


def _weighed(s: Seat, question: str, settings: Settings, workers: tuple[Announcement, ...]) -> Seat:
    if s.weight != 1:
        return s
    known = [words for w in workers if w.queue == s.queue and not w.draining for words in w.expertise]
    weight = settings.expertise_weight if any(occurs(words, question) for words in known) else 1.0
    return replace(s, weight=weight)
