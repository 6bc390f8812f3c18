"""`parley ask` with models: every seat on a foreign server, and mistakes, each named in its own words."""

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.llm.aimock import aimock
from tests.llm.debate import PANEL, QUESTION, TRIO, fixtures, requests_of, tokens, variables
from tests.llm.server import fails, model_server
from tests.parley.support import Front

pytestmark = [pytest.mark.slow]
KEY = "sk-secret-0123456789"


def streamed(requests: list[dict[str, Any]]) -> Counter[tuple[str, bool]]:
    return Counter(
        (r["body"]["response_format"]["json_schema"]["name"], bool(r["body"].get("stream"))) for r in requests
    )


@pytest.mark.parametrize(
    "protocol, seats, reason, kinds",
    [
        (
            "consensus", PANEL, "threshold",
            {("answer", False): 3, ("compare", False): 1, ("revise", True): 3},
        ),
        (
            "critic", TRIO, "objections_exhausted",
            {("rewrite", False): 1, ("answer", True): 2, ("critique", True): 2, ("judge", False): 2,
             ("verdict", True): 1, ("countersign", False): 1},
        ),
    ],
    ids=["consensus", "critic"],
)  # fmt: skip
def test_a_session_of_each_protocol(
    tmp_path: Path, protocol: str, seats: tuple[str, ...], reason: str, kinds: dict[Any, int]
) -> None:
    front = Front(tmp_path)
    with aimock(tmp_path, fixtures(chunk_ms=2)) as server:
        code, out, err = front.run("ask", QUESTION, "--json", "--protocol", protocol, env=variables(server.url))
        assert code == 0, err
        found = json.loads(out)
        requests = requests_of(server)
    assert found["stop"]["reason"] == reason and found["outcome"]["answer"] == "A4"
    assert streamed(requests) == kinds
    assert Counter(r["body"]["model"] for r in requests).keys() == set(seats)
    usage = found["usage"]
    assert usage["calls"] - usage["by_seat"].get("helper", {}).get("calls", 0) == len(requests) == sum(kinds.values())
    assert usage["input_tokens"] + usage["output_tokens"] == sum(map(tokens, requests)) and not usage["estimated"]
    assert usage["cost_usd"] == pytest.approx((usage["input_tokens"] + 3 * usage["output_tokens"]) / 1e6)
    front.assert_nothing_left()


async def test_a_mistake_is_named_and_nothing_is_started(tmp_path: Path) -> None:
    """Exit status 2 and one line that says why, before anything starts; a key that a server repeats is masked."""
    front = Front(tmp_path)
    async with model_server(fails(401, f"no such key: {KEY}")) as server:
        refusing = {"LLM_PROVIDER": "openai_compatible", "LLM_MODEL": "m", "LLM_BASE_URL": server.url}
        for env, why in (
            (
                {"PANELIST_2_LLM_PROVIDER": "anthropic", "PANELIST_2_LLM_MODEL": "claude-sonnet-4-6"},
                "panelist_2: provider anthropic needs a key: set ANTHROPIC_API_KEY or PANELIST_2_LLM_API_KEY",
            ),
            (
                {**refusing, "LLM_API_KEY": KEY},
                f"panelist_1: provider openai_compatible at {server.url} cannot be used: HTTP 401, no such key: ***",
            ),
        ):
            code, out, err = await asyncio.to_thread(front.run, "ask", QUESTION, "--json", env=env)
            assert code == 2 and err.startswith(f"parley: agent {why}") and len(err.splitlines()) == 1, err
            assert f"parley: {json.loads(out)['error']['message']}" == err.rstrip("\n")
            assert KEY not in out + err and not front.state.exists() and front.left() == []
