"""How a session of maci begins and ends: seats, documents, budgets, the retrieval plan, the loop, the result."""

from collections import Counter
from typing import Any

import pytest

from parley.coordinator.machine import Inadmissible
from parley.coordinator.protocols.maci.plan import gain
from parley.coordinator.table import Planned, View
from parley.schemas import log
from parley.schemas.protocols.maci.messages import Blind, Excerpt, Retrieved
from parley.schemas.session import Budget, Seat
from parley.schemas.turn import Usage
from tests.protocols.maci.play import (
    AGAINST,
    FOR,
    GATED,
    MACI,
    OUTCOMES,
    TEXTS,
    Play,
    argument,
    begun,
    belief,
    case,
    check_up,
    document,
    retrieved,
)

CAPS = {"max_input_tokens": 100, "max_output_tokens": 20}
TURN = 2 * 120
"""Tokens that a turn reserves: its caps, and a repair."""
WHOLE = Usage(input_tokens=200, output_tokens=40, calls=2)


def costly(turns: float, settings: dict[str, Any] | None = None, q0: float | None = 0.6) -> Play:
    """A session whose budget holds so many turns."""
    return Play({**CAPS, **(settings or {})}, budget=Budget(tokens=int(turns * TURN)), metered=True, q0=q0)


def test_a_round_that_does_not_fit_is_not_begun() -> None:
    """Debaters, judge: three turns that cost tokens, beside the closing plan."""
    play = costly(4 - 0.01)
    play.blind(FOR, AGAINST)
    assert play.stop["reason"] == "budget" and play.asks("argue") == []
    assert "budget.tokens: limit 957" in play.certificate["stops"]["budget"]["tests"][0]["value"]
    assert play.ask("analyst").kind == "plan", "held back for it"
    play.plan(check_up())
    assert play.result.outcome["plan"]["tests"][0]["what"] == "a PCR" and play.result.outcome["source"] == "mixture"
    play = costly(4)
    play.blind(FOR, AGAINST)
    assert play.phase == "arguing"


def test_a_round_that_retries_ate_is_dropped_and_counts_for_nothing() -> None:
    play = costly(4)
    play.blind(FOR, AGAINST)
    play.reply("debater_1", case(belief(0.5, 0.5), argument("x")), WHOLE)
    play.reply("debater_2", None, WHOLE, error="model unreachable")
    play.reply("debater_2", case(AGAINST, argument("y")), WHOLE)
    assert play.phase == "concluding" and play.stop["reason"] == "budget"
    assert play.certificate["dropped_round"] == 1 and play.certificate["round"] == 0
    assert play.certificate["stops"]["budget"]["tests"][0]["value"].startswith("budget.tokens: limit 960")
    assert [p.kind for p in play.session.posts if p.channel == "scores"] == ["blind", "blind", "case", "case"]
    play.plan(check_up())
    assert len(play.result.rounds) == 1 and play.result.outcome["record"] == []
    assert play.result.rounds[0]["signals"]["stop"] == "budget"


def test_a_seat_that_the_budget_keeps_from_another_attempt_is_missing_in_the_dropped_round() -> None:
    """Each turn here uses all that it may, the helper's too."""
    play = costly(6, {"attempts": 6})
    play.blind(FOR, AGAINST)
    play.reply("debater_1", case(FOR, argument("x")), WHOLE)
    play.reply("debater_2", case(AGAINST, argument("y")), WHOLE)
    play.measure()
    while play.phase != "concluding":
        play.reply("judge_1", None, WHOLE, error="down")
    assert (play.stop["reason"], play.certificate["dropped_round"]) == ("budget", 1)
    assert play.certificate["missing"] == ["judge_1 in round 1"]


def test_the_plan_is_ranked_by_expected_information_gain() -> None:
    play = begun({"round_limit": 1})
    play.same(FOR, AGAINST)
    ask = play.ask("analyst")
    assert (play.phase, ask.kind, ask.final) == ("concluding", "plan", True)
    assert ask.sees == (0, *(p.n for p in play.posts("argument")))
    assert [share["outcome"] for share in play.brief("analyst")["mixture"]] == ["dengue", "chikungunya"]
    play.plan(check_up("coin", 0.5, 0.5), check_up("pcr", 1, 0), check_up("fever", 0.7, 0.4))
    ranked = play.result.outcome["plan"]["tests"]
    assert [t["what"] for t in ranked] == ["pcr", "fever", "coin"] and ranked[2]["gain"] == 0
    assert ranked[0]["gain"] == pytest.approx(1, abs=1e-4) and all(t["query"] for t in ranked)


def test_gain_by_hand() -> None:
    """p = (3/4, 1/4), P(positive | outcome) = (1, 1/2): H(p) = 0.811278; P(+) = 7/8 with posterior (6/7, 1/7) of
    0.591673 bits, P(-) = 1/8 with posterior (0, 1) of none."""
    assert gain(belief(0.75, 0.25), (1.0, 0.5)) == pytest.approx(0.8112781 - 0.875 * 0.5916728, abs=1e-6)
    assert gain(belief(0.5, 0.5), (1.0, 0.0)) == pytest.approx(1) and gain(belief(0.9, 0.1), (0.3, 0.3)) == 0


