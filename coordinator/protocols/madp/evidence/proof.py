"""madp: what the check proves of the work.

Whoever works says that it works; the check shows it. The work is approved only where the check has succeeded after it.
Where the task names some of the failures, by words that stand in their names, it is enough that these are gone and that
nothing else fails which did not fail before; with `check_goal: regressions` the latter alone is enough.

A check is green where its exit status and its output agree: one that exits with 0 and names failures has failed. Tests
that were taken away, skipped, emptied or loosened prove nothing, nor those that failed before and that the work
changed, unless the task asks for other tests; nor does a run of code that is made for tests. As many tests must pass
after the work as had been run before it; a run that counts none where tests were counted before proves nothing.
"""

import re
from typing import NamedTuple

from parley.schemas.protocols.madp.work import Checked

_LEAST_NAME = 4
"""Characters of a test's name from which on a task can name it."""
_UNCOUNTED = "its output does not say how many tests ran, so nobody can say whether tests were taken away"
_MAY_GO = re.compile(r"\b(?:remov|delet|drop|retir|renam|replac|merg|entfern|lösch)", re.I)
_FAULT = re.compile(r"\b(?:bugs?|errors?|fail\w*|fault\w*|crash\w*|broken|red|wrong|fehler\w*)\b", re.I)
"""A task that takes something out may take its tests with it; one about a fault may not."""
_TESTS_MAY_CHANGE = re.compile(
    r"\b(?:updat|chang|rewrit|remov|delet|drop|adapt|correct|edit|skip|renam|mov|replac|split|merg|clean)\w*\b"
    r"[^.;:!?\n]{0,50}?\b(?:tests?\b|test_\w+|specs?\b)",
    re.I,
)
_TEST_FILE = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test|[^/]*[.-](?:test|spec))\.\w+\Z")
_AS_BEFORE = "it succeeded before the work too and counts no tests, so it does not show what the work does"
MADE = "made for tests"
"""How a row begins that names code of the work which looks for tests."""
EMPTY = "asserts nothing"
"""How a row begins that names a new test which cannot fail by itself."""
_SHOWN = 10
"""Names of failures in one sentence."""


class Proof(NamedTuple):
    """What the check says of the work."""

    ok: bool
    """Whether the work may be approved."""
    why: str = ""
    """Why not; or what still fails although it may. Empty: the check succeeds."""


def proof(before: Checked | None, after: Checked | None, goal: str, task: str) -> Proof:
    """What the two runs prove.

    Parameters
    ----------
    before
        None: it was not run before the work, as for a task that begins with an empty folder.
    after
        None: it was not run after the work.
    goal
        `green` or `regressions`, as the setting `check_goal`.
    task
        The task's words.
    """
    if after is None:
        return Proof(False, "it was not run after the work")
    if after.exit is None:
        return Proof(False, f"it came to no result after the work: {after.ended}")
    if fault := _taken(before, after, task):
        return Proof(False, fault)
    if after.green:
        may_go = any(_may_go(task, x) for x in after.weakened)
        return _green(before, after, may_go or tests_may_change(task))
    return _red(before, after, goal, task)


def _taken(before: Checked | None, after: Checked, task: str) -> str:
    """Why what the work did to tests proves nothing: it took some away, or changed some that failed. Empty: it did not,
    or the task asks for it."""
    made = [row for row in after.weakened if row.startswith(MADE) and not _said(task, row.rpartition(": ")[2])]
    if made:
        return f"the work holds code that is made for tests, and proves nothing by them: {_names('', made)}"
    failed = before.failed if before is not None else ()
    unnamed = before is not None and not before.green and not failed
    gone, changed = [], []
    for row in after.weakened:
        how, _, name = row.partition(": ")
        if how in (MADE, EMPTY):
            continue
        if how != "changed":
            gone += [] if how in ("removed", "loosened") and _may_go(task, name) else [row]
        elif (unnamed or any(_is_of(name, failure) for failure in failed)) and not _asked_for(task, name):
            changed.append(row)
    if tests_may_change(task):
        return ""
    if gone:
        return f"the work took tests away or loosened them, which proves nothing: {_names('', gone)}"
    why = "the work changed tests that failed before it, so they prove nothing"
    return f"{why}: {_names('', changed)}" if changed else ""


def _asked_for(task: str, path: str) -> bool:
    """Whether the task names a file that helps tests, and holds none."""
    return "::" not in path and not _TEST_FILE.search(path) and names(task, path)


def tests_may_change(task: str) -> bool:
    """Whether the task asks for other tests."""
    return bool(_TESTS_MAY_CHANGE.search(task))


