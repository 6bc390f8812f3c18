"""The faults that are made in the product, where they are found again, and what the tests say to them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.mutations import Source, Tree

ROOT = Path(__file__).parents[2]
STEPS = '''"""Steps of an invented package."""

import logging

__all__ = ["clamp"]
_LOGGER = logging.getLogger(__name__)


def clamp(value: "int", low: int = 0) -> int:
    """Not below `low`."""
    _LOGGER.info("clamp")
    if value < low:
        return low
    return value


def loud(text: str) -> str:
    return text.upper() + "!"
'''
SIGNS = """def negative(value):
    return value < 0


def loud(text):
    return text.upper()
"""
TEST_NEGATIVE = """from client.signs import negative


def test_negative():
    assert [negative(-1), negative(0)] == [True, False]
"""
TEST_LOUD = """from client.signs import loud, negative


def test_loud():
    negative(1)
    assert loud("a") == "A"
"""


def made(line: str, above: str = "") -> set[str]:
    """What becomes of one line of a function."""
    source = Source("bus/one.py", f"def f(a, b):\n    {above or 'x = a'}\n    {line}\n")
    return {m.new for m in source.mutants if m.lineno == 3 and source.compiles(m)}


@pytest.mark.parametrize(
    ("line", "mutants"),
    [
        ("x = a < b", {"x = a >= b", "x = a <= b"}),
        ("x = a is not b", {"x = a is b"}),
        ("x = (a) not in b", {"x = (a) in b"}),
        ("x = a and b", {"x = a or b"}),
        ("x = not a", {"x = a"}),
        ("x = a + b", {"x = a - b"}),
        ("x = 7", {"x = 8"}),
        ("x = 1e9", {"x = 2000000000.0"}),
        ("x = True", {"x = False"}),
        ("x = 'é', a == b", {'x = "", a == b', "x = 'é', a != b"}),
        ("return a", {"return None"}),
        ("return None", set()),
        ("a(b)", {"pass"}),
        ("await a", {"pass"}),
        ("a.b = b", {"pass"}),
        ("a += b", {"pass"}),
        ("x = [a, b]", {"x = []"}),
        ("for x in (a, b): pass", {"for x in (): pass"}),
        ("x = {a: b}", {"x = {}"}),
        ("if a: pass", {"if (not a): pass"}),
        ("x: list['int'] = a", set()),
        ("x = f'{a} and {1}'", set()),
        ("_log.info('a', 1)", set()),
        ("'''A docstring, and more.'''", set()),
        ("if a < b: pass  # pragma: no cover", set()),
        ("from a import b", set()),
        ("x = a(b, help='what it does')", set()),
    ],
)
def test_what_is_made_of_a_line(line: str, mutants: set[str]) -> None:
    assert made(line) == mutants


def test_a_module_knows_what_its_import_runs() -> None:
    source = Source("client/steps.py", STEPS)
    assert {source.line(n) for n in source.called} >= {"if value < low:", "return value"}
    assert not {'def clamp(value: "int", low: int = 0) -> int:', '__all__ = ["clamp"]'} & {
        source.line(n) for n in source.called
    }
    assert {m.function for m in source.mutants} == {"clamp", "loud"}, "neither __all__ nor a docstring"


@pytest.mark.parametrize(
    ("file", "text", "found"),
    [
        ("client/steps.py", STEPS, True),
        ("parley/client/steps.py", STEPS, True),
        ("client/elsewhere.py", STEPS, True),
        ("client/steps.py", "A = 1\n" + STEPS.replace("    if value", "    # why\n    if value"), True),
        ("client/steps.py", STEPS.replace("value < low", "value <= low"), False),
        ("client/steps.py", STEPS.replace("def clamp", "def limited"), False),
    ],
)
def test_a_line_is_found_in_another_commit(tmp_path: Path, file: str, text: str, found: bool) -> None:
    write(tmp_path, {file: text})
    mutant = next(m for m in Source("client/steps.py", STEPS).mutants if m.new == "if value >= low:")
    there = Tree(tmp_path).find(mutant)
    assert (there is not None) == found
    if there:
        assert there.file == file and (tmp_path / file).read_text().splitlines()[there.lineno - 1].strip() == there.old


def test_a_line_is_found_where_its_import_got_another_name(tmp_path: Path) -> None:
    old = "def f(a):\n    return parley.agents.models.same(a.agents.b, 'x')\n"
    write(tmp_path, {"bus/one.py": old.replace("return agents.", "return parley.agents.")})
    mutants = Source("bus/one.py", old).mutants
    there = [Tree(tmp_path).find(m) for m in mutants]
    assert {m.new for m in there if m} == {"return None", 'return parley.agents.models.same(a.agents.b, "")'}


def test_of_two_like_lines_the_one_below_the_same_line_is_meant(tmp_path: Path) -> None:
    old = "def f(a):\n    one(a)\n    same(a)\n    two(a)\n    same(a)\n"
    write(tmp_path, {"bus/one.py": old.replace("    one(a)\n", "    one(a)\n    # more\n    b = 1\n    one(b)\n")})
    mutant = [m for m in Source("bus/one.py", old).mutants if m.old == "same(a)"][1]
    there = Tree(tmp_path).find(mutant)
    assert there is not None and (there.lineno, there.above) == (8, "two(a)")


@pytest.mark.slow
@pytest.mark.timeout(300)  # its runs are nice to what else there is
def test_what_tests_found_is_known_to_be_lost_with_them(tmp_path: Path) -> None:
    root = tmp_path / "repository"
    write(root, {"client/signs.py": SIGNS, "tests/test_negative.py": TEST_NEGATIVE, "tests/test_loud.py": TEST_LOUD})
    write(root, {"client/__init__.py": "", "parley/__init__.py": ""})
    git(root, "init", "--quiet")
    before = commit(root)
    git(root, "rm", "--quiet", "tests/test_negative.py")
    (root / "client").rename(root / "parley" / "client")
    write(root, {"tests/test_loud.py": TEST_LOUD.replace("from client", "from parley.client")})
    after = commit(root)

    for sha in (before, after):
        run(root, "cover", "--commit", sha)
    assert run(root, "sample", "9", "--commit", before, "--out", root / "before.jsonl") == "2 mutants: found 2\n"
    assert results(root / "before.jsonl") == {
        "negative": ("found", "tests/test_negative.py::test_negative"),
        "loud": ("found", "tests/test_loud.py::test_loud"),
    }

    told = run(root, "again", root / "before.jsonl", "--commit", after, "--out", root / "after.jsonl", status=1)
    assert told.startswith("LOST (missed) client/signs.py:2 (negative)\n  - return value < 0\n  + ")
    assert told.endswith("of the 2 that stand, found before: 2, now: 1, lost: 1\n")
    assert results(root / "after.jsonl")["loud"] == ("found", "tests/test_loud.py::test_loud")

    told = run(root, "deleted", before, "--commit", after, "--out", root / "deleted.jsonl", status=1)
    assert told.startswith("LOST with tests/test_negative.py: (missed) client/signs.py:2 (negative)")
    assert told.endswith("deleted test files: 1, mutants: 1, found by these files: 1, lost: 1\n")
    once = (root / "deleted.jsonl").read_text()
    assert run(root, "deleted", before, "--commit", after, "--out", root / "deleted.jsonl", status=1) == told
    assert (root / "deleted.jsonl").read_text() == once, "nothing ran again"

    write(root, {"tests/test_new.py": TEST_NEGATIVE.replace("from client", "from parley.client")})
    run(root, "cover", "--commit", (now := commit(root)))
    told = run(root, "again", root / "deleted.lost.jsonl", "--commit", now, "--out", root / "now.jsonl")
    assert told.endswith("of the 1 that stand, found before: 1, now: 1, lost: 0\n")


def results(path: Path) -> dict[str, tuple[str, str]]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {line["mutant"]["function"]: (line["status"], line.get("by", "")) for line in lines}


def run(root: Path, *arguments: str | Path, status: int = 0) -> str:
    """The command of this house, on another repository."""
    command = [sys.executable, "-m", "tests.house.mutants", *map(str, arguments), "--root", str(root)]
    environment = os.environ | {"TMPDIR": str(root.parent)}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert ended.returncode == status, ended.stdout + ended.stderr
    return ended.stdout


def write(root: Path, files: dict[str, str]) -> None:
    for file, text in files.items():
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text(text)


def git(root: Path, *arguments: str) -> str:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    command = ["git", "-C", str(root), *who, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def commit(root: Path) -> str:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "A step")
    return git(root, "rev-parse", "HEAD")
