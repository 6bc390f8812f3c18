"""What a work did about its own check: each way in which a liar makes it green, and that it does not help."""

import shlex
from pathlib import Path

import pytest

from parley.agents.context import Shown
from parley.agents.protocols.madp.check_worker import run_check
from parley.agents.protocols.madp.made_for_tests import made_for_tests
from parley.agents.protocols.madp.stand_ins import as_checked
from parley.agents.protocols.madp.weakened import weakened
from parley.agents.tools import sandbox
from parley.agents.tools.folder import archive
from parley.schemas.folders.archive import Files
from parley.schemas.protocols.madp.work import CheckBrief, Checked
from tests.support.experts import Held

BASE = """
import pytest
from billing import to_cents

RATE = 2


@pytest.fixture
def half():
    return 0.5


def test_half(half):
    assert to_cents(half) == 50


class TestMore:
    def test_sum(self):
        # a comment
        assert to_cents(1) + RATE == 102
"""
JS = "test('adds', () => {\n  expect(add(1, 2)).toBe(3)\n})\ntest('halves', () => {\n  expect(half(2)).toBe(1)\n})\n"
GO = "func TestAdd(t *testing.T) {\n\tif add(1) != 2 {\n\t\tt.Fatal(1)\n\t}\n}\n"
HALF, SUM = "tests/test_money.py::test_half", "tests/test_money.py::TestMore::test_sum"
ASSERTED = "assert to_cents(half) == 50"


def files(text: str, path: str = "tests/test_money.py", **more: str) -> dict[str, tuple[bytes, bool]]:
    return {name: (body.encode(), False) for name, body in {path: text, **more}.items()}


def of(old: str, new: str, base: str = BASE, path: str = "tests/test_money.py") -> tuple[str, ...]:
    assert old in base
    return weakened(files(base, path), files(base.replace(old, new), path))


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("def test_half(half):", "def check_half(half):", {f"removed: {HALF}"}),
        ("def test_half(half):", "@pytest.mark.skip\ndef test_half(half):", {f"skipped: {HALF}"}),
        (ASSERTED, f"pytest.skip('later')\n    {ASSERTED}", {f"skipped: {HALF}"}),
        ("RATE = 2", "RATE = 2\npytest.skip('x', allow_module_level=True)", {f"skipped: {HALF}", f"skipped: {SUM}"}),
        ("class TestMore:", "class TestMore:\n    __test__ = False", {f"skipped: {SUM}"}),
        (ASSERTED, "assert True", {f"emptied: {HALF}"}),
        (ASSERTED, f"return\n    {ASSERTED}", {f"emptied: {HALF}"}),
        (ASSERTED, "assert to_cents(half) > 0", {f"loosened: {HALF}"}),
        ("class TestMore:", "def test_new():\n    to_cents(1)\n\n\nclass TestMore:",
         {"asserts nothing: tests/test_money.py::test_new"}),
        (ASSERTED, "assert to_cents(half) == 49", {f"changed: {HALF}"}),
        ("return 0.5", "return 0.6", {"changed: tests/test_money.py"}),
        ("from billing import", "from tests.fake import", {"changed: tests/test_money.py"}),
        ("RATE = 2", "RATE = 2\n\n\n@pytest.fixture(autouse=True)\ndef put(monkeypatch):\n"
         "    monkeypatch.setattr('billing.to_cents', int)", {"changed: tests/test_money.py"}),
    ],
)  # fmt: skip
def test_what_is_done_to_a_test_is_named(old: str, new: str, found: set[str]) -> None:
    assert found <= set(of(old, new)), of(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# a comment", "# another"),
        ("def test_half(half):", "def test_half_a_euro(half):"),
        ("class TestMore:", "def test_new():\n    assert RATE\n\n\nclass TestMore:"),
        ("from billing import to_cents", "import math\nfrom billing import to_cents, to_euros"),
    ],
)
def test_what_only_adds_is_not(old: str, new: str) -> None:
    assert of(old, new) == ()


def test_a_test_that_moved_is_there_and_a_file_that_is_gone_takes_its_tests_with_it() -> None:
    moved = files(BASE, "tests/test_cents.py")
    assert [x for x in weakened(files(BASE), moved) if x.startswith("removed")] == []
    assert {f"removed: {HALF}", f"removed: {SUM}"} <= set(weakened(files(BASE), {}))


UNIT = (
    "import unittest\n\n\nclass Sums(unittest.TestCase):\n    def test_sum(self):\n        self.assertEqual(1 + 1, 2)\n"
)


