"""competition: who confers next on a team's own channel."""

import msgspec

from parley.coordinator.protocols.competition.state import (
    Says,
    State,
    author,
    body_of,
    channel_of,
    format_of,
    kind_of,
    on_channel,
    stage_of,
    team_of,
)
from parley.coordinator.protocols.competition.turns import DECISION, ask_confer
from parley.coordinator.table import View
from parley.schemas.protocols.competition.format import TEAMS, seats_of
from parley.schemas.protocols.competition.messages import Note
from parley.schemas.text import answer_key


def confer_on(s: State, v: View, says: Says, team: str) -> tuple[State, Says]:
    """The team's next turn to confer, past those that are not needed; none: it is through."""
    pro, con = s.conferred
    place = next_to_confer(s, v, says, team)
    at = len(seats_of(format_of(v), team)) * stage_of(s, v).confer if place is None else place
    conferred = (at, con) if team == "pro" else (pro, at)
    s = msgspec.structs.replace(s, idle=s.idle + sum(conferred) - pro - con, conferred=conferred)
    return s, () if place is None else (ask_confer(s, v, says, team),)


def next_to_confer(s: State, v: View, says: Says, team: str) -> int | None:
    """The place of a team's next turn to confer before this stage; None: it is through. A seat whose last note repeats
    one of its own is not asked again: its conferring changed nothing."""
    seats = seats_of(format_of(v), team)
    places = range(s.conferred[TEAMS.index(team)], len(seats) * stage_of(s, v).confer)
    return next((n for n in places if not _repeats(v, says, seats[n % len(seats)])), None)


def _repeats(v: View, says: Says, seat: str) -> bool:
    posts = (n for n in on_channel(v, says, channel_of(team_of(seat)), DECISION) if author(v, says, n) == seat)
    notes = [answer_key(body_of(v, says, n, Note).text) for n in posts if kind_of(v, says, n) == "note"]
    return bool(notes) and notes[-1] in notes[:-1]
