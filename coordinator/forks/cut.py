"""Finds where the rounds of a record end. Pure.

A round is over with the transition that asks something of a later one, or that stops the session. A round in which
something was still out when the session stopped is not whole: nobody knows what it would have come to."""

from collections.abc import Sequence

from parley.coordinator.machine import Protocol, Session, begin, step
from parley.coordinator.table import Inadmissible
from parley.schemas import log


def rounds_of(protocol: Protocol, sid: str, entries: Sequence[log.Entry]) -> dict[int, int]:
    """Whole round -> the transition with which it ended, in the order of the record."""
    rounds: dict[int, int] = {}
    current: int | None = None
    session: Session | None = None
    for entry in entries:
        before = session
        if isinstance(entry.event, log.Opened):
            session, commands = begin(protocol, sid, entry.event, entry.at_ns)
        else:
            assert before is not None, "a record begins with its opening"
            session, commands = step(protocol, before, entry.event, entry.at_ns)
        latest = max((c.round for c in commands if isinstance(c, log.Ask)), default=None)
        stopped = session.stopped is not None and (before is None or before.stopped is None)
        ended = (
            _is_whole(before, entry.event)
            if stopped
            else latest is not None and current is not None and latest > current
        )
        if current is not None and ended:
            rounds[current] = entry.n
        if session.stopped is not None:
            break
        if latest is not None and (current is None or latest > current):
            current = latest
    return rounds


def _is_whole(before: Session | None, event: log.Event) -> bool:
    """Whether nothing else was out when this event stopped the session."""
    if before is None or isinstance(event, log.Cancelled | log.Hurried):
        return False
    ended_name = getattr(event, "turn", None) or getattr(event, "session", None)
    open_names = [*before.turns, *before.children, *before.windows]
    return all(name == ended_name for name in open_names)


def position_of(rounds: dict[int, int], sid: str, wanted: int | None) -> tuple[int, int]:
    """(round, its last transition): of the round that is wanted, or of the last whole one.

    Raises
    ------
    Inadmissible
        The record has no such round.
    """
    if not rounds:
        raise Inadmissible("round", f"session {sid} has no whole round that a fork could carry")
    if wanted is None:
        return list(rounds.items())[-1]
    if wanted not in rounds:
        have = ", ".join(map(str, rounds))
        raise Inadmissible("round", f"round: got {wanted}, whole rounds of session {sid} are {have}")
    return wanted, rounds[wanted]
