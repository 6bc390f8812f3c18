"""Demos end as they did when they were played by hand, a turn with tools is recorded and played again, and what
sessions take was estimated."""

import json
from pathlib import Path
from typing import Any

import pytest

from parley.demos.demo import names, read
from tests.llm.madp.test_projects import ENDED, use
from tests.parley.support import Front
from tests.played.endpoint import SEATS, endpoint, variables, written
from tests.played.sessions import SESSIONS
from tests.tools.support import EXAMPLE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


@pytest.mark.parametrize("name", names())
def test_a_demo_ends_as_it_did_and_uses_every_reply_once(name: str, tmp_path: Path) -> None:
    demo, front = read(name), Front(tmp_path, "")
    models = {
        "LLM_PROVIDER": "openai",
        "LLM_MODEL": "none",
        "PANELIST_LLM_MODEL": "none",
        "PARLEY_TOOLS": "off",
        "TMPDIR": str(tmp_path),
    }
    code, out, err = front.run("demo", name, "--fast", "--json", "--state", str(front.state), env=models)
    assert out, err
    result = json.loads(out)
    outcome, usage = result["outcome"], result["usage"]
    assert result["stop"]["reason"] == demo.ends, err
    assert (outcome.get("winner") or outcome["answer"]).startswith(demo.answer)
    calls = sum(
        used["calls"] for seat, used in usage["by_seat"].items() if seat in {said.seat for said in demo.replies}
    )
    assert calls == len(demo.replies), "each reply is used once, and none is missing"
    assert not usage["input_tokens"] + usage["output_tokens"] and not usage["cost_usd"]
    assert code == 0 and "recorded replies" in err.splitlines()[0]
    code, told, err = front.run("explain", result["session"])
    assert code == 0 and demo.question.split(".")[0] in told, err


ASK = ("ask", "The greeting should be hello", "--protocol", "madp", "--expert", "implementation-engineer", "--json")


def project(folder: Path) -> Path:
    folder.mkdir()
    (folder / "app.py").write_text("def greet():\n    return 'hi'\n")
    return folder


def test_a_turn_with_tools_is_recorded_step_by_step_and_played_again(tmp_path: Path) -> None:
    def write(request: str) -> dict[str, Any]:
        if "Review what another expert did" in request:
            return {"verdict": "approved", "findings": []}
        if "Step 1, call 1" in request:
            return {"outcome": "done", "summary": "It greets.", "output": "greet() says hello.", **ENDED}
        return use("replace_in_file", path="app.py", old="'hi'", new="'hello'")

    record = tmp_path / "session.jsonl"
    first, second = project(tmp_path / "first"), project(tmp_path / "second")
    with written(write) as url:
        env = {"LLM_PROVIDER": "openai_compatible", "LLM_MODEL": "by-hand", "LLM_BASE_URL": url, "LLM_API_KEY": "none",
               "LLM_RECORD": str(record), "PARLEY_TOOLS": str(EXAMPLE)}  # fmt: skip
        one = outcome(tmp_path / "one", first, env)
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert [line.get("step", 1) for line in lines if line["key"][1] == "work"] == [1, 2]
    env = {"LLM_PROVIDER": "recorded", "LLM_RECORD": str(record), "PARLEY_TOOLS": str(EXAMPLE)}
    two = outcome(tmp_path / "two", second, env)
    assert (second / "app.py").read_text() == "def greet():\n    return 'hello'\n"
    assert two["work"] == one["work"] and two["reviewed"] == one["reviewed"] and one["work"]["diff"]


def outcome(home: Path, folder: Path, env: dict[str, str]) -> dict[str, Any]:
    home.mkdir()
    code, out, err = Front(home).run(*ASK, "--folder", str(folder), "--check", "python -c pass", "--apply", env=env)
    assert code == 0, err or out
    found: dict[str, Any] = json.loads(out)["outcome"]
    return found


# ---------------------------------------------------------------- estimates

ESTIMATED: dict[str, tuple[str, ...]] = {
    "competition": (), "consensus": (), "critic": (), "single": (),
    "diagnosis": ("--round-limit", "4"),  # it argued for as long: the usual course is two rounds
    "task": (),
}  # fmt: skip
"""Sessions that took the course of their estimate, and the limit of rounds by which they did. Steps of look-ups are in
no estimate."""
REVISED = "task"
"""What reviewers sent back: an estimate has no revision, so the turns are more."""


def estimated(name: str, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """(the estimate of a session, what it used)."""
    session = SESSIONS[name]
    with endpoint(name) as (url, _):
        front = Front(folder, "", variables(url, *SEATS))
        session.write_files(front.folder)
        told = front.run(*session.command, *ESTIMATED.get(name, ()), "--dry-run", "--json")
        result = front.run(*session.command, "--json")
        assert result[1], result[2]
        likely = json.loads(told[1])["likely_most" if ESTIMATED.get(name) else "likely"]
        return likely, json.loads(result[1])["usage"]


@pytest.mark.timeout(180)
@pytest.mark.parametrize("name", ESTIMATED)
def test_an_estimate_is_within_three_tenths_of_a_played_session(name: str, tmp_path: Path) -> None:
    likely, used = estimated(name, tmp_path)
    assert name == REVISED or used["turns"] * 0.7 <= likely["turns"] <= used["turns"] * 1.3
    tokens = used["input_tokens"] + used["output_tokens"]
    assert tokens * 0.7 <= likely["tokens"] <= tokens * 1.3
