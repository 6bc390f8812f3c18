"""Minds can change, and agreement ends a debate: stated beliefs, the devil's advocate, the stop `agreement`."""

from itertools import pairwise
from typing import Any

import pytest

from parley.client.protocols.maci.gates import kept_apart
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.protocols.maci.state import State
from parley.coordinator.replay import replay
from parley.coordinator.schedulers import controller
from parley.coordinator.schedulers.controller import advance, begin
from parley.schemas.control import Control
from parley.schemas.protocols.maci.messages import ArgueBrief
from parley.schemas.wire import decode, encode
from tests.protocols.maci.play import (
    AGAINST,
    AGREED,
    FOR,
    GATED,
    NAMES,
    PAPER,
    Play,
    advocate_of,
    argument,
    begun,
    belief,
    case,
    check_up,
)
from tests.protocols.maci.rounds import seen

DENGUE, CHIKUNGUNYA = belief(0.8, 0.2), belief(0.1, 0.9)


def advocates(play: Play) -> dict[int, list[str]]:
    """Round -> who was told to argue against the shared answer."""
    told: dict[int, list[str]] = {}
    for ask in [ask for kind in ("argue", "attack", "answer") for ask in play.asks(kind)]:
        told.setdefault(ask.round, [])
        assert (ask.kind == "attack") is bool(decode(ask.brief, ArgueBrief).against)
        if ask.kind == "attack":
            told[ask.round].append(ask.seat)
    return told


# ---------------------------------------------------------------- minds can change


def test_from_unanimity_one_debater_changes_its_mind_says_why_and_is_followed() -> None:
    """The case of the trials: both blind at dengue .8; from round 1 on one is convinced of chikungunya at .9."""
    play = begun(None, DENGUE, DENGUE)
    first = advocate_of(play)
    (second,) = set(NAMES) - {first}
    play.round(*[case(CHIKUNGUNYA, argument("the joints", 2), changed="joint pain")] * 2)
    assert play.phase == "arguing" and not play.signals["held"]
    assert play.last("signals")["beliefs"][first][1] == {"outcome": "chikungunya", "p": 0.9}
    assert [kind for _, kind in play.asked()] == ["argue", "argue"], "they hold different answers"
    told = {seat: play.brief(seat) for seat in NAMES}
    assert told[first]["belief"][1]["p"] == 0.9 == told[second]["opponents"][0][1]["p"], "both are told"
    play.round(*[case(CHIKUNGUNYA, argument("the joints again", 2))] * 2)
    assert play.phase == "arguing", "a new agreement, which nobody has argued against"
    play.same(CHIKUNGUNYA, CHIKUNGUNYA)
    assert play.phase == "arguing", "nobody has read the devil's advocate yet"
    play.same(CHIKUNGUNYA, CHIKUNGUNYA)
    assert (play.stop["reason"], play.stop["converged"]) == ("agreement", True)
    play.plan(check_up())
    assert play.result.outcome["answer"] == "chikungunya" and play.result.outcome["vote"] == "dengue"


def test_in_the_papers_reading_the_same_debater_is_held_back() -> None:
    play = begun(PAPER, DENGUE, DENGUE)
    play.round(case(CHIKUNGUNYA, argument("the joints", 2)), case(DENGUE, argument("the platelets")))
    assert play.signals["held"] and play.brief("debater_1")["belief"][0] == {"outcome": "dengue", "p": 0.8}


# ---------------------------------------------------------------- agreement


def test_agreement_ends_it_after_a_round_with_a_devils_advocate() -> None:
    """All hold the same answer after the blind round; one is to argue against it. The other is shown its admitted
    argument, answers it, and nobody gives way."""
    play = begun(None, AGREED, FOR)
    (advocate,) = advocates(play)[1]
    assert play.brief(advocate)["against"] == "dengue" and play.last("signals")["next_advocate"] == advocate
    play.round(case(AGREED, argument("x")), case(FOR, argument("y")))
    assert play.phase == "arguing" and play.signals["attacks"] == 1 and play.last("signals")["next_advocate"] == ""
    (attack,) = [entry.post for entry in play.session.inner.record if entry.seat == advocate]
    (other,) = [seat for seat in NAMES if seat != advocate]
    assert play.asked() == [(other, "answer")], "the advocate has said what it had to say"
    assert play.brief(other)["answers"] == [play.session.inner.record[0].id] and play.brief(other)["shared"] == "dengue"
    assert attack in play.ask(other).sees and advocates(play)[2] == []
    play.round(case(AGREED), case(FOR))
    assert (play.stop["reason"], play.stop["converged"]) == ("agreement", True)
    tests = play.certificate["stops"]["agreement"]["tests"]
    assert [t["holds"] for t in tests] == [True] * 5 and [t["value"] for t in tests][3:] == [1, 0.0]
    assert play.certificate["advocates"] == [{"round": 1, "seat": advocate, "arguments": 1, "admitted": 1, "tests": 1}]
    assert play.certificate["history"][1]["advocate"] == advocate
    assert play.phase == "done" and play.asks("plan") == [], "nothing is left to tell apart"
    assert play.result.stop.converged and play.result.outcome["answer"] == "dengue"
    assert replay(PROTOCOLS.get, "s1", play.log).entries == tuple(play.entries)


