"""The model `openai` against a real server of our own: the ladder, what counts, retries, deadlines, streams."""

import asyncio
import json
import logging
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parley.agents.context import Shown
from parley.agents.models import Completion, ModelMisconfigured, ModelRefused, ModelUnavailable
from parley.agents.secrets import Secret, Stream
from parley.agents.text.tokens import estimate
from parley.schemas.protocols.consensus import Position
from parley.schemas.turn import Caps, Usage
from tests.llm.server import (
    ModelServer,
    Step,
    breaks_off,
    fails,
    goes_silent,
    hangs_up,
    model_server,
    raw,
    says,
)
from tests.llm.support import FULL, POSITION, PROSE, Heard, asked, model, silent

REFUSED = fails(400, "response_format of type json_schema is not supported")
KEY = "0123456789abcdefghij"  # of no shape that could be told from other words


async def once(*steps: Step, shown: Shown | None = None, **options: Any) -> tuple[Completion, ModelServer]:
    """One turn on a script, and the server."""
    async with model_server(*steps) as server, model(server.url, **options) as made:
        return await made.reply(shown or asked(), silent), server


async def fault(*steps: Step, shown: Shown | None = None, **options: Any) -> tuple[Any, ModelServer]:
    """The error of one turn on a script, and the server."""
    async with model_server(*steps) as server, model(server.url, **options) as made:
        with pytest.raises((ModelUnavailable, ModelRefused, ModelMisconfigured)) as found:
            await made.reply(shown or asked(), silent)
        return found.value, server


# -- the ladder
async def test_rung_1_a_schema_that_the_server_takes(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "parley.agents.openai")
    completion, server = await once(says(FULL))
    assert completion.body == Position(**POSITION, argument=None)  # type: ignore[arg-type]
    assert completion.usage == Usage(input_tokens=100, output_tokens=20, calls=1, unpriced=True)
    assert completion.flags == ("unpriced",)
    (request,) = server.requests
    wanted = request.body["response_format"]["json_schema"]
    settled = {"change", "change_reason", "moved_by", "argument"}
    assert wanted["strict"] and set(wanted["schema"]["required"]) == set(Position.__struct_fields__) - settled
    assert "stream" not in request.body, "nothing is streamed in a blind round"
    assert request.path == "/v1/chat/completions" and request.body["max_tokens"] == Caps().output_tokens + 8_000
    assert request.headers["content-type"] == "application/json" and "authorization" not in request.headers
    assert "additionalProperties" not in request.prompt
    assert "asking with json_schema" in caplog.text


