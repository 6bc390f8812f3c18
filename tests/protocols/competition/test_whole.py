"""A whole competition on the example in one process: the real machine, and every turn as its seat is shown it."""

from collections import Counter

import pytest

from parley.schemas.protocols.competition.format import seats_of
from tests.protocols.competition.simulate import Ended, example, format_named, run

FOUR, OXFORD = format_named("four_stage"), format_named("oxford")
DEBATERS = {*seats_of(FOUR, "pro"), *seats_of(FOUR, "con")}


@pytest.fixture(scope="module")
def played() -> Ended:
    motion, documents = example()
    return run(motion, documents, FOUR)


def test_it_is_played_within_its_rules(played: Ended) -> None:
    assert played.result.stop.reason == "played" and played.result.status == "finished"
    assert all(s.attempt == 1 for s in played.shown), "every reply passed the moderator's checks at once"
    outcome = played.result.outcome
    assert outcome["complete"] and outcome["winner"] in ("pro", "con", "draw") and outcome["best"]
    assert not outcome["fines"] and not outcome["violations"] and not outcome["unscored"] and not outcome["silent"]
    assert not any(s.overtime for s in played.speeches) and len(played.speeches) > 20
    free = Counter(s.seat for s in played.speeches if s.act == "free")
    assert set(free) == DEBATERS, "everybody has spoken in the free debate"


def test_the_same_replies_give_the_same_log(played: Ended) -> None:
    assert run(*example(), FOUR).log == played.log


def test_what_a_team_confers_is_shown_to_that_team_alone(played: Ended) -> None:
    for team, rival in (("pro", "con"), ("con", "pro")):
        notes = [n.text for t, n in played.of("confer") if t.seat.startswith(rival)]
        mine = [t for t in played.shown if t.seat.startswith(team) or t.seat == "judge"]
        bodies = "".join(str(o.body) for t in mine for o in t.others)
        assert notes and mine and not any(n in bodies for n in notes)


def test_a_teams_folder_is_held_by_all_its_seats_and_nobody_else(played: Ended) -> None:
    names = {t.seat: {d.name for d in t.documents} for t in played.shown}
    assert {"pro/trial-report.md", "pro/interviews.md"} <= names["pro_4"] == names["pro_1"]
    assert {n.split("/")[0] for n in names["con_2"]} == {"con", "city-survey.md", "other-cities.md"}
    assert names["judge"] == set()


def test_another_format_with_bids_and_votes() -> None:
    ended = run(*example(), OXFORD)
    outcome = ended.result.outcome
    assert ended.result.stop.reason == "played" and all(s.attempt == 1 for s in ended.shown)
    assert set(outcome["votes"][0]["ballots"].values()) == {"undecided"} and outcome["decided_by"] == "votes"
    assert set(outcome["swing"]) == {"pro", "con"} and any(b.wants for _, b in ended.of("bid"))
