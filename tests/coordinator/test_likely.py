"""Budgets that are short: turns get narrower caps down to what they need, and the budget is kept all the same."""

from typing import Any

import msgspec

from parley.coordinator.admission import admit
from parley.coordinator.budget import Wanted, least, reservation, widest
from parley.coordinator.estimate import estimate
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.replay import replay
from parley.schemas import log
from parley.schemas.session import Budget, OpenSession, Seat
from parley.schemas.turn import Caps, Usage
from tests.protocols.consensus import play as consensus
from tests.protocols.critic import play as critic
from tests.protocols.maci import play as maci
from tests.support.play import BasePlay

USUAL = Usage(input_tokens=1_200, output_tokens=300, calls=1)
PAID = Seat(seat="s", role="r", queue="q", metered=True)
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


def asks(play: consensus.Play | maci.Play) -> list[log.Ask]:
    return [c for e in play.entries for c in e.commands if isinstance(c, log.Ask)]


def test_100_000_tokens_play_two_rounds_of_consensus() -> None:
    play = consensus.Play({"round_limit": 2})
    fits(play, {"round_limit": 2}, there=consensus.workers(3, metered=True), budget=Budget(tokens=100_000))
    for round_ in (1, 2):
        for i, seat in enumerate(play.panel):
            play.reply(seat, consensus.says(f"answer {i} of round {round_}"), usage=USUAL)
        play.reply("analyst", play.comparison(20 + round_), usage=USUAL)
    assert play.result.stop.reason == "round_limit"
    assert {a.caps.tokens for a in asks(play)} != {msgspec.UNSET}, "the first turns were narrower than the settings"


def test_60_000_tokens_start_a_round_of_maci() -> None:
    there = maci.workers(2, ("two", "three", "four"), metered=True)
    play = maci.Play()
    fits(
        play,
        {"judges": 3, "outcomes": ["a", "b"]},
        there=there,
        budget=Budget(tokens=60_000),
        documents=(maci.document(),),
    )
    assert not estimate(PROTOCOLS["maci"], play.session.opened).shortfall


def test_a_budget_is_kept_whatever_its_turns_come_to() -> None:
    play = consensus.Play({})
    fits(play, {}, there=consensus.workers(3, metered=True), budget=Budget(tokens=60_000))
    while play.session.stopped is None:
        for turn in list(play.session.turns.values()):
            caps = turn.ask.caps
            output = min(caps.all_output * caps.calls, caps.all_tokens)
            all_ = Usage(input_tokens=caps.all_tokens - output, output_tokens=output, calls=caps.calls)
            play.reply(turn.ask.seat, None, error="too long", usage=all_)
            assert play.session.ledger.used().tokens <= 60_000
    assert play.session.stopped.reason in ("budget", "quorum")


def test_without_a_limit_no_cap_is_narrowed() -> None:
    play = consensus.Play({}, there=consensus.workers(3, metered=True))
    assert {a.caps.input_tokens for a in asks(play)} == {16_000}


def fit_in(tokens: int, *wanted: Wanted) -> list[Caps]:
    """The caps that turns get of so many tokens."""
    return widest(list(wanted), lambda each: sum(caps.all_tokens for caps in each) <= tokens)


def test_what_is_short_is_given_out_in_full_and_no_call_is_made_smaller() -> None:
    first, second = fit_in(30_000, Wanted(WIDE, 3_000), Wanted(WIDE, 3_000))
    assert first == second and 29_900 <= 2 * first.all_tokens <= 30_000
    assert fit_in(60_000, Wanted(WIDE, 3_000)) == [msgspec.structs.replace(WIDE, tokens=4 * (2_500 + 1_000 + 1_700))]
    assert (first.input_tokens, first.all_output, first.calls) == (WIDE.input_tokens, WIDE.all_output, 2)
    assert fit_in(10**6, Wanted(WIDE, 3_000)) == [WIDE]


def test_a_turn_gets_what_such_turns_have_taken_and_room_beside_it() -> None:
    (known,) = fit_in(30_000, Wanted(WIDE, 3_000, taken=1_200))
    floor = least(WIDE, 3_000, 1_200)
    assert floor.all_tokens == 1_500 + 1_000 and known.all_tokens == 4 * floor.all_tokens
    assert fit_in(2_500, Wanted(WIDE, 3_000, taken=1_200)) == [msgspec.structs.replace(WIDE, tokens=2_500)]
    assert least(WIDE, 6_000, 1_200).all_tokens == floor.all_tokens + 1_000, "what it is shown has grown"


def test_steps_with_tools_share_one_sum_and_are_left_out_where_it_holds_one_call() -> None:
    tools = msgspec.structs.replace(WIDE, calls=12)
    (many,) = fit_in(20_000, Wanted(tools, 0))
    assert many.calls == 12 and 19_000 <= many.all_tokens <= 20_000
    (one,) = fit_in(5_000, Wanted(tools, 0))
    assert one.calls == 1 and one.all_tokens <= 5_000


def test_reservations_follow_what_turns_took() -> None:
    """Round 1 is reserved by the size of the prompts; what it took is what round 2 is reserved by."""
    play = consensus.Play({})
    fits(play, {}, there=consensus.workers(3, metered=True), budget=Budget(tokens=60_000))
    first = {t.ask.seat: t.ask.caps.all_tokens for t in play.session.turns.values()}
    for i, seat in enumerate(play.panel):
        play.reply(seat, consensus.says(f"answer {i}"), usage=USUAL)
    play.reply("analyst", play.comparison(20), usage=USUAL)
    assert {name.rpartition(" ")[2] for name in play.session.taken} == {"", "answer", "compare"}
    second = {t.ask.seat: t.ask.caps.all_tokens for t in play.session.turns.values()}
    assert set(second) == set(play.panel) and all(second[seat] < first[seat] for seat in second)
    assert replay(PROTOCOLS.get, "s1", play.log).session == play.session


def test_where_money_is_short_turns_get_less_of_what_is_dear() -> None:
    dear = msgspec.structs.replace(PAID, usd_per_million_input=1.0, usd_per_million_output=10.0)
    (some,) = widest([Wanted(WIDE, 0)], lambda each: sum(reservation(dear, c).cost_usd for c in each) <= 0.05)
    (little,) = widest([Wanted(WIDE, 0)], lambda each: sum(reservation(dear, c).cost_usd for c in each) <= 0.02)
    assert some.output_tokens == WIDE.output_tokens and reservation(dear, some).cost_usd <= 0.05
    assert little.calls == 1 and little.output_tokens >= 700 and reservation(dear, little).cost_usd <= 0.02


def test_an_estimate_says_what_is_likely_and_what_the_caps_come_to() -> None:
    play = critic.Play({"round_limit": 2}, there=critic.workers(metered=True), rewritten=False)
    found = estimate(PROTOCOLS["critic"], play.session.opened)
    assert found.likely.tokens * 5 < found.shortest_most.tokens < found.most.tokens
    assert found.likely.calls == found.likely.turns and found.likely == found.likely_most, "two rounds of two"
