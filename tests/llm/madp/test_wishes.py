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


def test_a_wish_is_what_the_operator_maps_it_to_and_is_told_by_check(tmp_path: Path) -> None:
    """Each model has an answer of its own at the server."""

    def says(model: str) -> dict[str, object]:
        done = {"outcome": "done", "summary": f"This is {model}.", "output": "In March.", **ENDED}
        return {"match": {"model": model}, "response": {"content": json.dumps(done)}}

    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "gardener.md").write_text(GARDENER)
    (tmp_path / "parley.yaml").write_text("experts: own")
    front = Front(tmp_path)
    with aimock(front.folder, [says("big"), says("usual")]) as server:
        usual = {"LLM_PROVIDER": "openai_compatible", "LLM_MODEL": "usual", "LLM_BASE_URL": server.url,
                 "LLM_API_KEY": "sk-secret"}  # fmt: skip
        for mapped, model in (({WISH: "big"}, "big"), ({}, "usual")):
            _, out, err = front.run(*ASK, env=usual | mapped)
            assert f"This is {model}." in out, err or out
            assert (UNMET in err) is (not mapped)
            code, out, _ = front.run("experts", "check", "own/gardener.md", env=usual | mapped)
            here = "big" if mapped else f"the default, usual: set {WISH}"
            assert code == 0 and f"wishes the model gpt-strong.1: here {here}\n" in out
