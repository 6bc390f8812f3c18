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


@pytest.mark.parametrize(
    ("line", "mutants"),
    [
        ("x = a < b", {"x = a >= b", "x = a <= b"}),
        ("x = (a) not in b", {"x = (a) in b"}),
        ("x = a and b", {"x = a or b"}),
        ("x = not a", {"x = a"}),
        ("x = a + b", {"x = a - b"}),
        ("x = 7", {"x = 8"}),
        ("x = True", {"x = False"}),
        ("x = 'é', a == b", {'x = "", a == b', "x = 'é', a != b"}),
        ("return a", {"return None"}),
        ("a(b)", {"pass"}),
        ("a.b = b", {"pass"}),
        ("x = [a, b]", {"x = []"}),
        ("for x in (a, b): pass", {"for x in (): pass"}),
        ("if a: pass", {"if (not a): pass"}),
        *((line, set()) for line in (
            "x: list['int'] = a", "x = f'{a} and {1}'", "_log.info('a', 1)", "'''A docstring, and more.'''",
            "if a < b: pass  # pragma: no cover", "from a import b", "x = a(b, help='what it does')",
        )),
    ],
)  # fmt: skip
def test_what_is_made_of_a_line(line: str, mutants: set[str]) -> None:
    source = Source("bus/one.py", f"def f(a, b):\n    x = a\n    {line}\n")
    assert {m.new for m in source.mutants if m.lineno == 3 and source.compiles(m)} == mutants


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
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(text)
    mutant = next(m for m in Source("bus/steps.py", STEPS).mutants if m.new == "if value >= low:")
    there = Tree(tmp_path).find(mutant)
    assert (there is not None) == found
    if there:
        assert there.file == file and (tmp_path / file).read_text().splitlines()[there.lineno - 1].strip() == there.old