@pytest.mark.parametrize(
    ("test", "fault"),
    [
        (check_up("x", 0.5), "says nothing of 'chikungunya'"),
        (check_up("x", 0.5, 0.5, 0.5, names=(*OUTCOMES, "zika")), "'zika' is not in contention"),
        (check_up("x", 0.5, 1.5), "'chikungunya' got 1.5, allowed is 0 to 1"),
    ],
)
def test_a_test_says_something_of_every_outcome_in_contention(test: Any, fault: str) -> None:
    play = begun({"round_limit": 1})
    play.same(FOR, AGAINST)
    play.plan(test)
    assert fault in play.ask("analyst").error


def test_what_is_certain_is_not_planned_for() -> None:
    """All are certain and nobody finds anything against it, or the agreement stood its test."""
    for sure, planned in ((belief(1.0, 0.0), 0), (FOR, 1)):
        play = begun(None, sure, sure)
        while play.phase == "arguing":
            play.round(case(sure), case(sure))
        assert play.stop["reason"] == "plateau" and len(play.asks("plan")) == planned
    play = begun(None, FOR, FOR)
    while play.phase == "arguing":
        play.same(FOR, FOR)
    assert play.stop["reason"] == "agreement" and play.phase == "done" and not play.asks("plan")


def looped() -> Play:
    play = begun(
        {"close_the_loop": True, "round_limit": 3}, documents=[document(), document("more.md", "NS1 was found.")]
    )
    play.same(belief(0.8, 0.2), AGAINST)
    return play


def test_the_loop_is_closed() -> None:
    """The plan's queries are run against the corpus, and what they find enters the next round."""
    play = looped()
    assert play.phase == "planning" and not play.ask("analyst").final
    play.plan(check_up("ns1", 0.9, 0.1, query="NS1"), check_up("again", 0.5, 0.5, query=" ns1 "))
    assert play.phase == "retrieving_more" and play.ask("helper").kind == "retrieve"
    assert play.brief("helper")["queries"] == ["NS1"] and play.brief("helper")["known"] == list(TEXTS)
    found = (Excerpt(document="notes.md", text=TEXTS[0]), Excerpt(document="more.md", text="NS1 was found."))
    play.reply("helper", Retrieved(passages=found))
    body = play.last("passages")
    assert [(p["id"], p["text"]) for p in body["passages"]] == [("p4", "NS1 was found.")]
    assert body["queries"] == ["NS1"] and body["q"] is None
    assert play.posts("passages")[-1].n in play.ask("debater_1").sees
    play.round(case(FOR), case(AGAINST))
    assert play.brief("analyst")["asked"] == ["NS1"]
    play.plan(check_up("same", 0.9, 0.1, query="NS1"))
    assert play.phase == "arguing", "it was run already"


def test_a_result_has_no_words_of_what_judges_refused() -> None:
    play = begun({**GATED, "round_limit": 1})
    said = case(AGAINST, argument("bad", q=0.1))
    play.round(case(FOR, argument("good")), said, score=lambda claim: 0.1 if claim == "bad" else 0.8)
    play.plan(check_up())
    (refused,) = play.result.rounds[1]["refused"]
    assert refused.keys() == {"id", "q", "crit", "tau_q", "tau_crit", "post"}, "debaters read the result"


def test_a_result_that_is_too_long_is_cut() -> None:
    long = "x" * 4_000
    said = [argument(f"{i} " + "y" * 1_900, reasons=(long,) * 10) for i in range(10)]
    play = begun({"round_limit": 3, "tau_stop": 3, "max_arguments": 10, "monotone_gate": False, "gamma": 0.0})
    for _ in range(3):
        play.round(case(FOR, *said), case(AGAINST, *said))
        if play.phase != "arguing":
            break
    play.fail("analyst")
    record = play.result.outcome["record"]
    assert len(record) >= 40 and record[0]["reasons"] == [] and len(record[0]["claim"]) == 200
    assert play.result.rounds[1]["beliefs"] == {} and len(bytes(play.posts("closed")[-1].body)) < 2_000_000


def asked(play: Play) -> Counter[tuple[str, str]]:
    return Counter((c.seat, c.kind) for e in play.entries for c in e.commands if isinstance(c, log.Ask))


def counted(turns: tuple[Planned, ...]) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for p in turns:
        found[p.seat, p.kind] += p.turns
    return found


