"""Sessions that were played by hand (sessions/README.md) end as they did; the bridge records; estimates hold."""

import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.llm.madp.test_projects import ENDED, use
from tests.parley.support import Front
from tests.played.bridge import played
from tests.played.endpoint import endpoint, variables
from tests.played.undisturbed import SEATS
from tests.tools.support import EXAMPLE

HERE = Path(__file__).parent / "sessions"
SESSIONS: dict[str, dict[str, Any]] = yaml.safe_load((HERE / "sessions.yaml").read_text())


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_ends_as_it_did(name: str, tmp_path: Path) -> None:
    played = SESSIONS[name]
    folder = written(tmp_path / "project")
    ask = [part.format(here=HERE, folder=folder) for part in played["ask"]]
    env = {"LLM_PROVIDER": "recorded", "LLM_RECORD": str(HERE / f"{name}.jsonl"), "PARLEY_TOOLS": str(EXAMPLE)}
    _, out, err = Front(tmp_path).run("ask", played["question"], *ask, "--json", env=env)
    assert out, err
    result = json.loads(out)
    outcome = result["outcome"]
    assert result["stop"]["reason"] == played["reason"], err
    assert (outcome["winner"] if name == "competition" else outcome["answer"]).startswith(played["answer"])
    if name == "madp":
        assert passes(folder), "what the tools changed is in the folder, and its tests pass"


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_before_the_session_the_tests_of_its_folder_fail(tmp_path: Path) -> None:
    assert not passes(written(tmp_path))


def written(folder: Path) -> Path:
    """The folder of session `madp`."""
    for name, text in yaml.safe_load((HERE / "invoices.yaml").read_text()).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def passes(folder: Path) -> bool:
    """Whether the folder's own tests do."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", ".", "."]
    return subprocess.run(command, cwd=folder, capture_output=True, timeout=60, check=False).returncode == 0


ASK = ("ask", "The greeting should be hello", "--protocol", "madp", "--expert", "implementation-engineer", "--json")


def project(folder: Path) -> Path:
    folder.mkdir()
    (folder / "app.py").write_text("def greet():\n    return 'hi'\n")
    return folder


@pytest.mark.slow
@pytest.mark.timeout(120)
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


def measured(name: str, folder: Path) -> tuple[dict[str, Any], dict[str, Any], list[tuple[str, str, int, int]]]:
    """(the estimate of a session, what it used, what the endpoint was asked)."""
    session = SESSIONS[name]
    with endpoint(name) as (url, player):
        front = Front(folder, "", variables(url, *SEATS) | {"PARLEY_TOOLS": str(EXAMPLE)})
        ask = [part.format(here=HERE, folder=written(folder / "project")) for part in session["ask"]]
        if name == "madp":
            ask += ["--check", "python -m pytest -q"]  # a dry run does not look for it in the folder
        told = front.run("ask", session["question"], *ask, "--dry-run", "--json")
        result = front.run("ask", session["question"], *ask, "--json")
        assert result[1], result[2]
        return json.loads(told[1])["likely"], json.loads(result[1])["usage"], list(player.asked)


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize("name", SESSIONS)
def test_an_estimate_is_within_three_tenths_of_a_played_session(name: str, tmp_path: Path) -> None:
    likely, used, _ = measured(name, tmp_path)
    assert used["turns"] * 0.7 <= likely["turns"] <= used["turns"] * 1.3
    tokens = used["input_tokens"] + used["output_tokens"]
    assert tokens * 0.7 <= likely["tokens"] <= tokens * 1.3


def main() -> None:
    """Print a line for each protocol, and the mean size of each kind of its turns."""
    for name in SESSIONS:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            likely, used, asked = measured(name, Path(folder))
        tokens = used["input_tokens"] + used["output_tokens"]
        print(
            f"{name}: turns {used['turns']}, estimated {likely['turns']} ({likely['turns'] / used['turns'] - 1:+.0%}); "
            f"tokens {tokens:,}, estimated {likely['tokens']:,} ({likely['tokens'] / tokens - 1:+.0%})",
            flush=True,
        )
        kinds: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for _, kind, prompt, reply in asked:
            kinds[kind].append((prompt, reply))
        for kind, sizes in kinds.items():
            mean = [sum(part) // len(sizes) for part in zip(*sizes, strict=True)]
            print(f"    {kind}: {len(sizes)} requests, {mean[0]:,} tokens of prompt, {mean[1]:,} of reply")


if __name__ == "__main__":
    main()
