"""The shared machine: open turns, deadlines, retries, the timer, the stop, the result, the chain."""

import dataclasses
from pathlib import Path
from typing import Any

import msgspec
import pytest

from docs.generators.diagrams import page
from parley.coordinator.commands import Finish, Stop
from parley.coordinator.machine import (
    Answered,
    BrokenTable,
    Illegal,
    Inadmissible,
    Protocol,
    digest,
    step,
    to,
)
from parley.coordinator.protocols import PROTOCOLS
from parley.schemas import log
from parley.schemas.session import Budget
from parley.schemas.turn import Usage
from parley.schemas.wire import raw
from tests.protocols.consensus.play import CONSENSUS, Play, says, workers
from tests.support.play import SECOND, START_NS

DIAGRAMS = Path(__file__).parents[2] / "docs" / "diagrams"


def replied(play: Play, seat: str, body: object, **more: Any) -> log.Replied:
    return log.Replied(turn=play.turn(seat).id, body=raw(body), **more)


# ---------------------------------------------------------------- turns


def test_a_turn_is_answered_once() -> None:
    play = Play()
    first = replied(play, "panelist_1", says("Vilnius"))
    play.event(first)
    before = play.session
    with pytest.raises(Illegal, match="turn 0-0 is not open"):
        play.event(first)
    assert play.session is before


def test_a_late_reply_is_refused() -> None:
    play = Play(timeout_s=10)
    late = replied(play, "panelist_1", says("Vilnius"))
    with pytest.raises(Illegal, match=r"its deadline passed 0\.500 s ago"):
        step(CONSENSUS, play.session, late, START_NS + int(10.5 * SECOND))
    on_time, _ = step(CONSENSUS, play.session, late, START_NS + 10 * SECOND)
    assert len(on_time.turns) == 2


def test_a_body_of_another_shape_is_a_bad_reply() -> None:
    play = Play()
    play.reply("panelist_1", {"answer": "Vilnius"})
    again = play.turn("panelist_1").ask
    assert (again.attempt, again.refused) == (2, '{"answer":"Vilnius"}')
    assert "the reply is not what was asked" in again.error and "reasoning" in again.error


def test_a_retry_is_a_new_turn_with_the_error_and_a_new_deadline() -> None:
    play = Play({"attempts": 3})
    first = play.turn("panelist_2")
    play.reply("panelist_2", None, error="e" * 5_000)
    second = play.turn("panelist_2")
    assert second.id == "1-0"
    assert (second.ask.attempt, second.ask.error) == (2, "e" * 2_000)
    assert second.ask.deadline_ns == first.ask.deadline_ns + SECOND // 10
    assert second.ask.brief == first.ask.brief
    play.reply("panelist_2", None, error="again")
    assert play.turn("panelist_2").ask.attempt == 3
    play.reply("panelist_2", None, error="again")
    assert "panelist_2" not in play.turns()


def test_a_try_is_lost_where_another_begins_or_where_it_never_replies() -> None:
    play = Play()
    for lost in (0, 1, 2):
        play.begin("panelist_1")
        assert play.session.ledger.unaccounted_turns == lost
    play.begin("panelist_2")
    play.reply("panelist_1", says("Vilnius"), deliveries=10**15)
    play.expire()
    assert play.session.ledger.unaccounted_turns == 3, "panelist_2's; nobody began panelist_3's turn"


# ---------------------------------------------------------------- timer


def timers(entry: log.Entry) -> list[object]:
    return [c for c in entry.commands if isinstance(c, log.SetTimer | log.ClearTimer)]


def test_one_timer_that_is_armed_lazily() -> None:
    play = Play(timeout_s=10)
    first = START_NS + 10 * SECOND
    assert timers(play.entries[0]) == [log.SetTimer(at_ns=first)]
    play.answers("Vilnius", "Kaunas", "Riga")
    play.score(50)
    assert [t for e in play.entries[1:] for t in timers(e)] == []
    assert play.session.timer_ns == first
    early = play.expire()  # nothing is due: the turns that are out were asked later
    due = min(t.deadline_ns for t in play.turns().values())
    assert due > first
    assert list(early.commands) == [log.SetTimer(at_ns=due)]


def test_deadlines_end_with_the_budget_of_seconds() -> None:
    play = Play(timeout_s=10, budget=Budget(seconds=12))
    end = START_NS + 12 * SECOND
    play.now_ns += 5 * SECOND
    play.answers("Vilnius", "Kaunas", "Riga")
    assert play.turn("analyst").ask.deadline_ns == end
    play.score(95)
    assert {(a.kind, a.deadline_ns) for a in play.turns().values()} == {("sign", end)}


def test_all_overdue_turns_miss_together() -> None:
    play = Play()
    play.reply("panelist_1", says("Vilnius"))
    play.expire()
    assert play.result.stop.certificate["missing"] == ["panelist_2", "panelist_3"]


def test_a_turn_that_is_late_and_whose_worker_is_gone_is_missed_once() -> None:
    play = Play()
    due = play.session.timer_ns
    assert due is not None
    play.begin("panelist_1", "panelist_3")
    play.now_ns = due
    play.event(log.TimerFired(gone=("panelist_1", "panelist_2")), after_s=0)
    assert play.result.stop.certificate["missing"] == ["panelist_1", "panelist_2", "panelist_3"]
    assert play.session.ledger.unaccounted_turns == 2


