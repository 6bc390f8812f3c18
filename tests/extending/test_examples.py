"""The examples run, each in an environment with what it needs."""

import runpy
import subprocess
import sys

import pytest

from tests.docs.blocks import ROOT

RUN = runpy.run_path(str(ROOT / "examples" / "run.py"))
NEEDS: dict[str, tuple[str, ...]] = RUN["NEEDS"]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", NEEDS)
def test_an_example_runs(name: str) -> None:
    ran = subprocess.run([sys.executable, "-m", "examples.run", name], cwd=ROOT, capture_output=True, text=True)
    if ran.returncode == RUN["NOT_INSTALLED"]:
        pytest.skip(f"NOT CHECKED: {', '.join(NEEDS[name])} cannot be installed here: {ran.stderr[-300:]}")
    assert ran.returncode == 0, ran.stdout + ran.stderr
