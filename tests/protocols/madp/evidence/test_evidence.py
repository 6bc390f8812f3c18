"""The record of what the machine saw decides the ending, and the check proves no more than it ran."""

from typing import Any

import msgspec
import pytest

from parley.client.protocols.madp.work import seen_lines
from parley.coordinator.protocols.madp.evidence.proof import proof
from parley.coordinator.protocols.madp.evidence.told import LEFT_OUT, borne_out, unheld
from parley.schemas import log
from parley.schemas.protocols.madp.work import Checked, Evidence, Finding, Ran, Review, Work
from parley.schemas.tools import ToolCall
from tests.protocols.madp.play import APPROVED, AUDITOR, SEC, SRE, Play, artifact, done

CODE = "diff --git a/app.py b/app.py\n--- a/app.py\n+++ b/app.py\n@@ -1 +1 @@\n-a\n+b\n"
SENTENCE = "Prices are in euros."
PROSE = CODE.replace("app.py", "docs/README.md")
ENDINGS = [("README.md", "b", "reviewed"), ("a/b.rst", "b", "reviewed"), ("n.txt", SENTENCE, "reviewed"),
           ("x.ADOC", "b", "reviewed"), ("requirements.txt", "requests==2.32 ; python_version > '3'", "unchecked"),
           ("dev/CMakeLists.txt", "add_executable(a b.c)", "unchecked"), ("deps.txt", "numpy", "unchecked"),
           ("app.py", SENTENCE, "unchecked"), ("README.md.py", SENTENCE, "unchecked"), ("page.html", "b", "unchecked"),
           ("README.md", "All 214 tests pass on Linux.", "unchecked")]  # fmt: skip
RAN = ToolCall(server="commands", tool="run", arguments='{"command": "pytest -q"}', ok=True, ended="exit 0",
               tests="6 passed")  # fmt: skip
READ = ToolCall(server="files", tool="read_file", arguments='{"path": "app.py"}', ok=True)
WROTE = ToolCall(server="files", tool="write_file", arguments='{"path": "app.py"}', ok=True)
REFUSED = ToolCall(server="files", tool="read_file", arguments='{"path": "../x"}', ok=False,
                   result="The call was refused: it leads out of the folder")  # fmt: skip


def handed(text: str = "It is done.", diff: str = CODE, **more: Any) -> Play:
    """Work without a check, that a reviewer is asked about."""
    p = Play({"folder": "f" * 64}, task="Improve our pages").working(reviewers=(AUDITOR,))
    p.reply(SRE, done(text, diff=diff, folder=artifact(1), **more))
    return p


@pytest.mark.parametrize(("path", "line", "reason"), ENDINGS)
def test_without_a_check_only_prose_that_claims_no_run_ends_as_reviewed(path: str, line: str, reason: str) -> None:
    p = handed(diff=CODE.replace("app.py", path).replace("-a\n+b", f"+{line}"))
    for seat in [seat for seat, kind in p.asked() if kind == "review"]:
        p.reply(seat, APPROVED)
    if reason == "unchecked":
        p.expire()
    assert p.stop["reason"] == reason and p.stop["converged"] is (reason == "reviewed")


def test_a_program_beside_prose_is_no_prose() -> None:
    for diff in (
        PROSE + CODE,
        PROSE.replace("\n--- ", "\nnew file mode 100755\n--- "),
        PROSE + "[cut here: the diff goes on]\n",
    ):
        p = handed(diff=diff)
        p.reply(AUDITOR, APPROVED)
        assert p.bodies("item")[0]["kind"] == "unchecked"


def test_a_claim_of_a_run_that_did_not_happen_is_marked_and_no_result() -> None:
    p = handed("Both causes are corrected. I ran the whole suite: 6 passed.", diff=PROSE)
    brief = p.brief(AUDITOR)
    assert brief["evidence"][0] == "no command was run"
    assert brief["claims"] == ["I ran the whole suite: 6 passed."]
    p.approve()
    assert p.outcome["answer"].startswith("No command was run.") and "6 passed" not in p.outcome["answer"]
    assert "6 passed" not in p.outcome["work"]["summary"] + p.result.rounds[-1]["summary"]
    assert LEFT_OUT in p.outcome["answer"] and "Both causes are corrected." in p.outcome["answer"]
    assert p.outcome["evidence"]["claims"] == p.certificate["evidence"]["claims"] == brief["claims"]