def test_the_most_is_every_round_with_every_turn_asked_as_often_as_may_be() -> None:
    endless = {"tau_stop": 9, "stalemate_rounds": 9, "agreement": False}
    play = Play({"round_limit": 3, "close_the_loop": True, "outcomes": (), **endless}, q0=None)
    turns = {"retrieve": retrieved(), "blind": Blind(belief=FOR), "argue": case(FOR, argument("x"))}
    while play.phase != "done":
        ask = next(iter(play.session.turns.values())).ask
        if ask.attempt == 1:
            play.reply(ask.seat, None, error="down")
        elif ask.kind == "measure":
            play.measure()
        elif ask.kind == "crit":
            play.judge(ask.seat)
        elif ask.kind == "merge":
            play.merge(*((name, (name,)) for name in play.brief("analyst")["proposed"]))
        elif ask.kind == "plan":
            names = [share["outcome"] for share in play.brief("analyst")["mixture"]]
            play.plan(check_up("x", 0.5, 0.5, names=names, query=f"query {ask.round}"))
        else:
            play.reply(ask.seat, turns[ask.kind])
    opened = play.session.opened
    plan = MACI.plan(View(opened, play.session.settings, (), 0, (), 0))
    assert counted(plan.most) == asked(play) and plan.rounds == 3


@pytest.mark.parametrize(
    ("wish", "judges", "queues", "cross"),
    [
        ("prefer", ("one", "two"), ["judge_2"], True),
        ("prefer", ("one", "one"), ["judge_1", "judge_2"], False),
        ("ignore", ("one", "two"), ["judge_1", "judge_2"], False),
        ("ignore", ("two", "two", "three"), ["judge_1", "judge_3"], True),
        ("demand", ("one", "two"), ["judge_2"], True),
    ],
)
def test_judges_of_another_family(wish: str, judges: Any, queues: list[str], cross: bool) -> None:
    play = begun({"judges": 2, "cross_family": wish, "round_limit": 1}, FOR, AGAINST, judges=judges)
    assert [s.queue for s in play.session.opened.seats if s.role == "judge"] == queues
    play.round(case(FOR), case(AGAINST))
    play.plan()
    assert play.certificate["cross_family"] is play.result.outcome["cross_family"] is cross


@pytest.mark.parametrize("judges", [("one",), ("",)])
def test_another_family_can_be_demanded(judges: Any) -> None:
    family = judges[0] or "of no known family"
    with pytest.raises(Inadmissible, match=f"demand, but judges are {family} and debaters one") as found:
        Play({"cross_family": "demand"}, judges=judges)
    assert found.value.field == "maci.cross_family"


@pytest.mark.parametrize(
    ("documents", "said"),
    [
        ([], "evidence: got none that arguments may cite"),
        ([document("a.md", " \n")], "evidence: got 1 documents, all empty"),
        ([document("a.md", "text", "debater_1")], "got none that arguments may cite"),
    ],
)
def test_without_evidence_there_is_no_debate(documents: Any, said: str) -> None:
    with pytest.raises(Inadmissible, match=said) as found:
        Play(documents=documents)
    assert found.value.field == "evidence"


@pytest.mark.parametrize(
    ("seats", "said"),
    [
        ([Seat(seat="debater_1", role="debater", queue="debater_1")], "role debater: got 1, allowed are 2 to 8"),
        (
            [Seat(seat=s, role="debater", queue=f"debater_{i}") for i, s in enumerate(("judge_1", "x"), 1)],
            "seat judge_1: two seats have this id",
        ),
    ],
)
def test_seats_that_do_not_fit_are_refused(seats: Any, said: str) -> None:
    with pytest.raises(Inadmissible, match=said):
        Play(seats=seats)


def test_k_judges_are_k_workers_of_different_families_first_and_fewer_where_fewer_are_there() -> None:
    """With two usable judges of three one sat twice."""
    play = begun({"judges": 3, "round_limit": 1}, FOR, AGAINST, judges=("two", "two"))
    assert [s.queue for s in play.session.opened.seats if s.role == "judge"] == ["judge_1", "judge_2"]
    play.round(case(FOR), case(AGAINST))
    assert play.certificate["judges"] == {"wanted": 3, "seated": 2}


def test_an_asymmetric_start_gives_each_debater_its_frame_in_the_blind_round() -> None:
    """B.3, J: one framed so, the other so; hyperparameters the same."""
    play = Play({"judges": 1, "frames": ["as a buyer", "as a seller"]})
    assert [play.brief(seat)["frame"] for seat in play.debaters] == ["as a buyer", "as a seller"]
    assert "frame" not in Play().brief("debater_1"), "by default all begin alike"
    play.blind(FOR, AGAINST)
    assert not any("frame" in play.brief(seat) for seat in play.debaters), "of the start alone"
    with pytest.raises(Inadmissible, match=r"maci\.frames: got 1, wanted is one for each of 2 debaters") as found:
        Play({"frames": ["as a buyer"]})
    assert found.value.field == "maci.frames"


@pytest.mark.parametrize("wish", ["prefer", "ignore"])
def test_a_named_judge_that_is_not_alive_is_missed_and_not_passed_over(wish: str) -> None:
    named = [Seat(seat=q, role="judge", queue=q) for q in ("judge_1", "gone")]
    with pytest.raises(Inadmissible, match="no worker is alive for role judge on queue gone"):
        Play({"cross_family": wish, "judges": 2}, seats=named)
    with pytest.raises(Inadmissible, match="demand, but judges are of no known family, two and debaters one"):
        Play({"cross_family": "demand", "judges": 2}, seats=named)
