"""Budgets: what is reserved, what fits, and that no run passes its limit."""

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from parley.client.show.words import cost_words, usage_words
from parley.client.turns import Turns
from parley.coordinator.budget import (
    Ledger,
    Reservation,
    booked,
    nothing_left,
    pays_for_tries,
    reservation,
    shortfall,
    total,
)
from parley.coordinator.machine import Illegal, Inadmissible
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.replay import replay
from parley.schemas import log
from parley.schemas.protocols.consensus import AnswerGroup, CompareBrief, Comparison, Signature, SignBrief
from parley.schemas.session import Budget, Seat
from parley.schemas.turn import Caps, Usage
from parley.schemas.wire import decode, encode
from tests.protocols.consensus.play import Play, says, workers
from tests.support.play import SECOND

PAID = Seat(seat="s", role="r", queue="q", metered=True, usd_per_million_input=2.0, usd_per_million_output=10.0)
FREE = Seat(seat="s", role="r", queue="q")


def test_a_turn_reserves_its_caps_times_its_calls() -> None:
    caps = Caps(input_tokens=1_000, output_tokens=100, calls=2)
    assert reservation(PAID, caps) == Reservation(2_200, 2, 2 * (1_000 * 2 + 100 * 10) / 1e6)
    assert reservation(FREE, caps) == Reservation(0, 2, 0.0)


CAPS_ = Caps(input_tokens=1_000, output_tokens=100, calls=2)


@pytest.mark.parametrize(
    ("seat", "reported", "kept"),
    [
        (PAID, Usage(input_tokens=2_000, output_tokens=200, calls=2, cost_usd=0.006), None),
        (PAID, Usage(input_tokens=1_050, output_tokens=90, calls=1, estimated=True), None),  # a rough estimate fits
        (PAID, Usage(input_tokens=5_000, calls=1), Usage(input_tokens=2_200, calls=1)),
        (PAID, Usage(input_tokens=2_100, output_tokens=900, calls=9),
         Usage(input_tokens=2_000, output_tokens=200, calls=2)),
        (PAID, Usage(calls=1, cost_usd=1e12), Usage(calls=1, cost_usd=0.006)),
        (PAID, Usage(input_tokens=9_000, calls=1, cached_tokens=8_000),
         Usage(input_tokens=2_200, calls=1, cached_tokens=2_200)),
        (PAID, Usage(input_tokens=900, calls=1, cached_tokens=800, unpriced=True), None),
        (FREE, Usage(input_tokens=9, calls=1, cached_tokens=8, unpriced=True), Usage(calls=1)),
        (PAID, Usage(calls=1, cost_usd=0.006 * (1 + 1e-12)), None),
        (FREE, Usage(calls=2), None),
        (FREE, Usage(input_tokens=10**9, output_tokens=7, calls=1, cost_usd=3), Usage(calls=1)),
    ],
)  # fmt: skip
def test_what_is_booked_is_at_most_what_was_reserved(seat: Seat, reported: Usage, kept: Usage | None) -> None:
    assert booked(seat, CAPS_, reported, person=False) == (reported if kept is None else kept)
    assert booked(seat, CAPS_, Usage(calls=1, input_tokens=5), person=True) == Usage(), "a person uses nothing"


def test_a_participant_does_not_decide_over_the_budget_by_what_it_reports() -> None:
    """Else one reply would end the session for everybody."""
    caps = {"max_input_tokens": 900, "max_output_tokens": 100, "round_limit": 2}
    play = Play(caps, there=workers(3, metered=True), budget=Budget(tokens=20_000, cost_usd=1.0))
    play.reply("panelist_1", says("Vilnius"), usage=Usage(input_tokens=10**9, calls=1, cost_usd=10**6))
    assert play.session.ledger.used() == Reservation(2_000, 1, 0.0) and play.session.stopped is None
    play.reply("panelist_2", says("Vilnius"), usage=Usage(input_tokens=900, output_tokens=100, calls=1))
    flagged = {f.seat: f.flags for f in Turns(play.entries).flagged}
    assert flagged == {"panelist_1": ("overstated",), "panelist_2": ()}


