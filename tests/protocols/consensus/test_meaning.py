"""Same meaning, same answer: what hangs on the groups that the analyst names."""

import pytest

from parley.coordinator.protocols.consensus.score import facts
from parley.schemas.protocols.consensus import AnswerGroup, CompareBrief, Comparison, ConcludeBrief, MovingArgument
from parley.schemas.wire import decode
from tests.client import shown
from tests.outcomes.played import counted, values
from tests.protocols.consensus.play import Play, cite, document, says

ADOPTS = {"change": "adopted", "change_reason": "convinced"}
LONG = "It is Vilnius. The law of 1992 says so"
"""More than a sentence."""


@pytest.mark.parametrize(
    ("groups", "error"),
    [
        ([("a", (0, 1))], "groups: 2: in no group; put each of 0, 1, 2 into exactly one"),
        ([("a", (0, 1)), ("b", (1, 2))], "groups: 1: in more than one group"),
        ([("a", (0, 1)), ("b", (2, 7))], "groups: 7: no position"),
        (
            [("Vilnius", (0, 1)), ("vilnius.", (2,))],
            "groups: 'Vilnius' is the label of two; one answer is one group",
        ),
    ],
)
def test_groups_hold_each_position_once(groups: list[tuple[str, tuple[int, ...]]], error: str) -> None:
    play = Play()
    play.answers("Vilnius", "Kaunas", "Riga")
    named = tuple(AnswerGroup(label=label, posts=posts) for label, posts in groups)
    play.reply("analyst", Comparison(groups=named, approach=50, priority=50))
    assert error in play.turn("analyst").ask.error


def test_other_words_are_the_same_answer() -> None:
    play = Play()
    play.answers("Vilnius", "The capital is the city of Vilnius", "Wilno, as the Poles say")
    play.compare({"Vilnius": "123"})
    play.sign_all()
    assert (play.stop["reason"], play.stop["certificate"]["groups"]) == ("threshold", {"Vilnius": 3})
    got = play.result.outcome
    assert (got["label"], got["agree"], got["minority"]) == ("Vilnius", 3, [])
    assert (got["first_round_majority"], got["changed"], got["confidence"]) == (None, {}, 0.8)


def test_a_sharper_wording_is_no_change_and_a_label_stays() -> None:
    play = Play()
    play.answers("Vilnius", "Kaunas", "Riga")
    play.compare({"Vilnius": "1", "Kaunas": "2", "Riga": "3"}, near=10)
    play.answers("Vilnius, since 1323", "Kaunas between the wars, and no more", says("Riga"))
    play.compare({"vilnius": "1", "Kaunas": "2", "Riga": "3"}, near=10)
    assert play.session.inner.rounds[1].flips == ()
    assert [g["label"] for g in play.last("assessment")["groups"]] == ["Vilnius", "Kaunas", "Riga"]


@pytest.mark.parametrize(
    ("sides", "chance"),
    [
        ([[1, 1, 1]], 100), ([[1, 1], [1]], 100 / 3), ([[1], [1], [1]], 0), ([[2, 1], [1]], 40), ([[1]], 100),
        ([], 100),
    ],
)  # fmt: skip
def test_the_chance_that_two_seats_hold_the_same(sides: list[list[float]], chance: float) -> None:
    assert facts(sides) == pytest.approx(chance)


def test_the_score_follows_from_the_groups() -> None:
    play = Play()
    play.answers("Vilnius", "Kaunas", "Vilnius")
    play.compare({"Vilnius": "13", "Kaunas": "2"}, near=100)
    told = play.last("assessment")
    assert told["score"] == pytest.approx(0.6 * 100 / 3 + 40, abs=0.01)
    assert told["groups"] == [
        {"label": "Vilnius", "seats": ["panelist_1", "panelist_3"], "weight": 2.0},
        {"label": "Kaunas", "seats": ["panelist_2"], "weight": 1.0},
    ]
    assert play.phase == "revising"  # the most that a divided panel can come to is no agreement


