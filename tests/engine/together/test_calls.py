"""What a reply costs the moderator, in Python function calls: a figure that a busy machine does not change."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

MOST = {"N3R3": 260, "N8R5": 190}
"""Measured: 218, and 157; how many replies wait together differs a little."""


@pytest.mark.slow
@pytest.mark.serial
@pytest.mark.timeout(120)
def test_a_reply_costs_the_moderator_so_many_calls(tmp_path: Path) -> None:
    told = tmp_path / "bench.json"
    bench = [sys.executable, "-m", "parley_research.benchmarks", "calls", "--quick", "--json", str(told)]
    done = subprocess.run(bench, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stderr
    calls = json.loads(told.read_text())["calls"]
    assert calls.keys() == MOST.keys()
    for debate, most in MOST.items():
        assert 50 < calls[debate] <= most, debate
