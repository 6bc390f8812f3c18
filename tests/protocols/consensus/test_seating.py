"""Who sits: chosen by the question, joining and leaving a debate that runs."""

from typing import Any

import msgspec
import pytest

from parley.coordinator.admission import admit
from parley.coordinator.machine import Illegal, Inadmissible
from parley.coordinator.protocols.consensus.choosing import seated as chosen
from parley.coordinator.protocols.consensus.seats import joining
from parley.coordinator.replay import replay
from parley.schemas import log
from parley.schemas.presence import EXTRACTIVE, Announcement
from parley.schemas.session import Budget, OpenSession, Seat
from parley.schemas.turn import Usage
from tests.protocols.consensus.play import CONSENSUS, Play, says, worker, workers

ABOUT = "Which databases survive a fire in the data centre?"


def member(name: str, family: str = "a", price: float = 0.0, **more: Any) -> Announcement:
    given = {"family": family, "usd_per_million_input": price, "metered": price > 0, **more}
    return worker(name, **given)


def seated(*there: Announcement, **request: Any) -> log.Opened:
    given = {"question": ABOUT, "protocol": "consensus", **request}
    return admit(CONSENSUS, OpenSession(**given), (*there, worker("analyst", "analyst")), 1, "client")


def panel(opened: log.Opened) -> str:
    return " ".join(s.seat for s in opened.seats if s.role == "panelist")


@pytest.mark.parametrize(
    ("there", "size", "sits"),
    [
        pytest.param([member("a"), member("b"), member("c"), member("d")], 3, "a b c", id="names where all are alike"),
        pytest.param(
            [member("a"), member("b"), member("c"), member("z", expertise=("database",))], 3, "z a b", id="expertise",
        ),
        pytest.param(
            [member("a"), member("b"), member("c", "x"), member("d", "y")], 3, "a c d", id="one of each family first",
        ),
        pytest.param(
            [member("a"), member("b", "x"), member("y", expertise=("database",)), member("z", expertise=("fire",))],
            3, "y z b", id="expertise before another family",
        ),
        pytest.param([member("a", price=9), member("b", price=1), member("c", price=5)], 2, "b c", id="the cheaper"),
        pytest.param([member(x) for x in "abcdefg"], 0, "a b c", id="auto: three"),
        pytest.param(
            [member("a"), *(member(x, expertise=("fire",)) for x in "bcde")], 0, "b c d e", id="auto: who knows it",
        ),
        pytest.param([member(x, expertise=("fire",)) for x in "abcdefg"], 0, "a b c d e", id="auto: at most five"),
    ],
)  # fmt: skip
def test_those_sit_who_fit_the_question(there: list[Announcement], size: int, sits: str) -> None:
    opened = seated(*there, settings={"panel": size})
    assert panel(opened) == sits
    told = chosen(opened)
    assert [one.seat for one in told] == (sits.split() if len(there) > len(sits.split()) else [])
    play = Play({"panel": size}, question=ABOUT, there=(*there, worker("analyst", "analyst")))
    assert [body["why"] for body in play.bodies("seating")] == [one.why for one in told]


# ---------------------------------------------------------------- joining and leaving


def seat(name: str, **more: Any) -> Seat:
    return Seat(seat=name, role="panelist", queue=name, model="stub", family="stub", **more)


def decide(play: Play, choice: str, item: str = "seat", **more: Any) -> log.Entry:
    name = choice.partition(" ")[2]
    given = seat(name, **more) if choice.startswith("add ") else msgspec.UNSET
    return play.event(log.Decided(item=item, choice=choice, author="client", seat=given), "in:5")


def test_a_seat_that_joins_answers_blind_and_counts_from_then_on() -> None:
    play = Play({"round_limit": 3, "threshold": 60})
    decide(play, "add dora")
    assert play.bodies("seating")[-1] == {
        "seat": "dora", "does": "joins", "round": 2, "by": "client", "why": "", "strategy": "risk first",
    }  # fmt: skip
    assert "dora" not in play.panel
    play.answers("a", "a", "a")  # word for word, and still nothing is put before dora was heard
    assert play.phase == "revising" and not play.posts("put")
    asked = play.turns()
    assert {name: (a.kind, bool(a.sees), a.own is None) for name, a in asked.items() if name != "analyst"} == {
        **{f"panelist_{n}": ("revise", True, False) for n in (1, 2, 3)}, "dora": ("answer", False, True),
    }  # fmt: skip
    play.answers("a", "a", "a", "b")
    play.score(90)
    assert play.put.sentence == "a"
    play.sign_all("neither")
    signed = play.outcome["signed"]
    assert (signed["seats"], signed["of_seats"], signed["weight"], signed["of_weight"]) == (3, 4, 3, 4)
    assert [m["answer"] for m in play.outcome["minority"]] == ["b"]
    assert replay({"consensus": CONSENSUS}.get, "s1", play.log).result == play.result


@pytest.mark.parametrize(("threshold", "ends"), [(60, "threshold"), (70, "incomplete")])
def test_a_seat_that_leaves_after_it_answered_is_not_agreed_away(threshold: float, ends: str) -> None:
    """Two of three are 67 percent, whether the third sits there or has left; and what it holds stays as dissent."""
    play = Play({"round_limit": 2, "threshold": threshold})
    decide(play, "remove panelist_3")
    play.answers("a", "c", "b")
    play.compare({"a": "1", "c": "2", "b": "3"}, near=10)
    assert sorted(play.turns()) == ["panelist_1", "panelist_2"]
    for name, change in (("panelist_1", {}), ("panelist_2", {"change": "adopted", "change_reason": "it is"})):
        play.reply(name, says("a", **change))
    if ("analyst", "compare") in play.asked():
        play.compare({"a": "12", "b": "3"})
    assert play.stop["reason"] == ends and play.stop["converged"] == (ends == "threshold")
    stands = {s["seat"]: s["stands"] for s in play.outcome["signatures"]}
    assert stands == {"panelist_1": "said", "panelist_2": "said", "panelist_3": "none"}
    assert play.outcome["signed"]["of_seats"] == 3 and [m["answer"] for m in play.outcome["minority"]] == ["b"]


