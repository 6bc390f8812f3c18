"""Budgets: what is reserved, what fits, that no run passes its limit, and how turns get narrower where it is short.
What a reply used is complete before it is in the log, whoever the worker is."""

from typing import Any

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import given, settings

from parley.client.rendering.told import to_api
from parley.client.show.session_list import SessionLine
from parley.client.show.words import cost_words, usage_words
from parley.client.turns import Turns
from parley.coordinator.admission import admit
from parley.coordinator.budget import (
    Ledger,
    PlannedTurn,
    Reservation,
    booked,
    least,
    reservation,
    total,
    widest,
)
from parley.coordinator.estimate import estimate
from parley.coordinator.machine import Illegal, Inadmissible, counted
from parley.coordinator.outcomes.session import Call, _of_call
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.replay import replay
from parley.coordinator.sessions import rows
from parley.schemas import log
from parley.schemas.protocols.consensus import AnswerGroup, CompareBrief, Comparison, Signature, SignBrief
from parley.schemas.result import Result
from parley.schemas.session import Budget, OpenSession, Seat
from parley.schemas.turn import Caps, Usage
from parley.schemas.wire import decode, encode, raw
from parley.web import verdicts
from parley.web.mcp.results import verdict_of
from tests.protocols.consensus import play as consensus
from tests.protocols.consensus.play import Play, document, says, workers
from tests.protocols.critic import play as critic
from tests.protocols.maci import play as maci
from tests.support.play import SECOND, BasePlay

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
        (FREE, Usage(input_tokens=9, calls=1, cached_tokens=8, unpriced=True), Usage(calls=1, unpriced=True)),
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


USUAL = Usage(input_tokens=1_200, output_tokens=300, calls=1)
WIDE = Caps(input_tokens=16_000, output_tokens=1_500, calls=2, reasoning_tokens=16_000)


def fits(play: consensus.Play | maci.Play, settings: dict[str, Any], **more: Any) -> None:
    """The session opened anew, as a moderator opens it."""
    protocol = PROTOCOLS[play.session.opened.protocol]
    request = OpenSession(
        question="A or B?", protocol=protocol.name, settings=settings, budget=more["budget"],
        documents=more.get("documents", ()),
    )  # fmt: skip
    opened = admit(protocol, request, more["there"], 7, "client", reasoning_tokens=16_000, fits=True)
    BasePlay.__init__(play, protocol, opened)


def fit_in(tokens: int, *wanted: PlannedTurn) -> list[Caps]:
    """The caps that turns get of so many tokens."""
    return widest(list(wanted), lambda each: sum(caps.all_tokens for caps in each) <= tokens)


def test_what_is_short_is_given_out_in_full_and_no_call_is_made_smaller() -> None:
    first, second = fit_in(30_000, PlannedTurn(WIDE, 3_000), PlannedTurn(WIDE, 3_000))
    assert first == second and 29_900 <= 2 * first.all_tokens <= 30_000
    wide = msgspec.structs.replace(WIDE, tokens=4 * (2_500 + 1_000 + 1_700))
    assert fit_in(60_000, PlannedTurn(WIDE, 3_000)) == [wide]
    assert (first.input_tokens, first.all_output, first.calls) == (WIDE.input_tokens, WIDE.all_output, 2)
    assert fit_in(10**6, PlannedTurn(WIDE, 3_000)) == [WIDE]


def test_a_turn_gets_what_such_turns_have_taken_and_room_beside_it() -> None:
    (known,) = fit_in(30_000, PlannedTurn(WIDE, 3_000, taken=1_200))
    floor = least(WIDE, 3_000, 1_200)
    assert floor.all_tokens == 1_500 + 1_000 and known.all_tokens == 4 * floor.all_tokens
    assert fit_in(2_500, PlannedTurn(WIDE, 3_000, taken=1_200)) == [msgspec.structs.replace(WIDE, tokens=2_500)]
    assert least(WIDE, 6_000, 1_200).all_tokens == floor.all_tokens + 1_000, "what it is shown has grown"


def test_steps_with_tools_share_one_sum_and_are_left_out_where_it_holds_one_call() -> None:
    tools = msgspec.structs.replace(WIDE, calls=12)
    (many,) = fit_in(20_000, PlannedTurn(tools, 0))
    assert many.calls == 12 and 19_000 <= many.all_tokens <= 20_000
    (one,) = fit_in(5_000, PlannedTurn(tools, 0))
    assert one.calls == 1 and one.all_tokens <= 5_000


def test_reservations_follow_what_turns_took() -> None:
    """Round 1 is reserved by the size of the prompts; what it took is what round 2 is reserved by."""
    play = consensus.Play({})
    alike = {"styles": {"*": "none"}}
    fits(play, alike, there=consensus.workers(3, metered=True), budget=Budget(tokens=60_000))
    first = {t.ask.seat: t.ask.caps.all_tokens for t in play.session.turns.values()}
    for i, seat in enumerate(play.panel):
        play.reply(seat, consensus.says(f"answer {i}"), usage=USUAL)
    play.reply("analyst", play.comparison(20), usage=USUAL)
    assert {name.rpartition(" ")[2] for name in play.session.taken} == {"", "answer", "compare"}
    second = {t.ask.seat: t.ask.caps.all_tokens for t in play.session.turns.values()}
    assert set(second) == set(play.panel) and all(second[seat] < first[seat] for seat in second)
    assert replay(PROTOCOLS.get, "s1", play.log).session == play.session


