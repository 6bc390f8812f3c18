"""maci against its source: one test a sentence, where it is about rounds, dials, stops, or what a run returns.

The figures of the signals themselves are checked where they are computed; here, that a session uses them so.
"""

from typing import Any

import msgspec
import pytest

from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.protocols.maci.state import State
from parley.coordinator.replay import replay
from parley.schemas.protocols.maci.messages import Argument, Blind, Excerpt, Retrieved, Span
from parley.schemas.protocols.maci.settings import Settings
from parley.schemas.wire import decode, encode
from tests.protocols.maci.play import (
    AGAINST,
    AGREED,
    FOR,
    NAMES,
    PAPER,
    TEXTS,
    Play,
    argument,
    begun,
    belief,
    case,
    check_up,
    document,
    similar,
)

HALF = belief(0.5, 0.5)


def on(settings: dict[str, Any], rounds: int, *beliefs: Any, **more: Any) -> Play:
    """So many rounds in which nobody moves, and both cite one passage."""
    play = begun({"round_limit": 50, "tau_stop": 50, "stalemate_rounds": 50, **settings}, *(beliefs or (FOR, AGAINST)))
    for _ in range(rounds):
        play.same(*(beliefs or (FOR, AGAINST)), **more)
    return play


# ---------------------------------------------------------------- signals of a round


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


# ---------------------------------------------------------------- round 0


def test_round_0_gives_p_d_and_q() -> None:
    """p(0) with uniform weights, D(0) and Q(0) (retrieved passages against theta)."""
    play = begun(None, FOR, HALF, q0=0.65)
    assert play.signals["mixture"]["dengue"] == pytest.approx(0.7, abs=1e-6)
    assert play.signals["q"] == pytest.approx(0.65) and play.signals["round"] == 0
    assert play.signals["jsd"] == pytest.approx(0.1468, abs=1e-4), "H(.7, .3) - (H(.9, .1) + 1) / 2"
    assert [play.signals[name] for name in ("cl", "tau_q", "pi_i", "crit")] == [None] * 4


# ---------------------------------------------------------------- dials


def test_contentiousness_falls_with_each_plateau_and_is_told() -> None:
    """CL <- [CL - alpha_I pi_I - alpha_D pi_D]+ (eq. 8)."""
    play = on({}, 1)
    assert (play.signals["pi_i"], play.signals["pi_d"]) == (True, True)
    assert play.brief("debater_1")["cl"] == pytest.approx(0.4)
    assert play.brief("debater_1")["tone"].startswith("Be even-handed")
    play = on({}, 3)
    assert play.brief("debater_1")["cl"] == 0


@pytest.mark.parametrize(
    ("settings", "levels"),
    [
        ({"schedule": "stepped"}, [0.9, 0.7, 0.5, 0.3, 0.3]),
        ({"schedule": "fixed", "cl": 0.6}, [0.6] * 5),
        ({"cl": 0.6, "alpha_i": 0.0, "alpha_d": 0.1}, [0.6, 0.5, 0.4, 0.3, 0.2]),
    ],
)
def test_schedules(settings: dict[str, Any], levels: list[float]) -> None:
    play = on({**settings, "gamma": 0.0}, 4)
    told = [msgspec.json.decode(ask.brief)["cl"] for ask in play.asks("argue") if ask.seat == NAMES[0]]
    assert told == pytest.approx(levels)


@pytest.mark.parametrize("policy", ["ucb", "linucb"])
def test_the_learned_schedule_says_what_it_chose_in_a_whole_session(policy: str) -> None:
    """Which replays byte for byte, every state written and read on the way."""
    play = begun({"schedule": "learned", "policy": policy, "round_limit": 5, "tau_stop": 9})
    shares = iter((0.85, 0.8, 0.7, 0.6, 0.55))
    while play.phase == "arguing":
        p = next(shares)
        play.same(belief(p, 1 - p), belief(1 - p, p))
        assert play.signals["alpha"] is not None and play.signals["gamma"] is not None
        assert decode(encode(play.session.inner), State) == play.session.inner
    play.plan(check_up())
    assert play.result.stop.reason == "round_limit" and len(play.result.rounds) == 6
    known = play.session.inner.control.learned.policy
    tried = known.counts if policy == "ucb" else known.inverse
    assert sum(map(bool, tried)) >= 2, "more than one action was rewarded"
    assert replay(PROTOCOLS.get, "s1", play.log).entries == tuple(play.entries)


def test_the_gates_rise_with_each_plateau_of_information_to_their_maximum() -> None:
    """Both gates `tau <- min(tau + gamma pi_I, tau_max)`. Starts 0.50 (Q) and 0.30 (CRIT)."""
    play = on(PAPER, 5)
    told = [msgspec.json.decode(ask.brief) for ask in play.asks("argue") if ask.seat == NAMES[0]]
    assert [t["tau_q"] for t in told] == pytest.approx([0.5, 0.6, 0.7, 0.8, 0.9, 0.9])
    assert [t["tau_crit"] for t in told] == pytest.approx([0.3, 0.4, 0.5, 0.6, 0.7, 0.8])


