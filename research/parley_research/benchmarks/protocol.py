"""debate-N-R: the work that is measured, as a protocol of the real engine, and the stub model that answers it.

N debaters and a judge, R rounds. Each round all debaters are asked at once, each shown the judge's last verdict and the
last answers of the others; then the judge is shown all answers of the round. At the end the judge is asked once more.
Calls: R(N+1)+1. Every answer has 1,024 characters.

    DEBATING -> JUDGING -> (DEBATING -> JUDGING)* -> CONCLUDING -> DONE

Loading this module registers the protocol; an embedded stack does so by `Stack.imports`. Debaters are panelists of one
queue, the judge is an analyst: the accounts that are there.
"""

import asyncio
from collections.abc import Mapping
from enum import StrEnum, auto
from typing import Any

import msgspec

from parley.agents.context import Shown
from parley.agents.model.base import Completion, Emit
from parley.agents.protocols import KITS, Kind, Kit
from parley.coordinator.commands import AskSeat, Finish, SayOn, Stop, Wish
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.table import Answered, Cell, Missed, OpenTurn, Protocol, Role, Step, Unaffordable, View, to
from parley.schemas.presence import Announcement
from parley.schemas.session import OpenSession, Seat
from parley.schemas.turn import Caps, Usage
from parley.schemas.wire import decode, in_range, raw

NAME = "debate"
DEBATER, JUDGE = "panelist", "analyst"
DEBATERS_QUEUE, JUDGE_QUEUE = "panelist_1", "analyst"
PUBLIC = "public"
ANSWER_CHARS = 1_024
_CAPS = Caps(input_tokens=16_000, output_tokens=1_000, calls=1)


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Size of the debate."""

    debaters: int = 3
    rounds: int = 3

    def __post_init__(self) -> None:
        in_range("debate.debaters", self.debaters, 2, 60)
        in_range("debate.rounds", self.rounds, 1, 1_000)


class Text(msgspec.Struct, frozen=True, kw_only=True):
    """An answer or a verdict."""

    text: str


class Brief(msgspec.Struct, frozen=True, kw_only=True):
    """What a turn needs to know beside the posts."""

    round: int


class Phase(StrEnum):
    """Where a debate is."""

    DEBATING = auto()
    JUDGING = auto()
    CONCLUDING = auto()
    DONE = auto()


class State(msgspec.Struct, frozen=True, kw_only=True):
    """What a debate remembers; texts lie in posts."""

    phase: Phase
    round: int = 1
    held: dict[str, int] = {}
    """Seat -> number of its last answer's post."""
    verdict: int | None = None
    """Number of the last verdict's post."""


def _judge(v: View) -> str:
    return v.seats(JUDGE)[0].seat


def _ask_debaters(s: State, v: View) -> tuple[Wish, ...]:
    brief = raw(Brief(round=s.round))
    verdict = () if s.verdict is None else (s.verdict,)
    return tuple(
        AskSeat(
            seat=me.seat, kind="argue", round=s.round, brief=brief, own=s.held.get(me.seat), caps=_CAPS,
            sees=(*verdict, *(n for seat, n in s.held.items() if seat != me.seat)),
        )
        for me in v.seats(DEBATER)
    )  # fmt: skip


def _ask_judge(s: State, v: View, kind: str, final: bool = False) -> AskSeat:
    sees = tuple(s.held.values())
    brief = raw(Brief(round=s.round))
    return AskSeat(seat=_judge(v), kind=kind, round=s.round, brief=brief, sees=sees, caps=_CAPS, final=final)


def _start(v: View) -> Step:
    s = State(phase=Phase.DEBATING)
    return s, _ask_debaters(s, v)


def _on_argued(s: State, e: Answered, v: View) -> Step:
    said = SayOn(channel=PUBLIC, kind="answer", round=s.round, body=raw(e.body), seat=e.seat)
    s = msgspec.structs.replace(s, held={**s.held, e.seat: v.next_post})
    if v.open_turns:
        return s, (said,)
    return msgspec.structs.replace(s, phase=Phase.JUDGING), (said, _ask_judge(s, v, "judge"))


