"""Minds can change, and agreement ends a debate: stated beliefs, the devil's advocate, the stop `agreement`."""

import json
from itertools import pairwise
from typing import Any

import pytest

from parley.client.evidence import read
from parley.client.protocols.maci.gates import kept_apart
from parley.client.protocols.maci.gates import tested as by_tests
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.protocols.maci.round import MOST_MEASURED
from parley.coordinator.protocols.maci.state import State
from parley.coordinator.replay import replay
from parley.coordinator.schedulers import controller
from parley.coordinator.schedulers.controller import advance, begin
from parley.coordinator.schedulers.tone import QUIET, tone
from parley.schemas.control import Control
from parley.schemas.protocols.maci.messages import ArgueBrief, Argument, Blind, Span
from parley.schemas.wire import decode, encode
from tests.client import shown
from tests.protocols.maci.play import (
    AGAINST,
    AGREED,
    FOR,
    GATED,
    NAMES,
    PAPER,
    TEXTS,
    Play,
    advocate_of,
    argument,
    begun,
    belief,
    case,
    check_up,
    document,
    retrieved,
)
from tests.protocols.maci.rounds import seen
from tests.protocols.maci.simulate import EXAMPLES, ROLES, run
from tests.support.tuned import control

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
    play.same(*(belief(0.1, 0.9) if seat == (advocate_of(play) or NAMES[1]) else DENGUE for seat in NAMES))
    assert play.signals["held"] is gated


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


def test_agreement_is_never_called_in_the_blind_round() -> None:
    """Somebody must have argued against it."""
    play = begun(None, AGREED, AGREED)
    assert play.phase == "arguing" and not play.posts("stop")


def test_an_agreement_that_comes_later_has_its_devils_advocate_too() -> None:
    play = begun(None, FOR, AGAINST)
    assert advocates(play)[1] == [] and play.last("signals")["next_advocate"] == ""
    play.same(FOR, FOR)
    (advocate,) = advocates(play)[2]
    play.same(FOR, FOR)
    assert play.signals["advocate"] == advocate and play.phase == "arguing"
    play.same(FOR, FOR)
    assert play.stop["reason"] == "agreement"


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


def test_a_little_given_way_in_either_round_adds_up() -> None:
    play = begun(None, FOR, FOR)
    play.same(*[belief(0.87, 0.13)] * 2)
    play.same(*[belief(0.87, 0.13)] * 2)
    assert play.phase == "arguing" and play.signals["yielded"] == pytest.approx(0.03)


def test_a_drift_below_a_stated_move_and_a_surer_debater_are_no_giving_way() -> None:
    for answer, yielded in ((belief(0.86, 0.14), 0.04), (belief(0.99, 0.01), 0.0)):
        play = begun({"least_move": 0.05}, FOR, FOR)
        play.same(FOR, FOR)
        play.same(answer, answer)
        assert play.stop["reason"] == "agreement" and play.signals["yielded"] == pytest.approx(yielded)


def test_an_advocate_that_misses_its_turn_has_attacked_nothing() -> None:
    play = begun(None, FOR, FOR)
    (advocate,) = advocates(play)[1]
    play.round(*(None if seat == advocate else case(FOR, argument("x")) for seat in NAMES))
    assert play.phase == "arguing" and play.signals["advocate"] == "" and len(advocates(play)[2]) == 1


def test_an_advocate_that_finds_nothing_against_it_is_followed_by_another() -> None:
    """Nobody had anything to answer, so the agreement did not stand anything: it ends as a plateau, which says so."""
    play = begun(None, FOR, FOR)
    play.round(case(FOR, changed="the passages hold nothing against it"), case(FOR))
    assert play.phase == "arguing" and advocates(play)[2] != advocates(play)[1]
    assert len(play.asked()) == 2, "the others may have something to add"
    play.round(case(FOR), case(FOR))
    assert (play.stop["reason"], play.stop["converged"]) == ("plateau", True)
    assert [a["admitted"] for a in play.certificate["advocates"]] == [0, 0]
    assert not by_tests(play.certificate)


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
    play = begun({"round_limit": 2, "tau_stop": 1}, AGREED, AGREED)
    play.same(AGREED, AGREED)
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
    test, *_ = play.certificate["stops"]["plateau"]["tests"]
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
    plays = [begun(settings, FOR, AGAINST) for settings in (GATED, PAPER, {**PAPER, "agreement": True})]
    for p in plays:
        p.round(case(FOR), case(AGAINST))
        assert p.signals["pi_i"]
    assert [p.last("signals")["next_tau_q"] for p in plays] == pytest.approx([0.5, 0.6, 0.6])
    assert [p.last("signals")["next_tau_crit"] for p in plays] == pytest.approx([0.3, 0.4, 0.4])


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


