"""A session over the bridge: it is played by whoever writes the replies, recorded, and played again from the file."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.llm.madp.test_aimock import ENDED, use
from tests.parley.support import Front
from tests.played.bridge import played
from tests.tools.support import EXAMPLE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
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
    with played(tmp_path / "bridge", write) as url:
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
