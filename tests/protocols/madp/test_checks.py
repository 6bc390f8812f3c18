"""The check on the machine: before the work, after it, and what becomes of a task whose check does not bear it out."""

from typing import Any

import pytest

from parley.coordinator.machine import Inadmissible
from parley.schemas.protocols.madp.work import Checked
from tests.protocols.madp.play import APPROVED, AUDITOR, SRE, Play, artifact, done

CHECK = "python -m pytest -q"
FOLDER = "f" * 64


def run(when: str, *failed: str, **more: Any) -> Checked:
    given = {"exit": 1 if failed else 0, "passed": 4 - len(failed), "output": "what it printed"}
    return Checked(when=when, command=CHECK, failed=failed, **{**given, **more})  # type: ignore[arg-type]


def checked(**settings: Any) -> Play:
    """A task whose folder is known, with a check that has been asked for."""
    given = {"check": CHECK, "folder": FOLDER, **settings}
    p = Play(given, checker=True, task="The tests fail: fix the code")
    return p.working(reviewers=(AUDITOR,))


def half_done(**settings: Any) -> Play:
    """The lead says that it is done."""
    p = checked(**settings)
    p.reply("check", run("before", "t.py::a", "t.py::b"))
    p.reply(SRE, done(folder=artifact(1), diff="--- a\n"))
    return p


def test_it_runs_again_on_what_was_accepted_and_reviewers_see_both() -> None:
    p = half_done()
    assert p.asked() == [("check", "check")] and p.brief("check")["folder"] == artifact(1).id
    p.reply("check", run("after"))
    assert p.asked() == [(AUDITOR, "review")]
    brief = p.brief(AUDITOR)
    assert [c["when"] for c in brief["checks"]] == ["before", "after"]
    assert (brief["base"], brief["folder"], brief["performed"]) == (FOLDER, artifact(1).id, True)
    p.reply(AUDITOR, APPROVED)
    assert p.stop["reason"] == "approved" and p.outcome["check"]["ok"] is True
    assert p.certificate["check"] == {"before": {"exit": 1, "failed": 2}, "after": {"exit": 0, "failed": 0}}


def test_half_a_fix_goes_back_to_the_lead_as_a_finding_and_no_reviewer_is_asked() -> None:
    p = half_done()
    p.reply("check", run("after", "t.py::b"))
    assert p.asked() == [(SRE, "work")]
    brief = p.brief(SRE)
    assert "t.py::b" in brief["findings"][0]["description"] and brief["findings"][0]["severity"] == "critical"
    assert brief["diff"] == "--- a\n" and [c["when"] for c in brief["checks"]] == ["before", "after"]
    p.reply(SRE, done(folder=artifact(2), diff="--- a\n--- b\n"))
    p.reply("check", run("after"))
    p.reply(AUDITOR, APPROVED)
    assert p.stop["reason"] == "approved" and p.outcome["revisions"] == 1


@pytest.mark.parametrize("approves", [True, False])
def test_a_task_whose_check_stays_red_never_ends_approved(approves: bool) -> None:
    p = half_done(max_reviews=1)
    p.reply("check", run("after", "t.py::b"))
    p.reply(SRE, done(folder=artifact(2)))
    p.reply("check", run("after", "t.py::b"))
    (item,) = p.bodies("item")
    assert item["kind"] == "review_limit" and "does not show that the work is right" in item["question"]
    p.decide("1", "emit") if approves else p.expire()
    assert p.stop["reason"] == "unproven" and not p.result.stop.converged
    assert p.outcome["check"]["ok"] is False and "t.py::b" in p.outcome["check"]["why"]
    assert "the check does not show that it is right" in p.warnings


@pytest.mark.parametrize("how", ["ended", "gone"])
def test_a_check_that_comes_to_nothing_is_no_approval_whatever_reviewers_say(how: str) -> None:
    p = half_done()
    if how == "ended":
        p.reply("check", run("after", exit=None, ended=NO_SANDBOX, passed=None, ran=False))
    else:
        p.vanish("check")
    assert "came to no result after the work" in p.warnings
    p.reply(AUDITOR, APPROVED)
    assert p.stop["reason"] == "unproven" and "no result" in p.outcome["check"]["why"]