def test_a_clock_that_runs_behind_does_not_turn_time_back() -> None:
    play = Play()
    play.reply("panelist_1", says("Vilnius"))
    at = play.session.at_ns
    play.now_ns -= 5 * SECOND
    assert play.reply("panelist_2", says("Vilnius")).at_ns == at


# ---------------------------------------------------------------- posts, stop, result


def test_the_stop_is_told_and_withdraws_what_was_asked() -> None:
    play = Play()
    play.begin()
    entry = play.cancel()
    assert play.session.turns == {}
    assert play.session.ledger.unaccounted_turns == 3
    assert play.stop == {
        "reason": "cancelled", "converged": False, "transition": entry.n,
        "certificate": {"by": "client", "why": "enough"},
    }  # fmt: skip
    assert entry.commands[-2] == log.Close(status="cancelled", reason="cancelled")


def test_a_budget_that_holds_exactly_one_round_and_the_end() -> None:
    caps = {"max_input_tokens": 900, "max_output_tokens": 100, "round_limit": 1, "least": {"approach": 0.0}}
    there = workers(3, metered=True)
    play = Play(caps, there=there, budget=Budget(tokens=12_000))
    for seat, answer in zip(play.panel, ("Vilnius", "Vilnius", "Kaunas"), strict=True):
        play.reply(seat, says(answer), usage=Usage(input_tokens=1_000, calls=1))
    play.reply("analyst", play.comparison(60), usage=Usage(input_tokens=1_000, calls=1))
    assert play.turn("panelist_3").ask.final
    play.sign("panelist_3")
    assert play.stop["reason"] == "threshold"
    with pytest.raises(Inadmissible, match=r"the first turns do not fit: budget\.tokens: limit 11999") as refused:
        Play(caps, there=there, budget=Budget(tokens=11_999))
    assert refused.value.field == "budget"


# ---------------------------------------------------------------- broken protocols are ours


def broken(handler: Any, *targets: Any) -> Protocol:
    table: dict[Any, Any] = {**CONSENSUS.table, "answering": {Answered: to(handler, *targets)}}
    return varied(CONSENSUS, table=table)


def varied(protocol: Protocol, **more: Any) -> Protocol:
    return dataclasses.replace(protocol, **more)


def phase(inner: Any, name: str) -> Any:
    return msgspec.structs.replace(inner, phase=type(inner.phase)(name))


@pytest.mark.parametrize(
    ("to_phase", "targets", "wishes", "text"),
    [
        ("scoring", ["answering"], (), "its cell names"),
        ("done", ["done"], (), "closed: False"),
        ("done", ["done"], (Finish(),), "finishes after its stop"),
        (
            "answering",
            ["answering"],
            (Stop(reason="round_limit", certificate=raw({})), Finish()),
            "finishes after its stop",
        ),
        ("answering", ["answering"], (Stop(reason="round_limit", certificate=raw({})),), "children: 0"),
        ("done", ["done"], (Stop(reason="round_limit", certificate=raw({})),) * 2, "stopped twice"),
    ],
)
def test_a_broken_protocol_is_found_out(to_phase: str, targets: list[str], wishes: Any, text: str) -> None:
    play = Play()

    def handler(s: Any, e: Any, v: Any) -> Any:
        return phase(s, to_phase), wishes

    with pytest.raises(BrokenTable, match=text):
        step(broken(handler, *targets), play.session, replied(play, "panelist_1", says("x")), play.now_ns)


# ---------------------------------------------------------------- the chain


def test_the_chain_covers_event_time_cause_commands_and_state() -> None:
    play = Play()
    entry = play.reply("panelist_1", says("Vilnius"))
    first, s = play.entries[0].digest, play.session
    base = digest(first, s, entry.event, entry.at_ns, entry.cause, entry.commands)
    assert base == entry.digest
    others = [
        digest("", s, entry.event, entry.at_ns, entry.cause, entry.commands),
        digest(first, s, log.TimerFired(), entry.at_ns, entry.cause, entry.commands),
        digest(first, s, entry.event, entry.at_ns + 1, entry.cause, entry.commands),
        digest(first, s, entry.event, entry.at_ns, "in:3", entry.commands),
        digest(first, s, entry.event, entry.at_ns, entry.cause, (log.ClearTimer(),)),
        digest(first, msgspec.structs.replace(s, turns={}), entry.event, entry.at_ns, entry.cause, entry.commands),
        digest(first, msgspec.structs.replace(s, inner=None), entry.event, entry.at_ns, entry.cause, entry.commands),
    ]
    assert len({base, *others}) == len(others) + 1


# ---------------------------------------------------------------- after the end


def test_a_closed_session_takes_feedback_and_nothing_else() -> None:
    play = Play()
    given = log.FeedbackGiven(author="ops", right=False, note="no")
    with pytest.raises(Illegal, match="the session is open"):
        play.event(given)
    play.event(log.Cancelled(author="ops"))
    play.event(given)
    for other in (log.TimerFired(), log.Cancelled(author="ops"), log.Decided(item="1", choice="a", author="ops")):
        with pytest.raises(Illegal, match="the session is closed"):
            play.event(other)


# ---------------------------------------------------------------- the diagrams


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_committed_diagram_is_that_of_the_table(name: str) -> None:
    assert (DIAGRAMS / f"{name}.md").read_text(encoding="utf-8") == page(PROTOCOLS[name])
