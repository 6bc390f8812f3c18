"""What the record of a session says of the controller's settings and of its bandit
(parley.client.faces.course)."""

from collections.abc import Callable, Iterator

import msgspec

from parley.client.faces.course import Course, Pull
from parley.client.records import Altered, Record, opening, result_of
from parley.coordinator.admission import build_settings
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.protocols.maci.state import State
from parley.coordinator.replay import Diverged, replayed
from parley.coordinator.schedulers import learned, tried
from parley.coordinator.table import Inadmissible
from parley.schemas.control import Control, Signals

_ENDS_ALL = ("budget",)
"""Stops that no setting of the grid would have changed."""


def course(record: Record, right: Callable[[str], bool | None]) -> Course | None:
    """The course of a closed session; None: nobody knows a first belief.

    Parameters
    ----------
    right
        Whether a named answer is right; None: not known.

    Raises
    ------
    Altered
        The record does not recompute.
    """
    result, opened = result_of(record), opening(record)
    if result is None or not result.rounds:
        return None
    try:
        rounds = [msgspec.convert(row["signals"], Signals) for row in result.rounds]
        config = build_settings(PROTOCOLS[opened.protocol], opened.settings)
    except (msgspec.ValidationError, Inadmissible) as error:
        raise Altered(f"session {record.sid}: {error}") from error
    pulls = tuple(_pulls(record, config)) if config.schedule == "learned" else ()
    said = [right(_leading(r)) for r in rounds]
    known = tuple(float(one) for one in said if one is not None)
    if len(known) < len(said):
        return Course(pulls=pulls)
    spent, tokens = 0, []
    for r in rounds:
        spent += r.tokens
        tokens.append(spent)
    last = len(rounds) - 1
    base = tried.published(config)
    ends = {}
    for name, settings in tried.GRID.items():
        ended = tried.end(msgspec.structs.replace(base, **settings), rounds)
        if ended is None and result.stop.reason in _ENDS_ALL:
            ended = last
        if ended is not None:
            ends[name] = ended
    return Course(right=known, tokens=tuple(tokens), ends=ends, pulls=pulls)


def _leading(r: Signals) -> str:
    return max(r.mixture, key=lambda name: r.mixture[name])


def _pulls(record: Record, config: Control) -> Iterator[Pull]:
    """Each action that was rewarded, as the session itself rewarded it."""
    before: State | None = None
    try:
        for session, _ in replayed(PROTOCOLS.get, record.sid, record.entries):
            state: State = session.inner
            if before is not None and before.control and state.control:
                chosen, rounds = before.control.learned, state.control.rounds
                if len(rounds) > len(before.control.rounds) and chosen is not None and chosen.action is not None:
                    yield Pull(
                        action=chosen.action, context=chosen.context, reward=learned.earned(config, rounds),
                        tokens=rounds[-1].tokens,
                    )  # fmt: skip
            before = state
    except Diverged as error:
        raise Altered(f"session {record.sid}, {error}") from error