def test_a_first_round_without_arguments_has_no_evidence() -> None:
    """Q(0) is the passages', not the debaters'."""
    play = begun(None, FOR, AGAINST)
    play.round(case(FOR), case(AGAINST))
    assert play.signals["q"] == 0 == play.signals["overlap"]


def test_the_advocate_is_drawn_by_seed_and_round() -> None:
    drawn = {advocates(begun(None, FOR, FOR, seed=seed))[1][0] for seed in range(12)}
    assert drawn == set(NAMES)
    play = begun({"tau_stop": 9}, FOR, FOR)
    while play.phase == "arguing":
        play.same(FOR, FOR, score=0.1)
        assert decode(encode(play.session.inner), State) == play.session.inner
    assert {seat for (seat,) in advocates(play).values()} == set(NAMES)
    assert all(a != b for (_, a), (_, b) in pairwise(sorted(advocates(play).items()))), "nobody is it twice in a row"


def test_quality_is_of_all_that_was_admitted_so_far() -> None:
    """Also where all that a round brought is refused, or was not measured; each quotation counts once."""
    play = begun({**GATED, "tau_q": 0.3, "gamma": 0.0}, FOR, AGAINST)
    play.round(case(FOR, argument("x", 1, q=0.4)), case(AGAINST))
    play.round(case(FOR, argument("y", 2, q=0.6)), case(AGAINST))
    assert play.signals["q"] == pytest.approx(0.5)
    assert [s["quote"] for s in play_spans(play)] == ["Joint pain ", "Platelets"], "the record's after the round's"
    play.round(case(FOR, argument("y", 2, q=0.6)), case(AGAINST, argument("z", 3, q=0.1)))
    assert play.signals["q"] == pytest.approx(0.5) and len(play_spans(play)) == 3
    play.argue(case(FOR, argument("w", 3)), case(AGAINST))
    for seat in ("helper", "judge_1"):
        play.fail(seat)
    assert play.signals["q"] == pytest.approx(0.5)


def test_in_the_papers_reading_what_is_not_measured_has_no_quality() -> None:
    play = begun({**PAPER, "tau_q": 0.3, "gamma": 0.0}, FOR, AGAINST)
    play.round(case(FOR, argument("x", 1, q=0.4)), case(AGAINST))
    assert play.signals["q"] == pytest.approx(0.4)
    play.argue(case(FOR, argument("y", 2)), case(AGAINST))
    for seat in ("helper", "judge_1"):
        play.fail(seat)
    assert play.signals["q"] == 0


def play_spans(play: Play) -> Any:
    """What the helper was asked to measure last."""
    return json.loads(bytes(play.asks("measure")[-1].brief))["spans"]


def test_what_is_measured_at_once_is_bounded() -> None:
    """The round's, and of the record the newest."""
    found = [(f"p{i}", t[a:b]) for i, t in enumerate(TEXTS, 1) for a in range(15) for b in range(a + 6, a + 15)]
    spans = [Span(passage=p, quote=q) for p, q in dict.fromkeys(found) if q == q.strip()][: MOST_MEASURED + 40]
    said = [Argument(claim=f"c{n}", spans=tuple(spans[n : n + 20])) for n in range(0, len(spans), 20)]
    play = begun({"max_arguments": 10, "gamma": 0.0, "tau_q": 0.0}, FOR, AGAINST)
    play.round(case(FOR, *said[:6]), case(AGAINST, *said[6:]))
    assert len(play_spans(play)) == MOST_MEASURED + 40
    play.round(case(FOR, argument("x", 1)), case(AGAINST))
    measured = play_spans(play)
    assert len(measured) == MOST_MEASURED and measured[0]["quote"] == TEXTS[0]
    assert measured[1]["quote"] == spans[-1].quote, "the newest first"


# ---------------------------------------------------------------- gates that do not refuse everything


