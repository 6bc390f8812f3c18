"""A result says where the totals alone mislead: more speeches on one side, or a penalty that decided."""

from typing import Any

import msgspec

from client.protocols.competition.decided import decided
from client.protocols.competition.presenter import CompetitionPresenter
from client.protocols.competition.story import Story
from client.protocols.competition.transcript import in_short
from schemas.protocols.competition.messages import Fine, Outcome
from tests.protocols.competition.play import Play, small, speech


def outcome(**more: Any) -> Outcome:
    values: dict[str, Any] = {
        "format": "short", "winner": "pro", "decided_by": "points", "complete": True, "best": (), "violations": {},
        "team_totals": {"pro": 10.0, "con": 9.0}, "individual_totals": {}, "fines": (),
    }  # fmt: skip
    return Outcome(**{**values, **more})


def test_a_side_that_leads_by_more_speeches_and_not_by_the_mean_is_named() -> None:
    play = Play(small(speech("pro_1"), speech("con_1"), speech("pro_2")))
    for seat, mark in (("pro_1", 5), ("con_1", 8), ("pro_2", 5)):
        play.until("speak").says(seat)
        play.scores(mark)
    play.to_the_end()
    presenter = CompetitionPresenter({})
    for post in play.session.posts:
        presenter.take(post)
    assert play.result.outcome["winner"] == "pro"
    told = presenter.in_short(play.result)
    assert "by the mean of its speeches the other side leads: 8.00 of 1 speech" in told, told
    assert "against 5.00 of 2 speeches" in told
    assert any("points are sums" in text for _, text in presenter.beside(play.result))


def test_a_penalty_that_decided_is_named_and_one_that_did_not_is_not() -> None:
    fine = Fine(rule="overtime", seat="con_1", team="con", individual_points=-2.0, team_points=0.0)
    told = in_short(msgspec.to_builtins(outcome(fines=(fine,))), Story())
    assert "penalties decided (Con -2): without them Pro had 10 to 11" in told
    ahead = outcome(fines=(fine,), team_totals={"pro": 14.0, "con": 9.0})
    assert list(decided(ahead, Story())) == [] == list(decided(outcome(), Story()))
