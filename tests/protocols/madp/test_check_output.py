"""What runners print by default, as recorded, and what is read of it."""

import pytest

from agents.protocols.madp.check_output import parse

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
    ("output", "passed", "failed"),
    [
        (PYTEST, 12, ("tests/a.py::test_x[1-2]", "tests/a.py::test_y", "tests/b.py")),
        ("======== 2 failed in 0.1s =======\n", 0, ()),
        ("12 passed, 3 warnings in 61.01s (0:01:01)\n", 12, ()),
        (UNITTEST, 3, ("test_a (t.T.test_a)",)),
        (NODE, 1, ("adds",)),
        (JEST, 3, ("adds",)),
        (GO, None, ("TestAdd",)),
        (CARGO, 1, ("money::halves",)),
        (TAP, 1, ("b",)),
        ("all good\n", None, ()),
        ("\x1b[31mFAILED\x1b[0m t.py::test_a - x\n", None, ("t.py::test_a",)),
    ],
)
def test_the_names_of_failures_and_the_number_of_passes_are_read(
    output: str, passed: int | None, failed: tuple[str, ...]
) -> None:
    assert parse(output) == (passed, failed)


def test_of_many_failures_so_many_are_kept_as_a_result_may_hold() -> None:
    assert len(parse("".join(f"FAILED t.py::test_{n}\n" for n in range(900))).failed) == 500
