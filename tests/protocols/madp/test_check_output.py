"""What runners print by default, as recorded or run here, and what is read of it."""

import subprocess
import sys
from pathlib import Path

import pytest

from parley.agents.protocols.madp.check_output import parse

PYTEST = """..F.E                                                                    [100%]
=================================== FAILURES ===================================
FAILED tests/a.py::test_x[1-2] - assert 1 == 2
FAILED tests/a.py::test_y
ERROR tests/b.py - ImportError: no module
2 failed, 12 passed, 1 error in 0.12s
"""
UNITTEST = """..F
======================================================================
FAIL: test_a (t.T.test_a)
----------------------------------------------------------------------
Ran 5 tests in 0.000s

FAILED (failures=1, skipped=1)
"""
NODE = """✖ adds (1.2ms)
✔ subtracts (0.3ms)
ℹ tests 2
ℹ pass 1
ℹ fail 1

✖ failing tests:

test at x.test.js:3:1
✖ adds (1.2ms)
  AssertionError
"""
JEST = "  ✕ adds (3 ms)\n  ✓ subtracts\nTests:       1 failed, 3 passed, 4 total\n"
GO = "--- FAIL: TestAdd (0.00s)\n    add_test.go:7: got 3\nFAIL\nFAIL\texample.org/x\t0.002s\n"
CARGO = "test money::halves ... FAILED\ntest money::whole ... ok\ntest result: FAILED. 1 passed; 1 failed; 0 ignored;\n"
TAP = "1..3\nok 1 - a\nnot ok 2 - b\nnot ok 3 - c # todo later\n"


@pytest.mark.parametrize(
    ("output", "passed", "failed", "ran"),
    [
        (PYTEST, 12, ("tests/a.py::test_x[1-2]", "tests/a.py::test_y", "tests/b.py"), 15),
        ("======== 2 failed in 0.1s =======\n", 0, (), 2),
        ("12 passed, 3 warnings in 61.01s (0:01:01)\n", 12, (), 12),
        (UNITTEST, 3, ("test_a (t.T.test_a)",), 4),
        ("Ran 2 tests in 0.000s\n\nFAILED (errors=1)\n", 2, (), 2),
        (NODE, 1, ("adds",), 2),
        (JEST, 3, ("adds",), 4),
        (GO, None, ("TestAdd",), None),
        (CARGO, 1, ("money::halves",), 2),
        (TAP, 1, ("b",), 2),
        (" Tests  1 failed | 3 passed (4)\n", 3, (), 4),
        ("  3 passing (9ms)\n  1 failing\n", 3, (), 4),
        ("all good\n", None, (), None),
        ("\x1b[31mFAILED\x1b[0m t.py::test_a - x\n", None, ("t.py::test_a",), None),
        ("Tests: `python -m pytest`\n2 failed, 1 passed in 1.82s\n", 1, (), 3),
    ],
)
def test_names_of_failures_and_how_many_passed_and_ran_are_read(
    output: str, passed: int | None, failed: tuple[str, ...], ran: int | None
) -> None:
    told = parse(output)
    assert (told.passed, told.failed, told.ran) == (passed, failed, ran)


UNIT = """import unittest
class T(unittest.TestCase):
    def test_ok(self): print("FAILED (errors=9)")
    def test_fails(self): self.fail()
    def test_raises(self): "Has a docstring."; 1 / 0
    def test_both(self): self.addCleanup(lambda: 1 / 0); self.fail()
    @unittest.skip("why")
    def test_skipped(self): pass
    @unittest.expectedFailure
    def test_expected(self): self.fail()
    @unittest.expectedFailure
    def test_unexpected(self): pass
    def test_parts(self):
        for i in range(3):
            with self.subTest("part", i=i): self.assertEqual(i, 1)
class Never(unittest.TestCase):
    @classmethod
    def setUpClass(cls): 1 / 0
    def test_never(self): pass
"""


@pytest.mark.parametrize("how", [(), ("-v",), ("-q",)])
def test_tests_of_unittest_are_counted_exactly(tmp_path: Path, how: tuple[str, ...]) -> None:
    (tmp_path / "test_u.py").write_text(UNIT)
    told = parse(printed(tmp_path, "unittest", *how))
    assert (told.passed, told.ran) == (1, 6)
    names = {name.split(" ")[0] for name in told.failed}
    assert names - {"test_unexpected"} == {"test_fails", "test_raises", "test_both", "test_parts", "setUpClass"}
    assert sum(name.startswith("test_parts") for name in told.failed) == 2


def test_failures_are_counted_where_several_runners_say_them_and_none_is_named() -> None:
    told = parse("2 failed, 1 passed in 1.82s\n  3 passing (9ms)\n  1 failing\n")
    assert (told.passed, told.ran, told.missed) == (1, None, 3)
    assert parse(UNITTEST + PYTEST).ran is None


def printed(folder: Path, *arguments: str) -> str:
    """What a runner prints of the tests in a folder."""
    command = (sys.executable, "-m", *arguments)
    made = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False
    )
    return made.stdout