def test_a_name_that_tests_use_is_changed_where_it_gets_another_meaning() -> None:
    mute = "    def assertEqual(self, a, b):\n        pass\n\n    def test_sum"
    assert of("    def test_sum", mute, UNIT) == ("changed: tests/test_money.py",)
    assert of("    def test_sum", "    def helps(self):\n        pass\n\n    def test_sum", UNIT) == ()


@pytest.mark.parametrize(
    ("path", "text", "mark"),
    [
        ("app.py", "import _pytest.reports", "_pytest.reports"),
        ("app.py", "from unittest.mock import ANY", "unittest.mock"),
        ("app.py", "import os\nfast = 'PYTEST_CURRENT_TEST' in os.environ", "PYTEST_CURRENT_TEST"),
        ("app.py", "import sys\nfast = 'pytest' in sys.modules", "pytest"),
        ("app.py", "import os\nos._exit(0)", "os._exit"),
        ("app.py", "open('tests/test_money.py', 'w')", "tests/test_money.py"),
        ("app.py", "class A:\n    def __eq__(self, o):\n        return True", "__eq__"),
        ("src/sum.ts", "if (process.env.NODE_TEST_CONTEXT) {}", "NODE_TEST_CONTEXT"),
        ("sum.go", "if testing.Testing() {}", "testing.Testing()"),
    ],
)
def test_code_that_is_made_for_tests_is_named(path: str, text: str, mark: str) -> None:
    base = files(BASE)
    assert made_for_tests(base, {**base, path: (text.encode(), False)}) == (f"made for tests: {path}: {mark}",)
    assert made_for_tests({path: (text.encode(), False)}, {path: (f"{text}\n".encode(), False)}) == ()
    helper = f"tests/{path}"
    assert made_for_tests(base, {**base, helper: (text.encode(), False)}) == ()


def test_tests_in_other_languages_are_found_by_their_words() -> None:
    path = "test/sum.test.js"
    assert of("test('halves'", "test.skip('halves'", JS, path)[0] == f"skipped: {path}::halves"
    assert of("test('halves'", "xtest('halves'", JS, path)[0] == f"skipped: {path}::halves"
    assert of("expect(half(2)).toBe(1)", "half(2)", JS, path)[0] == f"emptied: {path}::halves"
    assert of("toBe(3)", "toBe(4)", JS, path)[0] == f"changed: {path}::adds"
    assert of("TestAdd", "testAdd", GO, "a_test.go")[0] == "removed: a_test.go::TestAdd"
    assert of("if add", "t.Skip()\n\tif add", GO, "a_test.go")[0] == "skipped: a_test.go::TestAdd"


CHECK, PYTEST = "python3 -m unittest", "python -m pytest -q"
SETUP = "[metadata]\nname = {}\n[tool:pytest]\naddopts = {}\n"
TOML = '[project]\nname = "{}"\n[tool.pytest.ini_options]\naddopts = "{}"\n'


def tree(**texts: str) -> Files:
    """`__` in a name is a `/`, `_dot_` a dot, and `init` a package's `__init__`."""
    names = {n: n.replace("_dot_", ".").replace("__", "/").replace("/init.", "/__init__.") for n in texts}
    return {names[n]: (t.encode(), False) for n, t in texts.items()}


INSTALLED = ("a-1.dist-info/entry_points.txt", "b.egg-info", "c.egg-info/PKG-INFO", "d.pth")
CODE = tree(calc_dot_py="x = 1\n", tests__test_calc_dot_py="t\n", queue_dot_py="q\n")


