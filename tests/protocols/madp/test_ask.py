"""`parley ask`: every expert its own process, from the task to its result."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parley.support import Front
from tests.support.expert_model import expert_model

TASK = "rotate the leaked signing key of our API"
SAFE = "security-architect"
PLANNED = 3
"""The exit status of a task in which nothing was done."""

pytestmark = pytest.mark.slow


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Front]:
    """A stack that is up."""
    with expert_model() as env:
        front = Front(tmp_path, env=env)
        child = front.start("up", "--protocol", "madp")
        _read(child, "parley ask")
        yield front
        child.terminate()
        child.communicate(timeout=30)
        front.assert_nothing_left()


def test_a_question_is_told_listed_and_answered_and_a_plan_is_not_approved(running: Front) -> None:
    """A security-critical task of which nobody is sure enough."""
    sets = ("--set", "madp.security_confidence=1", "--set", "madp.item_s=60")
    child = running.start("ask", "--protocol", "madp", TASK, "--files", "keys.py", "--plain", *sets)
    lines = _read(child, "parley inbox answer")
    sid = next(line.split()[1] for line in lines if line.startswith("session "))
    (found,) = running.json("inbox", "--json")["items"]
    assert (found["session"], found["item"], found["kind"]) == (sid, "1", "security") and found["seconds_left"] > 30
    assert found["choices"][0] == SAFE and found["choices"][-1] == "stop" and found["default"] == SAFE
    code, _, err = running.run("inbox", "answer", sid, "1", "nobody")
    assert code == 2 and f"got 'nobody'; item 1 (security) takes {SAFE}" in err
    code, _, err = running.run("inbox", "answer", sid, "expert", "nobody")
    assert code == 2 and "no such expert is there; there are" in err and "sre" in err
    assert running.json("inbox", "answer", sid, "expert", "sre", "--note", "it is his", "--json")["taken"]
    out, err = child.communicate(timeout=30)
    assert "parley: no folder is named, so nothing can be changed: " in err
    assert "SRE leads (a human chose it)" in out and child.returncode == PLANNED
    assert running.json("inbox", "--json") == {"items": []}
    code, _, err = running.run("inbox", "answer", sid, "1", SAFE)
    assert code == 2 and "item '1' is closed" in err


def _read(child: "subprocess.Popen[str]", wanted: str) -> list[str]:
    """Its lines up to the one that is waited for."""
    assert child.stdout is not None
    lines: list[str] = []
    for line in child.stdout:
        lines.append(line.strip())
        if wanted in line:
            return lines
    raise AssertionError(f"it ended: {lines}")
