"""Who sits down in a session of maci, and what it takes: families, documents, roles."""

from typing import Any

import pytest

from parley.coordinator.machine import Inadmissible
from parley.schemas.session import Seat
from tests.protocols.maci.play import AGAINST, FOR, Play, begun, case, document


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
        ([], "evidence: got none that the helper holds"),
        ([document("a.md", " \n")], "evidence: got 1 documents, all empty"),
        ([document("a.md", "text", "debater_1")], "got none that the helper holds"),
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
