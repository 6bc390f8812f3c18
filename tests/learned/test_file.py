"""The file of what was learned, what a new session is opened with, and the whole way from feedback to a session."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import parley
from parley.client.errors import BadInput
from parley.client.learned import store
from parley.client.learned.learning import calibrations, learn
from parley.client.learned.verdicts import KnownOutcome, MemberAnswer, question_hash
from parley.client.opening import opening_of
from parley.coordinator.signals.reliability import calibrated
from parley.learned import learning
from parley.planned.plan import plan_of
from parley.schemas.session import OpenSession
from parley.serving.offered_models import offers_of
from parley.settings import Settings, load
from tests.parley.support import Front

NOW = 10**18


def settings(tmp_path: Path, **section: object) -> Settings:
    return load(None, {"learned": {"file": str(tmp_path / "learned.json"), **section}})


def verdicts(n: int, right: int) -> tuple[KnownOutcome, ...]:
    """Of n results stated at .9, so many right."""
    return tuple(
        KnownOutcome(
            session=f"s{i}", question=question_hash(f"q{i}"), kind="law", protocol="consensus", at_ns=NOW,
            members=(MemberAnswer(seat="panelist_1", model="m", right=i < right),), confidence=0.9, right=i < right,
        )
        for i in range(n)
    )  # fmt: skip


def opened(tmp_path: Path, question: str = "another?", **section: object) -> OpenSession:
    return asked_with(settings(tmp_path, **section), question)


def asked_with(given: Settings, question: str = "another?") -> OpenSession:
    return opening_of(question, {}, (), plan_of(given).offer("consensus"), door="ask")


def keep(tmp_path: Path, said: tuple[KnownOutcome, ...]) -> None:
    fits = calibrations(said, NOW)
    store.write(tmp_path / "learned.json", store.Store(verdicts=said, calibrations=fits))


def test_a_session_is_opened_with_records_and_a_reading(tmp_path: Path) -> None:
    keep(tmp_path, verdicts(40, 20))
    learned = opened(tmp_path).learned
    assert learned is not msgspec.UNSET
    assert learned.reliability is not msgspec.UNSET and learned.reliability.sessions == 40
    assert learned.calibration is not msgspec.UNSET and learned.calibration.outcomes == 40


def test_the_question_at_hand_is_left_out_of_both(tmp_path: Path) -> None:
    keep(tmp_path, verdicts(40, 20))
    learned = opened(tmp_path, question="Q7").learned
    assert learned is not msgspec.UNSET and learned.reliability is not msgspec.UNSET
    assert (learned.reliability.sessions, learned.reliability.left_out) == (39, 1)
    assert learned.calibration is msgspec.UNSET


def test_it_has_a_switch_and_with_nothing_known_the_opening_is_as_before(tmp_path: Path) -> None:
    keep(tmp_path, ())
    assert opened(tmp_path).learned is msgspec.UNSET
    keep(tmp_path, verdicts(40, 20))
    assert opened(tmp_path, used=False).learned is msgspec.UNSET


def test_few_results_calibrate_nothing() -> None:
    assert calibrations(verdicts(29, 20), NOW) == ()
    (fit,) = calibrations(verdicts(30, 15), NOW)
    assert fit.method == "beta" and calibrated(fit, 0.9) == pytest.approx(0.5, abs=0.02)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "learned.json"
    path.write_text("[]")
    with pytest.raises(BadInput, match="no file of what was learned"):
        store.read(path)
    path.write_text(json.dumps({"format": 9}))
    with pytest.raises(BadInput, match="of format 9"):
        store.read(path)
    fit = {"version": "v", "method": "beta", "fitted_on": "nothing", "outcomes": 0}
    for garbage in (
        b"",
        b'{"format": 1, "x": ' + b"[" * 20_000,
        json.dumps({"format": 1, "calibrations": [fit]}).encode(),
    ):
        path.write_bytes(garbage)
        with pytest.raises(BadInput, match=r"no file of what was learned: .*; name another, or move it away"):
            store.read(path)
    with pytest.raises(BadInput, match=r"cannot read .*: Is a directory"):
        store.read(tmp_path)


def test_a_file_that_is_named_has_to_be_there(tmp_path: Path) -> None:
    absent = settings(tmp_path)
    wanted = "there is no file .*learned.json; parley reliability learn --file writes one"
    for uses in (
        lambda: asked_with(absent), lambda: learning.list_records(absent),
        lambda: offers_of(plan_of(absent)),
    ):  # fmt: skip
        with pytest.raises(BadInput, match=wanted):
            uses()
    off = settings(tmp_path, used=False)
    assert asked_with(off).learned is msgspec.UNSET, "it is not read"
    unnamed = load(None, {"state": str(tmp_path)})
    assert asked_with(unnamed).learned is msgspec.UNSET, "nothing was learned yet"


def test_learning_where_no_session_ever_was_keeps_what_is_known(tmp_path: Path) -> None:
    keep(tmp_path, verdicts(1, 1))
    given = settings(tmp_path).model_copy(update={"state": tmp_path / "state"})
    found = learning.learn(given)
    assert (found.sessions, found.kept) == (0, 1)
    again = parley.learn(state=tmp_path / "state", learned=tmp_path / "learned.json")
    assert again == found, "the Python API does the same"
    words = "\n".join(learning.table_words(learning.list_records(given), on=True))
    assert "model m" in words


async def test_without_a_file_nothing_is_learned() -> None:
    with pytest.raises(BadInput, match=r"learned\.file: nothing is kept without a file; name one"):
        await learn(None, None)


# -- the whole way on real stacks

EXAMPLE = Path(__file__).parents[2] / "examples" / "rollout"
EVIDENCE = ("--evidence", str(EXAMPLE / "evidence"), "--protocol", "consensus")


def asked(front: Front, question: str, *options: str) -> Any:
    """The result, settled or not."""
    code, out, err = front.run("ask", question, *EVIDENCE, *options, "--json")
    assert code in (0, 3), err
    return json.loads(out)


@pytest.mark.slow
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


@pytest.mark.slow
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
