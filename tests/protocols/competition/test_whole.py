"""Whole competitions from their files in one process: the example, the Oxford format, and one of somebody's own."""

from collections import Counter
from pathlib import Path

import msgspec
import pytest
import yaml

from parley.schemas.protocols.competition.format import Format, seats_of
from parley.schemas.protocols.competition.messages import Ballot
from tests.protocols.competition.play import FORMATS, Play, shipped, words
from tests.protocols.competition.simulate import Ended, example, format_named, run

FOUR = format_named("four_stage")
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


def test_a_teams_folder_is_held_by_all_its_seats_and_nobody_else(played: Ended) -> None:
    names = {t.seat: {d.name for d in t.documents} for t in played.shown}
    assert {"pro/trial-report.md", "pro/interviews.md"} <= names["pro_4"] == names["pro_1"]
    assert {n.split("/")[0] for n in names["con_2"]} == {"con", "city-survey.md", "other-cities.md"}
    assert names["judge"] == set()


ROOT = Path(__file__).parents[3]


def test_the_audience_decides_it() -> None:
    """The whole Oxford format from its file: the audience starts at two to two, and con wins two of them over."""
    p = Play(shipped("oxford"))
    first = {1: "pro", 2: "pro", 3: "con", 4: "con", 5: "undecided"}
    last = {1: "pro", 2: "con", 3: "con", 4: "con", 5: "con"}
    for i, choice in first.items():
        p.reply(f"audience_{i}", Ballot(choice=choice, why="as I came"))  # type: ignore[arg-type]
    while p.session.inner.stage != 4:
        seat, kind = p.asked()[0]
        p.says(seat, f"{seat} {words(p.brief(seat)['words'] - 2)}") if kind == "speak" else p.auto(seat)
    for i, choice in last.items():
        p.reply(f"audience_{i}", Ballot(choice=choice))  # type: ignore[arg-type]
    assert p.asked() == [("judge", "review")] and p.brief("judge")["winner"] == "con"
    p.auto("judge")
    assert p.result.stop.reason == "played" and p.outcome["complete"]
    said = [(x.round, x.seat) for x in p.posts("speech")]
    for stage in (2, 4):
        assert [seat for round_, seat in said if round_ == stage] == ["pro_1", "con_1", "pro_2", "con_2"]
    floor = [seat for round_, seat in said if round_ == 3]
    assert [seat[:3] for seat in floor] == ["con", "pro"] * 7, "1,600 words a side, 240 at a time: seven places each"
    assert set(floor) == {"pro_1", "pro_2", "con_1", "con_2"}
    # before pro 2 con 2, after pro 1 con 4: pro lost one, con won two
    assert p.outcome["swing"] == {"pro": -1, "con": 2} and p.outcome["winner"] == "con"
    assert p.outcome["decided_by"] == "votes"
    assert [t["votes"] for t in p.outcome["votes"]] == [
        {"pro": 2, "con": 2, "undecided": 1}, {"pro": 1, "con": 4, "undecided": 0},
    ]  # fmt: skip
    assert p.outcome["team_totals"]["pro"] == p.outcome["team_totals"]["con"], "points are kept, and decide nothing"


def test_no_code_knows_a_format_by_its_name() -> None:
    code = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "coordinator").rglob("*.py"))
    assert "oxford" not in code and "four_stage" not in code


@pytest.mark.parametrize("path", sorted(FORMATS.glob("*.yaml")), ids=lambda p: p.stem)
def test_every_file_shipped_is_a_format_by_its_own_name_and_can_be_played(path: Path) -> None:
    f = msgspec.convert(yaml.safe_load(path.read_text(encoding="utf-8")), Format)
    assert f.name == path.stem and f.title and f.about
    assert Play(shipped(path.stem)).to_the_end().result.stop.reason == "played"
