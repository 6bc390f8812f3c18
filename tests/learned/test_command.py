"""The whole way on real stacks: sessions, feedback, records, and a session that weighs by them and replays."""

import json
from pathlib import Path
from typing import Any

import pytest

import parley
from parley.client.learned import store
from parley.client.learned.verdicts import KnownOutcome, MemberAnswer
from tests.parley.support import Front

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
    assert "reliability" not in first["stop"]["certificate"] and "calibrated" not in plain["result"]
    assert front.run("explain", first["session"], "past")[0] == 2, "there is no such part"
    front.json("feedback", first["session"], "right", "--json")
    learned = front.json("reliability", "learn", "--json")
    assert (learned["sessions"], learned["of_members"], learned["unread"]) == (1, 1, [])
    kept = store.read(Path(learned["file"])).verdicts[0]
    assert kept.stop and kept.rounds[-1].share > 50 and kept.rounds[-1].right is True
    listed = front.json("reliability", "list", "--kind", "operations", "--json")
    assert {(row["by"], row["kind"]) for row in listed["rows"]} >= {("seat", "operations")}
    assert listed["sessions"] == 1 and listed["used"] is True

    other = asked(front, f"{question} Say it shortly.", "--kind", "operations")
    known = other["stop"]["certificate"]["reliability"]
    assert known["kind"] == "operations" and known["sessions"] == 1 and len(known["seats"]) == 3
    code, told, _ = front.run("explain", other["session"], "past")
    assert code == 0 and "Seats weighed by their records on questions of the kind operations" in told
    assert front.run("replay", other["session"])[0] == 0


async def test_the_python_api_carries_records(tmp_path: Path) -> None:
    members = (MemberAnswer(seat="panelist_1", model="extractive", right=True),)
    said = [KnownOutcome(session=f"s{n}", question=f"q{n}", at_ns=1, members=members, right=True) for n in range(3)]
    store.write(tmp_path / store.NAME, store.Store(verdicts=tuple(said)))
    async with parley.local(protocol="consensus", state=tmp_path) as p:
        for on in (True, False):
            p.learned = tmp_path / store.NAME if on else None
            result = await p.ask("Canary or big-bang?", evidence=EXAMPLE / "evidence", kind="law")
            assert ("reliability" in result.stop.certificate) is on
        p.learned = tmp_path / store.NAME
        session = await p.start("Canary or big-bang?", evidence=EXAMPLE / "evidence", settings={"round_limit": 1})
        result = await session.result()
        await session.feedback(True)
        report = await p.learn()
        assert (report.sessions, report.kept, report.unread) == (1, 4, ())
        assert store.read(tmp_path / store.NAME).verdicts[-1].session == result.session
        other = await p.learn(file=tmp_path / "other.json")
        assert (other.kept, p.learned) == (1, tmp_path / "other.json"), "a file of its own, which is read from now on"
