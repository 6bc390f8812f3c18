"""consensus beyond its seed: anonymity, honest changes, the minority, weights, and who is missing."""

from typing import Any

import pytest

from parley.coordinator.machine import Illegal
from parley.coordinator.protocols.consensus.choosing import occurs
from parley.schemas import log
from parley.schemas.protocols.consensus import (
    CompareBrief,
    MovingArgument,
    PanelBrief,
    Position,
)
from parley.schemas.session import Budget
from parley.schemas.text import Citation
from parley.schemas.turn import Usage
from parley.schemas.wire import decode, encode
from tests.client import shown
from tests.protocols.consensus.play import Play, cite, document, says, worker, workers

ADOPTS: dict[str, Any] = {"change": "adopted", "change_reason": "convinced"}
LONG = "It is Vilnius. The law of 1992 says so"
"""More than a sentence."""


def ended(play: Play) -> dict[str, Any]:
    assert play.session.closed
    return play.result.outcome


# ---------------------------------------------------------------- what is shown


def test_order_of_peers_differs_by_seat_and_round() -> None:
    play = Play({"round_limit": 6}, panel=6)
    orders = []
    for score in (10, 20, 30):
        play.round(score, *(f"answer {i}" for i in range(6)))
        seats = {seat: [play.session.posts[n].seat for n in ask.sees] for seat, ask in play.turns().items()}
        orders.append(seats)
    assert len({tuple(o["panelist_1"]) for o in orders}) == 3
    without = {
        seat: tuple(s for s in order if s not in ("panelist_1", "panelist_2")) for seat, order in orders[0].items()
    }
    assert without["panelist_1"] != without["panelist_2"]


# ---------------------------------------------------------------- check: a reply is honest

TEXT = "Vilnius has been\n  the capital since 1323. Kaunas was the temporary capital."


def with_documents() -> Play:
    return Play(documents=[document("a.md", TEXT, "panelist_1"), document("b.md", "Riga is in Latvia.", "panelist_2")])


def fault(play: Play, seat: str, p: Position) -> str:
    """The error with which the seat is asked again; empty if the reply was taken."""
    play.reply(seat, p)
    again = [t for t in play.turns().values() if t.seat == seat and t.attempt == 2]
    return again[0].error if again else ""


def test_a_quotation_stands_in_its_document() -> None:
    play = with_documents()
    assert not fault(play, "panelist_1", says("Vilnius", citations=(cite("a.md", "has been the capital since 1323"),)))
    altered = says("Vilnius", citations=(cite("a.md", "has been the capital since 1923"),))
    assert "does not stand in a.md" in fault(play, "panelist_2", altered)
    assert "there is no document 'c.md'" in fault(
        play, "panelist_3", says("Vilnius", citations=(cite("c.md", "Vilnius"),))
    )


def revising() -> Play:
    play = with_documents()
    held = says("Kaunas", citations=(cite("a.md", "Kaunas was the temporary capital"),))
    play.round(40, held, "Riga", "Vilnius")
    return play


@pytest.mark.parametrize(
    ("p", "error"),
    [
        (says("Kaunas, which was the temporary capital"), ""),  # sharper words are no change, and never refused
        (says("Vilnius"), ""),  # what changed is the analyst's to say
        (says("Vilnius", **ADOPTS, argument=MovingArgument(post=2, claim="it is the seat of state")), ""),
        (
            says("Vilnius", **ADOPTS, argument=MovingArgument(post=9, claim="it is the seat of state")),
            "post 9 was not shown",
        ),
        (says("Vilnius", **ADOPTS, moved_by=(cite("a.md", "since 1323"),)), ""),
        (says("Riga", **ADOPTS, moved_by=(cite("b.md", "Riga is in Latvia."),)), ""),
        (says("Riga", **ADOPTS, moved_by=(cite("b.md", "Riga is in Poland."),)), "moved_by: this does not stand in"),
        (says("Riga", **ADOPTS, moved_by=(cite("a.md", "Kaunas was the temporary capital"),)), "not new to you"),
    ],
)  # fmt: skip
def test_a_change_is_honest(p: Position, error: str) -> None:
    got = fault(revising(), "panelist_1", p)
    assert error in got
    assert bool(error) == bool(got)