def test_the_record_has_what_was_run_read_written_and_refused() -> None:
    p = handed(calls=(READ, REFUSED, WROTE, RAN), offered=("files.read_file", "commands.run"), shown=("README.md",))
    brief = p.brief(AUDITOR)
    assert f"{SRE} ran `pytest -q`: exit 0, 6 passed" in brief["evidence"]
    assert "files read: README.md, app.py" in brief["evidence"] and "files changed: app.py" in brief["evidence"]
    p.reply(AUDITOR, APPROVED)
    p.expire()
    record = p.outcome["evidence"]
    assert (
        record["offered"] == ["files.read_file", "commands.run"]
        and "it leads out of the folder" in record["refused"][0]
    )
    assert p.certificate["evidence"]["commands"] == [f"{SRE}: pytest -q: exit 0"]


def test_what_was_run_before_a_change_shows_nothing_of_it() -> None:
    assert handed("All 6 tests pass.", calls=(WROTE, RAN)).brief(AUDITOR)["claims"] == []
    stale = handed("All 6 tests pass.", calls=(RAN, WROTE)).brief(AUDITOR)
    assert stale["claims"] == ["All 6 tests pass.", "In full: All 6 tests pass."]
    assert f"{SRE} ran `pytest -q`: exit 0, 6 passed, files were changed after it" in stale["evidence"]


def ran(command: str) -> Evidence:
    return Evidence(commands=(Ran(by="sre", command=command, ended="exit 0", tests="6 passed"),))


NOTHING = Evidence(written=("billing/cents.py",), read=("README.md",))
GREEN = (Checked(when="after", command="python -m pytest -q", exit=0, passed=6, tests=6),)
RED = (Checked(when="after", command="python -m pytest -q", exit=1, passed=5, tests=6, failed=("t.py::a",)),)


@pytest.mark.parametrize(
    "claim",
    [
        "I ran the whole suite: 6 passed.", "Tested with 12 cases.", "All tests pass.", "Everything is green.",
        "I ran `python -m pytest -q` after it.", "The suite passes without failures.", "Verified the fix locally.",
        "The fix is fully tested.", "To be sure I ran the suite: 6 passed.", "CI is green.", "Ran pytest; no failures.",
        "I read src/other.py and its callers.", "Added 3 regression tests.", "I wrote tests for the boundary.",
        "No regressions: all checks succeed.", "Not only did I run it, all 6 tests pass.", "Alle Tests sind grün.",
        "Die Änderung wurde getestet.", "Tous les tests passent.", "I have tested this manually.", "pytest → 4/4 ✔.",
        "CI is happy with it.", "No regressions turned up when I exercised the code.", "All green.",
        "Everything checks out under pytest.", "QA ran the suite twice without trouble.", "The suite ran through.",
        "Coverage stays at 98 %.", "mypy and ruff report nothing.", "I tried it in a shell and it printed 6.",
        "Manual testing confirms the fix.", "I went through every module first.", "I have reviewed every file in a/.",
        "Having studied src/other.py, I kept its words.", "Confirmed by executing the examples.",
    ],
)  # fmt: skip
def test_what_nobody_ran_read_or_added_is_a_claim(claim: str) -> None:
    assert unheld(claim, NOTHING, ())
    assert borne_out(f"It is done.\n{claim}\n{claim}\nThat is all.", NOTHING, ()).count(LEFT_OUT) == 1


@pytest.mark.parametrize(
    "text",
    [
        "I did not run the tests.", "No command was run.", "Run the tests with `make test`.", "It was not tested.",
        "The tests should pass once the fixture is restored.", "The README now says how to run the tests.",
        "If the tests pass, merge it.", "I could not run anything here.",
        "The page describes which tests are run by CI.",
        "The tests were not run, since there is no tool for it.", "I corrected the rounding in billing/cents.py.",
        "The user is verified by the server before the order is built.", "A green button confirms the order.",
        "The command was run by cron every night until now.", "Nothing changes in behaviour.",
    ],
)  # fmt: skip
def test_what_claims_nothing_is_left_alone(text: str) -> None:
    assert unheld(text, NOTHING, ()) == () and borne_out(text, NOTHING, ()) == text


