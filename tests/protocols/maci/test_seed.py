"""The sentences of MACI: signals, dials, stops, what a run returns; and how minds change and an agreement ends it."""

from itertools import pairwise
from typing import Any

import msgspec
import pytest

from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.protocols.maci.state import State
from parley.coordinator.replay import replay
from parley.schemas.protocols.maci.messages import ArgueBrief, Argument
from parley.schemas.protocols.maci.settings import Settings
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

HALF = belief(0.5, 0.5)


def on(settings: dict[str, Any], rounds: int, *beliefs: Any, **more: Any) -> Play:
    """So many rounds in which nobody moves, and both cite one passage."""
    play = begun({"round_limit": 50, "tau_stop": 50, "stalemate_rounds": 50, **settings}, *(beliefs or (FOR, AGAINST)))
    for _ in range(rounds):
        play.same(*(beliefs or (FOR, AGAINST)), **more)
    return play


def test_an_invalid_belief_is_retried_once_then_the_agent_sits_the_round_out() -> None:
    """... is an invalid reply (retried once, then that agent sits the round out with its last belief)."""
    play = begun()
    before = play.last("signals")["beliefs"]["debater_1"]
    for _ in range(2):
        play.reply("debater_1", case(belief(0.9, 0.3), argument("x")))
    assert "debater_1" not in {t.ask.seat for t in play.session.turns.values()}
    play.reply("debater_2", case(AGAINST, argument("y")))
    play.measure()
    play.judge("judge_1")
    assert play.last("signals")["missing"] == ["debater_1"]
    assert play.last("signals")["beliefs"]["debater_1"] == before


def test_ordered_outcomes_are_controlled_on_by_wasserstein() -> None:
    """Normalised Wasserstein-1; replaces D_JS in control when the task says `ordered`."""
    names = ("low", "middle", "high")
    ends = (belief(1, 0, 0, names=names), belief(0, 0, 1, names=names))
    near = (belief(1, 0, 0, names=names), belief(0, 1, 0, names=names))
    figures = {}
    for ordered in (True, False):
        settings = {"outcomes": names, "ordered": ordered}
        figures[ordered] = [begun(settings, *held).signals["jsd"] for held in (ends, near)]
    assert figures[True] == pytest.approx([1, 0.5], abs=1e-5) and figures[False] == pytest.approx([1, 1], abs=1e-4)
    uneven = begun({"outcomes": names, "ordered": True, "positions": (0.0, 1.0, 10.0)}, *near)
    assert uneven.signals["jsd"] == pytest.approx(0.1, abs=1e-5), "unless the task gives positions"
    assert uneven.brief("debater_1")["ordered"] is True


def test_overlap_is_of_cited_sets_and_two_empty_ones_give_0() -> None:
    play = begun(PAPER)
    play.round(case(FOR, argument("x", 1), argument("y", 2)), case(AGAINST, argument("z", 2), argument("w", 3)))
    assert play.signals["overlap"] == pytest.approx(1 / 3)
    play.round(case(FOR), case(AGAINST))
    assert play.signals["overlap"] == 0


def test_quality_is_of_admitted_arguments_and_no_admitted_span_gives_0() -> None:
    play = begun(PAPER)
    play.round(case(FOR, argument("x", 1, q=0.6)), case(AGAINST, argument("y", 2, q=0.2)))
    assert play.signals["q"] == pytest.approx(0.6)
    play.round(case(FOR, argument("x", 1, q=0.1)), case(AGAINST, argument("y", 2, q=0.2)))
    assert play.signals["q"] == 0


def test_three_judges_by_default() -> None:
    """K = 3."""
    play = Play({"judges": Settings().judges})
    assert [s.seat for s in play.session.opened.seats if s.role == "judge"] == ["judge_1", "judge_2", "judge_3"]


def test_reliability_counts_all_arguments_and_stays_without_any() -> None:
    """CRIT_u is the mean over all of u's arguments of the round, admitted or not; with none, G_u is unchanged."""
    play = begun()
    play.round(
        case(FOR, argument("good"), argument("refused", q=0.1)), case(AGAINST),
        score=lambda claim: 0.9 if claim == "good" else 0.5,
    )  # fmt: skip
    standing = play.signals["reliability"]
    assert standing == pytest.approx({"debater_1": 0.8 * 0.5 + 0.2 * 0.7, "debater_2": 0.5})
    weights = play.signals["weights"]
    assert weights["debater_1"] == pytest.approx(0.54 / 1.04, abs=1e-6)
    mixed = play.signals["mixture"]["dengue"]
    assert mixed == pytest.approx(weights["debater_1"] * 0.9 + weights["debater_2"] * 0.1, abs=1e-6)


def test_round_0_gives_p_d_and_q() -> None:
    """p(0) with uniform weights, D(0) and Q(0) (retrieved passages against theta)."""
    play = begun(None, FOR, HALF, q0=0.65)
    assert play.signals["mixture"]["dengue"] == pytest.approx(0.7, abs=1e-6)
    assert play.signals["q"] == pytest.approx(0.65) and play.signals["round"] == 0
    assert play.signals["jsd"] == pytest.approx(0.1468, abs=1e-4), "H(.7, .3) - (H(.9, .1) + 1) / 2"
    assert [play.signals[name] for name in ("cl", "tau_q", "pi_i", "crit")] == [None] * 4
    assert play.brief("debater_1")["cl"] == 0.8 == play.last("signals")["next_cl"], "Q(0) and D(0) are in the middle"
    assert begun(None, FOR, AGAINST, q0=0.5).brief("debater_1")["cl"] == 0.9


