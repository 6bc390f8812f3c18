"""The faults that are made in the product, where they are found again, and what the tests say to them."""

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
    source = Source("bus/steps.py", STEPS)
    assert {source.line(n) for n in source.called} >= {"if value < low:", "return value"}
    assert not {'def clamp(value: "int", low: int = 0) -> int:', '__all__ = ["clamp"]'} & {
        source.line(n) for n in source.called
    }
    assert {m.function for m in source.mutants} == {"clamp", "loud"}, "neither __all__ nor a docstring"


@pytest.mark.parametrize(
    ("file", "text", "found"),
    [
        ("bus/steps.py", STEPS, True),
        ("parley/deep/steps.py", STEPS, True),
        ("bus/elsewhere.py", STEPS, True),
        ("bus/steps.py", "A = 1\n" + STEPS.replace("    if value", "    # why\n    if value"), True),
        ("bus/steps.py", STEPS.replace("value < low", "value <= low"), False),
        ("bus/steps.py", STEPS.replace("def clamp", "def limited"), False),
    ],
)
def test_a_line_is_found_in_another_commit(tmp_path: Path, file: str, text: str, found: bool) -> None:
    write(tmp_path, {file: text})
    mutant = next(m for m in Source("bus/steps.py", STEPS).mutants if m.new == "if value >= low:")
    there = Tree(tmp_path).find(mutant)
    assert (there is not None) == found
    if there:
        assert there.file == file and (tmp_path / file).read_text().splitlines()[there.lineno - 1].strip() == there.old


def test_of_two_like_lines_the_one_below_the_same_line_is_meant(tmp_path: Path) -> None:
    old = "def f(a):\n    one(a)\n    same(a)\n    two(a)\n    same(a)\n"
    write(tmp_path, {"bus/one.py": old.replace("    one(a)\n", "    one(a)\n    # more\n    b = 1\n    one(b)\n")})
    mutant = [m for m in Source("bus/one.py", old).mutants if m.old == "same(a)"][1]
    there = Tree(tmp_path).find(mutant)
    assert there is not None and (there.lineno, there.above) == (8, "two(a)")


def write(root: Path, files: dict[str, str]) -> None:
    for file, text in files.items():
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text(text)