@pytest.mark.parametrize(
    ("claim", "record", "checks", "held"),
    [
        ("All 6 tests pass.", Evidence(), GREEN, True),
        ("All 7 tests pass.", Evidence(), GREEN, False),
        ("All tests pass.", Evidence(), RED, False),
        ("I ran the suite: 5 passed, 1 failed.", Evidence(), RED, True),
        ("5 of the 6 tests pass, and it was so before.", Evidence(), RED, True),
        ("I ran it: 1 of 6 failed.", Evidence(), RED, True),
        ("I ran the suite.", Evidence(), RED, True),
        ("I ran all tests and they pass.", Evidence(), GREEN, False),
        ("I ran all tests and they pass.", ran("pytest -q"), GREEN, True),
        ("I ran `npm test` as well.", Evidence(), GREEN, False),
        ("All tests pass.", Evidence(commands=(Ran(by="sre", command="npm test", ended="exit 1"),)), (), False),
        ("All tests pass.", Evidence(commands=(Ran(by="sre", command="npm test", ended="exit 0"),)), (), True),
        ("All 6 tests pass.", ran("cd a && pytest -q 2>&1 | tail -3"), (), True),
        ("All 6 tests pass.", ran("echo 6 passed"), (), False),
        ("All 6 tests pass.", ran("python -c \"print('6 passed')\""), (), False),
        ("All 6 tests pass.", ran("pytest -q; echo 6 passed"), (), False),
        ("I added 2 tests.", Evidence(tests=2), (), True),
        ("I added 3 tests.", Evidence(tests=2), (), False),
        ("I read app.py.", Evidence(read=("src/app.py",)), (), True),
        ("I read src/app.py and README.md.", ran("cat README.md src/*.py"), (), True),
        ("Nothing changes in behaviour.", Evidence(unasked=("permissions",)), (), False),
        ("The new test proves it.", Evidence(tests=1, unasked=("asserts nothing: t.py::a",)), GREEN, False),
        ("Both causes are corrected.", Evidence(offered=("files.read_file",)), GREEN, False),
        ("Nothing had to be changed.", Evidence(offered=("files.read_file",)), GREEN, True),
    ],
)
def test_a_claim_is_held_against_the_record(
    claim: str, record: Evidence, checks: tuple[Checked, ...], held: bool
) -> None:
    assert (unheld(claim, record, checks) == ()) is held


@pytest.mark.parametrize(
    ("said", "claims"),
    [
        ("Say which text holds and it can be done: the other test is corrected.", ()),
        ("The tests are changed to two functions then.", ()),
        ("I corrected the test.", ("I corrected the test.",)),
        ("All 6 tests pass now.", ("All 6 tests pass now.",)),
    ],
)
def test_who_declines_may_say_what_would_be_changed(said: str, claims: tuple[str, ...]) -> None:
    p = Play({"folder": "f" * 64}, task="Fix the failing tests.").working(reviewers=(AUDITOR,))
    p.reply(SRE, Work(outcome="declined", summary="It cannot be done.", output=said, offered=("files.read_file",)))
    assert p.stop["reason"] == "declined" and tuple(p.outcome["evidence"]["claims"]) == claims
    assert (LEFT_OUT in p.outcome["answer"]) is bool(claims)


def test_what_the_task_does_not_speak_of_is_named() -> None:
    p = handed("Formatted. Nothing changes in behaviour.", diff=CODE.replace("+b", "+os.chmod(x, 0o777)"))
    (asked,) = [seat for seat, kind in p.asked() if seat == SEC]
    brief = p.brief(asked)
    assert "beside what the task asks: permissions" in brief["evidence"]
    assert brief["claims"] == ["Nothing changes in behaviour."]
    p.approve()
    assert p.outcome["evidence"]["unasked"] == p.certificate["evidence"]["unasked"] == ["permissions"]
    said = list(seen_lines(p.outcome))
    assert "Beside what the task asks: permissions" in said


def test_a_session_beneath_a_task_sees_the_diff_and_the_check() -> None:
    p = Play({"folder": "f" * 64, "check": "make test", "deliberation": "maci"}, checker=True).working()
    p.reply("check", Checked(when="before", command="make test", exit=1, failed=("t.py::a",), output="it says 3"))
    p.reply(SRE, done(diff=CODE, folder=artifact(1)))
    p.reply("check", Checked(when="after", command="make test", exit=0, output="it says 4"))
    for seat in [seat for seat, kind in p.asked() if kind == "review"]:
        finding = Finding(severity="critical", description="Which law holds?", location="app.py:1")
        p.reply(seat, Review(verdict="blocked", findings=(finding,)))
    (child,) = p.commands(log.StartChild)
    assert "+++ b/app.py" in child.opening.question and "it says 4" in child.opening.question


