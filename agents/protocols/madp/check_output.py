"""What the output of a test runner says: how many tests passed, and the names of those that failed.

How many ran is told where one known runner alone says it: so two runs can be compared, and nothing else is claimed.
Known are pytest, unittest, node's test runner, TAP, jest, vitest, mocha, go test and cargo test, as they print by
default. Of anything else nothing is known but the exit status. What a test prints may look like its runner's words: the
result is used to compare two runs and to tell people, and never makes a run succeed that failed.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from parley.schemas.protocols.madp.work import MOST_FAILED

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_NAME = 300
"""Characters of one name."""

_UNITTEST = re.compile(r"^={3,}\n(?:FAIL|ERROR|UNEXPECTED SUCCESS): (?P<name>(?P<test>\S+(?: \(\S+\))?).*)$", re.M)
"""The heading of a failure; behind the test stand the message and the parameters of a subtest."""
_FAILED = (
    re.compile(r"^(?:FAILED|ERROR) (?P<name>[^\s(]\S*?(?:\[[^\]]*\])?)(?: - .*)?$", re.M),  # pytest
    _UNITTEST,
    re.compile(r"^\s*not ok \d+ (?:- )?(?P<name>(?:(?!# (?:todo|skip)).)+)$", re.M | re.I),  # TAP
    re.compile(r"^\s*[✖✕×] (?P<name>.+?)(?: \(?\d[\d.,]* ?m?s\)?)?$", re.M),  # node, jest, vitest
    re.compile(r"^\s*--- FAIL: (?P<name>\S+)", re.M),  # go
    re.compile(r"^test (?P<name>\S+)(?: - .*)? \.\.\. FAILED$", re.M),  # cargo
    re.compile(r"^  \d+\) (?P<name>\S.*)$", re.M),  # mocha
)
_NOT_NAMES = frozenset({"failing tests:", "failures:"})
_ROWS = (
    (re.compile(r"^(?:=+ )?(?=.* in [\d.]+s)(?:.*?\b)?\d+ (?:passed|failed|errors?)\b.*$", re.M), "passed", "failed"),
    (re.compile(r"^(?:#|ℹ) (?:pass|fail) \d+$", re.M), "pass", "fail"),  # node
    (re.compile(r"^Tests:.*$", re.M), "passed", "failed"),  # jest
    (re.compile(r"^\s*Tests  ?.*\d+ (?:passed|failed)\b.*$", re.M), "passed", "failed"),  # vitest
    (re.compile(r"^\s*\d+ (?:passing|failing)\b.*$", re.M), "passing", "failing"),  # mocha
    (re.compile(r"^test result: \w+\. .*$", re.M), "passed", "failed"),  # cargo
)
"""Lines in which a runner counts, and its words for tests that passed and that failed. The first is pytest's."""
_DIGIT = re.compile(r"\d")
"""A line without a number counts nothing, such as `Tests: see below` of a README."""
_SETUP_ERROR = re.compile(r"^_+ ERROR at setup of (?P<name>.+?) _+$", re.M)
_NO_FILE = re.compile(r"^ERROR (?P<name>[^\s:(]+)(?: - .*)?$", re.M)
"""pytest: a file of tests that could not be read. It holds one test at least."""
_RAN = re.compile(r"^Ran (\d+) tests? in ", re.M)
_OF_RAN = re.compile(r"^(?:FAILED|OK) \((.*)\)$", re.M)
_NO_TESTS = re.compile(r"(?:setUp|tearDown)(?:Class|Module) \(")
"""What unittest names beside tests, and does not count."""


class Tests(NamedTuple):
    """What the output says."""

    passed: int | None
    """None: it does not say."""
    failed: tuple[str, ...]
    """Each once, in the order of their first mention."""
    ran: int | None = None
    """Tests that passed or failed, and no fewer ran; None: it does not say, or several runners say it."""
    missed: int = 0
    """Tests that failed, as runners count them or as they are named."""


def parse(output: str) -> Tests:
    """What the output of one run says."""
    text = _ANSI.sub("", output).replace("\r\n", "\n")
    failed: dict[str, None] = {}
    for pattern in _FAILED:
        for match in pattern.finditer(text):
            name = match["name"].strip()[:_NAME]
            if name and name.lower() not in _NOT_NAMES:
                failed[name] = None
    counted = list(_counted(text)) or list(_tap(text))
    passed = counted[0][0] if counted else None
    missed = max(len(failed), sum(ran - passes for passes, ran in counted))
    return Tests(passed, tuple(failed)[:MOST_FAILED], counted[0][1] if len(counted) == 1 else None, missed)


def _counted(text: str) -> Iterator[tuple[int, int]]:
    """(tests that passed, tests that ran) of each runner that counts."""
    for n, (row, passes, fails) in enumerate(_ROWS):
        rows = [r for r in row.findall(text) if _DIGIT.search(r)]
        if rows:
            passed, missed = (sum(_number(r, word) for r in rows) for word in (passes, fails))
            if not n:
                missed += len(set(_SETUP_ERROR.findall(text))) + len(set(_NO_FILE.findall(text)))
            yield passed, passed + missed
    if ran := [int(n) for n in _RAN.findall(text)]:
        yield _unittest(text, sum(ran))


def _number(row: str, word: str) -> int:
    match = re.search(rf"\b(?:(\d+) {word}|{word} (\d+))\b", row)
    return int(match[1] or match[2]) if match else 0


def _unittest(text: str, ran: int) -> tuple[int, int]:
    """Its summary counts failed subtests and errors of a class: tests that failed are counted by their names."""
    summary = ", ".join(_OF_RAN.findall(text))
    counts = {kind: 0 for kind in ("failures", "errors", "skipped", "expected failures", "unexpected successes")}
    for kind, n in re.findall(r"([a-z][a-z ]*)=(\d+)", summary):
        counts[kind] = counts.get(kind, 0) + int(n)
    names = {match["test"] for match in _UNITTEST.finditer(text) if not _NO_TESTS.match(match["test"])}
    unexpected = counts["unexpected successes"] if "UNEXPECTED SUCCESS: " not in text else 0
    failed = len(names) + unexpected
    passed = max(0, ran - failed - counts["skipped"] - counts["expected failures"])
    return passed, passed + failed


def _tap(text: str) -> Iterator[tuple[int, int]]:
    if re.search(r"^1\.\.\d+$", text, re.M):
        passed = len(re.findall(r"^ok \d+", text, re.M))
        yield passed, passed + len(_FAILED[2].findall(text))
