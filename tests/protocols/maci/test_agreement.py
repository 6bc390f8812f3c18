"""Minds can change, and agreement ends a debate: stated beliefs, the devil's advocate, the stop `agreement`."""

from pathlib import Path
from typing import Any

import pytest

from client.records import read_record
from coordinator.protocols import PROTOCOLS
from coordinator.protocols.maci.state import State
from coordinator.replay import replay
from schemas.wire import decode, encode
from tests.protocols.maci.play import AGAINST, AGREED, FOR, NAMES, PAPER, Play, argument, begun, belief, case, check_up

OLD_LOGS = Path(__file__).parents[2] / "old_logs"
DENGUE, CHIKUNGUNYA = belief(0.8, 0.2), belief(0.1, 0.9)


def advocates(play: Play) -> dict[int, list[str]]:
    """Round -> who was told to argue against the shared answer."""
    told: dict[int, list[str]] = {}
    for ask in play.asks("argue"):
        told.setdefault(ask.round, [])
        if b'"against"' in bytes(ask.brief):
            told[ask.round].append(ask.seat)
    return told


# ---------------------------------------------------------------- minds can change


def test_from_unanimity_one_debater_changes_its_mind_says_why_and_is_followed() -> None:
    """The case of the trials: both blind at dengue .8; from round 1 on one is convinced of chikungunya at .9."""
    play = begun(None, DENGUE, DENGUE)
    play.round(
        case(CHIKUNGUNYA, argument("the joints", 2), changed="joint pain"), case(DENGUE, argument("the platelets"))
    )
    assert play.phase == "arguing" and not play.signals["held"]
    assert play.last("signals")["beliefs"]["debater_1"][1] == {"outcome": "chikungunya", "p": 0.9}
    told = {seat: play.brief(seat) for seat in NAMES}
    assert told["debater_1"]["belief"][1]["p"] == 0.9 == told["debater_2"]["opponents"][0][1]["p"], "both are told"
    play.round(case(CHIKUNGUNYA, argument("the joints again", 2)), case(CHIKUNGUNYA, changed="the joints speak for it"))
    assert play.phase == "arguing", "a new agreement, which nobody has argued against"
    play.same(CHIKUNGUNYA, CHIKUNGUNYA)
    assert (play.stop["reason"], play.stop["converged"]) == ("agreement", True)
    play.plan(check_up())
    assert play.result.outcome["answer"] == "chikungunya" and play.result.outcome["vote"] == "dengue"


def test_in_the_papers_reading_the_same_debater_is_held_back() -> None:
    play = begun(PAPER, DENGUE, DENGUE)
    play.round(case(CHIKUNGUNYA, argument("the joints", 2)), case(DENGUE, argument("the platelets")))
    assert play.signals["held"] and play.brief("debater_1")["belief"][0] == {"outcome": "dengue", "p": 0.8}


@pytest.mark.parametrize(
    ("settings", "gated", "ends"),
    [
        ({}, False, True),
        (PAPER, True, False),
        ({"monotone_gate": True}, True, True),
        ({"agreement": False}, False, False),
        ({**PAPER, "monotone_gate": False, "agreement": True}, False, True),
    ],
)
def test_the_reading_stands_behind_what_no_setting_names(settings: dict[str, Any], gated: bool, ends: bool) -> None:
    read = Play(settings).session.settings
    assert (read.gated, read.agreement_ends) == (gated, ends)
    play = begun(settings, DENGUE, DENGUE)
    assert bool(advocates(play)[1]) is ends
    play.same(DENGUE, belief(0.1, 0.9))
    assert play.signals["held"] is gated


# ---------------------------------------------------------------- agreement


@pytest.mark.parametrize("commit", ["092e006", "8f75d90"])
def test_a_session_of_an_earlier_version_keeps_the_papers_reading(commit: str) -> None:
    """It recomputes to the entries that were recorded then."""
    old = read_record(OLD_LOGS / commit / "maci.jsonl")
    found = replay(PROTOCOLS.get, old.sid, old.entries)
    assert len(found.entries) == len(old.entries) and found.result is not None


