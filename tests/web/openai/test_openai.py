"""The OpenAI-compatible door with the official client, over a real stack."""

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import openai
import pytest
from openai import OpenAI

from parley.stack.lease import read_running
from parley.web.openai.history import FOOTER
from parley.web.openai.running import SESSION
from tests.parley.support import until
from tests.support.gateway import Served, copy, panel, serving

QUESTION = "In which year did the Suez Canal open?"
KNOWS = "The Suez Canal opened in 1869 for ships."
TITLE = (
    "### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.\n### Guidelines:\n- x"
)
KEY = "task-key-that-nobody-may-see"


class TaskServer(ThreadingHTTPServer):
    """A model for jobs of front ends, which keeps what it was sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.asked: list[dict[str, Any]] = []
        self.status = 200


class _Answers(BaseHTTPRequestHandler):
    server: TaskServer

    def do_POST(self) -> None:
        """One completion; where it fails, with its key in the words."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append({**body, "authorization": self.headers["authorization"], "path": self.path})
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Ships"}}
        answer = {"id": "x", "object": "chat.completion", "created": 1, "model": "small", "choices": [choice]}
        told = json.dumps(answer if self.server.status == 200 else {"error": {"message": f"bad key {KEY}"}}).encode()
        self.send_response(self.server.status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""


@pytest.fixture(scope="module")
def tasks() -> Iterator[TaskServer]:
    """A small model."""
    server = TaskServer()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join(10)
    server.server_close()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, tasks: TaskServer) -> Iterator[Served]:
    """A gateway with three panels, and a model for jobs of front ends."""
    folder = tmp_path_factory.mktemp("openai")
    panels = folder / "panels"
    panels.mkdir()
    panel(panels / "never.yaml", agree_from=99, metered=True, tokens=10)
    panel(panels / "slow.yaml", latency_s=60)
    env = {"PARLEY_TASK_BASE_URL": f"http://127.0.0.1:{tasks.server_port}/v1", "PARLEY_TASK_API_KEY": KEY}
    options = ("--set", "protocol=consensus", "--panels", str(panels), "--task-model", "small")
    with serving(folder, *options, env=env) as found:
        yield found


@pytest.fixture
def client(served: Served) -> Iterator[OpenAI]:
    """The official client."""
    with OpenAI(base_url=f"{served.url}/v1", api_key=served.token, max_retries=0, timeout=40) as found:
        yield found


def _messages(*said: str) -> list[Any]:
    return [{"role": "user" if i % 2 == 0 else "assistant", "content": text} for i, text in enumerate(said)]


KNOWING: list[Any] = [{"role": "system", "content": KNOWS}, {"role": "user", "content": QUESTION}]


def test_protocols_and_saved_panels_are_models(client: OpenAI) -> None:
    names = {model.id for model in client.models.list()}
    assert {"parley/consensus", "parley/madp", "parley/never", "parley/slow"} <= names
    assert client.models.retrieve("parley/never").owned_by == "parley"
    with pytest.raises(openai.NotFoundError, match="parley/never") as failed:
        client.models.retrieve("parley/nobody")
    assert failed.value.code == "model_not_found" and failed.value.param == "model"


def test_a_verdict_is_the_content_and_posts_are_the_reasoning(served: Served, client: OpenAI) -> None:
    raw = client.chat.completions.with_raw_response.create(model="parley/consensus", messages=KNOWING, temperature=0.1)
    found = raw.parse()
    own: dict[str, Any] = found.model_extra["parley"]  # type: ignore[index]
    sid = raw.headers[SESSION]
    assert found.id == f"chatcmpl-{sid}" and own["session"] == sid
    message = found.choices[0].message
    assert message.content is not None and message.content.startswith("1869\n")
    assert message.content.endswith(f"{FOOTER}{sid}")
    assert "Panelist 1 (0.62): 1869" in message.model_extra["reasoning_content"]  # type: ignore[index]
    assert not own["agreed"] and own["stop"]["reason"] == "one_source" and own["stop"]["certificate"]["score"] == 100
    assert own["ignored"] == ["temperature"]
    assert served.front.json("explain", sid, "--json")["result"]["stop"] == own["stop"], (
        "the command line says the same"
    )


def test_what_did_not_converge_never_reads_as_agreed_and_usage_is_the_sessions(served: Served, client: OpenAI) -> None:
    own_settings = {"parley": {"settings": {"round_limit": 2}}}
    found = client.chat.completions.create(
        model="parley/never", messages=_messages("Tea or coffee?"), extra_body=own_settings
    )
    own: dict[str, Any] = found.model_extra["parley"]  # type: ignore[index]
    assert not own["agreed"] and own["stop"]["reason"] == "round_limit" and own["rounds"] == 2
    content = found.choices[0].message.content or ""
    assert content.startswith("Without agreement: the last round allowed was played; it did not converge")
    used = own["usage"]
    assert found.usage is not None and found.usage.total_tokens == used["input_tokens"] + used["output_tokens"] > 0
    assert used["turns"] >= 4, "two seats, two rounds"


