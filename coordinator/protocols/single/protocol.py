"""single: one seat answers once. Nobody checks the answer, and the result says so.

    ANSWERING -> DONE

It is what a vote and a debate are measured against, and where a question goes that neither is worth its cost. One voice
is no agreement: no session of it converges.
"""

from collections.abc import Mapping
from enum import StrEnum, auto
from typing import Any

import msgspec

from parley.coordinator.commands import Finish, Stop
from parley.coordinator.protocol_parts import ask, caps, only_seat, refuse_other_roles, say, seat_of, unquoted
from parley.coordinator.table import (
    Answered,
    Missed,
    Planned,
    Protocol,
    Role,
    Step,
    TurnPlan,
    Unaffordable,
    Usual,
    View,
    to,
)
from parley.schemas.presence import Announcement
from parley.schemas.protocols.single import Answer, AnswerBrief, Outcome, Settings
from parley.schemas.session import OpenSession, Seat
from parley.schemas.wire import decode, raw

ANSWERER, PUBLIC, ANSWER = "answerer", "public", "answer"
UNCHECKED: Mapping[str, Any] = {"answers": 1, "checked": False}
"""What every certificate holds beside its reason: one answer; nobody checked it."""


class Phase(StrEnum):
    """Where a session is."""

    ANSWERING = auto()
    DONE = auto()


class State(msgspec.Struct, frozen=True, kw_only=True):
    """What a session remembers."""

    phase: Phase
    answer: int | None = None
    """The number of the answer's post."""
    missing: bool = False


def _start(v: View) -> Step:
    return State(phase=Phase.ANSWERING), (ask(v, seat_of(v, ANSWERER), ANSWER, 1, AnswerBrief(), stream=True),)


def _on_answered(s: State, e: Answered, v: View) -> Step:
    post = say(ANSWER, 1, e.body, e.seat)
    reason = "unanswered" if e.body.abstains else "answered"
    answers = {**UNCHECKED, "answers": int(not e.body.abstains)}
    s = msgspec.structs.replace(s, phase=Phase.DONE, answer=v.next_post)
    return s, (post, Stop(reason=reason, certificate=raw(answers)), Finish())


def _on_missed(s: State, e: Missed, v: View) -> Step:
    certificate = {**UNCHECKED, "answers": 0, "missing": (e.seat,)}
    why = Stop(reason="quorum", certificate=raw(certificate))
    if e.short:
        why = Stop(reason="budget", certificate=raw({**certificate, "what": e.short}))
    return msgspec.structs.replace(s, phase=Phase.DONE, missing=True), (why, Finish())


def _on_unaffordable(s: State, e: Unaffordable, v: View) -> Step:
    stop = Stop(reason="budget", certificate=raw({**UNCHECKED, "answers": 0, "what": e.what}))
    return msgspec.structs.replace(s, phase=Phase.DONE), (stop, Finish())


def _seat(request: OpenSession, settings: Settings, workers: tuple[Announcement, ...]) -> tuple[Seat, ...]:
    """The answerer: that which the request names, else the first queue alive. Raises Inadmissible."""
    refuse_other_roles(request, ANSWERER)
    return (only_seat(ANSWERER, request, workers),)


def _outcome(s: State, v: View) -> tuple[dict[str, Any], tuple[dict[str, Any], ...]]:
    answer = None if s.answer is None else decode(v.posts[s.answer].body, Answer)
    if answer is None or answer.abstains:
        passages = answer.citations[:5] if answer else ()
        outcome = Outcome(answer="", confidence=0.0, reasoning="", source="none", passages=passages)
    else:
        outcome = Outcome(
            answer=answer.answer,
            confidence=round(answer.confidence, 4),
            reasoning=answer.reasoning,
            source=ANSWER,
            citations=answer.citations,
        )
    played = {"round": 1, "missing": [seat_of(v, ANSWERER)] if s.missing else []}
    return msgspec.to_builtins(outcome), (played,)


def _plan(v: View) -> TurnPlan:
    return TurnPlan(
        rounds=1,
        least=(Planned(seat_of(v, ANSWERER), ANSWER, caps(v)),),
        most=(Planned(seat_of(v, ANSWERER), ANSWER, caps(v), v.attempts),),
    )


PROTOCOL = Protocol(
    name="single",
    version=1,
    settings=Settings,
    state=State,
    table={
        Phase.ANSWERING: {
            Answered: to(_on_answered, Phase.DONE),
            Missed: to(_on_missed, Phase.DONE),
            Unaffordable: to(_on_unaffordable, Phase.DONE),
        },
        Phase.DONE: {},
    },
    done=Phase.DONE,
    replies={ANSWER: Answer},
    roles=(Role(ANSWERER, 1),),
    channel=PUBLIC,
    seat=_seat,
    start=_start,
    final=lambda v: (),
    check=lambda state, turn, body, view: unquoted(body.citations, view),
    outcome=_outcome,
    stops=("answered", "budget", "unanswered", "quorum"),
    plan=_plan,
    usual=lambda v, rounds: (Usual(seat_of(v, ANSWERER), ANSWER, answer=60),),
    shows_refused=True,
    synthetic={"max_output_tokens": 300},
)
