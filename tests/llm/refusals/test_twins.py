"""Every provider with nothing set but a key and a model, against a twin of its server that refuses what it refuses."""

import json
from pathlib import Path

import pytest

from parley.agents.openai.providers import PRESETS
from parley.schemas import log
from tests.llm.debate import QUESTION, log_of
from tests.llm.refusals.twins import TWINS, twin
from tests.parley.support import Front

ASKED = {
    "consensus": ("--protocol", "consensus", QUESTION),
    "critic": ("--protocol", "critic", QUESTION),
    "task": ("add JWT authentication to the API", "--folder", "project"),
}


def test_every_provider_has_a_twin() -> None:
    assert TWINS.keys() == PRESETS.keys() - {"openai_compatible"}


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("name", TWINS)
def test_a_consensus_a_critic_and_a_task_lose_no_turn(name: str, tmp_path: Path) -> None:
    with twin(name) as (variables, server):
        front = Front(tmp_path, protocol="", env=variables)
        (tmp_path / "project").mkdir()
        for what, asked in ASKED.items():
            code, out, err = front.run("ask", *asked, "--json")
            assert code in (0, 3), (what, err)
            found = json.loads(out)
            if what != "task":
                assert found["outcome"]["answer"] == "A4", what
            replies = [e.event for e in log_of(front, found["session"]) if isinstance(e.event, log.Replied)]
            assert replies and not [r.error for r in replies if r.error], what
        refused = len(server.requests)
        print(f"{name}: {refused} requests")
        front.assert_nothing_left()
