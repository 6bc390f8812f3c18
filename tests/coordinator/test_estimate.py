"""The estimate against the machine: the dearest run comes to `most`, and a budget of `least` pays for one round."""

from collections import Counter
from typing import Any

import msgspec
import pytest

from parley.coordinator.budget import reservation, total
from parley.coordinator.estimate import Estimate, check, estimate
from parley.coordinator.machine import Inadmissible
from parley.coordinator.protocols import PROTOCOLS
from parley.schemas import log
from parley.schemas.protocols.critic import Judgement, Rewritten, Verdict
from parley.schemas.session import Budget
from parley.schemas.turn import Usage
from tests.protocols.consensus import play as consensus_play
from tests.protocols.consensus.play import says
from tests.protocols.critic import play as critic_play

PRICED = {"metered": True, "usd_per_million_input": 3.0, "usd_per_million_output": 9.0}
CAPS = {"max_input_tokens": 200, "max_output_tokens": 50}
TURN = 2 * 250
"""Tokens that a turn reserves: its caps, and a repair."""
PRICE = 2 * (200 * 3 + 50 * 9) / 1e6


def consensus(settings: dict[str, Any], **more: Any) -> consensus_play.Play:
    return consensus_play.Play({**CAPS, **settings}, there=consensus_play.workers(3, **PRICED), **more)


def critic(settings: dict[str, Any], **more: Any) -> critic_play.Play:
    return critic_play.Play({**CAPS, **settings}, there=critic_play.workers(**PRICED), rewritten=False, **more)


def of(play: consensus_play.Play | critic_play.Play) -> Estimate:
    opened = play.session.opened
    return estimate(PROTOCOLS[opened.protocol], opened)


def asked(play: consensus_play.Play | critic_play.Play) -> tuple[Counter[str], int, float]:
    """What a run asked: (turns by seat, tokens reserved, money reserved)."""
    asks = [c for e in play.entries for c in e.commands if isinstance(c, log.Ask)]
    seats = {s.seat: s for s in play.session.opened.seats}
    sum_ = total(reservation(seats[a.seat], a.caps) for a in asks)
    return Counter(a.seat for a in asks), sum_.tokens, sum_.cost_usd


def fails_first(play: critic_play.Play, seat: str) -> None:
    play.reply(seat, None, error="model unreachable")


def test_consensus_one_round() -> None:
    """The answers, a comparison, and a signature of each seat, which is held back for; a panel that says the same uses
    less."""
    play = consensus({"attempts": 1})
    found = of(play)
    assert (found.shortest_most.turns, found.shortest_most.tokens, found.shortest_most.calls) == (7, 7 * TURN, 14)
    assert found.shortest_most.cost_usd == pytest.approx(7 * PRICE)
    assert {s.seat: s.shortest_most.turns for s in found.seats} == dict.fromkeys(play.panel, 2) | {"analyst": 1}
    play.round(95, "x", "x", "x")
    assert play.session.closed and asked(play)[:2] == (Counter(play.panel), 3 * TURN)


def test_consensus_the_dearest_run() -> None:
    play = consensus({"attempts": 2, "round_limit": 3, "threshold": 100, "stuck_rounds": 50})
    for n in (1, 2, 3):
        for seat in play.panel:
            play.fail(seat, times=1)
            play.reply(seat, says(f"It is x. {seat} says so in round {n}"))
        play.fail("analyst", times=1)
        play.compare({"x": "123"}, near=100)
        for again in (False, True) if n == 1 else (False,):
            play.fail("analyst", times=1)
            play.synthesize(f"x as of round {n}{', again' * again}")
            for seat in play.panel:
                play.fail(seat, times=1)
                play.sign(seat, "neither")
    assert play.stop["reason"] == "round_limit"
    found = of(play)
    turns, tokens, cost = asked(play)
    assert {s.seat: s.most.turns for s in found.seats} == turns
    assert (found.most.turns, found.most.tokens, found.rounds) == (sum(turns.values()), tokens, 3)
    assert found.most.cost_usd == pytest.approx(cost)