def test_a_change_is_by_quotation_by_argument_or_unexplained() -> None:
    play = Play(panel=5, documents=[document("a.md", "Vilnius is the capital since 1323.", "panelist_5")])
    play.answers("Kaunas", "Kaunas", "Kaunas", "Kaunas", "Vilnius")
    play.compare({"Kaunas": "1234", "Vilnius": "5"})
    (held,) = (p.n for p in play.session.posts if p.seat == "panelist_5")
    moved = says("Vilnius", **ADOPTS)
    by_argument = says("Vilnius", **ADOPTS, argument=MovingArgument(post=held, claim="because Vilnius"))
    made_up = says("Vilnius", **ADOPTS, argument=MovingArgument(post=held, claim="the king said so"))
    quoting = says("Vilnius", **ADOPTS, moved_by=(cite("a.md", "capital since 1323"),))
    play.answers(moved, by_argument, made_up, quoting, "Vilnius, since 1323")
    brief = decode(play.turn("analyst").ask.brief, CompareBrief)
    assert {(m.post, m.by.post, m.by.claim) for m in brief.moves} == {
        (play.session.inner.held["panelist_2"], held, "because Vilnius"),
        (play.session.inner.held["panelist_3"], held, "the king said so"),
    }
    assert held in play.turn("analyst").ask.sees  # who is to find the claim is shown the post
    play.compare({"Vilnius": "12345"}, argued="2")
    last = play.last("assessment")
    assert last["moved"] == {
        "panelist_1": "unexplained", "panelist_2": "argument", "panelist_3": "unexplained", "panelist_4": "quotation",
    }  # fmt: skip
    assert last["flips_without_evidence"] == ["panelist_1", "panelist_3"]
    told = [text.strip() for text in shown.posts(play.session.posts)]
    for seat, by in ((1, "without a reason that was found"), (2, "by argument"), (4, "by what was quoted")):
        assert f"Panelist {seat} changed its answer {by}" in told
    assert "what moved it: because Vilnius" in told
    play.sign_all()
    assert "2 changes of answer without a reason that was found" in shown.card(play).weak
    assert play.result.outcome["changed"] == {"unexplained": 2, "argument": 1, "quotation": 1}
    assert (play.certificate["flips"], play.certificate["flips_without_evidence"]) == (4, 2)
    assert play.outcome["flips_without_evidence"] == 2
    assert values(counted(play), "flips_total") == {
        ("consensus", "unexplained"): 2, ("consensus", "argued"): 1, ("consensus", "quoted"): 1,
    }  # fmt: skip


def test_who_concludes_is_shown_every_answer_that_stood() -> None:
    play = Play({"round_limit": 2})
    play.answers(LONG, says("Kaunas", reasoning="it was the seat of the president"), "Kaunas")
    play.compare({"Vilnius": "1", "Kaunas": "23"}, near=10)
    play.answers(LONG, says(LONG, change="adopted", change_reason="that was between the wars"), "Kaunas")
    play.compare({"Vilnius": "12", "Kaunas": "3"}, near=10)
    brief = decode(play.turn("analyst").ask.brief, ConcludeBrief)
    assert (brief.label, brief.answer, brief.put) == ("Vilnius", LONG, "")
    assert [(x.label, x.seats, x.left) for x in brief.stood] == [
        ("Vilnius", 2, ()), ("Kaunas", 1, ("that was between the wars",)),
    ]  # fmt: skip
    assert brief.stood[1].argument == "it was the seat of the president"


def test_what_moved_somebody_is_the_argument_that_is_shown_for_an_answer() -> None:
    play = Play({"round_limit": 2})
    surest = says(LONG, confidence=0.99, reasoning="everybody knows it")
    play.answers(surest, says("Vilnius", reasoning="the law of 1992 names it"), "Kaunas")
    play.compare({"Vilnius": "12", "Kaunas": "3"}, near=10)
    law = next(p.n for p in play.session.posts if p.seat == "panelist_2")
    moved = says("Vilnius", **ADOPTS, argument=MovingArgument(post=law, claim="the law names it"))
    mine = says(LONG, confidence=1.0, reasoning="against me speaks Kaunas")
    play.answers(mine, "The city of Vilnius", moved)
    play.compare({"Vilnius": "123"}, near=10, argued="3")
    brief = decode(play.turn("analyst").ask.brief, ConcludeBrief)
    assert [(x.label, x.argument) for x in brief.stood] == [
        ("Vilnius", "the law of 1992 names it"), ("Kaunas", "because Kaunas"),
    ]  # fmt: skip
    assert brief.stood[1].left == ("convinced",)