def test_agreement_ends_it_after_a_round_with_a_devils_advocate() -> None:
    """All hold the same answer after the blind round; one is to argue against it, and nobody gives way."""
    play = begun(None, AGREED, FOR)
    (advocate,) = advocates(play)[1]
    assert play.brief(advocate)["against"] == "dengue" and play.last("signals")["next_advocate"] == advocate
    play.round(case(AGREED, argument("x")), case(FOR, argument("y", q=0.1)))
    assert (play.stop["reason"], play.stop["converged"]) == ("agreement", True)
    assert play.signals["advocate"] == advocate and play.signals["yielded"] == 0 == play.signals["moved"]
    tests = play.certificate["stops"]["agreement"]["tests"]
    assert [t["holds"] for t in tests] == [True] * 4 and [t["value"] for t in tests][2:] == [1, 0.0]
    admitted = {"debater_1": 1, "debater_2": 0}[advocate]
    assert play.certificate["advocates"] == [{"round": 1, "seat": advocate, "arguments": 1, "admitted": admitted}]
    assert play.certificate["history"][1]["advocate"] == advocate
    play.plan(check_up())
    assert play.result.stop.converged and play.result.outcome["answer"] == "dengue"
    assert replay(PROTOCOLS.get, "s1", play.log).entries == tuple(play.entries)


def test_agreement_is_never_called_in_the_blind_round() -> None:
    """Somebody must have argued against it."""
    play = begun(None, AGREED, AGREED)
    assert play.phase == "arguing" and not play.posts("stop")


def test_an_agreement_that_comes_later_has_its_devils_advocate_too() -> None:
    play = begun(None, FOR, AGAINST)
    assert advocates(play)[1] == [] and "next_advocate" not in play.last("signals")
    play.same(FOR, FOR)
    (advocate,) = advocates(play)[2]
    play.same(FOR, FOR)
    assert play.stop["reason"] == "agreement" and play.signals["advocate"] == advocate


def test_who_gives_way_in_the_advocates_round_makes_it_go_on() -> None:
    """Even where all still hold the same: it has moved somebody, so it is attacked once more."""
    play = begun(None, FOR, FOR)
    play.same(belief(0.84, 0.16), FOR)
    assert play.phase == "arguing" and play.signals["yielded"] == pytest.approx(0.06)
    play.same(belief(0.84, 0.16), FOR)
    assert play.stop["reason"] == "agreement" and play.certificate["round"] == 2


def test_a_drift_below_a_stated_move_and_a_surer_debater_are_no_giving_way() -> None:
    play = begun({"least_move": 0.05}, FOR, FOR)
    play.same(belief(0.86, 0.14), belief(0.99, 0.01))
    assert play.stop["reason"] == "agreement" and play.signals["yielded"] == pytest.approx(0.04)
    assert play.signals["moved"] == pytest.approx(0.09)


def test_an_advocate_that_misses_its_turn_has_attacked_nothing() -> None:
    play = begun(None, FOR, FOR)
    (advocate,) = advocates(play)[1]
    play.round(*(None if seat == advocate else case(FOR, argument("x")) for seat in NAMES))
    assert play.phase == "arguing" and play.signals["advocate"] == "" and len(advocates(play)[2]) == 1


def test_an_advocate_that_finds_nothing_against_it_ends_it_too() -> None:
    """It was asked, and said so."""
    play = begun(None, FOR, FOR)
    play.round(case(FOR, changed="the passages hold nothing against it"), case(FOR))
    assert play.stop["reason"] == "agreement" and play.certificate["advocates"][0]["arguments"] == 0


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