def test_a_stream_brings_posts_as_they_come_then_the_verdict_then_the_usage(client: OpenAI) -> None:
    parts = list(
        client.chat.completions.create(
            model="parley/consensus", messages=KNOWING, stream=True, stream_options={"include_usage": True}
        )
    )
    deltas = [part.choices[0].delta for part in parts if part.choices]
    kinds = ["reasoning" if "reasoning_content" in (d.model_extra or {}) else "content" for d in deltas]
    first = kinds.index("reasoning")
    last = len(kinds) - 1 - kinds[::-1].index("reasoning")
    assert set(kinds[first : last + 1]) == {"reasoning"} and last - first >= 4, (
        "a chunk for each post, then the verdict"
    )
    content = "".join(d.content or "" for d in deltas)
    sid = parts[0].id.removeprefix("chatcmpl-")
    assert content.startswith("1869\n") and content.endswith(f"{FOOTER}{sid}")
    (end,) = [part for part in parts if part.choices and part.choices[0].finish_reason]
    assert end.model_extra is not None and end.model_extra["parley"]["session"] == sid
    assert parts[-1].usage is not None and not parts[-1].choices


def test_a_chat_goes_on_from_its_session_by_what_the_client_sends_back(served: Served, client: OpenAI) -> None:
    first = client.chat.completions.create(model="parley/consensus", messages=KNOWING)
    said = first.choices[0].message.content or ""
    then = client.chat.completions.create(
        model="parley/consensus", messages=[*KNOWING, *_messages("", said)[1:], *_messages("In which year was that?")]
    )
    own: dict[str, Any] = then.model_extra["parley"]  # type: ignore[index]
    assert own["continues"] == first.id.removeprefix("chatcmpl-")
    opened = json.loads(served.front.run("sessions", "export", own["session"])[1].splitlines()[1])["event"]
    names = [document["name"] for document in opened["documents"]]
    assert f"previous/{own['continues']}.md" in names and "conversation.md" not in names


def test_a_conversation_of_another_model_comes_along_as_a_document(served: Served, client: OpenAI) -> None:
    found = client.chat.completions.create(
        model="parley/consensus", messages=_messages("Tell me of canals.", KNOWS, QUESTION)
    )
    own: dict[str, Any] = found.model_extra["parley"]  # type: ignore[index]
    assert "continues" not in own
    opened = json.loads(served.front.run("sessions", "export", own["session"])[1].splitlines()[1])["event"]
    (document,) = opened["documents"]
    assert document["name"] == "conversation.md" and f"assistant: {KNOWS}" in document["text"]


def test_a_response_streamed_or_not_goes_on_by_its_id(client: OpenAI) -> None:
    first = client.responses.create(model="parley/consensus", instructions=KNOWS, input=QUESTION)
    sid = first.id.removeprefix("resp_")
    assert first.status == "completed" and first.output_text.startswith("1869\n")
    reasoning, message = first.output
    assert reasoning.type == "reasoning" and len(reasoning.summary) >= 5 and message.type == "message"
    with client.responses.stream(
        model="parley/consensus", instructions=KNOWS, input="In which year was that?", previous_response_id=first.id
    ) as stream:
        events = list(stream)
        last = stream.get_final_response()
    assert [e.sequence_number for e in events] == sorted(e.sequence_number for e in events)
    kinds = [e.type for e in events]
    assert kinds.index("response.reasoning_summary_text.delta") < kinds.index("response.output_text.delta")
    assert kinds[-1] == "response.completed" and last.previous_response_id == first.id
    own: dict[str, Any] = last.model_extra["parley"]  # type: ignore[index]
    assert own["continues"] == sid and last.output_text.endswith(f"{FOOTER}{own['session']}")
    again = client.responses.create(
        model="parley/consensus",
        input=[*first.output, {"role": "user", "content": "Sure?"}],  # type: ignore[list-item]
    )
    assert again.model_extra["parley"]["continues"] == sid, "items that come back name it too"  # type: ignore[index]


def _open(served: Served) -> list[str]:
    rows = served.front.json("sessions", "list", "--json")["sessions"]
    return [row["session"] for row in rows if row["status"] == "open"]


def test_a_client_that_leaves_a_stream_cancels_its_session(served: Served, client: OpenAI) -> None:
    with client.chat.completions.with_streaming_response.create(
        model="parley/slow", messages=_messages("Tea or coffee?"), stream=True
    ) as raw:
        sid = raw.headers[SESSION]
        assert sid in _open(served)
    until(lambda: sid not in _open(served), f"session {sid} goes on although nobody reads it")
    found = served.front.json("explain", sid, "--json")["result"]
    assert found["status"] == "cancelled" and "has gone" in json.dumps(found["stop"]["certificate"])


async def test_a_client_that_waits_no_longer_cancels_its_session(served: Served) -> None:
    client = openai.AsyncOpenAI(base_url=f"{served.url}/v1", api_key=served.token, max_retries=0)
    before = set(await asyncio.to_thread(_open, served))
    asking = asyncio.ensure_future(client.responses.create(model="parley/slow", input="Tea or coffee?"))
    (sid,) = await asyncio.to_thread(until, lambda: set(_open(served)) - before, "nothing was opened")
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    await asyncio.to_thread(until, lambda: sid not in _open(served), f"session {sid} goes on")
    assert served.front.json("explain", sid, "--json")["result"]["status"] == "cancelled"
    await client.close()