def reaching(*qualities: float) -> tuple[Any, ...]:
    return tuple(argument(f"claim {i}", 1 + i % 3, q=q) for i, q in enumerate(qualities))


def test_a_gate_rises_no_higher_than_what_the_rounds_arguments_reach() -> None:
    """By a stated quantile of their figures; the published gate goes on."""
    bounded, paper = begun(GATED, FOR, AGAINST), begun(PAPER, FOR, AGAINST)
    for play in (bounded, paper):
        play.round(case(FOR, *reaching(0.51, 0.55)), case(AGAINST, *reaching(0.9)), score=lambda claim: 0.32)
        assert play.signals["pi_i"]
    told = [play.last("signals") for play in (bounded, paper)]
    assert told[0]["next_tau_crit"] == pytest.approx(0.32) and told[1]["next_tau_crit"] == pytest.approx(0.4)
    assert 0.5 <= told[0]["next_tau_q"] < 0.6 and told[1]["next_tau_q"] == pytest.approx(0.6)


@pytest.mark.parametrize(("quantile", "gate"), [(0.0, 0.55), (0.5, 0.6), (1.0, 0.6)])
def test_the_quantile_is_a_setting(quantile: float, gate: float) -> None:
    config = control(gate_quantile=quantile, smoothing=0.0, q_gate=True)
    told: dict[str, Any] = {
        "crit": {"u": 0.8, "v": 0.8},
        "q": 0.7,
        "arguments": 2,
        "reached_q": (0.55, 0.9),
        "reached_crit": (0.8,),
    }
    state = advance(config, begin(config, ("a", "b", "c"), seen()), seen(**told))
    assert state.rounds[-1].pi_i and state.tau_q == pytest.approx(gate) and state.tau_crit == pytest.approx(0.4)


def test_a_gate_above_all_that_is_said_stays_where_it_is() -> None:
    """It never falls."""
    play = begun(GATED, FOR, AGAINST)
    play.round(case(FOR, *reaching(0.2)), case(AGAINST, *reaching(0.1)), score=lambda claim: 0.1)
    assert play.signals["pi_i"]
    assert (play.last("signals")["next_tau_q"], play.last("signals")["next_tau_crit"]) == (0.5, 0.3)


# ---------------------------------------------------------------- flags


def test_a_drift_below_a_stated_move_takes_no_flag_down() -> None:
    """From .90 to .92, the case of the trials."""
    for settings, up in (({"agreement": False}, True), ({**PAPER, "monotone_gate": False}, False)):
        play = begun(settings, belief(0.9, 0.1), belief(0.85, 0.15))
        play.same(belief(0.93, 0.07), belief(0.89, 0.11))
        assert play.signals["r_i"] > 0.02 and play.signals["pi_i"] is up


def test_an_agreement_is_a_plateau_however_far_apart_they_were() -> None:
    """D is 0 from round 4 on: the window remembers how D fell, and the flags need not."""
    ends = []
    for settings in ({"agreement": False}, {**PAPER, "monotone_gate": False}):
        play = begun(settings, belief(0.9, 0.1), belief(0.1, 0.9))
        for a, b in ((0.9, 0.1), (0.9, 0.3), (0.9, 0.6), (0.9, 0.9)):
            play.same(belief(a, 1 - a), belief(b, 1 - b))
        while play.phase == "arguing":
            play.same(belief(0.9, 0.1), belief(0.9, 0.1))
        ends.append((play.stop["reason"], play.stop["converged"], len(play.posts("signals")) - 1))
    assert [(reason, n) for reason, _, n in ends] == [("plateau", 6), ("plateau", 8)]


@pytest.mark.parametrize("name", ["rollout", "off-topic", "diagnosis"])
def test_the_examples_end_of_themselves(name: str) -> None:
    """With no language model."""
    root = EXAMPLES / name
    given = root / "outcomes.txt"
    outcomes = given.read_text(encoding="utf-8").splitlines() if given.exists() else []
    ended = run(
        (root / "question.txt").read_text(encoding="utf-8").strip(), read(root / "evidence", ROLES).documents, outcomes
    )
    stop = ended.result.stop
    assert (stop.converged, stop.reason) in ((True, "agreement"), (True, "plateau"), (False, "plateau"))
    last = ended.rounds[-1].signals
    assert stop.converged or last.jsd > 0.1 or not last.shared or max(last.mixture.values()) < 0.5