@pytest.mark.parametrize(
    ("check", "base", "work", "names"),
    [
        (CHECK, {}, tree(unittest_dot_py="!"), ("unittest.py",)),
        (CHECK, {}, tree(src__unittest__init_dot_py="!", src__app_dot_py="a"), ("src/unittest/__init__.py",)),
        (CHECK, {}, tree(tests__sitecustomize_dot_py="!"), ("tests/sitecustomize.py",)),
        ("python -m mypy.api", {}, tree(mypy_dot_py="!"), ("mypy.py",)),
        (CHECK, tree(unittest__a_dot_py="a"), tree(unittest__init_dot_py="!"), ("unittest/__init__.py",)),
        ("timeout 9 sh run.sh", tree(run_dot_sh="a"), {}, ("run.sh",)),
        ("./run", tree(run="a"), tree(run__x="b"), ("run",)),
        ("python -m mine", tree(mine_dot_py="m"), tree(mine_dot_py="!"), ("mine.py",)),
        (PYTEST, {}, tree(conftest_dot_py="!", tests__conftest_dot_py="!"), ("conftest.py", "tests/conftest.py")),
        (PYTEST, tree(pytest_dot_ini="a"), {}, ("pytest.ini",)),
        (PYTEST, tree(setup_dot_cfg=SETUP.format("a", "")), tree(setup_dot_cfg=SETUP.format("a", "-x")),
         ("setup.cfg",)),
        (PYTEST, tree(a_dot_toml="", pyproject_dot_toml=TOML.format("a", "")),
         tree(a_dot_toml="", pyproject_dot_toml=TOML.format("a", "-x")), ("pyproject.toml",)),
        ("make test", tree(Makefile="test: ; t"), tree(Makefile="test: ; true"), ("Makefile",)),
        ("npm test", tree(package_dot_json='{"scripts": {}}'), tree(package_dot_json="{"), ("package.json",)),
        ("npm test", tree(package_dot_json='{"scripts": {}}'), tree(package_dot_json='{"scripts": {"test": "true"}}'),
         ("package.json",)),
        (PYTEST, {}, {f"lib/{x}": (b"!", False) for x in INSTALLED}, tuple(f"lib/{x}" for x in INSTALLED)),
    ],
)  # fmt: skip
def test_what_decides_what_a_check_runs_is_as_before_the_work(
    check: str, base: Files, work: Files, names: tuple[str, ...]
) -> None:
    began, done = CODE | base, {**CODE, **work, "calc.py": (b"x = 2\n", False)}
    kept, told = as_checked(shlex.split(check), began, done)
    assert told == names and all(kept.get(p) == began.get(p) for p in names)
    assert {p: d for p, d in kept.items() if p not in names} == {
        p: d for p, d in done.items() if p not in names and p != "run/x"
    }


@pytest.mark.parametrize(
    ("check", "base", "work"),
    [
        (CHECK, {}, tree(tests__test_calc_dot_py="u", app__queue_dot_py="a", app__types_dot_py="a")),
        (CHECK, {}, tree(queue_dot_py="r", src__data__json__a_dot_txt="a", tests__init_dot_py="")),
        ("python -m app", tree(app__init_dot_py="a"), tree(app__init_dot_py="b", app__x_dot_py="c")),
        ("python -m mine.tests", {}, tree(mine__init_dot_py="a", mine__tests_dot_py="a", coverage__a_dot_html="a")),
        (PYTEST, tree(setup_dot_cfg=SETUP.format("a", "")), tree(setup_dot_cfg=SETUP.format("b", ""))),
        (PYTEST, tree(pyproject_dot_toml=TOML.format("a", "")), tree(pyproject_dot_toml=TOML.format("b", ""))),
        ("npm test", tree(package_dot_json='{"scripts": {}}'), tree(package_dot_json='{"scripts": {}, "x": 1}')),
    ],
)
def test_other_work_is_checked_as_it_is(check: str, base: Files, work: Files) -> None:
    done = CODE | base | work
    assert as_checked(shlex.split(check), CODE | base, done) == (done, ())


def test_settings_of_a_task_that_began_empty_are_its_own_but_no_module_is_hidden() -> None:
    done = tree(conftest_dot_py="c", Makefile="m", unittest_dot_py="!")
    assert as_checked(("make",), {}, done)[1] == ("unittest.py",)


TEST = "import unittest, calc\nclass T(unittest.TestCase):\n    def test_x(self): self.assertEqual(calc.x, 1)\n"
FAKE = "print('Ran 3 tests in 0.000s\\n\\nOK')\n"


@pytest.mark.skipif(bool(sandbox.unavailable()), reason=f"NOT CHECKED: {sandbox.unavailable()}")
async def test_a_module_that_would_stand_in_for_the_runner_does_not_pass_for_it(tmp_path: Path) -> None:
    base = archive(tree(calc_dot_py="x = 1\n", test_calc_dot_py=TEST))
    work = archive(tree(calc_dot_py="x = 2\n", test_calc_dot_py=TEST, unittest_dot_py=FAKE))
    cheat = await checked(work, base)
    assert (cheat.exit, cheat.failed, cheat.restored) == (1, ("test_x (test_calc.T.test_x)",), ("unittest.py",))
    assert (cheat.passed, cheat.tests) == (0, 1)


async def checked(work: bytes, base: bytes) -> Checked:
    brief = CheckBrief(when="after", command=CHECK, seconds=60, folder="work", base="base")
    shown = Shown(
        session="s", protocol="madp", question="q", seat="check", role="check", kind="check", round=1, brief=brief,
        reply=Checked,
    )  # fmt: skip
    made = await run_check(shown, Held({"work": work, "base": base}))
    assert isinstance(made.body, Checked)
    return made.body
