"""The check on the machine: before the work, after it, and what becomes of a task whose check does not bear it out."""

from typing import Any

import pytest

from parley.coordinator.machine import Inadmissible
from parley.schemas.protocols.madp.work import Checked
from tests.protocols.madp.play import APPROVED, AUDITOR, SRE, Play, artifact, done

CHECK = "python -m pytest -q"
FOLDER = "f" * 64


def run(when: str, *failed: str, **more: Any) -> Checked:
    failed = more.pop("failed", failed)
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


NOT_RUN = {"exit": None, "ended": "there is no sandbox: bubblewrap is not installed", "passed": None, "ran": False}
HANGS = {"exit": None, "ended": "it took longer than 300 s", "passed": None}
GREEN, COUNTS_NOTHING, GONE = {"exit": 0}, {"exit": 0, "passed": None}, None
RED, HALF = {"failed": ("t.py::a", "t.py::b"), "exit": 1}, {"failed": ("t.py::b",), "exit": 1}
NOTHING_AFTER, NOTHING_BEFORE = "came to no result after the work", "came to no result before the work"
ENDINGS: dict[str, tuple[Any, Any, dict[str, Any], str, str]] = {
    "it stays red": (RED, (HALF, HALF), {"max_reviews": 1}, "unproven", "the check does not show that it is right"),
    "it is not run after it": (RED, (NOT_RUN,), {}, "unproven", NOTHING_AFTER),
    "nobody runs it after it": (RED, (GONE,), {}, "unproven", NOTHING_AFTER),
    "it is not run before it": (NOT_RUN, (), {}, "no_check", NOTHING_BEFORE),
    "nobody runs it before it": (GONE, (), {}, "no_check", NOTHING_BEFORE),
    "that it hangs may be what is to be repaired": (
        HANGS, (GREEN,), {}, "approved", "nobody can say whether tests were taken away"
    ),
    "it counts nothing": (COUNTS_NOTHING, (COUNTS_NOTHING,), {}, "approved", "does not show what the work does"),
    "it is as red as before, and may be": (
        RED, (HALF,), {"check_goal": "regressions"}, "approved", "fail after the work as they did before it: t.py::b"
    ),
}  # fmt: skip
"""What it comes to before the work, and after each attempt at it; how the task ends, and what is said."""


@pytest.mark.parametrize("name", ENDINGS)
def test_what_the_check_comes_to_decides_the_ending_whatever_reviewers_say(name: str) -> None:
    before, after, settings, reason, said = ENDINGS[name]
    p = checked(**settings)
    for n, found in enumerate((before, *after)):
        if n:
            p.reply(SRE, done(folder=artifact(n)))
        if found is GONE:
            p.vanish("check")
        else:
            p.reply("check", run("after" if n else "before", **found))
    if p.asked() == [(AUDITOR, "review")]:
        p.reply(AUDITOR, APPROVED)
    if not p.session.closed:
        assert "does not show that the work is right" in p.last("item")["question"]
        p.expire()
    assert p.stop["reason"] == reason and p.result.stop.converged is (reason == "approved") and said in p.warnings
    assert p.outcome["check"]["ok"] is {"approved": True, "unproven": False, "no_check": None}[reason]
    assert (p.outcome["work"] is None) is (reason == "no_check"), "no work is begun, and none is paid"


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
