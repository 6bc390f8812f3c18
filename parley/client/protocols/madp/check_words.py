"""The check of a task in words: each run, its result, and what a run that says little means for the person who
waits.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from parley.client.protocols.madp.work_words import WIDE
from parley.client.show.lines import StyledLine
from parley.client.text import line
from parley.schemas.protocols.madp.work import Checked

_BRIEF_FAILED, _FAILED, _OUTPUT_TAIL = 5, 40, 12
"""Names of failures that are shown, and lines of what a check printed at its end."""


def post_lines(body: Checked, brief: bool) -> Iterator[StyledLine]:
    """A run as it comes: what it came to, the names of failures, and unless `brief` the end of what it printed."""
    yield "stop" if body.green else "score", f"  {_words(body)}"
    if body.restored:
        told = ", ".join(line(path) for path in body.restored)
        yield "score", f"      run with these as they were before the work, for they decide what it runs: {told}"
    if body.weakened:
        told = ", ".join(line(name) for name in body.weakened[:_FAILED])
        yield "score", f"      what the work did about tests: {told}"
    for name in body.failed[: _BRIEF_FAILED if brief else _FAILED]:
        yield "quiet", f"      fails: {line(name, WIDE)}"
    if not brief:
        yield from (("quiet", f"      {line(row, WIDE)}") for row in body.output.split("\n")[-_OUTPUT_TAIL:])


def _words(body: Checked) -> str:
    """`the check before the work: python -m pytest -q: 4 failed, 12 passed (3.1 s)`."""
    return f"the check {body.when} the work: {line(body.command, WIDE)}: {run_words(body)}"


def run_words(body: Checked) -> str:
    """`4 failed, 12 passed (3.1 s)`."""
    if body.exit is None:
        return f"no result: {line(body.ended, WIDE)}"
    parts = [f"{len(body.failed)} failed"] if body.failed else []
    parts += [f"{body.passed} passed"] if body.passed is not None else []
    if not parts or (bool(body.exit) != bool(body.failed)):
        parts += [f"exit status {body.exit}"]
    return f"{', '.join(parts)} ({body.seconds:.1f} s)"


def outcome_lines(proof: Mapping[str, Any] | None) -> Iterator[StyledLine]:
    """`Check: python -m pytest -q: 4 failed, 12 passed (3.1 s) -> 16 passed (3.0 s)`."""
    if not proof:
        return
    runs = [msgspec.convert(proof[when], Checked) for when in ("before", "after") if proof.get(when)]
    results = " -> ".join(map(run_words, runs)) or "not run"
    yield "stop" if proof.get("ok") else "score", f"Check: {line(proof['command'], WIDE)}: {results}"
    if proof.get("why"):
        yield "score", f"      {line(proof['why'], WIDE)}"


def certified(proof: Mapping[str, Any], runs: Iterable[Checked]) -> str:
    """A certificate's check: `before: exit status 1, 2 failed; after: no result (it did not end)`.

    Parameters
    ----------
    proof
        `before`, `after` -> `exit` and `failed`.
    runs
        As they were posted, which know why one came to no result.
    """
    why = {run.when: run.ended for run in runs if run.ended}
    return "; ".join(_certified(when, proof[when], why.get(when, "")) for when in ("before", "after") if when in proof)


def _certified(when: Any, run: Mapping[str, Any], why: str) -> str:
    if run.get("exit") is None:
        return f"{when}: no result{f' ({line(why, WIDE)})' if why else ''}"
    return f"{when}: exit status {run['exit']}" + (f", {run['failed']} failed" if run.get("failed") else "")


def cautions(run: Checked, ends: str) -> Iterator[StyledLine]:
    """What a run before the work means for a person who may still end the task.

    Parameters
    ----------
    ends
        What ends the task, as it is said.
    """
    if run.when != "before":
        return
    if run.exit is None:
        yield (
            "warning",
            "      as long as the check has no result, the work cannot be approved; its turns are paid all the same",
        )
        yield (
            "warning",
            f"      to avoid that: {ends} ends the task; ask again with a --check that runs, or --check off",
        )
    elif run.exit and not run.failed:
        caution = "its output names no test, so failures before and after the work cannot be compared one by one"
        yield "score", f"      {caution}: only a check that succeeds bears the work out"