async def test_rungs_2_and_3_json_with_the_schema_in_the_prompt_and_then_a_text(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    fenced = f"Here you are:\n```json\n{json.dumps(FULL)}\n```\nRegards"
    completion, server = await once(REFUSED, fails(400, "response_format is not supported"), says(fenced))
    assert [r.format for r in server.requests] == ["json_schema", "json_object", "text"]
    assert all('"additionalProperties":false' in r.prompt for r in server.requests[1:])
    assert completion.body.answer == "A4" and "extracted" in completion.flags
    assert completion.usage.calls == 1, "a refused request is not paid"
    for said in ("json_schema is refused", "asking with json_object", "the reply was extracted"):
        assert said in caplog.text


async def test_a_server_that_ignores_the_format_with_status_200_is_found_out_by_two_replies() -> None:
    async with model_server(says(f"Well: {json.dumps(FULL)}")) as server, model(server.url) as made:
        for _ in range(3):
            assert (await made.reply(asked(), silent)).body.answer == "A4"
    assert [r.format for r in server.requests] == ["json_schema", "json_schema", "text"]


async def test_a_slip_of_the_model_is_no_lesson(tmp_path: Path) -> None:
    """Prose, the repair as text; a reply as asked for; prose again; another kind of slip: never two alike in a row."""
    said = [says(PROSE), says(FULL), says(FULL), says(PROSE), says(FULL), says({"reply": "A4"}), says(FULL), says(FULL)]
    async with model_server(*said) as server, model(server.url, state=str(tmp_path)) as made:
        for _ in range(5):
            assert (await made.reply(asked(), silent)).body.answer == "A4"
    formats = [r.format for r in server.requests]
    turns = [["json_schema", "text"], ["json_schema"], ["json_schema", "text"], ["json_schema", "json_object"]]
    assert formats == [*(f for turn in turns for f in turn), "json_schema"]
    assert made.memory.get().rung is None, "nothing is remembered"


async def test_rung_4_one_repair_with_the_error(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    completion, server = await once(says({**FULL, "confidence": 7}), says(FULL))
    assert completion.body.confidence == 0.75 and "repaired" in completion.flags
    assert completion.usage == Usage(input_tokens=200, output_tokens=40, calls=2, unpriced=True)
    assert (
        "allowed is 0 to 1" in server.requests[1].prompt and '"additionalProperties":false' in server.requests[1].prompt
    )
    assert "repair, because" in caplog.text
    assert server.requests[1].format == "json_schema", "a value out of range is no sign of a server that ignores"


@pytest.mark.parametrize(("tokens", "requests"), [(None, 2), (20_000, 2), (2_600, 1), (400, 0)])
async def test_calls_share_the_tokens_of_their_turn(tokens: int | None, requests: int) -> None:
    """What is sent is held to what is left beside the prompt, as the server counts it; a repair that does not fit is
    not made."""
    caps = Caps(output_tokens=1_000, reasoning_tokens=0, tokens=msgspec.UNSET if tokens is None else tokens)
    error, server = await fault(says(PROSE, usage=(1_500, 400)), shown=asked(caps=caps))
    assert len(server.requests) == requests, error.why
    left = tokens or 10**9
    for request in server.requests:
        most = request.body.get("max_tokens") or request.body["max_completion_tokens"]
        prompt = estimate(request.prompt) + estimate(json.dumps(request.body.get("response_format", {})))
        assert 0 < most <= min(1_000, left - estimate(request.prompt)) and most + prompt <= left + 200
        left -= 1_900


async def test_a_reply_that_was_cut_off_is_repaired_and_nothing_is_learned_from_it() -> None:
    _, server = await once(says('{"answer": "A4", "reas', finish="length"), says(FULL))
    assert "much shorter" in server.requests[1].prompt and server.requests[1].format == "json_schema"


async def test_a_refusal_in_the_endpoints_own_field_is_an_abstention_and_not_repaired() -> None:
    completion, server = await once(says("", refusal="I cannot help with that"))
    assert completion.body.abstains and completion.body.reasoning == "The model declined: I cannot help with that"
    assert "declined" in completion.flags and len(server.requests) == 1


async def test_what_a_providers_filter_stops_is_a_failure() -> None:
    error, server = await fault(says("", finish="content_filter"))
    assert isinstance(error, ModelRefused) and "its provider's filter" in error.why and len(server.requests) == 1


# -- learning


# -- retries


async def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    started = time.monotonic()
    error, server = await fault(fails(429, "slow down", retry_after="30"), shown=asked(seconds=5))
    assert isinstance(error, ModelUnavailable) and "HTTP 429" in error.why and "slow down" in error.why
    assert time.monotonic() - started < 2 and len(server.requests) == 1 and error.usage == Usage()


async def test_others_at_the_endpoint_wait_too_when_it_asks_for_it() -> None:
    async with model_server(fails(429, retry_after="0.3"), says(FULL)) as server, model(server.url) as made:
        first = asyncio.create_task(made.reply(asked(), silent))
        await server.arrived.wait()
        await asyncio.wait([first], timeout=0.1)
        started = time.monotonic()
        await made.reply(asked(), silent)
        assert time.monotonic() - started > 0.1
        await first


@pytest.mark.parametrize(
    "broken",
    [
        hangs_up(),
        breaks_off('{"answer": "A4'),
        breaks_off(json.dumps(FULL)[:-1], True),
        raw(b"[]"),
        raw(b'{"error": "\xff"}'),
    ],
    ids=["hangs up", "mid-stream", "no end", "list", "no text"],
)
async def test_a_request_that_broke_is_counted_as_paid_and_marked_as_an_estimate(broken: Step) -> None:
    completion, server = await once(broken, says(FULL), shown=asked(stream=True))
    assert len(server.requests) == 2 and completion.usage.calls == 2 and completion.usage.estimated
    assert completion.usage.input_tokens > 100 and "estimated" in completion.flags
    assert "repaired" not in completion.flags


async def test_a_server_that_falls_silent_is_left() -> None:
    completion, server = await once(goes_silent("{"), says(FULL), shown=asked(stream=True), silence_s=0.2)
    assert completion.usage.calls == 2 and len(server.requests) == 2


async def test_the_deadline_ends_a_call_and_what_it_used_is_told() -> None:
    async with model_server(goes_silent('{"answer": "A4 and')) as server, model(server.url) as made:
        with pytest.raises(ModelUnavailable, match="deadline") as found:
            await made.reply(asked(seconds=0.5, stream=True), silent)
        await asyncio.wait_for(server.gone.wait(), 5)
    usage = found.value.usage
    assert usage.calls == 1 and usage.estimated and usage.input_tokens > 0 and usage.output_tokens > 0


@pytest.mark.parametrize("text", ["", '{"answer": "A'], ids=["before the first byte", "in mid-stream"])
async def test_cancelling_closes_the_connection(text: str) -> None:
    async with model_server(goes_silent(text)) as server, model(server.url) as made:
        running = asyncio.create_task(made.reply(asked(stream=True), silent))
        await server.arrived.wait()
        await asyncio.wait([running], timeout=0.05)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await asyncio.wait_for(server.gone.wait(), 5)
    assert server.gone.is_set()


async def test_so_many_requests_at_once_and_no_more() -> None:
    def gathered(of: int) -> Step:
        async def step(server: ModelServer, request: Any, writer: asyncio.StreamWriter) -> None:
            await server.crowd(of, 0.2)
            await says(FULL)(server, request, writer)

        return step

    async with (
        model_server(gathered(4)) as server,
        model(server.url, concurrency=3) as one,
        model(server.url, concurrency=3) as other,
    ):
        await asyncio.gather(*(m.reply(asked(), silent) for m in (one, other) for _ in range(4)))
    assert server.most_at_once == 3, "the limit is the endpoint's, not the model's"


# -- live text
async def test_text_comes_live_where_the_turn_streams() -> None:
    heard, long = (
        Heard(),
        {**FULL, "reasoning": 'It is "measured".\nTwice. ' * 20, "citations": [{"document": "d", "quote": "hidden"}]},
    )
    async with model_server(says(long)) as server, model(server.url) as made:
        completion = await made.reply(asked(stream=True), heard)
    text = "".join(heard.pieces)
    assert text.startswith('A4\nIt is "measured".\nTwice.') and "hidden" not in text and "{" not in text
    assert len(heard.pieces) > 3
    assert completion.usage == Usage(input_tokens=100, output_tokens=20, calls=1, unpriced=True)
    assert server.requests[0].body["stream_options"] == {"include_usage": True}


# -- money
@pytest.mark.parametrize(
    ("details", "read", "cached"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 80}}, 100, 80),
        ({"prompt_tokens_details": {"cached_tokens": 0}}, 100, 0),
        ({"prompt_tokens_details": {"cached_tokens": 900}}, 100, 100),
        ({"prompt_tokens_details": {"cached_tokens": "many"}, "cached_tokens": -1}, 100, 0),
        ({"prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36}, 100, 64),
        ({"cached_tokens": 70}, 100, 70),
        ({"cache_read_input_tokens": 80, "cache_creation_input_tokens": 10, "total_tokens": 120}, 100, 80),
        ({"cache_read_input_tokens": 80, "cache_creation_input_tokens": 10, "total_tokens": 210}, 190, 80),
        ({"cache_read_input_tokens": 300, "cache_creation_input_tokens": 10}, 410, 300),
    ],
)
async def test_what_the_server_had_in_its_cache_costs_what_the_table_says(
    details: dict[str, Any], read: int, cached: int
) -> None:
    prices: dict[str, Any] = {"usd_per_million_input": 2, "usd_per_million_output": 10, "usd_per_million_cached": 0.5}
    completion, _ = await once(says(FULL, details=details), shown=None, **prices)
    assert (completion.usage.input_tokens, completion.usage.cached_tokens or 0) == (read, cached)
    cost = ((read - cached) * 2 + cached * 0.5 + 20 * 10) / 1e6
    assert completion.usage.cost_usd == pytest.approx(cost) and not completion.usage.unpriced and completion.flags == ()


# -- keys
@pytest.mark.parametrize(
    "status, said", [(401, f"Incorrect API key provided: {KEY}"), (400, f"see http://u:{KEY}@host/x, Bearer {KEY}")]
)
async def test_a_key_is_in_no_error_log_or_repr(status: int, said: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    error, server = await fault(fails(status, said), api_key=Secret(KEY), temperature=0.5)
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert isinstance(error, ModelMisconfigured) and f"HTTP {status}" in error.why
    async with model(server.url, api_key=Secret(KEY)) as made:
        shown = [error.why, repr(made), repr(made.options), repr(vars(made)), caplog.text]
    assert KEY not in "".join(shown) and "http://" not in error.why


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("key", "shown"), [(KEY, "***"), ("e", "e")], ids=["a_key", "one_letter"])
async def test_a_key_that_a_reply_repeats_is_masked_and_a_letter_is_not(key: str, shown: str, stream: bool) -> None:
    said = {**FULL, "reasoning": f"The header said Bearer {key}, end."}
    heard = Heard()
    async with model_server(says(said)) as server, model(server.url, api_key=Secret(key)) as made:
        completion = await made.reply(asked(stream=stream), heard)
    text = bytes(completion.json()).decode() + "".join(heard.pieces)
    assert f"Bearer {shown}, end." in text and (KEY not in text)
    assert str(FULL["answer"]) in text


def test_a_key_in_pieces_is_masked_and_what_only_begins_like_one_is_shown() -> None:
    stream = Stream(Secret("abcdefgh/1"))
    pieces = [stream.feed(piece) for piece in ("x ab", "cde", "fgh/", "1 y abc", "d", "z abcdefgh\\/1", " ab")]
    assert "".join([*pieces, stream.rest()]) == "x *** y abcdz *** ab"


# -- before anything is paid
@pytest.mark.parametrize(
    "step, why",
    [
        (raw(b'{"data": [{"id": "m"}, {"id": "n"}]}'), ""),
        (fails(404), ""),
        (fails(401, "no such key"), "HTTP 401, no such key"),
        (raw(b"<html>"), ""),
        (goes_silent(), "no answer within 0.2 s"),
    ],
    ids=["there", "no list", "key", "html", "silent"],
)
async def test_a_model_is_checked_without_a_paid_call(step: Step, why: str) -> None:
    """A server that has no list of models stops nobody, nor does one that cannot be read."""
    async with model_server(step) as server, model(server.url) as made:
        assert await made.check(0.2 if why.startswith("no answer") else 5.0) == why
    assert [r.path for r in server.requests] == ["/v1/models"]
