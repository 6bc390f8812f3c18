"""The OpenAI-compatible door: responses that are read again, and clients of other makers."""

import json
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from tests.extending.pip import programs_of
from tests.support import npm
from tests.support.engine import until
from tests.support.gateway import Served, serving
from tests.support.model import NO_ANSWER
from tests.web.support import Browser, Site


def _client(site: Site, who: Browser) -> AsyncOpenAI:
    token = who.http.headers["authorization"].removeprefix("Bearer ")
    return AsyncOpenAI(base_url=f"{site.web.url}/v1", api_key=token, max_retries=0, timeout=20)


class Programs:
    """The official client of each."""

    def __init__(self, site: Site) -> None:
        self.owner, self.alice = _client(site, site.owner), _client(site, site.alice)
        self.bob, self.auditor = _client(site, site.bob), _client(site, site.auditor)


@pytest.fixture
async def programs(site: Site) -> AsyncIterator[Programs]:
    """All of them."""
    found = Programs(site)
    async with AsyncExitStack() as stack:
        for client in (found.owner, found.alice, found.bob, found.auditor):
            await stack.enter_async_context(client)
        yield found


async def test_a_response_is_read_again_by_who_may_and_says_the_same(site: Site, programs: Programs) -> None:
    first = await programs.alice.responses.create(model="parley/consensus", input="Whose is this?")
    for client in (programs.alice, programs.owner, programs.auditor):
        again = await client.responses.retrieve(first.id)
        assert again.output_text == first.output_text and again.usage == first.usage
        assert [item.type for item in again.output] == ["reasoning", "message"]
        assert again.output[0] == first.output[0], "every post is told"
        assert (again.status, again.model) == ("completed", "parley/consensus")
        assert again.model_extra["parley"]["stop"] == first.model_extra["parley"]["stop"]  # type: ignore[index]
        by = {r["seat"]: r["model"] for r in again.model_extra["parley"]["responses"]}  # type: ignore[index]
        assert by == {seat: "stub" if client is programs.owner else seat for seat in by} and len(by) == 3
        assert 0 <= first.created_at - again.created_at < 20, "it began when its session began"
    for id in (first.id, "resp_nobody", "resp_*", "resp_"):
        with pytest.raises(openai.NotFoundError) as failed:
            await programs.bob.responses.retrieve(id)
        assert failed.value.code == "response_not_found" and failed.value.param == "response_id"
    with pytest.raises(openai.BadRequestError, match="stream: got true"):
        async for _ in await programs.alice.responses.retrieve(first.id, stream=True):
            pass


async def test_a_response_that_runs_is_read_and_cancelled_by_who_asked_for_it(site: Site, programs: Programs) -> None:
    sid = await site.alice.start(NO_ANSWER)
    id = f"resp_{sid}"
    now = await programs.alice.responses.retrieve(id)
    assert now.status == "in_progress" and now.output_text == "" and now.usage is None
    with pytest.raises(openai.NotFoundError):
        await programs.bob.responses.cancel(id)
    with pytest.raises(openai.PermissionDeniedError, match="opened by somebody else") as refused:
        await programs.auditor.responses.cancel(id)
    body: Any = refused.value.body
    assert (body["type"], body["code"]) == ("permission_error", "forbidden")
    assert (await programs.alice.responses.retrieve(id)).status == "in_progress"
    with pytest.raises(openai.BadRequestError, match="still open"):
        await programs.owner.responses.delete(id)
    ended = await programs.alice.responses.cancel(id)
    assert ended.status == "cancelled" and ended.output_text.startswith("Cancelled: ")
    assert (await programs.alice.responses.cancel(id)).output_text == ended.output_text, "twice is fine"


async def test_a_response_in_the_background_is_read_until_it_is_there(site: Site, programs: Programs) -> None:
    asked = await programs.alice.responses.create(model="parley/consensus", input="Whose is this?", background=True)
    assert asked.status in ("in_progress", "completed") and asked.id.startswith("resp_")

    async def over() -> bool:
        return (await programs.alice.responses.retrieve(asked.id)).status == "completed"

    await until(over)
    found = await programs.alice.responses.retrieve(asked.id)
    assert found.output_text.startswith("the agreed answer\n") and found.output_text.endswith(asked.id[5:])
    with pytest.raises(openai.BadRequestError, match="background: got true beside a stream"):
        await programs.alice.responses.create(model="parley/consensus", input="x?", background=True, stream=True)


