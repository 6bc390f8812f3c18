"""single: one seat answers once. Nobody checks the answer, and the result says so.

    ANSWERING -> DONE

It is what a vote and a debate are measured against, and where a question goes that neither is worth its cost. One voice
is no agreement: no session of it converges.
"""

from collections.abc import Mapping
from enum import StrEnum, auto
from typing import Any

import msgspec

from parley.coordinator.commands import AskSeat, Finish, SayOn, Stop
from parley.coordinator.table import (
    Answered,
    Inadmissible,
    Missed,
    OpenTurn,
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
from parley.schemas.text import stands_in
from parley.schemas.turn import Caps
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


def _caps(v: View) -> Caps:
    return Caps(input_tokens=v.settings.max_input_tokens, output_tokens=v.settings.max_output_tokens)


def _seat_of(v: View) -> str:
    return v.seats(ANSWERER)[0].seat


def _start(v: View) -> Step:
    ask = AskSeat(seat=_seat_of(v), kind=ANSWER, round=1, brief=raw(AnswerBrief()), caps=_caps(v), stream=True)
    return State(phase=Phase.ANSWERING), (ask,)


def _on_answered(s: State, e: Answered, v: View) -> Step:
    post = SayOn(channel=PUBLIC, kind=ANSWER, round=1, body=raw(e.body), seat=e.seat)
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
    for s in request.seats:
        if s.role != ANSWERER:
            raise Inadmissible(f"seats.{s.seat}", f"seat {s.seat}: no role {s.role}; the role is {ANSWERER}")
    if len(request.seats) > 1:
        raise Inadmissible("seats", f"role {ANSWERER}: got {len(request.seats)}, allowed is 1")
    if request.seats:
        return request.seats
    queues = sorted(w.queue for w in workers if ANSWERER in w.roles and not w.draining)
    if not queues:
        raise Inadmissible("seats", f"role {ANSWERER}: 1 needed, 0 alive; start one: parley agent {ANSWERER}")
    return (Seat(seat=ANSWERER, role=ANSWERER, queue=queues[0]),)


def _check(_s: State, _turn: OpenTurn, body: Answer, v: View) -> str:
    """Every quotation stands in the document that it names, white space aside."""
    names = ", ".join(repr(d.name) for d in v.opened.evidence[:5])
    way_out = f"name one that you hold ({names}), or leave it out" if names else "there are none: leave it empty"
    for c in body.citations:
        document = next((d for d in v.opened.evidence if d.name == c.document), None)
        if document is None:
            return f"citations: there is no document {c.document!r}; {way_out}"
        if not stands_in(c.quote, document.text):
            wrong = f"citations: this does not stand in {c.document}, quote it word for word: {c.quote[:200]!r}"
            return f"{wrong}; or leave it out"
    return ""


def _outcome(s: State, v: View) -> tuple[dict[str, Any], tuple[dict[str, Any], ...]]:
    """(Outcome as builtins, the one round)."""
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
    played = {"round": 1, "missing": [_seat_of(v)] if s.missing else []}
    return msgspec.to_builtins(outcome), (played,)


def _plan(v: View) -> TurnPlan:
    return TurnPlan(
        rounds=1,
        least=(Planned(_seat_of(v), ANSWER, _caps(v)),),
        most=(Planned(_seat_of(v), ANSWER, _caps(v), v.attempts),),
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
    check=_check,
    outcome=_outcome,
    stops=("answered", "budget", "unanswered", "quorum"),
    plan=_plan,
    usual=lambda v, rounds: (Usual(_seat_of(v), ANSWER, answer=60),),
    shows_refused=True,
    synthetic={"max_output_tokens": 300},
)
