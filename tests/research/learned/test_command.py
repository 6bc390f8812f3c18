"""The whole way on real stacks: sessions, feedback, records, and a session that weighs by them and replays."""

import json
from pathlib import Path
from typing import Any

import pytest

import parley
from parley.client.reliability import store
from parley.client.reliability.verdicts import Member, Verdict
from parley.schemas.session import Seat
from tests.parley.support import Front
from tests.research.learned.test_file import past

pytestmark = [pytest.mark.slow]
EXAMPLE = Path(__file__).parents[2] / "examples" / "rollout"
EVIDENCE = ("--evidence", str(EXAMPLE / "evidence"), "--protocol", "consensus")


def asked(front: Front, question: str, *options: str) -> Any:
    """The result, settled or not."""
    code, out, err = front.run("ask", question, *EVIDENCE, *options, "--json")
    assert code in (0, 3), err
    return json.loads(out)


def test_feedback_becomes_records_that_the_next_session_weighs_by(tmp_path: Path) -> None:
    front = Front(tmp_path)
    assert "nothing is known of any member" in front.run("reliability", "list")[1]
    question = (EXAMPLE / "question.txt").read_text().strip()
    first = asked(front, question, "--kind", "operations")
    plain = front.json("explain", first["session"], "--json")
    assert "reliability" not in first["stop"]["certificate"] and plain["calibrated"] is None
    assert "is not calibrated: this session carries no fit" in front.run("explain", first["session"])[1]
    front.json("feedback", first["session"], "right", "--json")
    learned = front.json("reliability", "learn", "--json")
    assert (learned["sessions"], learned["of_members"], learned["unread"]) == (1, 1, [])
    listed = front.json("reliability", "list", "--kind", "operations", "--json")
    assert {(row["by"], row["kind"]) for row in listed["rows"]} >= {("seat", "operations")}
    assert listed["sessions"] == 1 and listed["used"] is True

    again = asked(front, question)
    assert "reliability" not in again["stop"]["certificate"], "nothing but the question at hand was known"
    other = asked(front, f"{question} Say it shortly.", "--kind", "operations")
    known = other["stop"]["certificate"]["reliability"]
    assert known["kind"] == "operations" and known["sessions"] == 1 and len(known["seats"]) == 3
    code, told, _ = front.run("explain", other["session"])
    assert code == 0 and "Seats weighed by their records on questions of the kind operations" in told
    assert front.run("replay", other["session"])[0] == 0
    off = asked(front, f"{question} At once.", "--set", "learned.reliability=off")
    assert "reliability" not in off["stop"]["certificate"]


def test_what_controllers_learned_is_shown_without_a_stack(tmp_path: Path) -> None:
    steering = Front(tmp_path).json("reliability", "policy", "--json")
    assert steering["used"] is False and steering["policies"]["maci"]["sessions"] == 0


def test_auto_says_that_nothing_is_fitted_and_what_it_does(tmp_path: Path) -> None:
    front = Front(tmp_path)
    options = ("--evidence", str(EXAMPLE / "evidence"), "--protocol", "auto", "--round-limit", "1")
    code, out, err = front.run("ask", (EXAMPLE / "question.txt").read_text().strip(), *options, "--json")
    route = json.loads(out)["route"]
    assert (route["way"], route["sessions"]) == ("debate", 0), err
    assert route["why"].startswith("nothing is fitted: 0 past sessions") and code in (0, 3)
    assert json.loads(out)["protocol"] == "consensus"


def test_auto_sends_a_question_to_one_model_where_that_is_worth_most(tmp_path: Path) -> None:
    front = Front(tmp_path)
    store.write(front.state / store.NAME, store.Store(verdicts=past(20, alone=16, together=16)))
    options = ("--evidence", str(EXAMPLE / "evidence"), "--protocol", "auto", "--round-limit", "2")
    code, out, err = front.run("ask", "Canary or big-bang?", *options, "--json")
    result = json.loads(out)
    assert (result["protocol"], result["route"]["way"], result["route"]["sessions"]) == ("single", "one", 20)
    assert code == (0 if result["outcome"]["answer"] else 3) and not result["stop"]["converged"]
    assert "not used, because one model is chosen: --round-limit" in err


async def test_the_python_api_chooses_a_way_and_says_why(tmp_path: Path) -> None:
    async with parley.local(3, protocol="auto", state=tmp_path) as p:
        debate = await p.ask(
            "Canary or big-bang?", evidence=EXAMPLE / "evidence", settings={"round_limit": 1}, kind=None
        )
        assert debate.route is not None
        assert (debate.protocol, debate.route.way, debate.route.unused) == ("consensus", "debate", ())
        assert debate.route.why.startswith("nothing is fitted: 0 past sessions")
        assert sum(seat.startswith("panelist") for seat in debate.usage.by_seat) == 3
        store.write(tmp_path / store.NAME, store.Store(verdicts=past(20, alone=16, together=16, model="extractive")))
        session = await p.start(
            "Canary or big-bang?", evidence=EXAMPLE / "evidence", settings={"round_limit": 2}, panel=2
        )
        one = await session.result()
        assert one.route is not None and one.route == session.route
        assert (one.protocol, one.route.way) == ("single", "one")
        assert (one.route.model, one.route.sessions) == ("extractive", 20)
        assert one.route.unused == ("round_limit", "panel"), "one model has no rounds, and no panel"
        refused: tuple[tuple[dict[str, Any], str], ...] = (
            ({"settings": {"outcomes": ["a", "b"]}}, "outcomes: auto chooses between single and consensus"),
            ({"seats": [Seat(seat="a", role="panelist", queue="panelist_1")]}, "seats: auto chooses who sits there"),
            ({"kind": 5}, "kind: got 5, expected a word"),
            ({"kind": "x" * 65}, "kind: got '65 characters'"),
        )
        for given, why in refused:
            with pytest.raises(parley.BadInput, match=why):
                await p.start("Canary or big-bang?", **given)


async def test_a_stack_without_whom_auto_may_choose_says_so(tmp_path: Path) -> None:
    with pytest.raises(parley.BadInput, match=r"there is no file .*nope"):
        parley.ask("q?", protocol="auto", learned=tmp_path / "nope")
    with pytest.raises(parley.BadInput, match="price: got -1, allowed is 0 to 1"):
        parley.ask("q?", price=-1)


async def test_the_python_api_carries_records_and_has_the_same_switch(tmp_path: Path) -> None:
    members = (Member(seat="panelist_1", model="extractive", right=True),)
    said = [Verdict(session=f"s{n}", question=f"q{n}", at_ns=1, members=members, right=True) for n in range(3)]
    store.write(tmp_path / store.NAME, store.Store(verdicts=tuple(said)))
    async with parley.local(protocol="consensus", state=tmp_path) as p:
        for on in (True, False):
            p.reliability = on
            result = await p.ask("Canary or big-bang?", evidence=EXAMPLE / "evidence", kind="law")
            assert ("reliability" in result.stop.certificate) is on
        session = await p.start("Canary or big-bang?", evidence=EXAMPLE / "evidence", settings={"round_limit": 1})
        result = await session.result()
        await session.feedback(True)
        report = await p.learn()
        assert (report.sessions, report.kept, report.unread) == (1, 4, ())
        assert store.read(tmp_path / store.NAME).verdicts[-1].session == result.session
        other = await p.learn(file=tmp_path / "other.json")
        assert (other.kept, p.learned) == (1, tmp_path / "other.json"), "a file of its own, which is read from now on"
