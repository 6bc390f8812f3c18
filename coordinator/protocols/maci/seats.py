"""maci: which seats a session has. A seat for each debater's queue, K judges on as many queues, of another model family
where there are any, one analyst, one helper."""

from collections.abc import Iterable

import msgspec

from parley.coordinator.protocol_parts import only_seat, queues_alive, refuse_other_roles
from parley.coordinator.protocols.maci.state import ANALYST, DEBATER, HELPER, JUDGE, LEAST_DEBATERS
from parley.coordinator.table import Inadmissible, Role
from parley.schemas.presence import Announcement
from parley.schemas.protocols.maci.settings import MOST_DEBATERS, Settings
from parley.schemas.session import EVERYBODY, OpenSession, Seat

ROLES = (Role(DEBATER, LEAST_DEBATERS), Role(JUDGE, 1), Role(ANALYST, 1), Role(HELPER, 1, computes=True))
_UNKNOWN = "of no known family"


def seat(request: OpenSession, settings: Settings, workers: tuple[Announcement, ...]) -> tuple[Seat, ...]:
    """The debaters, the judges, the analyst and the helper: those that the request names, else from the queues alive.
    Of judges' queues those are used that `cross_family` asks for. Raises Inadmissible: too few queues of a role, too
    many seats, no other family where one is demanded, nothing to cite."""
    refuse_other_roles(request, *(role.name for role in ROLES))
    named = {role.name: [s for s in request.seats if s.role == role.name] for role in ROLES}
    helper = only_seat(HELPER, request, workers)
    _citable(request, helper)
    debaters = named[DEBATER] or _debaters(settings.debaters, workers)
    if not LEAST_DEBATERS <= len(debaters) <= MOST_DEBATERS:
        raise Inadmissible(
            "seats", f"role {DEBATER}: got {len(debaters)}, allowed are {LEAST_DEBATERS} to {MOST_DEBATERS}"
        )
    if settings.frames and len(settings.frames) != len(debaters):
        why = f"maci.frames: got {len(settings.frames)}, wanted is one for each of {len(debaters)} debaters"
        raise Inadmissible("maci.frames", why)
    judges = _judges(settings, named[JUDGE], debaters, workers)
    seats = (*debaters, *judges, only_seat(ANALYST, request, workers), helper)
    twice = [s.seat for i, s in enumerate(seats) if any(s.seat == other.seat for other in seats[:i])]
    if twice:
        raise Inadmissible(f"seats.{twice[0]}", f"seat {twice[0]}: two seats have this id")
    return seats


def foreign(judges: Iterable[str], debaters: Iterable[str]) -> bool:
    """Whether every judge is of another model family than every debater (E.1). No if a family is unknown."""
    theirs = set(debaters)
    return "" not in theirs and all(family and family not in theirs for family in judges)


def _family(queue: str, role: str, workers: tuple[Announcement, ...]) -> str:
    return next((w.family for w in workers if w.queue == queue and role in w.roles and not w.draining), "")


def _debaters(wanted: int, workers: tuple[Announcement, ...]) -> list[Seat]:
    return [Seat(seat=q, role=DEBATER, queue=q) for q in queues_alive(DEBATER, workers, wanted)[:wanted]]


def _judges(
    settings: Settings, named: list[Seat], debaters: list[Seat], workers: tuple[Announcement, ...]
) -> list[Seat]:
    """K judges are K queues, and fewer where fewer are offered: those of the judges that the request names, else all
    that are alive. Where families matter and a queue is of another one than every debater, only such queues are used.
    Named judges stand as they are named, each queue once; of others, those of different families come first."""
    offered = named or [Seat(seat=queue, role=JUDGE, queue=queue) for queue in queues_alive(JUDGE, workers)]
    used = offered
    if settings.cross_family != "ignore":
        theirs, alive = [_family(s.queue, DEBATER, workers) for s in debaters], queues_alive(JUDGE, workers, 0)
        used = [
            # a named queue that is not alive is refused by admission, not left out here
            s
            for s in offered
            if s.queue not in alive or foreign([_family(s.queue, JUDGE, workers)], theirs)
        ] or offered
        if settings.cross_family == "demand" and not foreign((_family(s.queue, JUDGE, workers) for s in used), theirs):
            ours = [_family(s.queue, JUDGE, workers) for s in offered]
            raise Inadmissible(
                "maci.cross_family",
                f"maci.cross_family: demand, but judges are {_listed(ours)} and debaters {_listed(theirs)}; start a "
                "judge of another model family than every debater" + (", and name it" if named else ""),
                worker=True,
            )
    once = list({s.queue: s for s in reversed(used)}.values())[::-1]
    if named:
        return once
    ranks = _ranks([_family(s.queue, JUDGE, workers) for s in once])
    varied = [s for _, s in sorted(zip(ranks, once, strict=True), key=lambda pair: pair[0])]
    return [msgspec.structs.replace(s, seat=f"{JUDGE}_{i}") for i, s in enumerate(varied[: settings.judges], 1)]


def _ranks(families: list[str]) -> list[int]:
    """For each, how many of its family stand before it. Sorted by this, the first of each family comes before the
    second of any."""
    return [families[:i].count(family) for i, family in enumerate(families)]


def _listed(families: list[str]) -> str:
    return ", ".join(sorted({family or _UNKNOWN for family in families}))


def _citable(request: OpenSession, helper: Seat) -> None:
    """Refuse a request without evidence that can be cited: arguments are gated by evidence, and only the helper may
    cite."""
    citable = [
        d
        for d in request.documents
        if d.background is not True and (not d.holders or {EVERYBODY, helper.seat} & set(d.holders))
    ]
    if not any(d.text.strip() for d in citable):
        what = f"got {len(citable)} documents, all empty" if citable else "got none that arguments may cite"
        why = f"evidence: {what}; maci counts only arguments that cite documents: give some"
        raise Inadmissible("evidence", why)