async def test_a_response_is_deleted_by_an_owner_and_then_gone(site: Site, programs: Programs) -> None:
    first = await programs.alice.responses.create(model="parley/consensus", input="Whose is this?")
    with pytest.raises(openai.PermissionDeniedError, match="erased by owners"):
        await programs.alice.responses.delete(first.id)
    assert (await programs.alice.responses.retrieve(first.id)).output_text == first.output_text
    await programs.owner.responses.delete(first.id)
    for client in (programs.alice, programs.owner):
        with pytest.raises(openai.NotFoundError):
            await client.responses.retrieve(first.id)
    follow = programs.alice.responses.create(model="parley/consensus", input="Sure?", previous_response_id=first.id)
    with pytest.raises(openai.BadRequestError) as failed:
        await follow
    assert failed.value.code == "previous_response_not_found"


async def test_a_method_that_a_response_does_not_have_is_told_in_their_form(site: Site) -> None:
    answer = await site.bob.http.put("/v1/responses/resp_x", json={})
    assert answer.status_code == 405 and answer.json()["error"]["code"] == "method_not_allowed"


OPENAI = ("openai", "7.57.0")
LLM = "llm==0.36"
QUESTION = "In which year did the Suez Canal open?"
KNOWS = "The Suez Canal opened in 1869 for ships."
SCRIPT = """
import OpenAI from "openai";
const client = new OpenAI({baseURL: process.env.URL, apiKey: process.env.TOKEN, maxRetries: 0});
const told = {models: (await client.models.list()).data.map(m => m.id)};
const messages = [{role: "system", content: process.env.KNOWS}, {role: "user", content: process.env.QUESTION}];
const plain = await client.chat.completions.create({model: "parley/consensus", messages});
told.content = plain.choices[0].message.content;
told.parley = plain.parley;
told.reasoning = 0;
for await (const part of await client.chat.completions.create({model: "parley/consensus", messages, stream: true}))
  if (part.choices[0]?.delta.reasoning_content) told.reasoning += 1;
const response = await client.responses.create({model: "parley/consensus", instructions: process.env.KNOWS,
                                                input: process.env.QUESTION});
told.output = response.output_text;
const stream = client.responses.stream({model: "parley/consensus", input: "Which year?",
                                        previous_response_id: response.id});
told.kinds = [];
for await (const event of stream) told.kinds.push(event.type);
told.continues = (await stream.finalResponse()).parley.continues;
try { await client.chat.completions.create({model: "parley/nobody", messages}); }
catch (error) { told.error = [error.constructor.name, error.status, error.code, error.param]; }
console.log(JSON.stringify(told));
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A gateway."""
    with serving(tmp_path_factory.mktemp("foreign"), "--set", "protocol=consensus") as found:
        yield found


@pytest.mark.timeout(240)
def test_the_official_client_of_node_gets_answers_streams_and_errors(served: Served) -> None:
    folder = npm.package(*OPENAI)
    script = folder / f"test-{os.getpid()}.mjs"
    script.write_text(SCRIPT)
    env = {"URL": f"{served.url}/v1", "TOKEN": served.token, "KNOWS": KNOWS, "QUESTION": QUESTION}
    try:
        code, out, err = npm.run(npm.node(), str(script), env=env)
    finally:
        script.unlink()
    assert code == 0, err
    told = json.loads(out)
    assert "parley/consensus" in told["models"] and told["content"].startswith("1869\n")
    assert told["parley"]["stop"]["reason"] == "one_source" and told["reasoning"] >= 5
    assert told["output"].startswith("1869\n") and told["kinds"][-1] == "response.completed"
    assert told["continues"] and told["continues"] in told["output"].splitlines()[-1]
    assert told["error"] == ["NotFoundError", 404, "model_not_found", "model"]


@pytest.mark.timeout(240)
def test_llm_asks_a_panel_as_any_model(served: Served, tmp_path: Path) -> None:
    program = programs_of(LLM) / "llm"
    entry = f"- model_id: panel\n  model_name: parley/consensus\n  api_base: {served.url}/v1\n  api_key_name: parley\n"
    (tmp_path / "extra-openai-models.yaml").write_text(entry)
    env = {**os.environ, "LLM_USER_PATH": str(tmp_path)}
    done = subprocess.run(
        [program, "-m", "panel", "--key", served.token, "-s", KNOWS, QUESTION],
        capture_output=True, text=True, timeout=50, env=env,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1869\n") and "parley session " in done.stdout
