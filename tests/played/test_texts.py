"""Tasks whose result is a text (texts.yaml), asked on one stack: a text that reviewers approve is done, what cannot be
done is declined, and who claims a change that is not there has done nothing."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.parley.support import Front
from tests.played.endpoint import written as endpoint

TASKS: dict[str, dict[str, Any]] = {
    t["name"]: t for t in yaml.safe_load(Path(__file__).with_name("texts.yaml").read_text())
}
EMPTY: dict[str, Any] = {"support": None, "handoff": None, "blocked": "", "diff": "", "calls": []}
FINDING = {
    "severity": "major",
    "description": "The steps are in the wrong order.",
    "location": "step 2",
    "suggested_fix": "",
}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


class Players:
    """Leads and reviewers of all tasks: each does its next step, and the last one again and again."""

    def __init__(self) -> None:
        self.asked: Counter[tuple[str, str]] = Counter()

    def answer(self, request: str) -> dict[str, Any]:
        """The reply to a request."""
        task = next(t for t in TASKS.values() if t["ask"] in request)
        review = "Review what another expert did" in request
        step = self.asked[task["name"], str(review)]
        self.asked[task["name"], str(review)] += 1
        if review:
            verdicts = task.get("reviews", ["approved"])
            verdict = verdicts[min(step, len(verdicts) - 1)]
            return {"verdict": verdict, "findings": [] if verdict == "approved" else [FINDING]}
        calls = task.get("calls", [])
        if step < len(calls):
            call = calls[step]
            return {"tool_calls": [{"name": f"{call['server']}__{call['tool']}", "arguments": call["arguments"]}]}
        return {**EMPTY, **task["end"]}


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    home = tmp_path_factory.mktemp("texts")
    with endpoint(Players().answer) as url:
        env = {"EXPERT_LLM_PROVIDER": "openai_compatible", "EXPERT_LLM_MODEL": "by-hand", "EXPERT_LLM_BASE_URL": url,
               "EXPERT_LLM_API_KEY": "none"}  # fmt: skip
        running = Front(home, env=env)
        stack = running.start("up", "--protocol", "madp")
        assert stack.stdout is not None and any("parley ask" in row for row in stack.stdout)
        yield running
        stack.terminate()
        stack.communicate(timeout=30)


def written(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize("name", TASKS)
def test_a_text_is_a_result_and_a_lie_is_none(name: str, front: Front, tmp_path: Path) -> None:
    task = TASKS[name]
    more: list[str] = []
    if files := task.get("folder"):
        more += ["--folder", str(written(tmp_path / "project", files)), "--check", "off"]
    if documents := task.get("documents"):
        more += ["--evidence", str(written(tmp_path / "sources", documents))]
    code, out, err = front.run("ask", task["ask"], "--protocol", "madp", "--set", "madp.item_s=0", "--json", *more)
    assert out, err
    result = json.loads(out)
    answer = result["outcome"].get("answer", "")
    assert (result["stop"]["reason"], code) == (task["reason"], task.get("status", 0)), (
        answer,
        result["stop"],
        result["outcome"].get("warnings"),
    )
    assert all(text in answer for text in task.get("says", ())), answer
    assert not any(text in answer for text in task.get("not", ())), answer