# ---------------------------------------------------------------- outcome


def test_without_a_synthesis_the_most_confident_holders_own_words_are_put() -> None:
    play = Play({"round_limit": 1})
    play.answers("Vilnius", says(LONG, confidence=0.95, reasoning="sure"), "Kaunas")
    play.compare({"Vilnius": "12", "Kaunas": "3"}, near=10)
    play.fail("analyst")
    play.sign("panelist_1")
    play.sign("panelist_3", "neither")
    play.fail("analyst")
    got = ended(play)
    assert (got["source"], got["answer"], got["reasoning"]) == ("seat", LONG, "sure")
    assert got["confidence"] == pytest.approx((0.8 + 0.95) / 2 * 2 / 3, abs=1e-4)


@pytest.mark.parametrize(("scores", "reason"), [((30, 30), "round_limit"), ((30, 30, 30), "stuck")])
def test_what_is_not_converged_is_never_called_consensus(scores: tuple[float, ...], reason: str) -> None:
    play = Play({"round_limit": len(scores) if reason == "round_limit" else 5})
    for score in scores:
        play.round(score, "Vilnius", "Vilnius", "Riga")
    play.sign_all("neither")
    play.fail("analyst")
    assert (play.result.stop.reason, play.result.stop.converged) == (reason, False)
    assert b"consensus" not in encode(play.result.outcome) + encode(play.result.stop)


# ---------------------------------------------------------------- weights


def test_declared_expertise_weighs() -> None:
    there = (worker("p1", expertise=("capitals", "law")), worker("p2"), worker("p3"), worker("analyst", "analyst"))
    play = Play({"round_limit": 1, "expertise_weight": 3.0, "least": {"approach": 0.0}}, there=there)
    assert [s.weight for s in play.session.opened.seats] == [3.0, 1.0, 1.0, 1.0]
    play.answers("Kaunas", "Vilnius", "Vilnius")
    asked = decode(play.turn("analyst").ask.brief, CompareBrief)
    assert {play.session.posts[w.post].seat: w.weight for w in asked.positions} == {"p1": 3.0, "p2": 1.0, "p3": 1.0}
    play.score(40)
    play.sign_all("neither")
    play.fail("analyst")
    got = ended(play)
    assert got["answer"] == "Kaunas"
    assert got["confidence"] == pytest.approx(0.8 * 3 / 5)
    assert got["first_round_majority"] == "Vilnius"
    assert [(m["seat"], m["answer"]) for m in got["minority"]] == [("p2", "Vilnius"), ("p3", "Vilnius")]
    assert play.result.stop.certificate["weights"] == {"p1": 3.0, "p2": 1.0, "p3": 1.0}


@pytest.mark.parametrize(
    ("words", "there"),
    [("database", True), ("Databases", True), ("base", False), ("SQL query", True), ("query SQL", False), ("", False),
     ("index", True), ("indexes", True), ("policies", True), ("policy", True)],
)  # fmt: skip
def test_expertise_occurs_in_the_question(words: str, there: bool) -> None:
    assert occurs(words, "Which databases answer an SQL query by two indexes, and under which policy?") is there


# ---------------------------------------------------------------- who is missing


def test_quorum() -> None:
    play = Play()
    play.answers("Vilnius", None, None)
    got = ended(play)
    assert (play.result.status, play.result.stop.reason) == ("failed", "quorum")
    assert play.result.stop.certificate["positions"] == 1
    assert (got["source"], got["answer"]) == ("seat", "Vilnius")


ABSTAINS = says("", abstains=True)


