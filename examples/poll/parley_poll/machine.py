"""poll: everybody votes once, nobody sees another's vote before all are in, and the votes are counted.

VOTING -> DONE
"""

from enum import StrEnum, auto
from typing import Any

import msgspec

from parley.coordinator.commands import AskSeat, Finish, SayOn, Stop
from parley.coordinator.table import Answered, Missed, OpenTurn, Protocol, Role, Step, Unaffordable, View, to
from parley.schemas.presence import Announcement
from parley.schemas.session import OpenSession, Seat
from parley.schemas.turn import Caps
from parley.schemas.wire import raw
from parley_poll.messages import Ballot, Count, Settings, Vote

VOTER, PUBLIC = "panelist", "public"
_CAPS = Caps(input_tokens=4_000, output_tokens=500)


class Phase(StrEnum):
    """Where a poll is."""

    VOTING = auto()
    DONE = auto()


class State(msgspec.Struct, frozen=True, kw_only=True):
    """What a poll remembers."""

    phase: Phase
    votes: dict[str, Vote] = {}
    missing: tuple[str, ...] = ()

    def choices(self) -> dict[str, int]:
        """How many gave each choice, the most frequent first."""
        counts: dict[str, int] = {}
        for vote in self.votes.values():
            counts[vote.choice] = counts.get(vote.choice, 0) + 1
        return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def _start(v: View) -> Step:
    asks = (
        AskSeat(seat=s.seat, kind="vote", round=1, brief=raw(Ballot(voter=i)), caps=_CAPS)
        for i, s in enumerate(v.seats(VOTER), 1)
    )
    return State(phase=Phase.VOTING), tuple(asks)


def _on_voted(s: State, e: Answered, v: View) -> Step:
    return _count(msgspec.structs.replace(s, votes={**s.votes, e.seat: e.body}), v)


def _on_missed(s: State, e: Missed, v: View) -> Step:
    return _count(msgspec.structs.replace(s, missing=(*s.missing, e.seat)), v)


def _count(s: State, v: View) -> Step:
    if v.open_turns:
        return s, ()
    votes = tuple(SayOn(channel=PUBLIC, kind="vote", round=1, body=raw(b), seat=n) for n, b in s.votes.items())
    count = SayOn(channel=PUBLIC, kind="count", round=1, body=raw(Count(choices=s.choices())))
    stop = Stop(reason="played" if s.votes else "quorum", certificate=raw({"votes": len(s.votes)}))
    return msgspec.structs.replace(s, phase=Phase.DONE), (*votes, count, stop, Finish())


def _on_unaffordable(s: State, e: Unaffordable, v: View) -> Step:
    stop = Stop(reason="budget", certificate=raw({"what": e.what}))
    return msgspec.structs.replace(s, phase=Phase.DONE), (stop, Finish())


def _seat(request: OpenSession, settings: Settings, _workers: tuple[Announcement, ...]) -> tuple[Seat, ...]:
    names = [f"{VOTER}_{i}" for i in range(1, settings.voters + 1)]
    return request.seats or tuple(Seat(seat=name, role=VOTER, queue=name) for name in names)


def _outcome(s: State, _v: View) -> tuple[dict[str, Any], tuple[dict[str, Any], ...]]:
    choices = s.choices()
    return {"answer": next(iter(choices), "")}, ({"round": 1, "choices": choices, "missing": list(s.missing)},)


def _check(_s: State, _turn: OpenTurn, _body: Vote, _v: View) -> str:
    return ""


PROTOCOL = Protocol(
    name="poll",
    version=1,
    settings=Settings,
    state=State,
    table={
        Phase.VOTING: {
            Answered: to(_on_voted, Phase.VOTING, Phase.DONE),
            Missed: to(_on_missed, Phase.VOTING, Phase.DONE),
            Unaffordable: to(_on_unaffordable, Phase.DONE),
        },
        Phase.DONE: {},
    },
    done=Phase.DONE,
    replies={"vote": Vote},
    roles=(Role(VOTER, 2),),
    channel=PUBLIC,
    seat=_seat,
    start=_start,
    final=lambda view: (),
    check=_check,
    outcome=_outcome,
    attempts=lambda settings: 2,
)