def test_critic_one_round() -> None:
    """The critic has nothing to object to."""
    play = critic({"attempts": 1})
    play.reply("judge", Rewritten(question=critic_play.REWRITTEN))
    play.answers()
    play.objects()
    play.verdict()
    assert play.session.closed
    found = of(play)
    turns, tokens, cost = asked(play)
    assert {s.seat: s.shortest_most.turns for s in found.seats if s.shortest_most.turns} == turns
    assert found.shortest_most.tokens == tokens
    assert found.shortest_most.cost_usd == pytest.approx(cost)


@pytest.mark.parametrize("rounds", [4, 1])
def test_critic_the_dearest_run(rounds: int) -> None:
    """The critic objects in each round; a verdict goes back; every turn fails once."""
    play = critic({"attempts": 2, "round_limit": rounds, "threshold": 100, "measure_bias": True})
    fails_first(play, "judge")
    play.reply("judge", Rewritten(question=critic_play.REWRITTEN))
    for n in range(1, rounds + 1):
        fails_first(play, "answerer")
        play.answers()
        fails_first(play, "critic")
        play.objects(f"objection {n}")
        for _ in range(2):
            fails_first(play, "judge")
            play.reply("judge", Judgement(score=10))
    for answer, still in (("Some tape", (1,)), ("Less tape", ())):
        fails_first(play, "judge")
        play.reply("judge", Verdict(answer=answer, reasoning="it held", ruling="narrows"))
        fails_first(play, "answerer")
        play.signs()
        fails_first(play, "critic")
        play.countersigns(*still)
    assert play.stop["reason"] == "round_limit"
    found = of(play)
    turns, tokens, cost = asked(play)
    assert {s.seat: s.most.turns for s in found.seats if s.most.turns} == turns
    assert (found.most.turns, found.most.tokens) == (sum(turns.values()), tokens)
    assert found.most.cost_usd == pytest.approx(cost)


def test_unmetered_models_cost_no_tokens_but_calls() -> None:
    play = consensus_play.Play({"round_limit": 2, "attempts": 1})
    found = of(play)
    assert (found.shortest_most.tokens, found.shortest_most.cost_usd, found.shortest_most.calls) == (0, 0.0, 14)
    assert (found.most.turns, found.most.calls) == (20, 40)
    assert not any(s.metered for s in found.seats)


@pytest.mark.parametrize("name", ["tokens", "calls", "cost_usd"])
def test_a_budget_of_exactly_one_round_is_taken_and_one_below_is_refused(name: str) -> None:
    found = of(consensus({"attempts": 1}))
    exact = getattr(found.shortest_most, name)
    play = consensus({"attempts": 1}, budget=Budget(**{name: exact}))
    check(PROTOCOLS["consensus"], play.session.opened)
    all_of_it = Usage(input_tokens=400, output_tokens=100, calls=2, cost_usd=PRICE)
    for seat, answer in zip(play.panel, ("x", "x", "y"), strict=True):
        play.reply(seat, says(answer), usage=all_of_it)
    play.reply("analyst", play.comparison(30), usage=all_of_it)
    assert play.turns().keys() == {"panelist_3"} and play.turn("panelist_3").ask.final
    play.sign("panelist_3", "rival")
    assert play.stop["reason"] == "budget", "no second round fits"
    assert [r["source"] for r in play.result.rounds] == ["analyst"]
    below = exact * 0.999 if name == "cost_usd" else exact - 1
    short = msgspec.structs.replace(play.session.opened, budget=Budget(**{name: below}))
    with pytest.raises(Inadmissible, match=rf"^budget\.{name}: limit [\d.]+, one round may take [\d.]+$") as caught:
        check(PROTOCOLS["consensus"], short)
    assert caught.value.field == f"budget.{name}"
