"""A verdict in the form that a program asks for, over a real stack whose model is scripted."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from openai import OpenAI
from pydantic import BaseModel

from parley.web.openai.errors import ApiError
from parley.web.openai.typed import MOST_SCHEMA, form_of
from tests.llm.server import ModelServer, Request, says
from tests.support.expert_model import served_model, variables
from tests.support.gateway import Served, serving

ASKED = [{"role": "user", "content": "In which year did the Suez Canal open?"}]
TOOL = {"type": "function", "function": {"name": "take", "parameters": {"type": "object"}}}


class Opened(BaseModel):
    year: int
    sure: bool


def _says(answer: str) -> Any:
    return says({"reasoning": "It is known.", "citations": [], "abstains": False, "answer": answer, "confidence": 0.9})


async def answer(server: ModelServer, request: Request, writer: asyncio.StreamWriter) -> None:
    """The year; in the form it is wrong at first where the question says so."""
    said = next((f"It opened {word} in 1869." for word in ("badly", "never") if word in request.prompt), "In 1869.")
    if "form.json" in request.prompt:
        good = json.dumps({"year": 1869, "sure": True})
        said = good if "was refused" in request.prompt or "badly" not in request.prompt else '{"year": "old"}'
        if '"required":["answer"]' in request.prompt:
            said = json.dumps({"answer": "In 1869."})
        said = "no form at all" if "never" in request.prompt else said
    await _says(said)(server, request, writer)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served_model(answer) as url:
        with serving(tmp_path_factory.mktemp("typed"), env=variables("ANSWERER", url)) as found:
            yield found


@pytest.fixture
def client(served: Served) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{served.url}/v1", api_key=served.token, max_retries=0, timeout=60) as found:
        yield found


@pytest.mark.slow
def test_a_verdict_is_stated_in_the_form_and_checked_against_it(served: Served, client: OpenAI) -> None:
    found = client.chat.completions.parse(model="parley/single", messages=ASKED, response_format=Opened)  # type: ignore[arg-type]
    assert found.choices[0].message.parsed == Opened(year=1869, sure=True)
    own: dict[str, Any] = found.model_extra["parley"]  # type: ignore[index]
    assert own["agreed"] is False and own["form"] != own["session"], "a form says nothing of agreement"
    said = served.front.json("sessions", "show", own["session"], "--json")
    assert "In 1869." in json.dumps(said)
    assert found.usage is not None and found.usage.total_tokens > 0


@pytest.mark.slow
def test_a_value_that_does_not_satisfy_the_form_is_asked_for_once_more(client: OpenAI) -> None:
    badly: list[Any] = [{"role": "user", "content": "It is badly put: which year?"}]
    found = client.chat.completions.parse(model="parley/single", messages=badly, response_format=Opened)
    assert found.choices[0].message.parsed == Opened(year=1869, sure=True)
    never: list[Any] = [{"role": "user", "content": "It is never put: which year?"}]
    with pytest.raises(openai.BadRequestError, match="was not stated in the form asked for: it is no JSON") as failed:
        client.chat.completions.parse(model="parley/single", messages=never, response_format=Opened)
    assert failed.value.code == "form_not_met"


@pytest.mark.slow
@pytest.mark.parametrize("stream", [False, True])
def test_a_tool_that_must_be_called_is_called_with_the_verdict(client: OpenAI, stream: bool) -> None:
    tool = {"type": "function", "function": {"name": "take", "parameters": Opened.model_json_schema()}}
    given: Any = {"model": "parley/single", "messages": ASKED, "tools": [tool], "tool_choice": "required"}
    if not stream:
        choice = client.chat.completions.create(**given).choices[0]
        (call,) = list(choice.message.tool_calls or [])
        assert choice.finish_reason == "tool_calls" and choice.message.content is None
        assert call.type == "function" and call.function.name == "take"
        assert json.loads(call.function.arguments) == {"year": 1869, "sure": True}
        return
    parts = list(client.chat.completions.create(**given, stream=True))
    calls = [part.choices[0].delta.tool_calls[0] for part in parts if part.choices and part.choices[0].delta.tool_calls]
    assert [json.loads(call.function.arguments) for call in calls] == [{"year": 1869, "sure": True}]
    assert parts[-1].choices[0].finish_reason == "tool_calls"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"response_format": {"type": "json_schema"}}, "wanted is a JSON schema"),
        ({"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": 7}}}}, "7"),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"schema": {"a": "x" * MOST_SCHEMA}}}},
            "at most 20,000",
        ),
        ({"tool_choice": "required", "tools": [TOOL, TOOL]}, "2 tools; one tool may be named"),
        ({"tool_choice": {"type": "function", "function": {"name": "x"}}, "tools": [TOOL]}, "0 tools"),
    ],
)
def test_a_form_that_cannot_be_used_is_refused_by_its_name(body: dict[str, Any], why: str) -> None:
    with pytest.raises(ApiError, match=why):
        form_of(body)


def test_a_request_without_a_form_asks_for_words() -> None:
    assert form_of({"response_format": {"type": "text"}, "tools": [TOOL], "tool_choice": "auto"}) is None
