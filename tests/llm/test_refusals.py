"""What servers refuse, from public reports (refusals.jsonl, a line a report): a turn ends in an answer, or with the
cause and the setting; and no number is learned that is none."""

import json
from pathlib import Path
from typing import Any

import pytest

from parley.agents.model.base import ModelError
from parley.agents.openai import trials
from parley.agents.secrets import Secret
from tests.llm.refusing import refusing
from tests.llm.server import ModelServer, model_server, says
from tests.llm.support import FULL, asked, model, silent
from tests.protocols.consensus.simulate import document

CASES = [json.loads(line) for line in Path(__file__).with_name("refusals.jsonl").read_text("utf-8").splitlines()]
LONG = [document("d.md", "A4 was measured. " * 1_800)]
OPTIONS = ("provider", "extra", "structured")


def options_of(case: dict[str, Any]) -> dict[str, Any]:
    """What the model of a case is made with."""
    given = {name: case[name] for name in OPTIONS if name in case}
    return {"api_key": Secret("a-key-that-is-long-enough"), "temperature": 0.3, **given}


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
async def test_a_refusal_ends_in_an_answer_or_names_cause_and_setting(case: dict[str, Any], streamed: bool) -> None:
    shown = asked(LONG, stream=streamed)
    step = refusing(case, answer=says(FULL))
    async with model_server(step) as server, model(server.url, **options_of(case)) as made:
        if case.get("ends") == "named":
            with pytest.raises(ModelError) as found:
                await made.reply(shown, silent)
            assert len(server.requests) == 1 and all(said in found.value.why for said in case["says"]), found.value.why
            return
        completion = await made.reply(shown, silent)
        assert completion.body.answer == "A4" and completion.usage.calls == 1, "what was refused is not paid"
        learned, first = made.memory.get(), len(server.requests)
        await made.reply(shown, silent)
    assert_no_wrong_number(case, learned, server)
    if "times" not in case["when"] and case["status"] != 402:
        assert len(server.requests) - first == 1, "what worked is remembered"


def assert_no_wrong_number(case: dict[str, Any], learned: Any, server: ModelServer) -> None:
    """A limit is the one that the server has, or stays within it."""
    rule, told = case["when"], case.get("learns", {})
    assert learned.window == told.get("window")
    if "output" in told:
        assert learned.output == told["output"]
    most = rule.get("output") if case["status"] != 402 else None
    if most is None and not rule.keys() & {"prompt", "total"}:
        assert learned.output is None and learned.prompt is None
    last = server.requests[-1].body
    assert learned.output is None or learned.output <= (most or last["max_tokens"])


def test_the_corpus_is_large_enough() -> None:
    named = [case for case in CASES if case.get("ends") == "named"]
    assert len(CASES) >= 60 and len(CASES) - len(named) >= 55 and len(named) >= 5


async def test_a_server_that_refuses_everything_is_left_after_a_bounded_number_of_requests() -> None:
    case = {"when": {"always": True}, "status": 400, "body": {"error": {"message": "no"}}}
    step = refusing(case, answer=says(FULL))
    async with model_server(step) as server, model(server.url, temperature=0.3) as made:
        with pytest.raises(ModelError, match=r"tried in vain: without temperature.*LLM_STRUCTURED") as found:
            await made.reply(asked(LONG, stream=True), silent)
    assert 5 < len(server.requests) <= trials.MOST + 1 and found.value.usage.calls == 0
    assert made.memory.get().dropped == () and made.memory.get().rung is None, "what did not help is no lesson"
