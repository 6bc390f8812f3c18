"""What servers refuse, shaped as in public reports, with texts of our own (refusals.jsonl, a line a case; `from`: a
report that was opened and shows one like it): a turn ends in an answer, or with the cause and the setting; and no
number is learned that is none."""

import json
from pathlib import Path
from typing import Any

import pytest

from parley.agents.endpoint.endpoint import Rejected
from parley.agents.endpoint.limits import FAILURES, backoff_s
from parley.agents.model.base import ModelError
from parley.agents.openai import probe, refusals, small_call, trials
from parley.agents.openai.options import parse
from parley.agents.openai.providers import PRESETS, Rung
from parley.agents.secrets import Secret
from tests.llm.refusals.refusing import refusing
from tests.llm.refusals.twins import TWINS, step_of
from tests.llm.server import ModelServer, Step, fails, model_server, says, thinks
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
            assert all(said in found.value.why for said in case["says"]), found.value.why
            with pytest.raises(ModelError):
                await made.reply(asked(LONG, stream=streamed, attempt=2, error=found.value.why), silent)
            assert len(server.requests) == 1, "nor is it asked again with the turn"
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


@pytest.mark.parametrize("name", TWINS)
async def test_a_provider_with_nothing_set_but_a_key_loses_no_turn(name: str) -> None:
    """By what its real server is known to refuse. Each provider has a twin but the one that is any server."""
    assert TWINS.keys() == PRESETS.keys() - {"openai_compatible"}
    given: dict[str, Any] = {"provider": name, "api_key": Secret("a-key-that-is-long-enough")}
    async with model_server(step_of(name), look=fails(404)) as server, model(server.url, **given) as made:
        for streamed in (False, True):
            assert (await made.reply(asked(LONG, stream=streamed), silent)).body.answer == "A4"
        assert len(server.requests) > 2, "it refused something"


async def test_a_server_that_refuses_everything_is_left_after_a_bounded_number_of_requests() -> None:
    case = {"when": {"always": True}, "status": 400, "body": {"error": {"message": "no"}}}
    step = refusing(case, answer=says(FULL))
    async with model_server(step) as server, model(server.url, temperature=0.3) as made:
        with pytest.raises(ModelError, match=r"tried in vain: without temperature.*LLM_STRUCTURED") as found:
            await made.reply(asked(LONG, stream=True), silent)
    assert 5 < len(server.requests) <= trials.MOST + 1 and found.value.usage.calls == 0
    assert made.memory.get().dropped == () and made.memory.get().rung is None, "what did not help is no lesson"


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_an_answer_without_anything_whose_prompt_was_counted_is_asked_for_with_half_of_it(streamed: bool) -> None:
    nothing = {"choices": [{"message": {"content": ""}, "finish_reason": "stop"}]}
    body = {**nothing, "usage": {"prompt_tokens": 9_000, "completion_tokens": 0}}
    case = {"when": {"prompt": 8_000}, "status": 200, "body": body}
    async with model_server(refusing(case, answer=says(FULL))) as server, model(server.url) as made:
        completion = await made.reply(asked(LONG, stream=streamed), silent)
    assert completion.body.answer == "A4" and "cut_documents" in completion.flags
    assert len(server.requests) == completion.usage.calls == 2, "its prompt may have been paid"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Limit 6000, Used 5034, Requested 1443. Please try again in 4.77s. Visit the console.", 4.77),
        ("Please try again in 20ms.", 0.02),
        ("Please retry in 26.5s", 26.5),
        ("Retry after 10 seconds", 10.0),
        ("try again in 1m12s", 60.0),
        ("Try again in 999999999 hours", 60.0),
        ("Try again later. Limit 3 models", None),
        ("Retry with 3 tokens less", None),
    ],
)
def test_the_wait_that_a_text_names_counts_up_to_a_minute(text: str, seconds: float | None) -> None:
    assert refusals.wait_s(Rejected(429, text, "", None, body=text)) == seconds
    assert refusals.wait_s(Rejected(429, text, "", 3.0, body=text)) == 3.0, "a header counts before a text"


