"""Replies as real servers send them, one line a shape in replies.jsonl, and the parts of the ladder that reads them."""

import json
import time
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.agents.context import NativeCall
from parley.agents.endpoint.bounds import ReplyLimits
from parley.agents.endpoint.completion import Reading
from parley.agents.endpoint.limits import FIRST_PAUSE_S, LONGEST_PAUSE_S, backoff_s, retry_after_s
from parley.agents.models import ModelRefused
from parley.agents.openai.live_text import LiveText
from parley.agents.openai.near_json import near_object
from parley.agents.openai.reply_schema import How, Unusable, parse, strict_schema
from parley.agents.protocols import KITS
from parley.schemas.protocols.consensus import Position
from parley.schemas.turn import Caps, Usage
from parley.schemas.wire import encode
from tests.llm.server import Step, model_server, raw, says
from tests.llm.support import FULL, PROSE, asked, model, silent

SHAPES: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parents[1] / "replies.jsonl").read_text("utf-8").splitlines()
]
GOOD = json.dumps(FULL)


def step(shape: dict[str, Any]) -> Step:
    """What the server answers."""
    if "message" in shape:
        body = {
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **shape["message"]}}]
        }
        return raw(json.dumps(body).encode())
    return raw(shape["body"].encode(), kind=shape["type"])


@pytest.mark.parametrize("shape", SHAPES, ids=[s["shape"] for s in SHAPES])
async def test_a_shape_is_read_at_the_first_call_or_repaired(shape: dict[str, Any]) -> None:
    async with model_server(step(shape), says(FULL)) as server, model(server.url) as made:
        completion = await made.reply(asked(stream=shape.get("stream", False)), silent)
    assert completion.body.answer == "A4" and completion.body.confidence == 0.75
    assert len(server.requests) == (1 if shape.get("reads", True) else 2)
    alone = "alone" in shape["shape"] or "reasoning_content" in shape["shape"] or "all of it" in shape["shape"]
    assert ("reasoned" in completion.flags) == (alone and shape.get("reads", True))


async def test_what_came_to_nothing_with_its_repair_is_not_paid_for_again() -> None:
    async with model_server(says(PROSE)) as server, model(server.url) as made:
        with pytest.raises(ModelRefused, match="also after a repair") as first:
            await made.reply(asked(), silent)
        with pytest.raises(ModelRefused, match="also after a repair") as second:
            await made.reply(asked(attempt=2, error=first.value.why), silent)
        assert len(server.requests) == 2 and second.value.usage.calls == 0
        assert first.value.usage == Usage(input_tokens=200, output_tokens=40, calls=2, unpriced=True)
        with pytest.raises(ModelRefused):
            await made.reply(asked(attempt=2, error="citations: this does not stand in d.md"), silent)
        assert len(server.requests) == 4, "another fault is worth another try"
        with pytest.raises(ModelRefused, match="no call is left"):
            await made.reply(asked(caps=Caps(calls=1)), silent)
    assert len(server.requests) == 5


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": "the \\(x\\) of it"}', {"a": "the \\(x\\) of it"}),
        ('{"a": "say "yes" now",}', {"a": 'say "yes" now'}),
        ("{'a': 'it\\'s', b: [1, 2.5, -3e2,], }", {"a": "it's", "b": [1, 2.5, -300.0]}),
        ("{”a”: ”it”, ’b’: ’is’}", {"a": "it", "b": "is"}),
        ('{"a": True, "b": None, "c": -Infinity} tail', {"a": True, "b": None, "c": None}),
        ('{/* so */"a": "\\ud83d\\ude00"} # end', {"a": "😀"}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
    ],
)
def test_what_is_nearly_json(text: str, value: dict[str, Any]) -> None:
    assert near_object(text, 0)[0] == value


@pytest.mark.parametrize("text", ["{", "{a}", "{a: b}", '{"a" 1}', '{"a": 1 "b": 2}', "{" * 100, '{"a": ' * 100])
def test_what_is_not(text: str) -> None:
    assert near_object(text, 0)[0] is None


def test_a_draft_is_not_taken_for_an_answer_that_cannot_be_used() -> None:
    draft = json.dumps({**FULL, "answer": "letter"})
    for after in (json.dumps({**FULL, "confidence": 7}), "I cannot say."):
        with pytest.raises(Unusable):
            parse(f"<think>{draft}</think>{after}", Position)


@pytest.mark.parametrize(
    "text",
    [
        "x" + " " * 390_000 + "<|end|>x",
        '{"a": "' + '{"' * 190_000,
        "<|channel|>final" * 20_000,
        "</think>{" * 19_000,
    ],
)
def test_a_text_made_to_be_slow_is_not(text: str) -> None:
    started = time.perf_counter()
    with pytest.raises(Unusable):
        parse(text, Position)
    assert time.perf_counter() - started < 10, "seconds would be hours if it grew with the square"


def calls(*items: list[dict[str, Any]], whole: bool = False) -> tuple[NativeCall, ...]:
    """What is read of calls in a whole answer, or in pieces of a stream."""
    reading = Reading(ReplyLimits(), None)
    for listed in items:
        place = "message" if whole else "delta"
        reading.take(json.dumps({"choices": [{place: {"tool_calls": listed}}]}).encode(), "it")
    return reading.done().calls


def part(arguments: str, name: str = "read", **more: Any) -> dict[str, Any]:
    """A call or a part of one."""
    return {"function": {"name": name, "arguments": arguments}, **more}


@pytest.mark.parametrize("ids", [("", ""), ("call_0", "call_0"), ("a", "b"), (None, None)])
@pytest.mark.parametrize("index", [(0, 1), (0, 0), (None, None)])
def test_parallel_calls_are_told_apart(ids: tuple[Any, Any], index: tuple[Any, Any]) -> None:
    one = part('{"n": 1}', id=ids[0], index=index[0])
    two = part('{"n": 2}', id=ids[1], index=index[1])
    expected = (NativeCall(name="read", arguments='{"n": 1}'), NativeCall(name="read", arguments='{"n": 2}'))
    assert calls([one, two], whole=True) == expected
    assert calls([one], [two]) == calls([one, two]) == expected


def test_a_call_that_comes_in_pieces_is_one() -> None:
    pieces = [part('{"n"', id="a", index=0), part(": ", "", index=0), part("1}", "", index=0)]
    assert [c.arguments for c in calls(*([p] for p in pieces))] == ['{"n": 1}']
    named = [part("", id="a", index=0), part('{"n"', id="a", index=0), part(": 1}", id="a", index=0)]
    assert [c.arguments for c in calls(*([p] for p in named))] == ['{"n": 1}']


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
