"""Finds the rows of docs/spec-map (clause -> symbol -> test) whose test does not need its symbol.

    python -m tests.house.specmap               every row
    python -m tests.house.specmap --row 7       one of them
    python -m tests.house.specmap --passed      where the tests themselves are known to pass
    python -m tests.house.specmap --some 60     sixty of them, each time others

The tests are collected once; each row then runs in a fork of that process, with its symbol stubbed. A row counts when,
for every symbol that it names, at least one of its tests fails, and with every symbol in place all of them pass. What a
test starts (services, command lines) is stubbed too. A test that skips has not passed.

With `--passed` what the test command asserts anyway, that the tests pass as they are, is seen again only where failing
said little: where a test ran out of time, or its process died.
"""

import argparse
import gc
import json
import os
import random
import select
import signal
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.house.spec_rows import MAP, ROOT, Row, missing, read
from tests.house.stub import stub

WHOLE = ("", "")
"""In place of a symbol: nothing is stubbed."""
TEST_S = 10.0
"""A test that runs longer has failed: it cannot end without the symbol."""
PATIENCE = 6
"""Times that limit is what a row's tests may take in all where nothing is stubbed: the machine may be busy."""
HUNG_S = 5.0
"""What pytest's own limit does not end is killed so much later, and counts as failed."""


