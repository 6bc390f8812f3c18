"""Requests before a session is opened: front ends' jobs, parameters, conversations; no bus is asked."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from parley.bus.accounts import User, mint
from parley.client.errors import Refusal, Unanswered, Unreachable
from parley.web import program_sessions
from parley.web.app import Config, build
from parley.web.errors import Forms
from parley.web.offered_models import Offers
from parley.web.openai import errors, parameters
from parley.web.openai.door import OpenAI
from parley.web.openai.errors import ApiError
from parley.web.openai.history import FOOTER, is_job, read
from parley.web.openai.requests import parse_request
from parley.web.principals import Principals

HOST = "parley.test"
PAGE = Path(__file__).parents[3] / "docs" / "openai.md"
JOBS = [
    "### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.\n### Guidelines:",
    "### Task:\nGenerate 1-3 broad tags categorizing the main themes of the chat history, along with 1-3 more specific",
    "### Task:\nAnalyze the chat history to determine the necessity of generating search queries, in the",
    "### Task:\nYou are an autocompletion system. Continue the text in `<text>` based on the **completion type**",
    "Your task is to reflect the speaker's likely facial expression through a fitting emoji.",
    "Provide a concise, 5-word-or-less title for the conversation, using title case conventions. Only return the title",
    "Analyze this conversation and provide:\n1. The detected language of the conversation\n2. A concise title in the",
    "Please generate a concise title (max 40 characters) for a conversation that starts with:\nUser: hello",
    "You are a title generator. You output ONLY a thread title. Nothing else.\n\n<task>\nGenerate a brief title that",
]
PEOPLE = [
    "You are a title generator. How would you improve your output?",
    "Provide a title for the conversation that I had with my boss.",
    "What does '### Task:\nGenerate a concise title' mean in a prompt?",
    "### Task:\nRespond to the user query using the provided context.\n<context>a</context>\n<user_query>b",
    "### Task: choose between two databases, and suggest follow-up work",
]


@pytest.mark.parametrize(("text", "job"), [(t, True) for t in JOBS] + [(t, False) for t in PEOPLE])
def test_jobs_of_front_ends_are_known_by_their_templates_and_questions_of_people_are_none(text: str, job: bool) -> None:
    assert is_job([text]) == is_job(["You are helpful.", text]) == job


@pytest.fixture
def http() -> Iterator[TestClient]:
    """The door behind the guard; no bus is there."""
    owner = mint([User(name="owner", kind="owner", account="CLIENTS")])["owner"]
    principals = Principals(bytes(32), local=owner)
    app = build(Config(url="nats://127.0.0.1:1", hosts=(HOST,)), principals, (OpenAI(Offers()).door(),))
    with TestClient(app, base_url=f"http://{HOST}") as found:
        found.headers["Authorization"] = f"Bearer {principals.local_token()}"
        yield found


def test_a_limit_is_told_with_the_time_after_which_to_try_again() -> None:
    """At every door. What is refused for something else would be refused again, and has no such time."""
    forms = Forms([("/v1/", errors.response)])
    for path in ("/v1/chat/completions", "/api/sessions"):
        over = forms.answer(path, Refusal("open_sessions", "open_sessions: alice has 2", 4.2))
        assert (over.status_code, over.headers["retry-after"]) == (429, "5")
        other = forms.answer(path, Refusal("seats", "nobody"))
        assert other.status_code in (400, 409) and "retry-after" not in other.headers
    assert b'"rate_limit_exceeded"' in forms.answer("/v1/x", Refusal("open_sessions", "x", 1.0)).body
    assert errors.response(Unanswered("s1", "no moderator answered", 5.0)).headers[errors.AGAIN] == "false"
    assert errors.AGAIN not in errors.response(Unreachable("no bus")).headers, "nothing was opened"


def test_every_error_under_v1_has_openais_form_and_no_other_has(http: TestClient) -> None:
    for path, status in (("/v1/nothing", 404), ("/v1/chat/completions", 405), ("/v1/models/parley/x", 404)):
        error = http.get(path).json()["error"]
        assert set(error) == {"message", "type", "param", "code"}, path
        assert http.get(path).status_code == status
    for broken in (b"{", b"[" * 100_000):
        assert http.post("/v1/chat/completions", content=broken).json()["error"]["code"] == "invalid_json"
    for text, status, code in ((JOBS[0], 400, "background_task"), ("Tea or coffee?", 503, "bus_unreachable")):
        asked = {"model": "parley/consensus", "messages": [{"role": "user", "content": text}]}
        refused = http.post("/v1/chat/completions", json=asked)
        assert (refused.status_code, refused.json()["error"]["code"]) == (status, code)
    del http.headers["Authorization"]
    assert http.get("/v1/models").json()["error"]["code"] == "invalid_api_key"
    assert http.get("/v1/models", headers={"Host": "evil.test"}).json()["error"]["code"] == "wrong_host"
    assert set(http.get("/other").json()["error"]) == {"field", "message"}


def _wanted(body: dict[str, Any]) -> Any:
    body = {"model": "parley/consensus", **body}
    return parse_request(body, read(body), Offers())


def test_a_conversation_goes_on_from_the_session_of_its_last_answer() -> None:
    told: list[dict[str, Any]] = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": f"x\n\n{FOOTER}first"},
        {"role": "user", "content": f"{FOOTER}mine"},
        {"role": "assistant", "content": [{"type": "text", "text": f"y\n{FOOTER}second\n"}]},
        {"role": "user", "content": "b"},
    ]
    assert _wanted({"messages": told}).continues == "second"
    assert _wanted({"messages": told, "metadata": {"parley_session": "other"}}).continues == "other"
    assert _wanted({"messages": told, "parley": {"continues": "chatcmpl-third"}}).continues == "third"
    assert _wanted({"messages": told[2:3]}).continues == "", "a user who writes it names nothing"
    assert [d.name for d in _wanted({"messages": told}).documents] == []
    told[3] = {"role": "assistant", "content": f"{FOOTER}a.b>"}
    after = _wanted({"messages": told})
    assert after.continues == "" and [d.name for d in after.documents] == ["conversation.md"], "another model answered"
    with pytest.raises(ApiError, match="not a session's id"):
        _wanted({"messages": told[:1], "parley": {"continues": "a.b>"}})


TOOLS: list[dict[str, Any]] = [
    {"role": "system", "content": "Be short."},
    {"role": "user", "content": [{"type": "text", "text": "Which port?"}, {"type": "image_url", "image_url": {}}]},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "function": {"name": "look", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c", "content": "it listens on 4222"},
]


def test_tools_and_images_of_a_history_are_told_or_left_out_by_their_place() -> None:
    wanted = _wanted({"messages": TOOLS, "tools": [{"type": "function"}], "tool_choice": "auto", "n": 1})
    assert wanted.question == "Which port?"
    told = next(d.text for d in wanted.documents if d.name == "conversation.md")
    assert told == "call: look {}\n\ntool: it listens on 4222"
    assert wanted.ignored == ("n", "tool_choice", "tools", "messages[1].content[1]: image_url")
    later = [*TOOLS, {"role": "assistant", "content": f"4222\n\n{FOOTER}s1"}, {"role": "user", "content": "Sure?"}]
    again = _wanted({"messages": later})
    assert (again.question, again.continues) == ("Sure?", "s1")
    assert [d.name for d in again.documents if d.name != "instructions.md"] == [], "the earlier session holds it"


@pytest.mark.parametrize("body", [
    {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
    {"messages": [{"role": "tool", "content": "x"}]},
    {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]},
])  # fmt: skip
def test_without_a_question_of_the_user_nothing_is_asked(body: dict[str, Any]) -> None:
    with pytest.raises(ApiError, match="the last message must be the user's, with text"):
        _wanted(body)


def test_a_long_message_is_a_document_with_its_beginning_and_its_end_as_the_question() -> None:
    text = "Which clause is void?\n" + "clause. " * 5_000 + "\nAnswer with its number."
    wanted = _wanted({"messages": [{"role": "user", "content": text}]})
    assert [(d.name, d.text) for d in wanted.documents] == [(program_sessions.PASTED, text)]
    assert len(wanted.question) < 10_000
    assert "Which clause is void?" in wanted.question and wanted.question.endswith("Answer with its number.")


@pytest.mark.parametrize("name", sorted(parameters.HARMLESS))
def test_what_would_change_the_answer_is_refused_unless_it_changes_nothing(name: str) -> None:
    with pytest.raises(ApiError, match=f"^{name}: got 'something'; ") as failed:
        parameters.ignored({name: "something"}, parameters.HEEDED)
    assert failed.value.code == "unsupported_parameter" and failed.value.param == name
    for value in (None, *parameters.HARMLESS[name]):
        assert parameters.ignored({name: value}, parameters.HEEDED) == (() if value is None else (name,))


def test_the_page_has_every_parameter_that_is_heeded_or_refused() -> None:
    rows = re.findall(r"^\| (`[^|]+) \| (heeded|refused|ignored)", PAGE.read_text(), re.MULTILINE)
    told = {what: {name for names, w in rows if w == what for name in re.findall(r"`(\w+)", names)} for _, what in rows}
    assert told["heeded"] == set(parameters.HEEDED)
    assert told["refused"] == set(parameters.HARMLESS)
    assert told["ignored"].isdisjoint(told["heeded"] | told["refused"]) and "temperature" in told["ignored"]
