"""competition: words from the floor in a free debate."""

import msgspec

from parley.coordinator.protocols.competition.record import say
from parley.coordinator.protocols.competition.rules import interrupting
from parley.coordinator.protocols.competition.state import (
    CON,
    PRO,
    PUBLIC,
    SCORES,
    Interruption,
    State,
    format_of,
    item_of,
    stage_of,
    team_of,
    turn_of,
)
from parley.coordinator.table import Illegal, Spoke, Step, View
from parley.schemas.protocols.competition.format import Free, other

replace = msgspec.structs.replace


def on_interrupted(s: State, e: Spoke, v: View) -> Step:
    """Words from the floor enter no debate. Those of the team that spoke last, while the other has the floor or has it
    next, are the same team's second speech in a row: a fine, once a place. Where the other team is through there is
    none.

    Raises
    ------
    Illegal
        From anybody else, or nobody has spoken in this debate yet.
    """
    f = format_of(v)
    by = next((x.seat for x in v.opened.seats if x.queue == e.author and x.role in (PRO, CON)), "")
    here = [x for x in s.here() if x.post is not None]
    over = s.item == len(stage_of(s, v).agenda)
    if not by or e.channel != PUBLIC or over or not isinstance(item_of(s, v), Free):
        raise Illegal(f"{e.author} may not speak up here")
    if not here or here[-1].team != team_of(by) or turn_of(s, v) != other(team_of(by)):
        raise Illegal(f"{by}: speeches are asked for; wait until your captain names you")
    if any(x.after == len(s.lines) and team_of(x.seat) == team_of(by) for x in s.interruptions):
        raise Illegal(f"{by}: your team has spoken out of turn here already")
    s = replace(s, interruptions=(*s.interruptions, Interruption(seat=by, after=len(s.lines))))
    return s, (say(s, SCORES, "fine", interrupting(by, f), by),)
