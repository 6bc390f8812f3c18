"""competition: the turns to be expected, from the format alone."""

from collections import Counter
from math import ceil

from parley.coordinator.protocol_parts import caps
from parley.coordinator.protocols.competition.seats import audience_of
from parley.coordinator.protocols.competition.speech_words import seconds
from parley.coordinator.protocols.competition.state import JUDGE, debaters, format_of
from parley.coordinator.protocols.competition.turns import (
    ANSWER,
    BID,
    CAPTAIN,
    CONFER,
    QUESTION,
    REVIEW,
    SCORE,
    SPEAK,
    SUMMARIZE,
    VOTE,
)
from parley.coordinator.table import Planned, TurnPlan, Usual, View
from parley.schemas.protocols.competition.format import (
    TEAMS,
    Exchange,
    Format,
    Free,
    Item,
    Speech,
    Vote,
    captain_of,
    seats_of,
)

Turns = Counter[tuple[str, str]]
"""(seat, kind) -> turns"""


def plan(v: View) -> TurnPlan:
    """At least: the whole format, each turn asked once, speeches in free debate at their full length. At most: every
    turn as often as it may be asked, whichever of its seats is chosen."""
    f, attempts = format_of(v), v.attempts
    least, most = _all_turns(f, False), _all_turns(f, True)
    return TurnPlan(
        rounds=len(f.stages),
        least=tuple(Planned(seat, kind, caps(v), n) for (seat, kind), n in least.items()),
        most=tuple(Planned(seat, kind, caps(v), n * attempts) for (seat, kind), n in most.items()),
    )


def _all_turns(f: Format, most: bool) -> Turns:
    turns: Turns = Counter()
    for stage in f.stages:
        if stage.confer:
            turns.update({(seat, CONFER): stage.confer for seat in debaters(f)})
        for item in stage.agenda:
            turns.update(_item(item, f, most))
        if stage.summary:
            turns[JUDGE, SUMMARIZE] += 1
    turns[JUDGE, REVIEW] += 1
    return turns


def _item(item: Item, f: Format, most: bool) -> Turns:
    match item:
        case Speech():
            return Counter({(item.seat, SPEAK): 1} | ({(JUDGE, SCORE): 1} if item.scored else {}))
        case Exchange():
            answering = item.answerers if most else item.answerers[:1]
            return Counter({(item.asker, QUESTION): 1, (JUDGE, SCORE): 2} | {(x, ANSWER): 1 for x in answering})
        case Vote():
            return Counter({(x, VOTE): 1 for x in audience_of(f)})
        case Free():
            return _free(item, f, most)


def _free(item: Free, f: Format, most: bool) -> Turns:
    turns: Turns = Counter()
    for team in TEAMS:
        seats = seats_of(f, team)
        full = ceil(item.seconds / seconds(item.words, f.pace))
        places = item.speeches if most else min(item.speeches, max(len(seats) if item.everybody else 1, full))
        for i, seat in enumerate(seats):
            shared = len(range(i, places, len(seats)))
            turns[seat, SPEAK] += places - (len(seats) - 1) * item.everybody if most else shared
            if item.mode == "concurrent":
                turns[seat, BID] += places
        turns[captain_of(f, team), CAPTAIN] += places
        turns[JUDGE, SCORE] += places
    return Counter({key: n for key, n in turns.items() if n})


# ---------------------------------------------------------------- a usual course


_POST = 280
"""Tokens of something said, as others are shown it with its marks."""
_SAID = {SPEAK, QUESTION, ANSWER}
_AT_THE_END = {REVIEW, SUMMARIZE}
_ANSWERS = {
    CONFER: 130,
    SPEAK: 90,
    QUESTION: 65,
    ANSWER: 115,
    CAPTAIN: 40,
    BID: 40,
    SCORE: 80,
    SUMMARIZE: 170,
    REVIEW: 235,
}


def usual(v: View, rounds: int | None) -> tuple[Usual, ...]:
    """The turns of the format; it has always the same rounds."""
    least = plan(v).least
    said = sum(p.turns for p in least if p.kind in _SAID)

    def heard(kind: str) -> int:
        if kind in _AT_THE_END:
            return said * _POST
        return _POST // 2 if kind == CONFER else (said + (kind == SCORE)) * _POST // 2

    return tuple(Usual(p.seat, p.kind, p.turns, heard(p.kind), _ANSWERS.get(p.kind, 150)) for p in least)
