"""What the record of a session says of the controller's settings and of its bandit (client.reliability.course)."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from client.records import Altered, Record, opening, result_of
from client.reliability.course import Course, Pull
from coordinator.admission import build_settings
from coordinator.protocols import PROTOCOLS
from coordinator.protocols.maci.state import State
from coordinator.replay import Diverged, replayed
from coordinator.schedulers import learned, tried
from schemas.control import Control, Signals
from schemas.log import Opened

_PAPER_ALONE = 3
"""The version before which there was one reading, the paper's."""
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
    rounds = [msgspec.convert(told["signals"], Signals) for told in result.rounds] if result else []
    if result is None or not rounds:
        return None
    config = _control(opened)
    pulls = tuple(_pulls(record, config)) if config.schedule == "learned" else ()
    said = [right(_leading(r)) for r in rounds]
    if None in said:
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
    return Course(right=tuple(map(float, said)), tokens=tuple(tokens), ends=ends, pulls=pulls)  # type: ignore[arg-type]


def _control(opened: Opened) -> Control:
    """The settings by which the controller worked."""
    settings: Any = build_settings(PROTOCOLS[opened.protocol], opened.settings)
    if opened.version >= _PAPER_ALONE:
        return settings  # type: ignore[no-any-return]
    return msgspec.structs.replace(settings, reading="paper", agreement=False)  # type: ignore[no-any-return]


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