def test_who_abstained_reads_the_one_answer_before_the_quorum_is_missed() -> None:
    play = Play({"styles": {"*": "none"}})
    play.answers("Vilnius", ABSTAINS, ABSTAINS)
    assert play.phase == "revising" and play.session.inner.rounds[0].score is None
    (held,) = (p.n for p in play.session.posts if p.kind == "position" and p.seat == "panelist_1")
    for seat in ("panelist_2", "panelist_3"):
        ask = play.turn(seat).ask
        assert (ask.kind, ask.round, ask.sees) == ("revise", 2, (held,))
        assert decode(ask.brief, PanelBrief) == PanelBrief(iteration=2, round_limit=5, so_far=None)
    assert play.turn("panelist_1").ask.sees == ()
    play.answers("Vilnius", "Vilnius", ABSTAINS)
    play.sign("panelist_3")
    assert (play.result.stop.reason, play.result.stop.converged) == ("threshold", True)
    assert [r["score"] for r in play.result.rounds] == [None, 100]


def test_a_panel_that_abstains_as_a_whole_ends_unanswered_with_what_bears_on_it() -> None:
    play = Play(documents=[document("a.md", "Vilnius is old. Kaunas too.")])
    near, far = (Citation(document="a.md", quote=quote) for quote in ("Vilnius is old.", "Kaunas too."))
    play.answers(*(says("", abstains=True, citations=cited) for cited in ((near, far), (near,), ())))
    stop = play.result.stop
    assert (play.result.status, stop.reason, stop.converged) == ("finished", "unanswered", False)
    assert [p["quote"] for p in play.result.outcome["passages"]] == [near.quote, far.quote]
    bearing = shown.part(shown.card(play), "passages")
    assert bearing.lines == ("1. “Vilnius is old.” (a.md)", "2. “Kaunas too.” (a.md)")


# ---------------------------------------------------------------- budget and time

METERED = workers(3, metered=True, usd_per_million_input=1.0, usd_per_million_output=2.0)
CAPS = {"max_input_tokens": 900, "max_output_tokens": 100}
TURN = 2 * 1_000  # calls x (input + output)


def test_unaffordable_round_stops_and_its_sentence_is_still_put() -> None:
    # Round one, its score, and what is held back for signatures fit; three more turns do not, and no wording.
    play = Play(CAPS, there=METERED, budget=Budget(tokens=7 * TURN))
    for seat, answer in zip(play.panel, (LONG, LONG, "Kaunas"), strict=True):
        play.reply(seat, says(answer), usage=_tokens(1_500))
    comparison = play.comparison(40)
    play.reply("analyst", comparison, usage=_tokens(200))
    assert (play.put.sentence, play.asked()) == (LONG, [("panelist_3", "sign")])
    play.sign_all("neither")
    assert play.stop["reason"] == "budget"
    assert (
        "budget.tokens: limit 14000, used or reserved 10700, the next turns may take 6000"
        in play.stop["certificate"]["what"]
    )
    assert play.result.rounds[0]["source"] == "analyst"


NOW = log.Hurried(author="ann")


def test_what_came_is_posted_when_it_is_answered_now_and_who_was_at_work_is_missing() -> None:
    play = Play()
    play.reply("panelist_1", says("Vilnius"))
    play.event(NOW)
    result = play.result
    assert (result.stop.reason, result.stop.converged, play.session.closed) == ("answered_now", False, True)
    assert play.certificate["what"] == "ann asked for the answer now"
    assert len(play.posts("position")) == 1 and ended(play)["answer"] == "Vilnius"
    assert result.rounds[-1]["missing"] == ["panelist_2", "panelist_3"]


def test_signatures_that_came_count_when_it_is_answered_now() -> None:
    play = Play({"threshold": 60})
    play.round(95, "Vilnius", "Vilnius, the city", "Riga")
    play.sign("panelist_2")
    play.event(NOW)
    assert play.result.stop.reason == "threshold"
    with pytest.raises(Illegal):
        play.event(NOW)


# ---------------------------------------------------------------- seats


def test_seats_are_the_queues_that_are_alive() -> None:
    play = Play({"panel": 2}, there=(*workers(4), worker("panelist_1")))
    assert [(s.seat, s.role, s.queue) for s in play.session.opened.seats] == [
        ("panelist_1", "panelist", "panelist_1"), ("panelist_2", "panelist", "panelist_2"),
        ("analyst", "analyst", "analyst"),
    ]  # fmt: skip


def _tokens(n: int) -> Usage:
    return Usage(input_tokens=n, calls=1)
