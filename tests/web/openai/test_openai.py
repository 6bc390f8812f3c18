"""The OpenAI-compatible door with the official client, over a real stack."""

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from openai import OpenAI

from parley.web.openai.history import FOOTER
from parley.web.openai.running import SESSION
from tests.support.gateway import Served, panel, serving

QUESTION = "In which year did the Suez Canal open?"
KNOWS = "The Suez Canal opened in 1869 for ships."


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("openai")
    panels = folder / "panels"
    panels.mkdir()
    panel(panels / "never.yaml", agree_from=99, metered=True, tokens=10)
    panel(panels / "slow.yaml", latency_s=60)
    with serving(folder, "--set", "protocol=consensus", "--panels", str(panels)) as found:
        yield found


@pytest.fixture
def client(served: Served) -> Iterator[OpenAI]:
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
    assert "Panelist 1 (0.53): 1869" in message.model_extra["reasoning_content"]  # type: ignore[index]
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
