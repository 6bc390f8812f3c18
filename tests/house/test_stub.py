"""The check of the spec map is itself checked: it tells a test that needs its symbol from one that does not."""

import subprocess
import sys
from pathlib import Path

from tests.house.spec_rows import Row, read

ROOT = Path(__file__).parents[2]

SUBJECT = """
import functools
from contextlib import contextmanager
import msgspec

def double(x):
    return 2 * x

TABLE = {"double": double}
LIMIT = 3.5

async def later(x):
    return x

def count(n):
    yield from range(n)

@functools.lru_cache
def cached(x):
    return x + 1

@contextmanager
def entered():
    yield 5

class Counter:
    def __init__(self, x):
        self.x = x

    @property
    def twice(self):
        return 2 * self.x

    @staticmethod
    def one():
        return 1

class Point(msgspec.Struct, frozen=True, kw_only=True):
    x: int
    y: int = 7
"""
TESTS = """
import os, subprocess, sys
import pytest
from subject import *
from subject import TABLE as held

def test_function(): assert double(2) == 4
def test_table(): assert held["double"](2) == 4
def test_constant(): assert LIMIT == 3.5
def test_dict(): assert "double" in held
async def test_coroutine(): assert await later(3) == 3
def test_generator(): assert list(count(2)) == [0, 1]
def test_cached(): assert cached(1) == 2
def test_context():
    with entered() as five: assert five == 5
def test_class(): assert Counter(2).x == 2
def test_property(): assert Counter(2).twice == 4
def test_static(): assert Counter.one() == 1
def test_struct(): assert Point(x=1).x == 1
def test_field(): assert Point(x=1).y == 7
def test_child():
    child = [sys.executable, "-c", "import subject; print(subject.double(4))"]
    assert subprocess.check_output(child, cwd=os.path.dirname(__file__)) == b"8\\n"
@pytest.mark.parametrize("x", [0, 1])
def test_parameters(x): assert double(x) == 2 * x or x == 0
def test_weak(): double(2)
def test_broken(): assert double(1) == 3
def test_unrelated(): assert LIMIT > 0
def test_skipped(): pytest.skip("no double without double") if double(1) is None else None
"""
STRONG = {
    "double": ("test_function", "test_table", "test_child", "test_parameters"), "TABLE": ("test_dict",),
    "LIMIT": ("test_constant",), "later": ("test_coroutine",), "count": ("test_generator",),
    "cached": ("test_cached",), "entered": ("test_context",), "Counter": ("test_class",),
    "Counter.twice": ("test_property",), "Counter.one": ("test_static",), "Point": ("test_struct",),
    "Point.x": ("test_struct",), "Point.y": ("test_field",),
}  # fmt: skip
WEAK = [("double", "test_weak"), ("double", "test_unrelated"), ("double", "test_skipped"), ("double", "test_broken")]
ABSENT = [("gone", "test_function"), ("double", "test_gone"), ("Counter.gone", "test_class")]


def table(rows: list[tuple[str, str]]) -> str:
    head = "text\n\n| clause | more | symbol | test |\n|---|---|---|---|\n"
    return head + "".join(f"| says \\| so | x | `subject.py:{s}` | `test_it.py::{t}` |\n" for s, t in rows)


def run(tmp_path: Path, rows: list[tuple[str, str]]) -> tuple[int, str]:
    (tmp_path / "subject.py").write_text(SUBJECT)
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"
    )
    (tmp_path / "map.md").write_text(table(rows))
    done = subprocess.run(
        [sys.executable, "-m", "tests.house.specmap", "--map", tmp_path / "map.md", "--root", tmp_path],
        cwd=ROOT, capture_output=True, text=True, timeout=50,
    )  # fmt: skip
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout


def test_a_test_that_needs_its_symbol_counts(tmp_path: Path) -> None:
    rows = [(symbol, test) for symbol, tests in STRONG.items() for test in tests]
    code, out = run(tmp_path, rows)
    assert code == 0, out
    assert f"{len(rows)} rows, 0 that do not count" in out


def test_one_that_passes_without_its_symbol_or_fails_with_it_does_not_count(tmp_path: Path) -> None:
    code, out = run(tmp_path, [*WEAK, ("double", "test_function")])
    assert code == 1
    for number in (1, 2, 3):
        assert f"row {number} (" in out
    assert "row 4 (says \\| so | x): nothing stubbed out, and its tests do not pass" in out
    assert "row 5" not in out and "5 rows, 4 that do not count" in out


def test_what_the_code_does_not_have_is_named(tmp_path: Path) -> None:
    code, out = run(tmp_path, ABSENT)
    assert code == 1
    assert "row 1: subject has no gone" in out
    assert "row 2: no test test_it.py::test_gone" in out
    assert "row 3: subject has no Counter.gone" in out


def test_a_row_reads_as_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "map.md").write_text(
        table([("a", "b"), ("c.d", "e")]) + "\nend\n\n| other | table |\n|---|---|\n| 1 | 2 |\n"
    )
    rows = read(tmp_path / "map.md")
    assert [r.number for r in rows] == [1, 2]
    assert rows[1] == Row(2, "says \\| so | x", (("subject", "c.d"),), ("test_it.py::e",))