def test_agreement_comes_before_the_other_reasons() -> None:
    play = begun({"round_limit": 1, "tau_stop": 1}, AGREED, AGREED)
    play.same(AGREED, AGREED)
    holds = {name: stop["holds"] for name, stop in play.certificate["stops"].items()}
    assert holds.keys() == {"agreement", "plateau", "stalemate", "budget", "round_limit"}
    assert holds["agreement"] and holds["plateau"] and holds["round_limit"] and play.stop["reason"] == "agreement"


# ---------------------------------------------------------------- nothing to add


def test_nobody_having_anything_to_add_is_a_plateau() -> None:
    """Without agreement, so it is a deadlock. Two rounds (tau_stop), whatever was cited."""
    play = begun(None, FOR, AGAINST)
    play.round(case(FOR), case(AGAINST))
    assert play.phase == "arguing" and play.signals["pi_i"] and play.signals["pi_d"]
    play.round(case(FOR), case(AGAINST))
    assert (play.stop["reason"], play.stop["converged"]) == ("plateau", False)
    (test,) = play.certificate["stops"]["plateau"]["tests"]
    assert (test["test"], test["value"]) == ("rounds in which nobody had anything to add, and nobody moved", 2)


@pytest.mark.parametrize(
    ("settings", "second"),
    [
        (PAPER, case(AGAINST)),
        ({}, None),  # it missed its turn, and may have something to add
        ({}, case(belief(0.2, 0.8))),  # it moved
        ({}, case(AGAINST, argument("x"))),
    ],
)
def test_a_seat_that_is_missing_moves_or_argues_breaks_the_silence(settings: dict[str, Any], second: Any) -> None:
    play = begun(settings, FOR, AGAINST)
    play.round(case(FOR), case(AGAINST))
    play.round(case(FOR), second)
    assert play.phase == "arguing"


def test_a_round_without_arguments_raises_no_gate() -> None:
    play, paper = begun(None, FOR, AGAINST), begun(PAPER, FOR, AGAINST)
    for p in (play, paper):
        p.round(case(FOR), case(AGAINST))
        assert p.signals["pi_i"]
    assert [p.last("signals")["next_tau_q"] for p in (play, paper)] == pytest.approx([0.5, 0.6])
    assert [p.last("signals")["next_tau_crit"] for p in (play, paper)] == pytest.approx([0.3, 0.4])


def test_the_evidence_of_a_round_without_arguments_is_the_records() -> None:
    """Each cited the same passage, in different rounds."""
    play = begun({"tau_stop": 3}, FOR, AGAINST)
    play.round(case(FOR, argument("x", 1)), case(AGAINST))
    play.round(case(FOR), case(AGAINST, argument("y", 1)))
    assert play.signals["overlap"] == 0
    play.round(case(FOR), case(AGAINST))
    assert play.signals["overlap"] == 1 and play.signals["q"] == pytest.approx(0.8)
    assert (play.stop["reason"], play.stop["converged"]) == ("plateau", False), "equation 10, over the record"


def test_a_first_round_without_arguments_has_no_evidence() -> None:
    """Q(0) is the passages', not the debaters'."""
    play = begun(None, FOR, AGAINST)
    play.round(case(FOR), case(AGAINST))
    assert play.signals["q"] == 0 == play.signals["overlap"]


def test_the_advocate_is_drawn_by_seed_and_round() -> None:
    drawn = {advocates(begun(None, FOR, FOR, seed=seed))[1][0] for seed in range(12)}
    assert drawn == set(NAMES)
    play = begun({"tau_stop": 9}, FOR, FOR)
    shares = iter((0.8, 0.9, 0.8, 0.9, 0.8, 0.9, 0.8, 0.9))
    while play.phase == "arguing":
        p = next(shares)
        play.same(belief(p, 1 - p), belief(1.7 - p, p - 0.7))
        assert decode(encode(play.session.inner), State) == play.session.inner
    assert {seat for (seat,) in advocates(play).values()} == set(NAMES)
