"""One answer that tells what a panel's members said beside each other, over a real stack whose models are scripted."""

import asyncio
import base64
import re
from collections.abc import Iterator
from typing import Any

import pytest
from openai import OpenAI

from tests.llm.server import ModelServer, Request, fails, says
from tests.support.expert_model import served_model
from tests.support.gateway import serving

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
QUESTION = "In which year did the Suez Canal open?"
OPENED, DUG = "It was opened to ships in November 1869.", "Ten years were spent on digging it."
COMPARED: dict[str, Any] = {
    "agreements": ["It opened in the 19th century."], "key_disagreements": ["Whether trial runs count."],
    "comment": "What counts as opening.", "approach": 20, "priority": 20,
}  # fmt: skip
FUSED = ("analysis", "responses", "failed_models")
PANEL = """protocol: consensus
seats:
  early: {{base_url: "{0}", key_variable: NO_KEY, model: knows, role: panelist}}
  late: {{base_url: "{0}", key_variable: NO_KEY, model: guesses, role: panelist}}
  gone: {{base_url: "{0}", key_variable: NO_KEY, model: fails, role: panelist}}
  arbiter: {{role: analyst, base_url: "{0}", key_variable: NO_KEY, model: compares}}
"""


async def _answer(server: ModelServer, request: Request, writer: asyncio.StreamWriter) -> None:
    """Each member as its model's name says; the analyst finds two answers."""
    model = request.body["model"]
    if model == "fails":
        await fails(500)(server, request, writer)
        return
    if model == "compares":
        positions = re.search(r'"positions": \[([\d,]+)\]', request.prompt)
        posts = map(int, positions[1].split(",")) if positions else ()
        groups = [{"label": f"answer {post}", "posts": [post]} for post in posts]
        await says({**COMPARED, "groups": groups})(server, request, writer)
        return
    quotes = [OPENED, DUG] if model == "knows" else [OPENED]
    said = {"reasoning": f"so says {model}", "citations": [{"document": "canal.md", "quote": q} for q in quotes]}
    answer = {"answer": "1869" if model == "knows" else "1870", "confidence": 0.8, "abstains": False}
    await says({**said, **answer, "change": "kept", "change_reason": "", "moved_by": []})(server, request, writer)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenAI]:
    """The official client of a gateway with a saved panel named fusion."""
    folder = tmp_path_factory.mktemp("fused")
    (panels := folder / "panels").mkdir()
    with served_model(_answer) as url:
        (panels / "fusion.yaml").write_text(PANEL.format(url))
        with serving(folder, "--panels", str(panels), env={"NO_KEY": "none"}) as served:
            with OpenAI(base_url=f"{served.url}/v1", api_key=served.token, max_retries=0, timeout=100) as found:
                yield found


def _file(name: str, text: str) -> dict[str, Any]:
    data = base64.b64encode(text.encode()).decode()
    return {"type": "file", "file": {"filename": name, "file_data": f"data:text/markdown;base64,{data}"}}


def test_a_panel_tells_where_its_members_agree_contradict_each_other_and_fail(client: OpenAI) -> None:
    parts = [
        {"type": "text", "text": QUESTION}, _file("canal.md", f"{OPENED} {DUG}"), _file("tolls.md", "Tolls rose."),
    ]  # fmt: skip
    messages: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": parts}]
    given = {"parley": {"settings": {"round_limit": 1}}}
    *_, last = client.chat.completions.create(model="parley/fusion", messages=messages, stream=True, extra_body=given)
    own: dict[str, Any] = last.model_extra["parley"]  # type: ignore[index]
    early, late, gone = (
        {"model": m, "seat": s} for m, s in (("knows", "early"), ("guesses", "late"), ("fails", "gone"))
    )
    found = own["analysis"]
    assert found["agreements"] == COMPARED["agreements"]
    stood, apart = found["contradictions"]
    assert sorted(stood["stances"], key=lambda s: s["stance"]) == [
        {**early, "stance": "1869"},
        {**late, "stance": "1870"},
    ]
    assert apart == {"topic": "Whether trial runs count.", "stances": []}
    assert found["unique_insights"] == [{**early, "insight": DUG, "document": "canal.md"}]
    assert found["partial_coverage"] == [], "both quoted the other one"
    spots = "\n".join(found["blind_spots"])
    assert "All seats are of one model family" in spots and "Nobody quoted tolls.md" in spots
    assert COMPARED["comment"].rstrip(".") in found["blind_spots"] and "instructions.md" not in spots
    assert {r["model"]: (r["content"], r["reasoning"]) for r in own["responses"]} == {
        "knows": ("1869", "so says knows"), "guesses": ("1870", "so says guesses"),
    }  # fmt: skip
    (failed,) = own["failed_models"]
    assert "HTTP 500" in failed["error"] and failed == {**gone, "rounds": [1], "error": failed["error"]}
    assert not own["agreed"] and own["stop"]["certificate"]["missing"] == ["gone"]
    assert own["usage"]["by_seat"]["early"]["input_tokens"] > 0 and own["usage"]["unpriced"]


@pytest.mark.parametrize(("known", "answer"), [("The Suez Canal opened in 1869 for ships.", "1869"), (OPENED, "")])
def test_a_panel_of_which_nobody_fails_says_so_and_who_has_no_answer_has_an_empty_one(
    client: OpenAI, known: str, answer: str
) -> None:
    messages: list[Any] = [{"role": "system", "content": known}, {"role": "user", "content": QUESTION}]
    found = client.chat.completions.create(model="parley/consensus", messages=messages).model_extra
    own: dict[str, Any] = (found or {})["parley"]
    assert own["failed_models"] == own["analysis"]["contradictions"] == []
    assert [r["content"] for r in own["responses"]] == [answer] * 3
    assert own["analysis"]["agreements"] == ([answer] if answer else [])
    spots = own["analysis"]["blind_spots"]
    assert len(spots) == len(set(spots)) and any("No language model" in text for text in spots), spots


def test_a_protocol_that_seats_no_panel_compares_nothing(client: OpenAI) -> None:
    messages: list[Any] = [{"role": "system", "content": OPENED}, {"role": "user", "content": QUESTION}]
    found = client.chat.completions.create(model="parley/single", messages=messages)
    assert not {*FUSED} & {*(found.model_extra or {})["parley"]}
    assert client.models.retrieve("parley/fusion").model_extra["parley"]["protocol"] == "consensus"  # type: ignore[index]