class Runner:
    """A pytest plugin: in place of running what was collected, runs each row in a fork.

    `weak` has, afterwards, a sentence for each row and symbol that does not count.
    """

    def __init__(self, rows: Sequence[Row], workers: int, passed: bool = False, limit_s: float = TEST_S) -> None:
        self.rows = rows
        self.workers = workers
        self.passed = passed
        self.limit_s = limit_s
        self.weak: list[str] = []
        self.items: list[pytest.Item] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            self.weak.append("the tests could not be collected")
            return True
        self.items = list(session.items)
        gc.freeze()  # no fork copies all that was collected for the sake of its garbage
        first = () if self.passed else (WHOLE,)
        jobs = [(row, *symbol) for row in self.rows for symbol in (*first, *row.symbols)]
        again: set[int] = set()
        running: dict[int, tuple[int, float, Row, str]] = {}  # pipe -> child, since when, what of
        while jobs or running:
            while jobs and len(running) < self.workers:
                row, module, symbol = jobs.pop(0)
                items = [i for i in self.items if any(matches(i.nodeid, t) for t in row.tests)]
                pipe, child = self._fork(items, module, symbol)
                running[pipe] = (child, time.monotonic(), row, f"{module}:{symbol}" if module else "nothing")
            ready, _, _ = select.select(list(running), [], [], 0.5)
            for pipe in list(running):
                child, since, row, what = running[pipe]
                took_s = time.monotonic() - since
                limit_s = PATIENCE * self.limit_s if what == "nothing" else self.limit_s + HUNG_S
                if pipe not in ready and took_s < limit_s:
                    continue
                answer = os.read(pipe, 65_536).decode() if pipe in ready else ""
                sentence = judged(f"row {row.number} ({row.clause}): {what}", answer)
                if sentence:
                    self.weak.append(sentence)
                if self.passed and row.number not in again and (not answer or took_s >= self.limit_s):
                    again.add(row.number)
                    jobs.append((row, *WHOLE))
                del running[pipe]
                os.close(pipe)
                _end(child)
        return True

    def _fork(self, items: list[pytest.Item], module: str, symbol: str) -> tuple[int, int]:
        ours, theirs = os.pipe()
        sys.stdout.flush()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # numpy keeps threads; they are idle
            child = os.fork()
        if child:
            os.close(theirs)
            return ours, child
        try:
            os.setsid()
            null = os.open(os.devnull, os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(null, fd)
            os.write(theirs, json.dumps(run_stubbed(items, module, symbol)).encode())
        finally:
            os._exit(0)


def judged(what: str, answer: str) -> str:
    """Why this row does not count with this symbol; empty where it does."""
    if not answer:  # it died, or hung
        verdict: dict[str, Any] = {"failed": True, "passed": 0, "why": ""}
    else:
        verdict = json.loads(answer)
    if "error" in verdict:
        return f"{what}: {verdict['error']}"
    if what.endswith(": nothing"):
        if verdict["failed"] or not verdict["passed"]:
            return f"{what} stubbed out, and its tests do not pass: {verdict['why'] or 'none ran to its end'}"
    elif not verdict["failed"]:
        return f"{what} stubbed out, and its tests still pass ({verdict['passed']} passed)"
    return ""


def run_stubbed(items: list[pytest.Item], module: str, symbol: str) -> dict[str, object]:
    """Run these tests in this process with one symbol stubbed (or none), up to the first failure."""
    if not items:
        return {"error": "none of its tests exists"}
    reports: list[pytest.TestReport] = []

    class Collect:
        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            reports.append(report)

    items[0].config.pluginmanager.register(Collect())
    if module:
        os.environ["PARLEY_STUB"] = f"{module}:{symbol}"
        paths = [str(Path(__file__).parent / "stubbing"), str(ROOT), os.environ.get("PYTHONPATH", "")]
        os.environ["PYTHONPATH"] = os.pathsep.join(p for p in paths if p)
        stub(module, symbol)
    for item in items:
        if not module:
            item.add_marker(pytest.mark.timeout(PATIENCE * item.config.getoption("timeout")))
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        for r in reports:
            if r.failed:
                return {"failed": True, "passed": 0, "why": f"{r.nodeid} ({r.when}): {r.longreprtext[-400:]}"}
    return {"failed": False, "why": "", "passed": sum(r.passed and r.when == "call" for r in reports)}


def matches(nodeid: str, test: str) -> bool:
    """Whether a collected test is the one named, with whatever parameters."""
    return nodeid == test or nodeid.startswith((f"{test}[", f"{test}::"))


def _end(child: int) -> None:
    """End a child and all that it started."""
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        pass
    os.waitpid(child, 0)


def check(
    rows: Sequence[Row], root: Path = ROOT, workers: int = 3, passed: bool = False, limit_s: float = TEST_S
) -> list[str]:
    """A sentence for each row that does not count. Takes over this process: pytest runs in it."""
    found = missing(rows, root)
    if found or not rows:
        return found
    runner = Runner(rows, workers, passed, limit_s)
    tests = sorted({t for row in rows for t in row.tests})
    # Most rows fail, as they should: native tracebacks parse no source.
    arguments = ["-q", "-s", f"--timeout={limit_s:g}", "--tb=native", "-p", "no:xdist", "-p", "no:cacheprovider"]
    code = pytest.main([*arguments, f"--rootdir={root}", *(str(root / t) for t in tests)], plugins=[runner])
    if not runner.items:
        return [*runner.weak, f"the tests could not be collected (pytest: {code})"]
    return runner.weak


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.house.specmap", description="Which rows do not count?")
    parser.add_argument("--map", type=Path, default=MAP)
    parser.add_argument("--root", type=Path, default=ROOT)
    parser.add_argument("--row", type=int, action="append")
    parser.add_argument("--some", type=int, metavar="N", help="N of them, by chance")
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--passed", action="store_true", help="the tests are known to pass")
    parser.add_argument("--limit-s", type=float, default=TEST_S, help="a test that runs longer has failed")
    args = parser.parse_args()
    sys.path.insert(0, str(args.root))
    start = time.monotonic()
    rows = [r for r in read(args.map) if not args.row or r.number in args.row]
    if args.some is not None:
        rows = sorted(random.sample(rows, min(args.some, len(rows))), key=lambda r: r.number)
    weak = check(rows, args.root, args.workers, args.passed, args.limit_s)
    for sentence in weak:
        print(sentence)
    print(f"{len(rows)} rows, {len(weak)} that do not count, {time.monotonic() - start:.1f} s")
    return 1 if weak or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