def test_a_seat_that_leaves_before_it_answered_does_not_count() -> None:
    """With it 4 of 4 would have to sign, and there are 3."""
    play = Play({"round_limit": 2, "threshold": 100, "absent": "counts", "attempts": 1}, panel=4)
    decide(play, "remove panelist_4")
    for name in ("panelist_1", "panelist_2", "panelist_3"):
        play.reply(name, says("a"))
    play.reply("panelist_4", None, error="down")
    for name in ("panelist_1", "panelist_2", "panelist_3"):
        play.reply(name, says("a"))
    assert play.stop["reason"] == "threshold" and play.outcome["signed"]["of_seats"] == 3
    assert [s["stands"] for s in play.outcome["signatures"]] == ["said", "said", "said", "left"]


@pytest.mark.parametrize(
    ("choices", "why"),
    [
        (["add panelist_2"], "sits there already"),
        (["add dora", "add dora"], "sits there already"),
        (["remove analyst"], "no panelist analyst; panelists are panelist_1, panelist_2, panelist_3"),
        (["remove panelist_1", "remove panelist_2"], "the panel has 1 seats, least are 2"),
        (["swap dora"], "takes add NAME and remove NAME"),
        (["remove"], "takes add NAME and remove NAME"),
    ],
)
def test_what_cannot_be_is_refused(choices: list[str], why: str) -> None:
    play = Play({"round_limit": 3})
    for choice in choices[:-1]:
        decide(play, choice)
    with pytest.raises(Illegal, match=why):
        decide(play, choices[-1])


def test_a_member_whose_turns_the_budget_does_not_hold_stays_away() -> None:
    there = tuple(worker(f"panelist_{n}", metered=True) for n in (1, 2, 3))
    settings = {"round_limit": 2, "max_input_tokens": 100, "max_output_tokens": 20}
    play = Play(settings, there=(*there, worker("analyst", "analyst")), budget=Budget(tokens=2_000))
    decide(play, "add dora", metered=True)
    for name in ("panelist_1", "panelist_2", "panelist_3"):
        play.reply(name, says(name), usage=Usage(calls=1, input_tokens=90, output_tokens=20))
    play.score(10)
    assert play.bodies("seating")[-1]["does"] == "stays" and "budget" in play.bodies("seating")[-1]["why"]
    assert len(play.turns()) == 3


def test_who_joins_is_served_by_that_name() -> None:
    opened, settings = Play().session.opened, CONSENSUS.settings()
    there = (*workers(), member("eve"), worker("gus", "critic"))
    with pytest.raises(Inadmissible, match=r"seat dora: no worker is alive .* without a seat: eve; start one: parley"):
        joining(opened, settings, "dora", there)
    with pytest.raises(Inadmissible, match="seat gus: no worker is alive for role panelist"):
        joining(opened, settings, "gus", there)
    with pytest.raises(Inadmissible, match="seat dora: nobody is there"):
        joining(opened, settings, "dora", (*there, member("dora", no_server="nobody is there")))
    assert joining(opened, settings, "eve", there) == Seat(seat="eve", role="panelist", queue="eve")
    knows = member("dora", expertise=("capital",))
    assert joining(opened, settings, "dora", (*there, knows)).weight == settings.expertise_weight


# ---------------------------------------------------------------- what the analyst misses


def missing(choice: str, **more: Any) -> Play:
    spare = member("zoe", "stub", 1, expertise=("law", "fire")), member("zan", "stub", 3, expertise=("law",))
    there = (*workers(), *spare)
    play = Play({"round_limit": 4, "missing": choice, **more}, there=there)
    play.answers("a", "b", "c")
    return play


def test_a_person_is_asked_whether_who_knows_what_is_missing_joins() -> None:
    play = missing("ask")
    assert play.brief("analyst")["spare"] == ["law", "fire"]
    play.score(10, missing="law")
    item = play.bodies("proposal")[-1]
    assert (item["expertise"], item["seat"]) == ("law", "zoe") and play.phase == "revising"
    with pytest.raises(Illegal, match="item 1 takes add zoe, or no"):
        decide(play, "add zan", "1")
    decide(play, "add zoe", "1")
    assert play.bodies("settled") == [{"choice": "add zoe", "author": "client"}]
    with pytest.raises(Illegal, match="item 1 is not open"):
        decide(play, "no", "1")
    play.answers("a", "b", "c")
    assert "zoe" in play.panel and play.ask("zoe").kind == "answer"


def test_a_judge_without_a_language_model_is_refused_before_anybody_is_paid() -> None:
    reader = msgspec.structs.replace(worker("analyst", "analyst"), family=EXTRACTIVE)
    given = OpenSession(question=ABOUT, protocol="consensus", settings={"decide": "judge"})
    there = (member("a"), member("b"), member("c"))
    with pytest.raises(Inadmissible, match=r"consensus\.decide: judge needs a language model on seat analyst"):
        admit(CONSENSUS, given, (*there, reader), 1, "client")
    assert admit(CONSENSUS, given, (*there, worker("analyst", "analyst")), 1, "client").settings["decide"] == "judge"
