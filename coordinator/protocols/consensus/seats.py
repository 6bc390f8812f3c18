"""consensus: which seats a session has, and the weight of each."""

import msgspec

from parley.coordinator.protocols.consensus.state import ANALYST, PANELIST
from parley.coordinator.protocols.consensus.strategies import check_named, dealt
from parley.coordinator.table import Inadmissible, Role
from parley.schemas.presence import Announcement
from parley.schemas.protocols.consensus import Settings
from parley.schemas.session import OpenSession, Seat
from parley.schemas.text import tokens

ROLES = (Role(PANELIST, 2), Role(ANALYST, 1))


def seat(request: OpenSession, settings: Settings, workers: tuple[Announcement, ...]) -> tuple[Seat, ...]:
    """The panel and its analyst.

    Seats that the request names stand; a role of which it names none is filled from the queues that are alive, a seat
    for each queue, in the order of their names. Declared expertise gives its weight to every seat whose weight the
    request leaves at 1.

    Raises
    ------
    Inadmissible
        Too few queues for the panel, no analyst or two, a quorum above the panel, an unknown strategy.
    """
    check_named(settings)
    panel = [s for s in request.seats if s.role == PANELIST]
    analysts = [s for s in request.seats if s.role == ANALYST]
    others = [s for s in request.seats if s.role not in (PANELIST, ANALYST)]
    if others:
        odd = others[0]
        raise Inadmissible(f"seats.{odd.seat}", f"seat {odd.seat}: no role {odd.role}; roles are {PANELIST}, {ANALYST}")
    panel = panel or _fill(PANELIST, settings.panel, workers)
    analysts = analysts or _fill(ANALYST, 1, workers)
    if len(analysts) > 1:
        raise Inadmissible("seats", f"role {ANALYST}: got {len(analysts)}, allowed is 1")
    if len(panel) < settings.quorum:
        what = f"consensus.quorum: got {settings.quorum}, the panel has {len(panel)} seats"
        raise Inadmissible("consensus.quorum", what)
    weighed = (_weighed(s, request.question, settings, workers) for s in panel)
    return (*dealt(weighed, request, settings, request.seed or 0, workers), *analysts)


def _fill(role: str, wanted: int, workers: tuple[Announcement, ...]) -> list[Seat]:
    queues = sorted({w.queue for w in workers if role in w.roles and not w.draining})
    if len(queues) < wanted:
        names = [f"{role}_{i}" for i in range(1, wanted + 1)] if wanted > 1 else [role]
        free = [name for name in names if name not in queues][: wanted - len(queues)]
        start = ", ".join(f"parley agent {name}" for name in free)
        what = f"role {role}: {wanted} needed, {len(queues)} alive; {len(free)} missing, start {start}"
        if wanted > 1:
            what += f" (credentials: parley bus config --panel {wanted})"
        raise Inadmissible("seats", what)
    return [Seat(seat=q, role=role, queue=q) for q in queues[:wanted]]


def _weighed(s: Seat, question: str, settings: Settings, workers: tuple[Announcement, ...]) -> Seat:
    if s.weight != 1:
        return s
    known = [words for w in workers if w.queue == s.queue and not w.draining for words in w.expertise]
    weight = settings.expertise_weight if any(occurs(words, question) for words in known) else 1.0
    return msgspec.structs.replace(s, weight=weight)


def occurs(expertise: str, question: str) -> bool:
    """Whether the declared words occur in the question: whole, in order, in any case and number (`database` occurs in
    "Which databases scale?")."""
    wanted = [_singular(t) for t in tokens(expertise)]
    question_words = [_singular(t) for t in tokens(question)]
    return bool(wanted) and any(question_words[i : i + len(wanted)] == wanted for i in range(len(question_words)))


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
