"""`parley ask`: every expert its own process, from the task to its result."""

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.parley.support import Front
from tests.support.expert_model import DONE, expert_model

TASK = "rotate the leaked signing key of our API"
SAFE = "security-architect"
PLANNED = 3
"""The exit status of a task in which nothing was done."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    with expert_model() as env:
        yield Front(tmp_path_factory.mktemp("madp"), env=env)


@pytest.fixture(scope="module")
def asked(front: Front) -> dict[str, Any]:
    """One task, asked with --json on a stack that has just started."""
    code, out, err = front.run("ask", "--protocol", "madp", TASK, "--files", "keys.py", "--json")
    assert code == PLANNED and "parley: no folder is named, so nothing can be changed: " in err, err
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.fixture(scope="module")
def running(front: Front, asked: dict[str, Any]) -> Iterator[Front]:
    """The stack of the same sessions, up for all that follows."""
    child = front.start("up", "--protocol", "madp")
    _read(child, "parley ask")
    yield front
    child.terminate()
    child.communicate(timeout=30)
    front.assert_nothing_left()


def test_a_task_goes_to_the_expert_that_it_calls_for_and_a_plan_is_not_approved(
    front: Front, asked: dict[str, Any]
) -> None:
    outcome = asked["outcome"]
    assert outcome["lead"] == SAFE and outcome["consensus"]["outcome"]["lead"]["agent_id"] == SAFE
    assert asked["stop"]["reason"] == "planned" and not asked["stop"]["converged"]
    assert set(outcome["reviewed"].values()) == {"approved"}
    assert outcome["task"]["files_mentioned"] == ["keys.py"]
    assert outcome["answer"] == DONE["output"] and outcome["work"]["performed"] is False
    front.assert_nothing_left()


def test_a_question_is_told_listed_and_answered(running: Front) -> None:
    child = _waits(running)
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
    out, _ = child.communicate(timeout=30)
    assert "SRE leads (a human chose it)" in out and child.returncode == PLANNED
    assert running.json("inbox", "--json") == {"items": []}
    code, _, err = running.run("inbox", "answer", sid, "1", SAFE)
    assert code == 2 and "item '1' is closed" in err


def _waits(front: Front) -> "subprocess.Popen[str]":
    """A security-critical task of which nobody is sure enough."""
    sets = ("--set", "madp.security_confidence=1", "--set", "madp.item_s=60")
    return front.start("ask", "--protocol", "madp", TASK, "--plain", *sets)


def _read(child: "subprocess.Popen[str]", wanted: str) -> list[str]:
    """Its lines up to the one that is waited for."""
    assert child.stdout is not None
    lines: list[str] = []
    for line in child.stdout:
        lines.append(line.strip())
        if wanted in line:
            return lines
    raise AssertionError(f"it ended: {lines}")