@pytest.fixture(scope="module")
def other(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Another copy of the gateway on the same bus, for a client with a token; who leaves it leaves the session."""
    folder = tmp_path_factory.mktemp("keys")
    keys = served.front.state / "keys"
    (folder / "client.json").write_bytes((keys / "client.json").read_bytes())
    code, out, err = served.front.run("bus", "token", "client", "--dir", str(folder))
    assert code == 0 and "shown this once" in err, err
    running = read_running(served.front.state)
    assert running is not None
    options = ["--nats", running.url, "--keys", str(folder), "--cookie-key", str(folder / "web.key")]
    panels = str(served.front.folder / "panels")
    with copy(served.front, *options, "--panels", panels, "--on-disconnect", "leave") as found:
        yield found._replace(token=out.strip())


def test_a_client_goes_on_from_its_own_session_on_any_copy_and_from_nobody_elses(other: Served, client: OpenAI) -> None:
    owners = client.responses.create(model="parley/consensus", instructions=KNOWS, input=QUESTION)
    with OpenAI(base_url=f"{other.url}/v1", api_key=other.token, max_retries=0, timeout=40) as mine:
        first = mine.responses.create(model="parley/consensus", instructions=KNOWS, input=QUESTION)
        then = mine.responses.create(
            model="parley/consensus", instructions=KNOWS, input="Which year?", previous_response_id=first.id
        )
        assert then.model_extra["parley"]["continues"] == first.id.removeprefix("resp_")  # type: ignore[index]
        with pytest.raises(openai.BadRequestError) as failed:
            mine.responses.create(model="parley/consensus", input="Which year?", previous_response_id=owners.id)
        assert failed.value.code == "previous_response_not_found"
    again = client.responses.create(model="parley/consensus", input="Sure?", previous_response_id=first.id)
    assert again.status == "completed", "the owner reads it, on the other copy"


def test_a_session_goes_on_without_its_client_where_the_operator_wants_that(other: Served, client: OpenAI) -> None:
    client.responses.create(model="parley/consensus", instructions=KNOWS, input=QUESTION)  # has the panel served
    with OpenAI(base_url=f"{other.url}/v1", api_key=other.token, max_retries=0, timeout=40) as mine:
        with mine.chat.completions.with_streaming_response.create(
            model="parley/consensus", messages=KNOWING, stream=True
        ) as raw:
            sid = raw.headers[SESSION]
    until(lambda: sid not in _open(other), f"session {sid} does not end")
    assert other.front.json("explain", sid, "--json")["result"]["status"] == "finished"


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"n": 2}, "n", "unsupported_parameter"),
    ({"response_format": {"type": "json_object"}}, "response_format", "unsupported_parameter"),
    ({"logprobs": True}, "logprobs", "unsupported_parameter"),
    ({"messages": []}, "messages", "invalid_value"),
    ({"messages": _messages("a", "b")}, "messages", "invalid_value"),
    ({"messages": [{"role": "critic", "content": "x"}]}, "messages[0]", "invalid_value"),
    (
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}]},
        "messages",
        "invalid_value",
    ),
    ({"extra_body": {"parley": {"settings": {"round_limit": 99}}}}, "parley.settings.round_limit", "invalid_value"),
    ({"extra_body": {"parley": {"setting": {}}}}, "parley.setting", "invalid_value"),
    ({"extra_body": {"parley": {"continues": "gone"}}}, "previous_response_id", "previous_response_not_found"),
]


@pytest.mark.parametrize(("given", "param", "code"), REFUSED, ids=[f"{p}-{i}" for i, (_, p, _) in enumerate(REFUSED)])
def test_what_cannot_be_answered_is_refused_by_its_name(
    client: OpenAI, given: dict[str, Any], param: str, code: str
) -> None:
    with pytest.raises(openai.BadRequestError) as failed:
        client.chat.completions.create(**{"model": "parley/consensus", "messages": _messages("Tea?"), **given})
    assert (failed.value.param, failed.value.code) == (param, code)
    assert failed.value.body["type"] == "invalid_request_error"  # type: ignore[index]


def test_a_job_of_a_front_end_goes_to_the_operators_model_and_starts_no_debate(
    served: Served, client: OpenAI, tasks: TaskServer
) -> None:
    before = served.front.json("sessions", "list", "--json")
    found = client.chat.completions.create(model="parley/consensus", messages=_messages(TITLE))
    assert found.choices[0].message.content == "Ships"
    sent = tasks.asked[-1]
    assert (sent["model"], sent["path"], sent["authorization"]) == ("small", "/v1/chat/completions", f"Bearer {KEY}")
    tasks.status = 401
    with pytest.raises(openai.InternalServerError, match="status 401") as failed:
        client.chat.completions.create(model="parley/consensus", messages=_messages(TITLE))
    assert KEY not in str(failed.value.body) and failed.value.code == "task_model"
    tasks.status = 200
    assert served.front.json("sessions", "list", "--json") == before
