"""Work does not choose what its own check runs: such files are the original ones while it runs."""

import shlex
from pathlib import Path

import pytest

from parley.agents.context import Shown
from parley.agents.protocols.madp.check_worker import run_check
from parley.agents.protocols.madp.stand_ins import as_checked
from parley.agents.tools import sandbox
from parley.agents.tools.folder import archive
from parley.schemas.folders.archive import Files
from parley.schemas.protocols.madp.work import CheckBrief, Checked
from tests.support.artifacts import Held

UNIT, PYTEST = "python3 -m unittest", "python -m pytest -q"
SETUP = "[metadata]\nname = {}\n[tool:pytest]\naddopts = {}\n"
TOML = '[project]\nname = "{}"\n[tool.pytest.ini_options]\naddopts = "{}"\n'


def files(**texts: str) -> Files:
    """`__` in a name is a `/`, `_dot_` a dot, and `init` a package's `__init__`."""
    names = {n: n.replace("_dot_", ".").replace("__", "/").replace("/init.", "/__init__.") for n in texts}
    return {names[n]: (t.encode(), False) for n, t in texts.items()}


INSTALLED = ("a-1.dist-info/entry_points.txt", "b.egg-info", "c.egg-info/PKG-INFO", "d.pth")
CODE = files(calc_dot_py="x = 1\n", tests__test_calc_dot_py="t\n", queue_dot_py="q\n")


@pytest.mark.parametrize(
    ("check", "base", "work", "names"),
    [
        (UNIT, {}, files(unittest_dot_py="!"), ("unittest.py",)),
        (UNIT, {}, files(src__unittest__init_dot_py="!", src__app_dot_py="a"), ("src/unittest/__init__.py",)),
        (UNIT, {}, files(traceback_dot_py="!"), ("traceback.py",)),
        (UNIT, {}, files(tests__sitecustomize_dot_py="!"), ("tests/sitecustomize.py",)),
        ("python -m mypy.api", {}, files(mypy_dot_py="!"), ("mypy.py",)),
        (UNIT, files(unittest__a_dot_py="a"), files(unittest__init_dot_py="!"), ("unittest/__init__.py",)),
        ("timeout 9 sh run.sh", files(run_dot_sh="a"), {}, ("run.sh",)),
        ("./run", files(run="a"), files(run__x="b"), ("run",)),
        ("python -m mine", files(mine_dot_py="m"), files(mine_dot_py="!"), ("mine.py",)),
        (PYTEST, {}, files(conftest_dot_py="!", tests__conftest_dot_py="!"), ("conftest.py", "tests/conftest.py")),
        (PYTEST, files(pytest_dot_ini="a"), {}, ("pytest.ini",)),
        (PYTEST, files(setup_dot_cfg=SETUP.format("a", "")), files(setup_dot_cfg=SETUP.format("a", "-x")),
         ("setup.cfg",)),
        (PYTEST, files(a_dot_toml="", pyproject_dot_toml=TOML.format("a", "")),
         files(a_dot_toml="", pyproject_dot_toml=TOML.format("a", "-x")), ("pyproject.toml",)),
        ("make test", files(Makefile="test: ; t"), files(Makefile="test: ; true"), ("Makefile",)),
        ("npm test", files(package_dot_json='{"scripts": {}}'), files(package_dot_json="{"), ("package.json",)),
        ("sh ci/run.sh", files(ci__run_dot_sh="a"), files(ci__run_dot_sh="exit 0"), ("ci/run.sh",)),
        ("./run", files(run="a"), files(run="b"), ("run",)),
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
        (UNIT, {}, files(calc_dot_py="y", tests__test_calc_dot_py="u", app__queue_dot_py="a", app__types_dot_py="a")),
        (UNIT, {}, files(queue_dot_py="r", src__data__json__a_dot_txt="a", tests__init_dot_py="")),
        ("python -m app", files(app__init_dot_py="a"), files(app__init_dot_py="b", app__x_dot_py="c")),
        (
            "python -m mine.tests",
            {},
            files(mine__init_dot_py="a", mine__tests_dot_py="a", coverage__a_dot_html="a"),
        ),
        ("sh new.sh", {}, files(new_dot_sh="a")),
        (PYTEST, files(setup_dot_cfg=SETUP.format("a", "")), files(setup_dot_cfg=SETUP.format("b", ""))),
        (PYTEST, files(pyproject_dot_toml=TOML.format("a", "")), files(pyproject_dot_toml=TOML.format("b", ""))),
        ("npm test", files(package_dot_json='{"scripts": {}}'), files(package_dot_json='{"scripts": {}, "x": 1}')),
        (f"{PYTEST} tests/test_calc.py", {}, files(tests__test_calc_dot_py="u")),
    ],
)
def test_other_work_is_checked_as_it_is(check: str, base: Files, work: Files) -> None:
    done = CODE | base | work
    assert as_checked(shlex.split(check), CODE | base, done) == (done, ())


def test_settings_of_a_task_that_began_empty_are_its_own_but_no_module_is_hidden() -> None:
    done = files(conftest_dot_py="c", Makefile="m", unittest_dot_py="!")
    assert as_checked(("make",), {}, done)[1] == ("unittest.py",)


TEST = "import unittest, calc\nclass T(unittest.TestCase):\n    def test_x(self): self.assertEqual(calc.x, 1)\n"
FAKE = "print('Ran 3 tests in 0.000s\\n\\nOK')\n"


@pytest.mark.skipif(bool(sandbox.unavailable()), reason=f"NOT CHECKED: {sandbox.unavailable()}")
async def test_a_module_that_would_stand_in_for_the_runner_does_not_pass_for_it(tmp_path: Path) -> None:
    base = archive(files(calc_dot_py="x = 1\n", test_calc_dot_py=TEST))
    work = archive(files(calc_dot_py="x = 2\n", test_calc_dot_py=TEST, unittest_dot_py=FAKE))
    cheat = await checked(work, base)
    assert (cheat.exit, cheat.failed, cheat.restored) == (1, ("test_x (test_calc.T.test_x)",), ("unittest.py",))
    assert (cheat.passed, cheat.tests) == (0, 1)


async def checked(work: bytes, base: bytes) -> Checked:
    brief = CheckBrief(when="after", command=UNIT, seconds=60, folder="work", base="base")
    shown = Shown(
        session="s", protocol="madp", question="q", seat="check", role="check", kind="check", round=1, brief=brief,
        reply=Checked,
    )  # fmt: skip
    made = await run_check(shown, Held({"work": work, "base": base}))
    assert isinstance(made.body, Checked)
    return made.body
