"""Budgets that are short: turns get narrower caps down to what they need, and the budget is kept all the same."""

from typing import Any

import msgspec
import pytest

from parley.coordinator.admission import admit
from parley.coordinator.budget import least, likely, narrower, reservation, total
from parley.coordinator.estimate import estimate
from parley.coordinator.protocols import PROTOCOLS
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
    assert {a.caps.input_tokens for a in asks(play)} != {16_000}, "the first turns were narrower than the settings"


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
            all_ = Usage(
                input_tokens=caps.input_tokens * caps.calls,
                output_tokens=caps.all_output * caps.calls,
                calls=caps.calls,
            )
            play.reply(turn.ask.seat, None, error="too long", usage=all_)
            assert play.session.ledger.used().tokens <= 60_000
    assert play.session.stopped.reason in ("budget", "quorum")


def test_without_a_limit_no_cap_is_narrowed() -> None:
    play = consensus.Play({}, there=consensus.workers(3, metered=True))
    assert {a.caps.input_tokens for a in asks(play)} == {16_000}


def test_caps_narrow_from_what_is_least_needed() -> None:
    floor = least(WIDE, 3_000)
    rows = list(narrower(WIDE, floor))
    assert rows[0] == WIDE and rows[-1] == floor
    assert rows[1].calls == 2 and rows[1].output_tokens == 1_500 and rows[1].input_tokens == floor.input_tokens


def test_steps_with_tools_have_room_for_what_tools_return_and_become_fewer_at_last() -> None:
    steps = msgspec.structs.replace(WIDE, calls=12)
    floor = least(steps, 0)
    assert floor.calls == 12 and floor.input_tokens > least(WIDE, 0).input_tokens
    rows = list(narrower(steps, floor))
    assert len(rows) == len(list(narrower(WIDE, least(WIDE, 0)))), "turns that are asked together narrow together"
    assert [row.calls for row in rows] == [12] * 7 + [7, 5, 3, 3]
    assert rows[-1] == msgspec.structs.replace(floor, calls=3)


@pytest.mark.parametrize(
    ("turns", "content", "used"),
    [
        pytest.param(17, 160, 29_726, id="consensus, a database"),
        pytest.param(16, 160, 15_141, id="consensus, coins"),
        pytest.param(9, 160, 9_869, id="critic, coffee"),
        pytest.param(5, 40, 3_356, id="critic, a prime"),
        pytest.param(18, 3_300, 39_422, id="maci, three rounds"),
        pytest.param(28, 3_300, 82_078, id="maci, eight rounds"),
    ],
)
def test_what_is_likely_is_within_a_factor_of_two_of_recorded_sessions(turns: int, content: int, used: int) -> None:
    """Sessions that were played by hand with a strong model: turns, bytes of question and documents, tokens."""
    told = total(reservation(PAID, likely(WIDE, content)) for _ in range(turns)).tokens
    assert used / 2 <= told <= used * 2


def test_an_estimate_says_what_is_likely_and_what_the_caps_come_to() -> None:
    play = critic.Play({"round_limit": 2}, there=critic.workers(metered=True), rewritten=False)
    found = estimate(PROTOCOLS["critic"], play.session.opened)
    assert found.likely.tokens * 5 < found.shortest_most.tokens < found.most.tokens
    assert found.likely.calls == found.likely.turns == found.shortest_most.turns
