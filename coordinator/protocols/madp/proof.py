"""madp: what the check proves of the work.

Whoever works says that it works; the check shows it. The work is approved only where the check has succeeded after it.
Where the task names some of the failures, by words that stand in their names, it is enough that these are gone and that
nothing else fails which did not fail before; with `check_goal: regressions` the latter alone is enough.

Tests that were taken away prove nothing: of a check that failed before, as many tests must pass after the work as had
been run. Where tests cannot be counted, nobody says that some were taken away.
"""

import re
from typing import NamedTuple

from parley.schemas.protocols.madp.work import Checked

_LEAST_NAME = 4
"""Characters of a test's name from which on a task can name it."""
_UNCOUNTED = "its output does not say how many tests ran, so nobody can say whether tests were taken away"
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
    if after.green:
        return _green(before, after)
    return _red(before, after, goal, task)


def _green(before: Checked | None, after: Checked) -> Proof:
    if before is None or before.green:
        return Proof(True)
    if before.passed is None or after.passed is None:
        return Proof(True, _UNCOUNTED if before.exit is not None else "")
    if before.tests is None or after.tests is None:
        return Proof(True, _UNCOUNTED)
    if after.passed < before.tests:
        reason = "tests that were taken away prove nothing"
        return Proof(False, f"{before.tests} tests ran before the work and {after.passed} pass after it: {reason}")
    return Proof(True)


def _red(before: Checked | None, after: Checked, goal: str, task: str) -> Proof:
    fails = f"it fails after the work (exit status {after.exit})"
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


def _names(before: str, failures: list[str] | tuple[str, ...]) -> str:
    """`: a, b and 3 more`; empty for none."""
    if not failures:
        return ""
    more = f" and {len(failures) - _SHOWN} more" if len(failures) > _SHOWN else ""
    return f"{before}{', '.join(failures[:_SHOWN])}{more}"
