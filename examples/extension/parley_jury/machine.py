"""jury: everybody votes in private, and votes again after reading the others, until all agree or the ballots are over.

VOTING -> DONE
"""

from collections import Counter
from enum import StrEnum, auto
from typing import Any

import msgspec

from parley.coordinator.commands import AskSeat, Finish, SayOn, Stop
from parley.coordinator.table import Answered, Missed, OpenTurn, Protocol, Role, Step, Unaffordable, View, to
from parley.schemas.presence import Announcement
from parley.schemas.session import OpenSession, Seat
from parley.schemas.turn import Caps
from parley.schemas.wire import raw
from parley_jury.messages import Ballot, Count, Settings, Vote
from parley_jury.rows import HUNG, JUROR, ROOM, VERDICT

_CAPS = Caps(input_tokens=4_000, output_tokens=500)


class Phase(StrEnum):
    """Where a jury is."""

    VOTING = auto()
    DONE = auto()


class State(msgspec.Struct, frozen=True, kw_only=True):
    """What a jury remembers."""

    phase: Phase
    ballot: int = 1
    votes: dict[str, Vote] = {}
    """Of this ballot."""
    room: tuple[int, ...] = ()
    """Numbers of the posts of the ballot before."""

    def choices(self) -> dict[str, int]:
        """How many gave each choice, the most frequent first."""
        counts = Counter(vote.choice for vote in self.votes.values())
        return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def _ask(s: State, v: View) -> tuple[AskSeat, ...]:
    brief = raw(Ballot(ballot=s.ballot, last=s.ballot == v.settings.ballots))
    return tuple(
        AskSeat(seat=seat.seat, kind="vote", round=s.ballot, brief=brief, sees=s.room, caps=_CAPS, channel=ROOM)
        for seat in v.seats(JUROR)
    )


def _start(v: View) -> Step:
    s = State(phase=Phase.VOTING)
    return s, _ask(s, v)


def _on_voted(s: State, e: Answered, v: View) -> Step:
    return _counted(msgspec.structs.replace(s, votes={**s.votes, e.seat: e.body}), v)


def _on_missed(s: State, e: Missed, v: View) -> Step:
    return _counted(s, v)


def _counted(s: State, v: View) -> Step:
    """Nothing, until the ballot is over. Then the verdict, another ballot, or a hung jury."""
    if v.open_turns:
        return s, ()
    says = tuple(SayOn(channel=ROOM, kind="vote", round=s.ballot, body=raw(b), seat=n) for n, b in s.votes.items())
    if len(s.choices()) == 1:
        return _ended(s, says, VERDICT)
    if s.votes and s.ballot < v.settings.ballots:
        room = tuple(range(v.next_post, v.next_post + len(says)))
        again = State(phase=Phase.VOTING, ballot=s.ballot + 1, room=room)
        return again, (*says, *_ask(again, v))
    return _ended(s, says, HUNG if s.votes else "quorum")


def _ended(s: State, says: tuple[SayOn, ...], reason: str) -> Step:
    """`signed` names who voted for the verdict: Parley calls it agreement if these are more than half of the jury."""
    count = SayOn(channel="public", kind="count", round=s.ballot, body=raw(Count(choices=s.choices())))
    certificate = {"ballots": s.ballot, "signed": sorted(s.votes) if reason == VERDICT else []}
    stop = Stop(reason=reason, certificate=raw(certificate))
    return msgspec.structs.replace(s, phase=Phase.DONE), (*says, count, stop, Finish())


def _on_unaffordable(s: State, e: Unaffordable, v: View) -> Step:
    stop = Stop(reason="budget", certificate=raw({"what": e.what}))
    return msgspec.structs.replace(s, phase=Phase.DONE), (stop, Finish())


def _seat(request: OpenSession, settings: Settings, _workers: tuple[Announcement, ...]) -> tuple[Seat, ...]:
    names = [f"{JUROR}_{i}" for i in range(1, settings.jurors + 1)]
    return request.seats or tuple(Seat(seat=name, role=JUROR, queue=name) for name in names)


def _outcome(s: State, _v: View) -> tuple[dict[str, Any], tuple[dict[str, Any], ...]]:
    choices = s.choices()
    return {"answer": next(iter(choices), "")}, ({"round": s.ballot, "choices": choices},)


def _check(_s: State, _turn: OpenTurn, body: Vote, _v: View) -> str:
    return "choice: a vote is for one answer" if body.choice.lower() == "both" else ""


PROTOCOL = Protocol(
    name="jury",
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
    roles=(Role(JUROR, 2),),
    channel=ROOM,
    stops=(VERDICT, HUNG, "quorum", "budget"),
    seat=_seat,
    start=_start,
    final=lambda view: (),
    check=_check,
    outcome=_outcome,
)
