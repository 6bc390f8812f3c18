"""The shared machine: windows, seats added later, turns withdrawn, sessions beneath a session, words between them."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from parley.coordinator.budget import Reservation
from parley.coordinator.commands import (
    CloseWindow,
    Invite,
    OpenWindow,
    StartChild,
    Tell,
    Wish,
    Withdraw,
)
from parley.coordinator.machine import BrokenTable, Illegal, View
from parley.coordinator.replay import replay
from parley.schemas import log
from parley.schemas.result import Result, ResultUsage, Stop
from parley.schemas.session import MAX_SEATS, Budget, OpenSession, Seat, SessionEnded
from parley.schemas.turn import Usage
from parley.schemas.wire import raw
from tests.coordinator.floor_play import ANSWERS, FLOOR, STANDING, Play, asks, ends, when
from tests.support.play import SECOND, START_NS

TWO = Seat(seat="two", role="panelist", queue="two_q", model="m", metered=True, usd_per_million_output=2.0)
INVITE = Invite(seat=TWO)


@pytest.fixture(autouse=True)
def answers() -> Iterator[None]:
    ANSWERS.clear()
    yield
    ANSWERS.clear()


def of(commands: tuple[log.Command, ...], kind: type) -> list[Any]:
    return [c for c in commands if isinstance(c, kind)]


# ---------------------------------------------------------------- windows


def test_a_window_is_state_with_an_end_and_the_timer_closes_it() -> None:
    play = Play()
    assert play.session.windows == {"floor": START_NS + 10 * SECOND}
    assert of(play.entries[0].commands, log.SetTimer) == [log.SetTimer(at_ns=START_NS + 10 * SECOND)]
    when("hold", OpenWindow(name="other", seconds=60))
    play.says("hold", after_s=1)
    play.event(log.TimerFired(), after_s=9)
    assert play.posts("WindowClosed") == [{"name": "floor"}]
    assert play.session.windows == {"other": START_NS + 61 * SECOND}
    assert play.session.timer_ns == START_NS + 61 * SECOND


def test_words_need_an_open_window_and_come_before_its_end() -> None:
    play = Play()
    with pytest.raises(Illegal, match="window door is not open"):
        play.says("x", window="door")
    with pytest.raises(Illegal, match=r"window floor: its end passed 0\.500 s ago"):
        play.says("x", after_s=10.5)
    on_time = Play()
    on_time.says("x", after_s=10)
    assert len(on_time.posts("Spoke")) == 1


def test_what_is_due_comes_in_the_order_of_its_deadlines_and_turns_first() -> None:
    play = Play()
    when("ask", asks(seconds=4), OpenWindow(name="early", seconds=3), OpenWindow(name="same", seconds=4))
    play.says("ask")
    when("hold", OpenWindow(name="later", seconds=100))
    play.says("hold")
    play.event(log.TimerFired(), after_s=20)
    kinds = [(p.kind, msgspec.json.decode(p.body).get("name")) for p in play.session.posts[2:]]
    assert kinds == [("WindowClosed", "early"), ("Missed", None), ("WindowClosed", "same"), ("WindowClosed", "floor")]


def test_an_open_session_awaits_something_unless_it_stands() -> None:
    play = Play()
    when("close", CloseWindow(name="floor"))
    with pytest.raises(BrokenTable, match="turns, windows, children: 0"):
        play.says("close")
    standing = Play(protocol=STANDING)
    assert not standing.session.closed and standing.session.timer_ns is None
    standing.event(log.Told(sender="s9", kind="x", body=raw(1)))
    with pytest.raises(Illegal, match="it is not cancelled"):
        standing.event(log.Cancelled(author="owner"))


# ---------------------------------------------------------------- seats


def test_an_invited_seat_is_a_seat_from_then_on() -> None:
    play = Play()
    when("invite", INVITE, asks("two"))
    commands = play.says("invite")
    assert [s.seat for s in play.session.opened.seats] == ["one", "two"]
    (invited,) = of(commands, log.Invite)
    assert (invited.seat.queue, invited.seat.metered, invited.seat.usd_per_million_output) == ("two_q", True, 2.0)
    (turn,) = play.session.turns.values()
    assert turn.ask.seat == "two"
    assert of(play.says("invite"), log.Invite) == []
    play.event(log.Replied(turn=turn.id, body=raw("hello"), usage=Usage(input_tokens=7, calls=1)))
    assert play.session.ledger.report(["one", "two"]).by_seat["two"].input_tokens == 7


def test_there_are_not_more_seats_than_a_session_may_have() -> None:
    many = (Invite(seat=msgspec.structs.replace(TWO, seat=f"s{i}", queue=f"s{i}")) for i in range(MAX_SEATS))
    when("all", *many)
    with pytest.raises(BrokenTable, match="one more than 64"):
        Play().says("all")


def test_withdrawn_turns_are_lost_and_not_missed() -> None:
    play = Play()
    when("invite", INVITE, asks("two"), asks("one"))
    play.says("invite")
    when("withdraw", Withdraw(seat="two"))
    ids = {t.ask.seat: t.id for t in play.session.turns.values()}
    play.event(log.Begun(turn=ids["two"]))
    play.says("withdraw")
    assert [t.ask.seat for t in play.session.turns.values()] == ["one"]
    assert play.session.ledger.unaccounted_turns == 1 and play.session.ledger.lost.tokens == 1_000
    assert play.posts("Missed") == []
    assert play.posts("withdrawn") == [{"seat": "two", "turns": [ids["two"]]}]
    with pytest.raises(Illegal, match="is not open"):
        play.event(log.Replied(turn=ids["two"], body=raw("late")))
    when("both", asks("two"), Withdraw(seat="two"), asks("two"))
    play.says("both")
    assert len(play.session.turns) == 2, "of two turns asked in one step, the one before the withdrawal is not sent"
    assert play.session.ledger.unaccounted_turns == 1


# ---------------------------------------------------------------- sessions beneath


def opening(**more: Any) -> OpenSession:
    return OpenSession(question="Who is right?", protocol="consensus", **more)


def started(budget: Budget | None = None, **more: Any) -> Play:
    play = Play(budget=budget)
    when("start", StartChild(opening=opening(**more)))
    play.says("start")
    return play


def result(status: str = "finished", **usage: Any) -> Result:
    used = {"turns": 1, "calls": 1, "input_tokens": 0, "output_tokens": 0, "estimated": False, "cost_usd": 0.0}
    return Result(
        session="s1-c1", protocol="consensus", status=status, outcome={"answer": "Vilnius"},
        stop=Stop(reason="threshold", converged=True, certificate={}), rounds=(), duration_s=1.0,
        usage=ResultUsage(**{**used, "unaccounted_turns": 0, "unaccounted_tokens": 0, "by_seat": {}, **usage}),
    )  # fmt: skip


def ended(**more: Any) -> log.ChildEnded:
    facts = {"protocol": "consensus", "status": "finished", "reason": "threshold", "result": result()}
    return log.ChildEnded(session="s1-c1", ended=SessionEnded(**{**facts, **more}))


def test_a_session_beneath_is_named_by_the_transition_that_starts_it() -> None:
    seen: list[View] = []

    def start(view: View) -> tuple[Wish, ...]:
        seen.append(view)
        return (StartChild(opening=opening(inherits=True)),)

    play = Play()
    ANSWERS["start"] = start
    (command,) = of(play.says("start"), log.StartChild)
    assert (seen[0].sid, seen[0].child()) == ("s1", "s1-c1")
    assert (command.session, command.opening.parent, command.opening.inherits) == ("s1-c1", "s1", True)
    assert play.session.children == {"s1-c1": Reservation()}


def test_its_budget_is_its_own_and_at_most_what_is_left_here() -> None:
    play = Play(budget=Budget(tokens=10_000, calls=20, cost_usd=1.0, seconds=100))
    when("ask", asks())
    play.says("ask")
    when("start", StartChild(opening=opening(budget=Budget(tokens=500_000, calls=3))))
    (command,) = of(play.says("start", after_s=10), log.StartChild)
    assert command.opening.budget == Budget(tokens=9_000, calls=3, cost_usd=1.0, seconds=90)
    assert play.session.children == {"s1-c2": Reservation(9_000, 3, 1.0)}


def test_it_is_reserved_here_until_it_ends_and_then_booked() -> None:
    play = started(Budget(tokens=5_000))
    when("ask", asks())
    play.says("ask")
    assert "budget.tokens: limit 5000, used or reserved 5000" in play.posts("Unaffordable")[0]["what"]
    used = result(input_tokens=900, output_tokens=100, unaccounted_turns=1, unaccounted_tokens=3_000)
    play.event(ended(result=used, unaccounted_calls=2, unaccounted_cost_usd=0.5))
    assert play.session.children == {}
    assert play.session.ledger.by_seat["session s1-c1"].input_tokens == 900
    assert play.session.ledger.lost == Reservation(3_000, 2, 0.5)
    assert play.session.ledger.unaccounted_turns == 1
    play.says("ask")
    assert len(play.session.turns) == 1, "1,000 are left"
    (told,) = play.posts("ChildEnded")
    assert told["session"] == "s1-c1" and told["result"]["outcome"] == {"answer": "Vilnius"}


def test_a_session_that_was_refused_used_nothing_and_an_erased_one_all() -> None:
    refused = started(Budget(tokens=5_000))
    refused.event(ended(status="refused", reason="", result=None, why="no worker"))
    assert refused.session.ledger.lost == Reservation()
    assert refused.posts("ChildEnded")[0]["why"] == "no worker"
    erased = started(Budget(tokens=5_000))
    erased.event(ended(status="erased", result=None))
    assert erased.session.ledger.lost == Reservation(5_000)


def test_a_cancel_reaches_what_is_beneath_and_a_stop_too() -> None:
    cancelled = started(Budget(tokens=5_000))
    commands = cancelled.event(log.Cancelled(author="owner"))
    assert of(commands, log.CancelChild) == [log.CancelChild(session="s1-c1")]
    assert cancelled.session.closed and cancelled.session.ledger.unaccounted_turns == 1
    assert cancelled.session.ledger.lost.tokens == 5_000
    stopped = started()
    ANSWERS["end"] = ends
    assert of(stopped.says("end"), log.CancelChild) == [log.CancelChild(session="s1-c1")]


def test_sessions_that_one_step_starts_share_what_is_left() -> None:
    play = Play(budget=Budget(tokens=5_000, seconds=100))
    when("three", *(StartChild(opening=opening(budget=Budget(tokens=own))) for own in (9_000, 1_000, 9_000)))
    started = of(play.says("three"), log.StartChild)
    assert [c.session for c in started] == ["s1-c1", "s1-c1-1", "s1-c1-2"]
    assert [c.opening.budget.tokens for c in started] == [1_666, 1_000, 2_334]
    assert {c.opening.budget.seconds for c in started} == {100.0}
    assert set(play.session.children) == {c.session for c in started}


# ---------------------------------------------------------------- the chain


def test_it_all_recomputes() -> None:
    play = started(Budget(tokens=50_000))
    when("invite", INVITE, asks("two"), OpenWindow(name="w", seconds=3))
    when("tell", Tell(session="s9", kind="k", body=raw(1)), Withdraw(seat="two"))
    play.says("invite")
    play.says("tell")
    play.event(ended())
    play.event(log.TimerFired(), after_s=4)
    play.event(log.Decided(item="1", choice="x", author="owner"))
    again = replay({"floor": FLOOR}.get, "s1", play.log)
    assert again.entries == tuple(play.entries)
    assert again.session == play.session
