"""What the check proves: approval rests on it, so each way round it is a row here."""

import msgspec
import pytest

from parley.coordinator.protocols.madp.evidence.proof import names, proof
from parley.schemas.protocols.madp.work import Checked

A, B, C = "tests/test_money.py::test_half_cent", "tests/test_money.py::test_sum", "tests/test_tax.py::test_rate"


def run(when: str, *failed: str, passed: int | None = 3, exit: int | None = None, ended: str = "") -> Checked:
    status = (1 if failed else 0) if exit is None and not ended else exit
    tests = None if passed is None else passed + len(failed)
    return Checked(
        when=when,  # type: ignore[arg-type]
        command="make test",
        exit=status,
        ended=ended,
        passed=passed,
        failed=failed,
        tests=tests,
    )


@pytest.mark.parametrize(
    ("before", "after", "ok", "why"),
    [
        (run("before", A, passed=2), run("after", passed=3), True, ""),
        (run("before"), run("after"), True, ""),
        (None, run("after"), True, ""),
        (run("before", A), None, False, "not run after"),
        (run("before", A), run("after", ended="it was ended after 300 s"), False, "no result"),
        (run("before", A, B), run("after", B), False, "fail after the work as they did before"),
        (run("before", A), run("after", A, C), False, "did not fail before the work: tests/test_tax.py::test_rate"),
        (run("before"), run("after", A), False, "it succeeded before the work"),
        (run("before", A, passed=2), run("after", passed=2), False, "3 tests ran before the work and 2 pass after it"),
        (run("before", A, exit=2), run("after", exit=2), False, "names no failures that could be compared"),
        (None, run("after", A), False, "it fails after the work"),
        (run("before", ended="no sandbox"), run("after", A), False, "it fails after the work"),
    ],
)
def test_only_a_check_that_succeeds_after_the_work_proves_it(
    before: Checked | None, after: Checked | None, ok: bool, why: str
) -> None:
    found = proof(before, after, "green", "the tests fail, fix the code")
    assert found.ok is ok and why in found.why and bool(found.why) is not ok


def test_tests_are_taken_away_only_where_both_runs_were_counted() -> None:
    def counted(when: str, *failed: str, passed: int | None, tests: int | None) -> Checked:
        return msgspec.structs.replace(run(when, *failed, passed=passed), tests=tests)

    before = counted("before", A, "(errors=1)", passed=1, tests=2)
    assert proof(before, counted("after", passed=2, tests=2), "green", "x") == (True, "")
    assert "2 tests ran before" in proof(before, counted("after", passed=1, tests=1), "green", "x").why
    unknown = counted("after", passed=2, tests=None)
    assert proof(before, unknown, "green", "x").ok and "does not say" in proof(before, unknown, "green", "x").why
    silent = counted("after", passed=None, tests=None)
    assert "counts none, so it proves nothing" in proof(before, silent, "green", "x").why
    assert "counts none" in proof(counted("before", passed=2, tests=2), silent, "green", "x").why
    assert "2 tests ran" in proof(counted("before", passed=2, tests=2), run("after", passed=1), "green", "x").why


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
        (f"removed: {A}", "the tests fail, fix the code", False),
        (f"skipped: {A}", "make it green", False),
        (f"emptied: {C}", "make it green", False),
        (f"changed: {A}", "make it green", False),
        ("changed: tests/test_money.py", "make it green", False),
        ("changed: tests/rates.json", "make it green", False),
        ("changed: tests/rates.json", "the rate in tests/rates.json is wrong", True),
        ("changed: tests/test_money.py", "tests/test_money.py is red", False),
        (f"loosened: {C}", "make it green", False),
        (f"loosened: {C}", "update the tests", True),
        (f"asserts nothing: {B}", "make it green", True),
        ("made for tests: app.py: pytest", "make it green", False),
        ("made for tests: app.py: pytest", "update the tests", False),
        ("made for tests: app.py: pytest", "begin a plugin of pytest", True),
        (f"changed: {C}", "make it green", True),
        (f"changed: {A}", "update the tests to the new rounding", True),
        (f"removed: {A}", "remove half cents: nobody uses them any more", True),
        (f"removed: {A}", "remove the half cent bug", False),
        (f"skipped: {A}", "remove half cents", False),
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


def test_regressions_alone_can_be_asked_for() -> None:
    assert proof(run("before", A), run("after", A), "regressions", "add a page").ok
    assert not proof(run("before", A), run("after", A, B), "regressions", "add a page").ok
    assert not proof(run("before"), run("after", A), "regressions", "add a page").ok


@pytest.mark.parametrize(
    ("task", "named"),
    [
        ("fix test_half_cent", True),
        ("fix test_half_cents", False),
        ("make tests/test_money.py pass", True),
        ("test_money.py is red", True),
        ("the tests in tests are red", False),
    ],
)
def test_a_task_names_a_failure_by_its_test_or_its_file(task: str, named: bool) -> None:
    assert names(task, A + "[0.5]") is named
