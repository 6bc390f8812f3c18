"""What the output of a test runner says: how many tests passed, and the names of those that failed.

Known are pytest, unittest, node's test runner, TAP, jest, vitest, mocha, go test and cargo test, as they print by
default. Of anything else nothing is known but the exit status. What a test prints may look like its runner's words: the
result is used to compare two runs and to tell people, and never makes a run succeed that failed.
"""

import re
from typing import NamedTuple

from schemas.protocols.madp.work import MOST_FAILED

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_NAME = 300
"""Characters of one name."""

_FAILED = (
    re.compile(r"^(?:FAILED|ERROR) (?P<name>\S+?(?:\[[^\]]*\])?)(?: - .*)?$", re.M),  # pytest
    re.compile(r"^(?:FAIL|ERROR): (?P<name>\S+ \(\S+\)|\S+)$", re.M),  # unittest
    re.compile(r"^\s*not ok \d+ (?:- )?(?P<name>(?:(?!# (?:todo|skip)).)+)$", re.M | re.I),  # TAP
    re.compile(r"^\s*[✖✕×] (?P<name>.+?)(?: \(?\d[\d.,]* ?m?s\)?)?$", re.M),  # node, jest, vitest
    re.compile(r"^\s*--- FAIL: (?P<name>\S+)", re.M),  # go
    re.compile(r"^test (?P<name>\S+)(?: - .*)? \.\.\. FAILED$", re.M),  # cargo
    re.compile(r"^  \d+\) (?P<name>\S.*)$", re.M),  # mocha
)
_NOT_NAMES = frozenset({"failing tests:", "failures:"})
_PASSED = (
    re.compile(r"^(?:=+ )?(?=.* in [\d.]+s)(?:.*?\b)?(?P<n>\d+) passed\b", re.M),  # pytest
    re.compile(r"^(?:#|ℹ) pass (?P<n>\d+)$", re.M),  # node
    re.compile(r"^Tests:.*?(?P<n>\d+) passed", re.M),  # jest
    re.compile(r"^\s*Tests .*?(?P<n>\d+) passed", re.M),  # vitest
    re.compile(r"^\s*(?P<n>\d+) passing\b", re.M),  # mocha
    re.compile(r"^test result: \w+\. (?P<n>\d+) passed;", re.M),  # cargo
)
_NONE_PASSED = re.compile(r"^(?:=+ )?\d+ (?:failed|error)\S*(?:, \d+ [a-z]+)* in [\d.]+s", re.M)
"""pytest's last line where nothing passed."""
_RAN = re.compile(r"^Ran (\d+) tests? in ", re.M)
_OF_RAN = re.compile(r"^(?:FAILED|OK) \((.*)\)$", re.M)


class Tests(NamedTuple):
    """What the output says."""

    passed: int | None
    """None: it does not say."""
    failed: tuple[str, ...]
    """Each once, in the order of their first mention."""


def parse(output: str) -> Tests:
    """What the output of one run says."""
    text = _ANSI.sub("", output).replace("\r\n", "\n")
    failed: dict[str, None] = {}
    for pattern in _FAILED:
        for match in pattern.finditer(text):
            name = match["name"].strip()[:_NAME]
            if name and name.lower() not in _NOT_NAMES:
                failed[name] = None
    return Tests(_passed(text), tuple(failed)[:MOST_FAILED])


def _passed(text: str) -> int | None:
    for pattern in _PASSED:
        counts = [int(match["n"]) for match in pattern.finditer(text)]
        if counts:
            return sum(counts)
    ran = [int(n) for n in _RAN.findall(text)]
    if ran:
        not_passed = sum(int(n) for counts in _OF_RAN.findall(text) for n in re.findall(r"=(\d+)", counts))
        return max(0, sum(ran) - not_passed)
    if re.search(r"^1\.\.\d+$", text, re.M):
        return len(re.findall(r"^ok \d+", text, re.M))
    return 0 if _NONE_PASSED.search(text) else None