def _may_go(task: str, name: str) -> bool:
    """Whether the task takes out what a test is about: it has a word of the test's name."""
    return bool(_MAY_GO.search(task) and not _FAULT.search(task)) and _said(task, name)


def _said(task: str, name: str) -> bool:
    """Whether the task has a word of a name."""
    words = {x for x in re.split(r"[\W_]+", name.lower()) if len(x) >= _LEAST_NAME and x not in ("test", "tests")}
    return bool(words & set(re.split(r"[\W_]+", task.lower())))


def _is_of(name: str, failure: str) -> bool:
    """Whether a failure rests on what was changed: the test itself, or the file that it stands in or is helped by."""
    path, *inside = name.split("::")
    plain = re.sub(r"\[.*\]\Z", "", failure, flags=re.DOTALL)
    if not inside:
        return "::" not in plain or plain.startswith(f"{path}::") or not _TEST_FILE.search(path)
    return plain.endswith(f"::{inside[-1]}") or inside[-1] in re.split(r"\W+", plain) or inside[-1] == plain


def _green(before: Checked | None, after: Checked, fewer: bool) -> Proof:
    """It succeeds: as many tests must pass as ran before, where they were counted then. `fewer`: the task asks for
    other tests."""
    if before is None:
        return Proof(True)
    if before.tests is None or before.passed is None:
        as_before = _AS_BEFORE if before.green and after.tests is None else ""
        return Proof(True, as_before if before.green or before.exit is None else _UNCOUNTED)
    if after.passed is None:
        reason = "its output after it counts none, so it proves nothing"
        return Proof(False, f"{before.tests} tests ran before the work, and {reason}")
    if after.passed < before.tests and not fewer:
        reason = "tests that were taken away prove nothing"
        return Proof(False, f"{before.tests} tests ran before the work and {after.passed} pass after it: {reason}")
    return Proof(True, _UNCOUNTED if after.tests is None else "")


def _red(before: Checked | None, after: Checked, goal: str, task: str) -> Proof:
    though = "" if after.exit else ", but its output has failures"
    fails = f"it fails after the work (exit status {after.exit}{though})"
    if before is None or before.exit is None:
        return Proof(False, f"{fails}{_names(': ', after.failed)}")
    if before.green:
        return Proof(False, f"it succeeded before the work; {fails}{_names(': ', after.failed)}")
    if not before.failed or not after.failed:
        return Proof(False, f"{fails}, as before, and its output names no failures that could be compared")
    new = [name for name in after.failed if name not in before.failed]
    if new:
        return Proof(False, f"these did not fail before the work: {_names('', new)}")
    if before.passed is not None and after.passed is not None and after.passed < before.passed:
        return Proof(False, f"{before.passed} tests passed before the work and {after.passed} after it")
    wanted = [name for name in before.failed if names(task, name)]
    still_failing = [name for name in wanted if name in after.failed]
    still = f"these fail after the work as they did before it: {_names('', after.failed)}"
    return Proof(goal == "regressions" or bool(wanted and not still_failing), still)


def names(task: str, failure: str) -> bool:
    """Whether the task's words name a failure: the test itself, or the file that it stands in.

    >>> names("repair test_half_cent, please", "tests/test_money.py::test_half_cent[2]")
    True
    >>> names("the tests fail", "tests/test_money.py::test_half_cent")
    False
    """
    plain = re.sub(r"\[.*\]\Z", "", failure, flags=re.DOTALL)
    path, *inside = re.split(r"::| > | › ", plain)
    spellings = {plain, path, path.rsplit("/", 1)[-1], *inside}
    words = (w for w in spellings if len(w) >= _LEAST_NAME)
    return any(re.search(rf"(?<![\w]){re.escape(w)}(?![\w])", task) for w in words)


def restored_words(run: Checked) -> str:
    """The warning about changed files that were replaced by the original ones for a run; empty: there were none."""
    text = "the check ran with these as they were before the work, for they decide what it runs"
    return f"{text}: {_names('', run.restored)}" if run.restored else ""


def weakened_words(run: Checked) -> str:
    """The warning about tests that the work took away or changed, and of code made for them; empty: there are none."""
    return f"what the work did about tests: {_names('', run.weakened)}" if run.weakened else ""


def _names(before: str, failures: list[str] | tuple[str, ...]) -> str:
    """`: a, b and 3 more`; empty for none."""
    if not failures:
        return ""
    more = f" and {len(failures) - _SHOWN} more" if len(failures) > _SHOWN else ""
    return f"{before}{', '.join(failures[:_SHOWN])}{more}"
