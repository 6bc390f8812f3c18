"""Replies taken out of texts, live text out of pieces, and pauses: the parts of the ladder by themselves."""

import json
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.agents.endpoint.limits import FIRST_PAUSE_S, LONGEST_PAUSE_S, backoff_s, retry_after_s
from parley.agents.openai.live_text import LiveText
from parley.agents.openai.reply_schema import How, Unusable, parse, strict_schema
from parley.agents.protocols import KITS
from parley.schemas.protocols.consensus import Position
from parley.schemas.wire import encode
from tests.llm.support import FULL, POSITION

REPLIES = {kind.reply for protocol in ("consensus", "critic") for kind in KITS[protocol].kinds.values()}


@pytest.mark.parametrize("reply", sorted(REPLIES, key=str))
def test_every_schema_is_one_for_strict_mode(reply: Any) -> None:
    def check(node: Any) -> None:
        if isinstance(node, list):
            for item in node:
                check(item)
        if not isinstance(node, dict):
            return
        assert "$ref" not in node and "default" not in node
        if node.get("type") == "object":
            assert node["additionalProperties"] is False and set(node["required"]) == set(node["properties"])
        for key, value in node.items():
            for item in value.values() if key == "properties" else [value]:
                check(item)

    schema = strict_schema(reply)
    check(schema)
    jsonschema.Draft202012Validator.check_schema(schema)


class Rating(msgspec.Struct, frozen=True, kw_only=True):
    """A reply with a map, as a protocol of another package may have one."""

    score: float
    dimensions: dict[str, float] = {}
    agreements: tuple[str, ...] = ()


def test_what_follows_the_strict_schema_is_read_back() -> None:
    full = {"score": 5, "dimensions": [{"key": "facts", "value": 1}], "agreements": ["a"]}
    schema = strict_schema(Rating)
    jsonschema.validate(full, schema)
    assert schema["properties"]["dimensions"]["items"]["required"] == ["key", "value"]
    body, how = parse(json.dumps(full), Rating)
    assert how is How.PLAIN and body.dimensions == {"facts": 1.0} and body.agreements == ("a",)
    assert parse(json.dumps({**full, "dimensions": {"facts": 1}}), Rating)[0] == body


GOOD = json.dumps(FULL)


@pytest.mark.parametrize(
    "text, how",
    [
        (GOOD, How.PLAIN),
        (f"\n {GOOD}\n", How.PLAIN),
        (f"<think>Maybe {{\"answer\": 1}}?</think>\n{GOOD}", How.PLAIN),
        (f"```json\n{GOOD}\n```", How.EXTRACTED),
        (f"{{braces}} in prose, then {GOOD} and {{more}}", How.EXTRACTED),
        (f"An example: {{\"answer\": 3}}. Mine: {GOOD}", How.EXTRACTED),
        (f"{GOOD}\n\nThat is: {GOOD}", How.EXTRACTED),
        (json.dumps({**FULL, "answer": "letter"}) + GOOD, How.EXTRACTED),
        (f"```python\nprint(1)\n```\n{GOOD}", How.EXTRACTED),
    ],
)  # fmt: skip
def test_a_reply_is_found(text: str, how: How) -> None:
    assert parse(text, Position) == (Position(**POSITION, argument=None), how)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text, why",
    [
        ("", "the reply is empty"),
        ("A4.", "there is no JSON object"),
        ("{" * 20_000, "there is no JSON object"),
        ("[" * 20_000, "there is no JSON object"),
        (GOOD[:-4], "there is no JSON object|Object|field|Expected"),
        (json.dumps({**FULL, "confidence": 2}), "allowed is 0 to 1"),
        (json.dumps({**FULL, "confidence": "high"}), "Expected `float`, got `str`"),
        (GOOD.replace("0.75", "NaN"), "Expected `float`, got `null`"),
        ("[1]", "Expected `object`"),
        (json.dumps({**FULL, "answer": "\ud800"}), "half of a character"),
        (f"Here: {json.dumps({**FULL, 'answer': chr(0xDC00)})}", "half of a character"),
    ],
)
def test_what_is_no_reply_says_why(text: str, why: str) -> None:
    with pytest.raises(Unusable, match=why):
        parse(text, Position)


@given(st.text(alphabet='{}[]":,\\`n1a \n', max_size=200))
def test_no_text_whatever_breaks_the_reader(text: str) -> None:
    try:
        body, _ = parse(text, Position)
    except Unusable as error:
        assert error.why
    else:
        assert isinstance(body, Position)


def live(pieces: list[str]) -> str:
    """What is shown of these pieces."""
    heard: list[str] = []
    text = LiveText(heard.append)
    for piece in pieces:
        text.feed(piece)
    text.flush()
    return "".join(heard)


@given(st.text(max_size=60), st.text(max_size=60), st.integers(1, 9))
def test_live_text_is_the_texts_of_the_top_level_however_it_is_cut(answer: str, hidden: str, size: int) -> None:
    body = {"n": 1, "answer": answer, "deep": {"x": hidden, "y": [hidden]}, "list": [hidden], "end": True}
    text = encode(body).decode()
    found = live([text[i : i + size] for i in range(0, len(text), size)])
    plain = answer.replace("\r", "").replace("\b", "").replace("\f", "")
    assert found == (plain + "\n" if plain.strip() else "")


@pytest.mark.parametrize("text", ["a" * 60, " " * 70 + "a", "a" * 59 + " " * 60 + "b"])
def test_live_text_keeps_white_space_where_a_piece_ends(text: str) -> None:
    reply = encode({"answer": text}).decode()
    assert live(list(reply)) == live([reply]) == text + "\n"


def test_prose_passes_as_it_is() -> None:
    assert live(["I would ", "say A4."]) == "I would say A4."


def test_pauses_double_up_to_a_limit_and_never_coincide() -> None:
    longest = [backoff_s(n, lambda: 1.0) for n in range(1, 9)]
    assert longest[:3] == [FIRST_PAUSE_S, FIRST_PAUSE_S * 2, FIRST_PAUSE_S * 4] and longest[-1] == LONGEST_PAUSE_S
    assert backoff_s(1, lambda: 0.0) == FIRST_PAUSE_S / 2 and len({backoff_s(3) for _ in range(50)}) > 40


@pytest.mark.parametrize(
    "headers, seconds",
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Thu, 01 Jan 1970 00:01:40 GMT"}, 10.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:10 GMT"}, 0.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({}, None),
    ],
)
def test_retry_after_in_all_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers, lambda: 90.0) == seconds