def test_who_gives_way_in_the_advocates_round_makes_it_go_on() -> None:
    """Even where all still hold the same: it has moved somebody, so it is attacked once more."""
    play = begun(None, FOR, FOR)
    less = [belief(0.84, 0.16) if seat == advocate_of(play) else FOR for seat in NAMES]
    play.same(*less)
    play.same(*less)
    assert play.phase == "arguing" and len(advocates(play)[3]) == 1
    play.same(*less)
    play.same(*less)
    assert play.stop["reason"] == "agreement" and play.certificate["round"] == 4


@pytest.mark.parametrize("beliefs", [(belief(0.5, 0.5), belief(0.5, 0.5)), (belief(0.55, 0.45), belief(0.45, 0.55))])
def test_the_undecided_and_those_of_other_answers_do_not_agree(beliefs: Any) -> None:
    """However near their beliefs are."""
    play = begun(None, *beliefs)
    assert play.signals["jsd"] < 0.1 and play.signals["shared"] == "" and advocates(play)[1] == []
    assert begun(None, beliefs[0], belief(0.51, 0.49)).signals["shared"] == ("dengue" if beliefs[0][0].p > 0.5 else "")


def test_the_same_answer_at_too_great_a_distance_is_no_agreement() -> None:
    for near, agreed in ((0.05, 0), (0.5, 1)):
        play = begun({"near_consensus": near}, belief(0.99, 0.01), belief(0.6, 0.4))
        assert play.signals["shared"] == "dengue" and 0.05 < play.signals["jsd"] < 0.5
        assert len(advocates(play)[1]) == agreed


# ---------------------------------------------------------------- nothing to add


def test_nobody_having_anything_to_add_is_a_plateau() -> None:
    """Without agreement, so it is a deadlock. Two rounds (tau_stop), whatever was cited."""
    play = begun(None, FOR, AGAINST)
    play.round(case(FOR), case(AGAINST))
    assert play.phase == "arguing" and play.signals["pi_i"] and play.signals["pi_d"]
    play.round(case(FOR), case(AGAINST))
    assert (play.stop["reason"], play.stop["converged"]) == ("plateau", False)
    test, *_ = play.certificate["stops"]["plateau"]["tests"]
    assert (test["test"], test["value"]) == ("rounds in which nobody had anything to add, and nobody moved", 2)


def test_evidence_is_counted_over_the_record() -> None:
    """Each cited the same passage, in different rounds, and was told not to repeat what is in the record."""
    play = begun({**GATED, "tau_stop": 3}, FOR, AGAINST)
    play.round(case(FOR, argument("x", 1)), case(AGAINST))
    assert play.signals["overlap"] == 0
    play.round(case(FOR), case(AGAINST, argument("y", 1), argument("refused", 2, q=0.1)))
    assert play.signals["overlap"] == 1
    play.round(case(FOR), case(AGAINST))
    assert play.signals["overlap"] == 1 and play.signals["q"] == pytest.approx(0.8)
    assert (play.stop["reason"], play.stop["converged"]) == ("plateau", False), "equation 10, over the record"


def test_the_advocate_is_drawn_by_seed_and_round() -> None:
    drawn = {advocates(begun(None, FOR, FOR, seed=seed))[1][0] for seed in range(12)}
    assert drawn == set(NAMES)
    play = begun({"tau_stop": 9}, FOR, FOR)
    while play.phase == "arguing":
        play.same(FOR, FOR, score=0.1)
        assert decode(encode(play.session.inner), State) == play.session.inner
    assert {seat for (seat,) in advocates(play).values()} == set(NAMES)
    assert all(a != b for (_, a), (_, b) in pairwise(sorted(advocates(play).items()))), "nobody is it twice in a row"


# ---------------------------------------------------------------- no answer


def test_debaters_that_hold_everything_equally_likely_have_not_converged() -> None:
    """D.5 sees no disagreement there, and so would call it convergence."""
    config, level = Control(round_limit=2), (1 / 3, 1 / 3, 1 / 3)
    state = advance(config, begin(config, ("a", "b", "c"), seen(level, level)), seen(level, level))
    state = advance(config, state, seen(level, level))
    found = controller.verdict(config, state)
    assert found is not None and found.reason == "plateau"
    assert not found.converged and found.certificate["near_consensus"]["holds"]
    assert found.certificate["one_answer"]["value"] == 3 and not found.certificate["one_answer"]["holds"]
    assert kept_apart(found.certificate) == "3 outcomes are equally likely"
