"""The model that an expert's specification wishes is the one that the operator's variables say it means."""

import json
from pathlib import Path

import pytest

from tests.llm.aimock import aimock
from tests.llm.madp.test_projects import ENDED
from tests.parley.support import Front

pytestmark = [pytest.mark.slow]
GARDENER = """\
---
id: gardener
name: Gardener
triggers: {primary: [hedge, lawn]}
domain: {owns: [plants and beds]}
deliberation: {claim: I look after whatever grows.}
model: gpt-strong.1
---
Look at the soil before you plant.
"""
ASK = ("ask", "When is the hedge cut?", "--protocol", "madp", "--expert", "gardener", "--plain")
WISH = "WISH_GPT_STRONG_1_LLM_MODEL"
UNMET = (
    "no variable maps a wish, so these have the default model: "
    f"expert_gardener wishes the model 'gpt-strong.1' ({WISH})"
)


@pytest.fixture
def front(tmp_path: Path) -> Front:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "gardener.md").write_text(GARDENER)
    (tmp_path / "parley.yaml").write_text("experts: own")
    return Front(tmp_path)


@pytest.mark.parametrize("mapped", [True, False])
def test_a_wish_is_what_the_operator_maps_it_to(front: Front, mapped: bool) -> None:
    """Each model has an answer of its own at the server."""

    def says(model: str) -> dict[str, object]:
        done = {"outcome": "done", "summary": f"This is {model}.", "output": "In March.", **ENDED}
        return {"match": {"model": model}, "response": {"content": json.dumps(done)}}

    with aimock(front.folder, [says("big"), says("usual")]) as server:
        environment = {"LLM_PROVIDER": "openai_compatible", "LLM_MODEL": "usual", "LLM_BASE_URL": server.url,
                       "LLM_API_KEY": "sk-secret", **({WISH: "big"} if mapped else {})}  # fmt: skip
        _, out, err = front.run(*ASK, env=environment)
    assert f"This is {'big' if mapped else 'usual'}." in out, err or out
    assert (UNMET in err) is not mapped


def test_what_a_wish_comes_to_is_said_by_check(front: Front) -> None:
    usual = {"LLM_PROVIDER": "openai", "LLM_MODEL": "usual", "LLM_API_KEY": "sk-secret"}
    for environment, told in (
        (usual, f"the default, usual: set {WISH}"),
        (usual | {WISH: "big"}, "big"),
        ({}, f"the default, extractive: set {WISH}"),
    ):
        code, out, _ = front.run("experts", "check", "own/gardener.md", env=environment)
        assert code == 0 and f"wishes the model gpt-strong.1: here {told}\n" in out