def test_who_is_not_metered_books_calls_alone() -> None:
    play = Play({}, there=workers(3), budget=Budget(tokens=20_000))
    play.reply("panelist_1", says("Vilnius"), usage=Usage(input_tokens=10**9, calls=1))
    assert play.session.ledger.used() == Reservation(0, 1, 0.0)


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
    ledger = ledger.add("a", Usage(input_tokens=10, calls=2, estimated=True), answered=False)
    ledger = ledger.lose(Reservation(7, 1, 0)).lose(Reservation(7, 1, 0))
    got = ledger.report()
    assert (got.turns, got.calls, got.input_tokens, got.output_tokens, got.cost_usd) == (1, 3, 11, 2, 0.5)
    assert (got.unaccounted_turns, got.unaccounted_tokens, got.estimated) == (2, 14, True)
    assert list(got.by_seat) == ["a", "b"]


def test_a_report_tells_what_was_cached_and_what_has_no_price() -> None:
    plain = Ledger().add("a", Usage(input_tokens=10, calls=1), answered=True).report()
    assert b"cached" not in encode(plain) and b"unpriced" not in encode(plain), "as releases before wrote it"
    paid = Usage(input_tokens=900, calls=1, cost_usd=0.5, cached_tokens=800)
    ledger = Ledger().add("a", paid, answered=True).add("a", paid, answered=True)
    ledger = ledger.add("b", Usage(input_tokens=10, calls=1, unpriced=True), answered=True)
    got = ledger.report(["c"])
    assert (got.cached_tokens, got.unpriced) == (1_600, True)
    assert {s: (u.cached_tokens or 0, bool(u.unpriced)) for s, u in got.by_seat.items()} == {
        "a": (1_600, False), "b": (0, True), "c": (0, False),
    }  # fmt: skip
    assert usage_words("1 round", got, 1.0) == (
        "1 round · 3 turns · 1,810 tokens (1,600 cached) · 1.0000 USD and what has no known price · 1.0 s"
    )
    assert cost_words(got.by_seat["b"]) == "price unknown" and cost_words(got.by_seat["c"]) == "0.0000 USD"


CAPS = {"max_input_tokens": 200, "max_output_tokens": 50, "round_limit": 4, "attempts": 3}
CAPS_OF_A_TURN = Caps(input_tokens=200, output_tokens=50, calls=2)
MOST = Usage(input_tokens=400, output_tokens=100, calls=2, cost_usd=2 * (200 * 3 + 50 * 9) / 1e6)
moves = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["answer", "fail", "expire", "begin"]), st.integers(0, 100)),
    min_size=1, max_size=30,
)  # fmt: skip


@settings(max_examples=120)
@given(
    moves=moves,
    tokens=st.none() | st.integers(1, 8_000),
    calls=st.none() | st.integers(1, 40),
    cents=st.none() | st.floats(0.1, 2.0),
)
def test_no_run_passes_its_budget(
    moves: list[tuple[int, str, int]], tokens: int | None, calls: int | None, cents: float | None
) -> None:
    """Whatever the turns in flight come to, up to their caps, and however often they are begun again by another worker:
    used, unaccounted and in flight stay within every limit. Nor does what was really paid pass it, where each try that
    the machine let begin paid all that it may."""
    there = workers(3, metered=True, usd_per_million_input=3.0, usd_per_million_output=9.0)
    budget = Budget(tokens=tokens, calls=calls, cost_usd=None if cents is None else cents / 100)
    try:
        play = Play(CAPS, there=there, budget=budget)
    except Inadmissible as refused:
        assert refused.field == "budget"
        return
    tries: dict[str, int] = {}
    for which, move, share in moves:
        if play.session.closed:
            break
        turns = list(play.session.turns.values())
        ask = turns[which % len(turns)].ask
        usage = Usage(
            input_tokens=MOST.input_tokens * share // 100, output_tokens=MOST.output_tokens * share // 100, calls=2,
            cost_usd=MOST.cost_usd * share / 100,
        )  # fmt: skip
        body: object = {"answer": f"a{share % 2}", "reasoning": "r", "confidence": 0.5}
        if ask.kind == "compare":
            posts = tuple(w.post for w in decode(ask.brief, CompareBrief).positions)
            together = AnswerGroup(label="a", posts=posts)
            body = Comparison(groups=(together,), approach=share, priority=share)
        elif ask.kind == "conclude":
            body = play.conclusion("a0")
        elif ask.kind == "sign":
            brief = decode(ask.brief, SignBrief)
            body = Signature(states="first" if share % 3 else "neither", differs=(brief.second or brief.first).sentence)
        if move == "expire" or ask.deadline_ns <= play.now_ns + SECOND:
            play.expire()
        elif move == "begin":
            again = turns[which % len(turns)].id
            play.begin(ask.seat)
            tries[again] = tries.get(again, 0) + (again in play.session.turns)
        else:
            error = "down" if move == "fail" else ""
            play.reply(ask.seat, None if error else body, usage=usage, error=error, deliveries=3)
        ledger = play.session.ledger
        out = total(reservation(play.session.opened.seats[0], t.ask.caps) for t in play.session.turns.values())
        bound = ledger.used() + ledger.lost + out
        again_paid = reservation(play.session.opened.seats[0], CAPS_OF_A_TURN).times(
            sum(n - 1 for n in tries.values() if n)
        )
        assert ledger.lost.tokens >= again_paid.tokens and ledger.lost.calls >= again_paid.calls
        assert tokens is None or bound.tokens <= tokens
        assert calls is None or bound.calls <= calls
        assert budget.cost_usd is None or bound.cost_usd <= budget.cost_usd * (1 + 1e-9)