# ---------------------------------------------------------------- what debaters and judges are shown


def test_nobody_is_told_to_be_critical_of_a_disagreement_that_is_not_there() -> None:
    """Of the trials: at D .01 a debater was to keep its doubts on the table, and wrote doubts that it did not hold. The
    devil's advocate is the exception."""
    play = begun(None, AGREED, FOR)
    play.round(case(AGREED), case(FOR))
    (advocate,) = advocates(play)[2]
    for seat in NAMES:
        brief = play.brief(seat)
        assert (brief["tone"] == QUIET) is brief["quiet"] is (seat != advocate)
    for settings, beliefs in ((None, (FOR, AGAINST)), (PAPER, (AGREED, FOR))):
        apart = begun(settings, *beliefs)
        assert all(apart.brief(seat)["tone"] == tone(apart.brief(seat)["cl"]) != QUIET for seat in NAMES)


def test_a_debater_is_shown_its_own_earlier_reasoning_and_nobody_elses() -> None:
    """And a claim that it is shown as a post stands there alone."""
    play = begun(None, FOR, AGAINST)
    play.round(case(FOR, argument("x"), changed="x stands"), case(AGAINST, argument("y"), changed="y stands"),
               score=lambda claim: 0.1 if claim == "y" else 0.8)  # fmt: skip
    for seat, claim in zip(NAMES, ("x", "y"), strict=True):
        assert play.brief(seat)["earlier"] == [
            {"round": 0, "claims": [], "reasoning": f"{seat} thinks so"},
            {"round": 1, "claims": [claim] if claim == "y" else [], "reasoning": f"{claim} stands"},
        ]
        assert all(play.session.posts[n].channel == "public" for n in play.ask(seat).sees)


def test_two_debaters_keep_two_labels_through_the_debate() -> None:
    play = begun({"round_limit": 4, "tau_stop": 9}, FOR, AGAINST)
    found = []
    for _ in range(3):
        play.same(FOR, AGAINST)
        for seat, other in (NAMES, NAMES[::-1]):
            speakers = play.brief(seat)["speakers"]
            assert [s["label"] for s in speakers] == ["A", "B"]
            (mine,) = [s for s in speakers if s["own"]]
            assert mine["arguments"] == [e.id for e in play.session.inner.record if e.seat == seat]
            found.append((seat, mine["label"]))
            assert len(play.brief(seat)["opponents"]) == 1 and other != seat
    assert len(set(found)) == 2


def test_a_judge_sees_the_document_and_the_passage_around_a_quotation() -> None:
    long = "Rain fell. " * 60 + "The ferry was late. " + "Fog lay. " * 60
    play = Play(documents=[document("ferry.md", long)], q0=None)
    play.reply("helper", retrieved(0.6, [long.strip()], "ferry.md"))
    spans = (Span(passage="p1", quote="The ferry was late."),)
    for seat in NAMES:
        play.reply(seat, Blind(belief=FOR if seat == NAMES[0] else AGAINST))
    play.argue(case(FOR, Argument(claim="late", spans=spans)), case(AGAINST))
    (source,) = play.brief("judge_1")["items"][0]["sources"]
    assert source["document"] == "ferry.md" and "The ferry was late." in source["around"]
    assert source["around"].startswith("… ") and source["around"].endswith(" …") and len(source["around"]) < 650


def test_the_mixture_is_called_uncalibrated() -> None:
    play = begun(None, FOR, FOR)
    play.same(FOR, FOR)
    play.same(FOR, FOR)
    play.plan(check_up())
    assert play.result.outcome["calibrated"] is False
    assert "self-rated" in shown.card(play).sure


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
    assert kept_apart(found.certificate)[0] == "3 outcomes are equally likely"


def test_a_debate_with_several_most_probable_outcomes_has_no_answer() -> None:
    level = belief(0.5, 0.5)
    play = begun({"round_limit": 1}, level, level)
    play.same(level, level)
    play.plan(check_up())
    outcome = play.result.outcome
    assert (outcome["answer"], outcome["confidence"], outcome["source"]) == ("", 0.0, "mixture")
    assert outcome["mixture"] == pytest.approx({"dengue": 0.5, "chikungunya": 0.5}) and not play.stop["converged"]