NO_SANDBOX = "there is no sandbox: bubblewrap is not installed"


@pytest.mark.parametrize("how", ["not run", "gone"])
def test_where_the_check_cannot_be_run_no_work_is_begun_and_none_is_paid(how: str) -> None:
    p = checked()
    if how == "not run":
        p.reply("check", run("before", exit=None, ended=NO_SANDBOX, passed=None, ran=False))
    else:
        p.vanish("check")
    assert p.stop["reason"] == "no_check" and not p.result.stop.converged and not p.bodies("work")
    assert p.outcome["work"] is None and p.outcome["check"]["ok"] is None
    assert "came to no result before the work" in p.warnings and p.certificate["why"]


def test_a_check_that_hangs_before_the_work_may_be_what_is_to_be_repaired() -> None:
    p = checked()
    p.reply("check", run("before", exit=None, ended="it took longer than 300 s", passed=None))
    p.reply(SRE, done(folder=artifact(1)))
    p.reply("check", run("after"))
    p.reply(AUDITOR, APPROVED)
    assert p.stop["reason"] == "approved" and "nobody can say whether tests were taken away" in p.warnings


def test_a_check_that_counts_nothing_and_succeeded_before_too_is_named_as_no_proof() -> None:
    p = checked()
    p.reply("check", run("before", exit=0, passed=None))
    p.reply(SRE, done(folder=artifact(1)))
    p.reply("check", run("after", passed=None))
    p.reply(AUDITOR, APPROVED)
    assert p.stop["reason"] == "approved" and "does not show what the work does" in p.warnings


def test_what_is_still_red_though_it_may_be_is_said() -> None:
    p = half_done(check_goal="regressions")
    p.reply("check", run("after", "t.py::b"))
    p.reply(AUDITOR, APPROVED)
    assert p.stop["reason"] == "approved" and "fail after the work as they did before it: t.py::b" in p.warnings


def test_another_run_than_the_one_that_was_asked_for_is_refused() -> None:
    p = checked()
    p.reply("check", run("after"))
    assert "asked was before" in p.turn("check").ask.error


def test_a_task_with_a_check_needs_somebody_who_runs_it() -> None:
    with pytest.raises(Inadmissible, match="role check: 1 needed, 0 alive; start one: parley agent check"):
        Play({"check": CHECK})


@pytest.mark.parametrize(
    ("settings", "seconds"),
    [({"check_s": 900}, 930), ({}, 900), ({"tool_calls": 0}, 330), ({"folder": "", "check": ""}, 120)],
)
def test_a_turn_has_the_time_that_the_check_and_work_with_tools_may_take(
    settings: dict[str, Any], seconds: float
) -> None:
    assert checked(**settings).session.opened.turn_timeout_s == seconds


def test_where_a_folder_is_reviewed_a_finding_that_asks_for_a_revision_has_a_place() -> None:
    p = half_done()
    p.reply("check", run("after"))
    p.reply(AUDITOR, {"verdict": "revision_needed", "findings": [{"severity": "major", "description": "It leaks."}]})
    assert "findings.0.location: it is empty" in p.turn(AUDITOR).ask.error


def test_files_that_decide_what_the_check_runs_are_as_before_the_work_and_everybody_is_told() -> None:
    p = half_done()
    assert p.brief("check")["base"] == FOLDER
    p.reply("check", run("after", "t.py::b", restored=("unittest.py",)))
    told = "ran with these as they were before the work, for they decide what it runs: unittest.py"
    assert told in p.warnings and told in p.brief(SRE)["findings"][0]["description"]
    p.reply(SRE, done(folder=artifact(2)))
    p.reply("check", run("after", tests=4, restored=("unittest.py",)))
    for told_to in (p.brief(AUDITOR)["checks"][1], p.last("checked")):
        assert (told_to["tests"], told_to["restored"]) == (4, ["unittest.py"])