A, B, C = "tests/test_money.py::test_half_cent", "tests/test_money.py::test_sum", "tests/test_tax.py::test_rate"


def run(when: str, *failed: str, passed: int | None = 3, exit: int | None = None, ended: str = "") -> Checked:
    status = (1 if failed else 0) if exit is None and not ended else exit
    tests = None if passed is None else passed + len(failed)
    given: dict[str, Any] = {"when": when, "exit": status, "ended": ended, "passed": passed, "failed": failed}
    return Checked(command="make test", tests=tests, **given)


@pytest.mark.parametrize(
    ("before", "after", "ok", "why"),
    [
        (run("before", A, passed=2), run("after", passed=3), True, ""),
        (run("before", A), None, False, "not run after"),
        (run("before", A), run("after", ended="it was ended after 300 s"), False, "no result"),
        (run("before", A, B), run("after", B), False, "fail after the work as they did before"),
        (run("before", A), run("after", A, C), False, "did not fail before the work: tests/test_tax.py::test_rate"),
        (run("before"), run("after", A), False, "it succeeded before the work"),
        (run("before", A, passed=2), run("after", passed=2), False, "3 tests ran before the work and 2 pass after it"),
        (run("before", A, exit=2), run("after", exit=2), False, "names no failures that could be compared"),
        (run("before", ended="no sandbox"), run("after", A), False, "it fails after the work"),
    ],
)
def test_only_a_check_that_succeeds_after_the_work_proves_it(
    before: Checked | None, after: Checked | None, ok: bool, why: str
) -> None:
    found = proof(before, after, "green", "the tests fail, fix the code")
    assert found.ok is ok and why in found.why and bool(found.why) is not ok


def test_a_check_that_exits_with_0_and_names_or_counts_failures_has_failed() -> None:
    after = run("after", A, passed=5, exit=0)
    assert not after.green
    assert "but its output has failures" in proof(None, after, "green", "x").why
    assert "fail after the work as they did before" in proof(run("before", A, B, exit=0), after, "green", "x").why
    uncounted = msgspec.structs.replace(run("after", passed=5), tests=6)
    assert not uncounted.green and not proof(run("before", A), uncounted, "green", "x").ok


@pytest.mark.parametrize(
    ("row", "task", "ok"),
    [
        (f"changed: {A}", "make it green", False),
        ("changed: tests/rates.json", "make it green", False),
        ("changed: tests/rates.json", "the rate in tests/rates.json is wrong", True),
        ("changed: tests/test_money.py", "tests/test_money.py is red", False),
        (f"loosened: {C}", "make it green", False),
        (f"loosened: {C}", "update the tests", True),
        (f"asserts nothing: {B}", "make it green", True),
        ("made for tests: app.py: pytest", "make it green", False),
        ("made for tests: app.py: pytest", "begin a plugin of pytest", True),
        (f"changed: {C}", "make it green", True),
        (f"changed: {A}", "update the tests to the new rounding", True),
        (f"removed: {A}", "remove half cents: nobody uses them any more", True),
        (f"removed: {A}", "remove the half cent bug", False),
        (f"removed: {C}", "remove half cents", False),
    ],
)
def test_tests_that_the_work_took_away_or_changed_prove_nothing(row: str, task: str, ok: bool) -> None:
    after = msgspec.structs.replace(run("after", passed=4), weakened=(row,))
    found = proof(run("before", A), after, "green", task)
    assert found.ok is ok and (ok or row in found.why), found


def test_failures_that_the_task_names_are_enough_where_nothing_else_turned_red() -> None:
    task = "repair test_half_cent; the others are known"
    assert proof(run("before", A, B), run("after", B), "green", task).ok
    assert "test_sum" in proof(run("before", A, B), run("after", B), "green", task).why
    assert not proof(run("before", A, B), run("after", A, B), "green", task).ok
    assert not proof(run("before", A, B), run("after", B, C), "green", task).ok
    assert not proof(run("before", A, B, passed=9), run("after", B, passed=8), "green", task).ok