def test_an_estimate_says_what_is_likely_and_what_the_caps_come_to() -> None:
    play = critic.Play({"round_limit": 2}, there=critic.workers(metered=True), rewritten=False)
    found = estimate(PROTOCOLS["critic"], play.session.opened)
    assert found.likely.tokens * 5 < found.shortest_most.tokens < found.most.tokens
    assert found.likely.calls == found.likely.turns and found.likely == found.likely_most, "two rounds of two"


# ---------------------------------------------------------------- what a worker does not tell


PRICED: dict[str, Any] = {"metered": True, "usd_per_million_input": 2.0, "usd_per_million_output": 10.0}
METERED: dict[str, Any] = {"metered": True}
UNMETERED: dict[str, Any] = {}
TOKENS = Usage(input_tokens=1_000, output_tokens=100, calls=1)
COST = (1_000 * 2.0 + 100 * 10.0) / 1e6
DOCUMENT = document("a.md", "Vilnius is the capital of Lithuania. " * 100)
SILENT = Usage()
"""Of a worker that tells nothing."""


def played(there: dict[str, Any], usage: Usage, error: str = "") -> tuple[Play, log.Replied]:
    """The reply of one panelist, as it is appended."""
    play = Play(there=workers(3, **there), documents=[DOCUMENT])
    told = log.Replied(turn=play.turn("panelist_1").id, body=raw(says("Vilnius")), usage=usage, error=error)
    event = counted(play.protocol, play.session, told)
    assert isinstance(event, log.Replied)
    play.event(event, event.turn)
    return play, event


@pytest.mark.parametrize(
    ("there", "told", "tokens", "cost", "marked"),
    [
        pytest.param(PRICED, TOKENS, 1_100, COST, "", id="announced prices are multiplied"),
        pytest.param(PRICED, msgspec.structs.replace(TOKENS, cost_usd=0.002), 1_100, 0.002, "", id="told cost stays"),
        pytest.param(PRICED, SILENT, ..., ..., "estimated", id="silent, with prices"),
        pytest.param(METERED, TOKENS, 1_100, 0.0, "unpriced", id="no price is known"),
        pytest.param(METERED, SILENT, ..., 0.0, "estimated unpriced", id="silent, without prices"),
        pytest.param(METERED, msgspec.structs.replace(TOKENS, cost_usd=3.0), 1_100, 0.0, "unpriced overstated",
                     id="money that nobody announced"),
        pytest.param(METERED, msgspec.structs.replace(TOKENS, unpriced=False), 1_100, 0.0, "", id="known to be free"),
        pytest.param(METERED, Usage(calls=1, unpriced=False), 0, 0.0, "", id="computed without a call"),
        pytest.param(UNMETERED, SILENT, 0, 0.0, "", id="no language model"),
        pytest.param(UNMETERED, TOKENS, 0, 0.0, "unpriced overstated", id="not metered, and tells tokens"),
    ],
)  # fmt: skip
def test_what_a_worker_does_not_tell_is_counted(
    there: dict[str, Any], told: Usage, tokens: object, cost: object, marked: str
) -> None:
    play, event = played(there, told)
    usage = play.session.ledger.report().by_seat["panelist_1"]
    booked = usage.input_tokens + usage.output_tokens
    assert booked > 1_000 if tokens is ... else booked == tokens
    assert usage.cost_usd > 0.002 if cost is ... else usage.cost_usd == pytest.approx(cost)
    assert {*event.flags} == {*marked.split()} - {"overstated"}
    assert usage.calls == (max(1, told.calls) if booked else told.calls)
    play.cancel()
    ended = play.result
    assert ended.usage.estimated is ("estimated" in marked) and bool(ended.usage.unpriced) is ("unpriced" in marked)
    assert_shown(play, ended, unpriced="unpriced" in marked, estimated="estimated" in marked)


def assert_shown(play: Play, ended: Result, *, unpriced: bool, estimated: bool) -> None:
    """Every place that tells the cost marks it: words, explanation, MCP, lists, metrics."""
    line = SessionLine(**msgspec.structs.asdict(rows._with_result(rows.of(play.session), raw(ended))))
    for text in (str(to_api(ended)), verdicts.verdict(ended), cost_words(ended.usage), line.cost):
        assert ("price unknown" in text or "not known" in text) is unpriced, text
        assert ("0.0000 USD" in text) is (not unpriced and not ended.usage.cost_usd), text
    assert ("about " in str(to_api(ended))) is estimated
    told = verdict_of(ended).usage
    assert (told.unpriced, told.estimated) == (unpriced, estimated)
    event = next(e.event for e in play.entries if isinstance(e.event, log.Replied))
    if event.usage.input_tokens:
        series = {s.series: s.value for s in _of_call(Call(0, "m", event.usage))}
        assert (series["unpriced_tokens_total"] > 0) is bool(event.usage.unpriced)


def test_a_turn_that_failed_is_not_estimated_and_what_it_used_is_priced() -> None:
    assert played(PRICED, SILENT, "down")[1].usage == SILENT
    assert played(PRICED, TOKENS, "down")[1].usage.cost_usd == pytest.approx(COST)