def test_contentiousness_falls_with_each_plateau_and_is_told() -> None:
    """CL <- [CL - alpha_I pi_I - alpha_D pi_D]+ (eq. 8)."""
    play = on({}, 1)
    assert (play.signals["pi_i"], play.signals["pi_d"]) == (True, True)
    assert play.brief("debater_1")["cl"] == pytest.approx(0.4)
    assert play.brief("debater_1")["tone"].startswith("Be even-handed")
    play = on({}, 3)
    assert play.brief("debater_1")["cl"] == 0


def test_a_round_is_ruled_by_the_gates_in_force_in_it() -> None:
    """Checked with the gates in force this round, before they move."""
    play = on(PAPER, 2)
    play.round(case(FOR, argument("x", 1, q=0.7)), case(AGAINST, argument("y", 2, q=0.6)))
    ruled = [msgspec.json.decode(p.body) for p in (*play.posts("argument"), *play.posts("refused")) if p.round == 3]
    assert {r["claim"]: (r["admitted"], r["tau_q"]) for r in ruled} == {
        "x": (True, pytest.approx(0.7)), "y": (False, pytest.approx(0.7)),
    }  # fmt: skip
    assert play.signals["tau_q"] == pytest.approx(0.7) and play.last("signals")["next_tau_q"] == pytest.approx(0.8)


def test_the_first_that_holds_is_the_reason() -> None:
    """plateau, stalemate, budget, round_limit: in this order."""
    low = {**PAPER, "tau_crit": 0.9, "crit_gate": True, "stalemate_rounds": 2, "round_limit": 2, "q_gate": False}
    play = begun(low, AGREED, AGREED)
    play.same(AGREED, AGREED)
    play.same(AGREED, AGREED)
    assert {name: s["holds"] for name, s in play.certificate["stops"].items()} == {
        "plateau": True, "stalemate": True, "budget": False, "round_limit": True,
    }  # fmt: skip
    assert play.stop["reason"] == "plateau"
    play = begun({**low, "tau_o": 1.0}, AGREED, AGREED)
    for _ in range(2):
        play.round(case(AGREED, argument("x", 1)), case(AGREED, argument("y", 2)))
    assert play.stop["reason"] == "stalemate"


@pytest.mark.parametrize(("agreed", "converged"), [(belief(0.7, 0.3), True), (belief(0.4, 0.6), False)])
def test_converged_is_a_plateau_near_consensus(agreed: Any, converged: bool) -> None:
    """`converged` is true only for `plateau` with the disagreement of that round at most 0.1 (D.6: near-consensus)."""
    play = begun(PAPER, FOR, agreed)
    for _ in range(2):
        play.same(FOR, agreed)
    assert play.certificate["near_consensus"]["holds"] is converged is play.stop["converged"]
    assert play.signals["jsd"] <= 0.1 if converged else play.signals["jsd"] > 0.1


def test_a_certificate_carries_reason_predicates_history_and_what_was_spent() -> None:
    """Every stop carries a certificate: the reason, the values and thresholds of every predicate, the history they were
    computed from, and what was spent."""
    play = begun({"round_limit": 2})
    play.same(FOR, HALF)
    play.same(FOR, AGREED)
    told = play.certificate
    assert told["reason"] == "round_limit" == play.stop["reason"] and told["round"] == 2
    tests = [t for stop in told["stops"].values() for t in stop["tests"]]
    assert all({"test", "value", "limit", "holds"} <= set(t) for t in tests) and len(tests) >= 7
    assert [r["round"] for r in told["history"]] == [0, 1, 2] and told["spent"]["calls"] == 11
    assert [r["jsd"] for r in told["history"]] == [
        msgspec.json.decode(p.body)["signals"]["jsd"] for p in play.posts("signals")
    ]  # fmt: skip


def test_what_a_run_returns() -> None:
    """The mixture and its top outcomes, the curated record, the whole signal history, the majority vote and whether it
    would have done. For the outcomes still in contention, which questions, tests or documents would separate them,
    ranked by expected information gain under the mixture, each with a query that a retriever can run as it stands."""
    play = begun(
        {"q_gate": True, "round_limit": 1, "top_k": 3, "outcomes": ("dengue", "chikungunya", "zika")}, FOR, HALF
    )
    play.round(
        case(FOR, argument("x"), argument("weak", q=0.1)), case(HALF, Argument(claim="bare"), argument("y"))
    )  # fmt: skip
    names = ("dengue", "chikungunya")
    play.plan(check_up("coin", 0.5, 0.5, names=names), check_up("pcr", 0.95, 0.02, names=names, query="dengue pcr"))
    out = play.result.outcome
    assert list(out["mixture"]) == ["chikungunya", "dengue", "zika"]
    assert sum(out["mixture"].values()) == pytest.approx(1)
    assert [s["outcome"] for s in out["top"]] == ["dengue", "chikungunya", "zika"]
    assert [(a["id"], a["claim"]) for a in out["record"]] == [("a1", "x"), ("a4", "y")] and out["refused"] == 2
    rounds = play.result.rounds
    assert rounds[0]["signals"] == play.bodies("signals")[0]["signals"] and [r["round"] for r in rounds] == [0, 1]
    assert out["vote"] == "dengue" and out["regime"]["advice"] == "vote" and "3 outcomes" in out["regime"]["words"]
    plan = out["plan"]
    assert plan["outcomes"] == ["dengue", "chikungunya"]
    assert [(t["what"], t["query"]) for t in plan["tests"]] == [("pcr", "dengue pcr"), ("coin", "pcr")]
    assert plan["tests"][0]["gain"] > 0.5 > plan["tests"][1]["gain"] == 0


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
