"""Budgets: what is reserved, what fits, and that no run passes its limit."""

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from coordinator.budget import Ledger, Reservation, reservation, shortfall, total
from coordinator.machine import Inadmissible
from schemas.session import Budget, Seat
from schemas.turn import Caps, Usage
from tests.coordinator.consensus_play import SECOND, Play, says, workers

PAID = Seat(seat="s", role="r", queue="q", metered=True, usd_per_million_input=2.0, usd_per_million_output=10.0)
FREE = Seat(seat="s", role="r", queue="q")


def test_a_turn_reserves_its_caps_times_its_calls() -> None:
    caps = Caps(input_tokens=1_000, output_tokens=100, calls=2)
    assert reservation(PAID, caps) == Reservation(2_200, 2, 2 * (1_000 * 2 + 100 * 10) / 1e6)
    assert reservation(FREE, caps) == Reservation(0, 2, 0.0)


def test_sums() -> None:
    assert total([Reservation(1, 2, 3.0), Reservation(10, 20, 30.0)]) == Reservation(11, 22, 33.0)
    assert Reservation(1, 2, 3.0).times(3) == Reservation(3, 6, 9.0)


@pytest.mark.parametrize(
    ("budget", "text"),
    [
        (Budget(), ""),
        (Budget(tokens=30), ""),
        (Budget(tokens=29), "budget.tokens: limit 29, used or reserved 20, the next turns may take 10"),
        (Budget(calls=6), ""),
        (Budget(calls=5), "budget.calls: limit 5, used or reserved 4, the next turns may take 2"),
        (Budget(cost_usd=0.3), ""),
        (Budget(cost_usd=0.29), "budget.cost_usd: limit 0.29, used or reserved 0.2, the next turns may take 0.1"),
    ],
)
def test_shortfall(budget: Budget, text: str) -> None:
    ledger = Ledger().add("s", Usage(input_tokens=5, calls=1, cost_usd=0.05), answered=True)
    ledger = ledger.lose(Reservation(5, 1, 0.05))
    assert shortfall(budget, ledger, Reservation(10, 2, 0.1), Reservation(10, 2, 0.1)) == text


def test_who_uses_nothing_is_not_stopped_by_a_used_up_budget() -> None:
    ledger = Ledger().add("s", Usage(input_tokens=500), answered=True)
    assert shortfall(Budget(tokens=100), ledger, Reservation(), Reservation(0, 1, 0.0)) == ""


def test_report() -> None:
    ledger = Ledger().add("b", Usage(input_tokens=1, output_tokens=2, calls=1, cost_usd=0.5), answered=True)
    ledger = ledger.add("a", Usage(input_tokens=10, calls=2, estimated=True), answered=False).lose(
        Reservation(7, 1, 0), 2
    )
    got = ledger.report()
    assert (got.turns, got.calls, got.input_tokens, got.output_tokens, got.cost_usd) == (1, 3, 11, 2, 0.5)
    assert (got.unaccounted_turns, got.unaccounted_tokens, got.estimated) == (2, 14, True)
    assert list(got.by_seat) == ["a", "b"]


CAPS = {"max_input_tokens": 200, "max_output_tokens": 50, "max_rounds": 4, "attempts": 3}
MOST = Usage(input_tokens=400, output_tokens=100, calls=2, cost_usd=2 * (200 * 3 + 50 * 9) / 1e6)
moves = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["answer", "fail", "expire", "redeliver"]), st.integers(0, 100)),
    min_size=1, max_size=30,
)  # fmt: skip


@settings(max_examples=120, deadline=None)
@given(
    moves=moves,
    tokens=st.none() | st.integers(1, 8_000),
    calls=st.none() | st.integers(1, 40),
    cents=st.none() | st.floats(0.1, 2.0),
)
def test_no_run_passes_its_budget(
    moves: list[tuple[int, str, int]], tokens: int | None, calls: int | None, cents: float | None
) -> None:
    """Whatever the turns in flight come to, up to their caps: used, unaccounted and in flight stay within every limit;
    of a turn that was handed out more than once only the first time was asked for, so that those come on top."""
    there = workers(3, metered=True, usd_per_million_input=3.0, usd_per_million_output=9.0)
    budget = Budget(tokens=tokens, calls=calls, cost_usd=None if cents is None else cents / 100)
    try:
        play = Play(CAPS, there=there, budget=budget)
    except Inadmissible as refused:
        assert refused.field == "budget"
        return
    extra = Reservation()
    for which, move, share in moves:
        if play.session.closed:
            break
        turns = list(play.session.turns.values())
        ask = turns[which % len(turns)].ask
        usage = Usage(
            input_tokens=MOST.input_tokens * share // 100, output_tokens=MOST.output_tokens * share // 100, calls=2,
            cost_usd=MOST.cost_usd * share / 100,
        )  # fmt: skip
        body: dict[str, object] = {"score": share} if ask.kind == "score" else {"answer": f"a{share % 2}"}
        body |= {} if ask.kind == "score" else {"reasoning": "r", "confidence": 0.5}
        if move == "expire" or ask.deadline_ns <= play.now_ns + SECOND:
            play.expire()
        else:
            deliveries = 2 if move == "redeliver" else 1
            extra = extra + reservation(play.session.opened.seats[0], ask.caps).times(deliveries - 1)
            error = "down" if move == "fail" else ""
            play.reply(ask.seat, None if error else body, usage=usage, error=error, deliveries=deliveries)
        ledger = play.session.ledger
        out = total(reservation(play.session.opened.seats[0], t.ask.caps) for t in play.session.turns.values())
        bound = ledger.used() + ledger.lost + out
        assert tokens is None or bound.tokens <= tokens + extra.tokens
        assert calls is None or bound.calls <= calls + extra.calls
        assert budget.cost_usd is None or bound.cost_usd <= (budget.cost_usd + extra.cost_usd) * (1 + 1e-9)


def test_the_final_turn_is_held_back_for() -> None:
    """Whatever a round uses, the wording of the result can still be paid."""
    there = workers(3, metered=True)
    play = Play(CAPS, there=there, budget=Budget(tokens=4 * 500))
    for seat in play.panel:
        play.reply(seat, says("x"), usage=Usage(input_tokens=500, calls=1))
    assert play.stop["reason"] == "budget"
    assert play.turn("analyst").ask.kind == "synthesize"