def test_a_round_is_ruled_by_the_gates_in_force_in_it() -> None:
    """Checked with the gates in force this round, before they move."""
    play = on(PAPER, 2)
    play.round(case(FOR, argument("x", 1, q=0.7)), case(AGAINST, argument("y", 2, q=0.6)))
    ruled = [msgspec.json.decode(p.body) for p in (*play.posts("argument"), *play.posts("refused")) if p.round == 3]
    assert {r["claim"]: (r["admitted"], r["tau_q"]) for r in ruled} == {
        "x": (True, pytest.approx(0.7)), "y": (False, pytest.approx(0.7)),
    }  # fmt: skip
    assert play.signals["tau_q"] == pytest.approx(0.7) and play.last("signals")["next_tau_q"] == pytest.approx(0.8)


def test_the_monotone_gate_is_configurable() -> None:
    """A round whose beliefs would raise the dispersion above the last round's plus nu keeps the old beliefs."""
    held = begun({"monotone_gate": True}, AGREED, AGREED)
    held.round(*[case(HALF, argument("x"))] * 2)
    assert held.signals["held"] and held.signals["jsd"] == pytest.approx(0, abs=1e-9)
    for settings in ({}, {**PAPER, "monotone_gate": False}, {**PAPER, "nu": 1.0}):
        free = begun(settings, AGREED, AGREED)
        free.round(case(AGREED, argument("x")), case(HALF, argument("y"))) if settings else free.round(
            *[case(HALF, argument("x"))] * 2
        )
        assert not free.signals["held"] and free.signals["jsd"] > 0.1


# ---------------------------------------------------------------- stop


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


@pytest.mark.parametrize(
    ("settings", "passages", "stops"),
    [
        ({}, (1, 1), True),
        ({}, (1, 2), False),  # O below tau_O
        ({"tau_q": 0.85, "q_gate": True}, (1, 1), False),  # Q below tau_Q: nothing is admitted
        ({"tau_stop": 3}, (1, 1), False),
        ({"plateau": "absolute"}, (1, 1), True),
    ],
)
def test_a_plateau_needs_flags_evidence_and_overlap(settings: Any, passages: tuple[int, int], stops: bool) -> None:
    """Both flags up for tau_stop rounds, `Q >= tau_Q`, `O >= tau_O`."""
    play = begun(settings)
    for _ in range(2):
        play.round(case(FOR, argument("x", passages[0])), case(AGAINST, argument("y", passages[1])))
    assert (play.phase == "concluding") is stops
    assert play.signals["stop"] == ("plateau" if stops else None)


@pytest.mark.parametrize(("agreed", "converged"), [(belief(0.7, 0.3), True), (belief(0.4, 0.6), False)])
def test_converged_is_a_plateau_near_consensus(agreed: Any, converged: bool) -> None:
    """`converged` is true only for `plateau` with the disagreement of that round at most 0.1 (D.6: near-consensus)."""
    play = begun(PAPER, FOR, agreed)
    for _ in range(2):
        play.same(FOR, agreed)
    assert play.certificate["near_consensus"]["holds"] is converged is play.stop["converged"]
    assert play.signals["jsd"] <= 0.1 if converged else play.signals["jsd"] > 0.1


def test_held_rounds_do_not_count_towards_the_plateau_and_are_named() -> None:
    play = begun({**PAPER, "round_limit": 4}, AGREED, AGREED)
    play.same(AGREED, AGAINST)
    play.same(AGREED, AGAINST)
    assert play.signals["pi_d"] and play.phase == "arguing", "its flags are up, and it was held"
    play.same(AGREED, AGREED)
    play.same(AGREED, AGREED)
    assert play.certificate["held"] == [1, 2]


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


# ---------------------------------------------------------------- what a run returns


@pytest.mark.parametrize(("cited", "overlap"), [((0, 0), None), ((1, 0), None), ((1, 2), 0.0), ((1, 1), 1.0)])
def test_overlap_is_asked_whether_a_vote_would_have_done_only_where_two_cite(
    cited: tuple[int, int], overlap: float | None
) -> None:
    """Passages of two documents: 0 of what nobody cites is no reason for a debate."""
    play = Play({"round_limit": 1}, documents=[document(text=TEXTS[0]), document("b.md", TEXTS[1])], q0=None)
    found = tuple(Excerpt(document=name, text=text) for name, text in zip(("notes.md", "b.md"), TEXTS, strict=False))
    play.reply("helper", Retrieved(passages=found, similar=similar([0.8, 0.8])))
    for seat, n in zip(NAMES, cited, strict=True):
        spans = (Span(passage=f"p{n}", quote=TEXTS[n - 1]),) if n else ()
        play.reply(seat, Blind(belief=FOR, spans=spans))
    play.round(case(FOR), case(FOR))
    play.plan()
    regime = play.result.outcome["regime"]
    assert (regime["overlap"], regime["documents"]) == (overlap, 2)
    assert regime["advice"] == ("debate" if overlap == 0.0 else "vote")
    assert ("overlap" in regime["words"]) is (overlap == 0.0)


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