def test_another_try_needs_another_reservation() -> None:
    """Eight turns of 500 fit, three are out, three are held back for the end: two more tries, and no third."""
    play = Play(CAPS, there=workers(3, metered=True), budget=Budget(tokens=8 * 500))
    for seat, lost in (("panelist_1", 500), ("panelist_1", 1_000)):
        entry = play.lose(seat)
        assert entry.commands == () and play.session.ledger.lost.tokens == lost and len(play.session.turns) == 3
    play.lose("panelist_2")
    assert set(play.turns()) == {"panelist_1", "panelist_3"} and play.session.ledger.lost.tokens == 1_500
    with pytest.raises(Illegal, match="is not open"):
        play.event(log.Begun(turn="0-1"))
    told = [(f.seat, f.why[:16], f.last) for f in Turns(play.entries).failures]
    assert told == [("panelist_1", "handed out again", False)] * 2 + [("panelist_2", "the worker that ", True)]
    assert replay(PROTOCOLS.get, "s1", play.log).session == play.session


def test_a_final_turn_is_not_begun_again_beyond_what_is_held_back_for_the_end() -> None:
    """Three signatures are held back for, and one is asked: it may be tried three times. Then it is missing."""
    settings = {**CAPS, "round_limit": 1, "least": {"approach": 0.0}}
    play = Play(settings, there=workers(3, metered=True), budget=Budget(tokens=6 * 500))
    for seat, answer in zip(play.panel, ("x", "x", "y"), strict=True):
        play.reply(seat, says(answer), usage=Usage(input_tokens=500, calls=1))
    for _ in range(2):
        assert play.turn("panelist_3").ask.final
        play.lose("panelist_3")
    play.lose("panelist_3")
    assert play.session.closed and play.session.ledger.used().tokens + play.session.ledger.lost.tokens == 6 * 500
    assert [x["stands"] for x in play.result.outcome["signatures"]] == ["said", "said", "none"]


def test_who_pays_nothing_needs_no_leave_for_another_try() -> None:
    """A budget of calls counts everybody's."""
    assert not pays_for_tries(FREE, Budget(tokens=1, cost_usd=1.0)) and pays_for_tries(FREE, Budget(calls=9))
    assert pays_for_tries(PAID, Budget())


def test_the_final_turn_is_held_back_for() -> None:
    """Whatever a round uses, the signatures can still be paid."""
    there = workers(3, metered=True)
    play = Play(CAPS, there=there, budget=Budget(tokens=6 * 500))
    for seat, answer in zip(play.panel, ("x", "x", "y"), strict=True):
        play.reply(seat, says(answer), usage=Usage(input_tokens=500, calls=1))
    assert play.turn("panelist_3").ask.kind == "sign" and play.session.stopped is None
    play.sign("panelist_3")
    assert play.stop["reason"] == "threshold"


def test_what_leaves_nothing_for_another_session_is_said_in_whole_figures() -> None:
    told = nothing_left(Budget(tokens=12_345_678), Ledger(), Reservation(tokens=12_345_678))
    assert told.startswith("budget.tokens: limit 12345678, used or reserved 12345678, nothing is left")
    assert nothing_left(Budget(tokens=12_345_678), Ledger(), Reservation(tokens=12_345_677)) == ""