def _on_judged(s: State, e: Answered, v: View) -> Step:
    said = SayOn(channel=PUBLIC, kind="verdict", round=s.round, body=raw(e.body), seat=e.seat)
    s = msgspec.structs.replace(s, verdict=v.next_post)
    if s.round < v.settings.rounds:
        s = msgspec.structs.replace(s, phase=Phase.DEBATING, round=s.round + 1)
        return s, (said, *_ask_debaters(s, v))
    stop = Stop(reason="round_limit", certificate=raw({"rounds": s.round}))
    return msgspec.structs.replace(s, phase=Phase.CONCLUDING), (said, stop, _ask_judge(s, v, "conclude", final=True))


def _on_concluded(s: State, e: Answered, v: View) -> Step:
    said = SayOn(channel=PUBLIC, kind="verdict", round=s.round, body=raw(e.body), seat=e.seat)
    return msgspec.structs.replace(s, phase=Phase.DONE, verdict=v.next_post), (said, Finish())


def _on_lost(s: State, e: Missed | Unaffordable, v: View) -> Step:
    """A debate that loses a turn is over: what it would measure is something else."""
    why = e.why if isinstance(e, Missed) else e.what
    stop = () if s.phase == Phase.CONCLUDING else (Stop(reason="quorum", certificate=raw({"why": why})),)
    return msgspec.structs.replace(s, phase=Phase.DONE), (*stop, Finish())


def _seat(request: OpenSession, settings: Settings, _workers: tuple[Announcement, ...]) -> tuple[Seat, ...]:
    debaters = (Seat(seat=f"debater_{i}", role=DEBATER, queue=DEBATERS_QUEUE) for i in range(1, settings.debaters + 1))
    return (*debaters, Seat(seat="judge", role=JUDGE, queue=JUDGE_QUEUE))


def _final(v: View) -> tuple[tuple[str, Caps], ...]:
    return ((_judge(v), _CAPS),)


def _check(_s: State, _turn: OpenTurn, body: Text, _v: View) -> str:
    return "" if body.text else "the text is empty"


def _outcome(s: State, v: View) -> tuple[dict[str, Any], tuple[dict[str, Any], ...]]:
    if s.verdict is None:
        return {"answer": ""}, ()
    return {"answer": decode(v.posts[s.verdict].body, Text).text}, ()


_LOST: dict[type, Cell] = {Missed: to(_on_lost, Phase.DONE), Unaffordable: to(_on_lost, Phase.DONE)}

DEBATE = Protocol(
    name=NAME,
    version=1,
    settings=Settings,
    state=State,
    table={
        Phase.DEBATING: {Answered: to(_on_argued, Phase.DEBATING, Phase.JUDGING), **_LOST},
        Phase.JUDGING: {Answered: to(_on_judged, Phase.DEBATING, Phase.CONCLUDING), **_LOST},
        Phase.CONCLUDING: {Answered: to(_on_concluded, Phase.DONE), **_LOST},
        Phase.DONE: {},
    },
    done=Phase.DONE,
    replies={"argue": Text, "judge": Text, "conclude": Text},
    roles=(Role(DEBATER, 2), Role(JUDGE, 1)),
    channel=PUBLIC,
    seat=_seat,
    start=_start,
    final=_final,
    check=_check,
    outcome=_outcome,
    attempts=1,
)
PROTOCOLS.add(NAME, DEBATE)

_POSTS = {"answer": Text, "verdict": Text}
KITS.add(NAME, Kit({kind: Kind(brief=Brief, reply=Text, posts=_POSTS) for kind in DEBATE.replies}))


class StubModel:
    """Sleeps, and returns 1,024 characters."""

    name = "stub"
    family = "stub"
    metered = False
    usd_per_million_input = 0.0
    usd_per_million_output = 0.0

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._latency_s = float(options.get("latency_s", 0.0))
        self._answer = raw(Text(text="x" * ANSWER_CHARS))
        self._usage = Usage(calls=1)

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """The fixed answer, after the latency."""
        if self._latency_s:
            await asyncio.sleep(self._latency_s)
        return Completion(body=self._answer, usage=self._usage)


def make(options: Mapping[str, Any]) -> StubModel:
    """For `model: parley_research.benchmarks.protocol:make`."""
    return StubModel(options)