async def test_a_server_that_fails_is_left_soon_and_one_that_loads_its_model_is_waited_for_by_time() -> None:
    failing: list[Step] = [fails(500, retry_after="0.01")]
    async with model_server(*failing) as server, model(server.url) as made:
        with pytest.raises(ModelError, match=r"turned away 6 times, lastly: HTTP 500.*LLM_BASE_URL"):
            await made.reply(asked(), silent)
    assert len(server.requests) == FAILURES + 1 and sum(backoff_s(n, lambda: 1) for n in range(1, FAILURES + 1)) < 16
    loading: list[Step] = [fails(503, "Loading model", retry_after="0.01")] * (FAILURES + 1)
    async with model_server(*loading, says(FULL)) as server, model(server.url) as made:
        assert (await made.reply(asked(), silent)).usage.calls == 1
    async with model_server(fails(503, "Loading model")) as server, model(server.url) as made:
        with pytest.raises(ModelError, match=r"deadline|the turn ends"):
            await made.reply(asked(seconds=0.5), silent)


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_that_refuses_is_named_at_once(monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    async with model_server(fails(407)) as server:
        monkeypatch.setenv(f"{scheme}_proxy", server.url.removesuffix("/v1"))
        async with model(f"{scheme}://model.test/v1") as made:
            assert "no_proxy" in await made.check()
            with pytest.raises(ModelError, match=r"https_proxy .* refuses it \(HTTP 407\).*no_proxy"):
                await made.reply(asked(), silent)
    assert len(server.requests) == 2


async def test_thoughts_never_ask_for_more_than_the_models_limit_on_output() -> None:
    case = {"when": {"output": 4096}, "status": 400, "body": {"error": {"message": "max_tokens range is [1, 4096]"}}}
    async with model_server(refusing(case, answer=thinks(6_000, FULL))) as server, model(server.url) as made:
        for _ in range(2):
            with pytest.raises(ModelError, match="thought for"):
                await made.reply(asked(), silent)
    assert [r.body["max_tokens"] for r in server.requests] == [10_000, 4_096, 4_096], "one refusal, and no more"


def test_what_was_learned_is_forgotten_after_a_week_and_by_another_version(tmp_path: Path) -> None:
    now = 1_000_000.0
    memory = probe.Memory("http://h/v1", "m", tmp_path, lambda: now)
    memory.learn(drop="temperature")
    assert memory.get().dropped == ("temperature",) and memory.get().at_s == now
    now += probe.KEPT_S
    assert memory.get().dropped == ()
    now -= probe.KEPT_S
    probe.forget()
    assert probe.Memory("http://h/v1", "m", tmp_path, lambda: now, version="0.0.0").get().dropped == ()
    assert probe.Memory("http://h/v1", "m", tmp_path, lambda: now).get().dropped == ("temperature",)


async def test_a_small_call_learns_what_a_turn_would() -> None:
    cases: list[dict[str, Any]] = [
        {"when": {"system": True}, "status": 400, "body": {"error": {"message": "System role not supported"}}},
        {"when": {"output": 4096}, "status": 400, "body": {"error": {"message": "max_tokens range is [1, 4096]"}}},
    ]
    async with model_server(refusing(*cases, answer=says(FULL))) as server, model(server.url) as made:
        words = await small_call.ask(made)
        assert words == "with the system message in the user's, with 4,096 tokens of output"
        before = len(server.requests)
        await made.reply(asked(), silent)
    assert len(server.requests) == before + 1


@pytest.mark.parametrize(
    ("status", "said", "more", "words", "lasts"),
    [
        (400, "this model does not support tools", {}, "with tools called in a text", True),
        (400, "invalid role", {}, "with tools called in a text", False),
        (400, "no tools", {"response_format": {}}, "with tools called in a text", False),
        (400, "tool_choice is not supported", {"tool_choice": "none"}, "without tool_choice", True),
        (405, "", {}, "with tools called in a text", False),
    ],
)
def test_what_a_refused_request_with_tools_teaches(
    status: int, said: str, more: dict[str, Any], words: str, lasts: bool
) -> None:
    """What does not last holds until the turn's end."""
    tried = trials.Trials(probe.Memory("http://h/v1", "m"), parse({"base_url": "http://h/v1", "model": "m"}, {}))
    body = {"tools": [], "messages": [], **more}
    sent = trials.RefusedRequest(body=body, prompt=1, output=1, answer=1, rung=Rung.TEXT, bounds=False)
    assert tried.next(Rejected(status, said, "", None, body=said), sent) == words
    tried.worked()
    dropped = words.removeprefix("without ") if "without" in words else "tools"
    assert tried.known.dropped == (dropped,)
    assert probe.Memory("http://h/v1", "m").get().dropped == ((dropped,) if lasts else ())
