"""The encoder `openai` against a server: what it sends, what it believes, when it gives up."""

import asyncio
import json
from typing import Any

import numpy as np
import pytest

from parley.agents.encoders import EncoderError, EncoderMisconfigured, EncoderUnavailable, Spent, Vectors, make_encoder
from parley.agents.encoders.openai import BATCH, OpenAIEncoder, make
from parley.agents.secrets import Secret
from parley.agents.text.tokens import estimate
from tests.llm.server import ModelServer, Request, Step, fails, goes_silent, hangs_up, model_server, raw

KEY = "sk-very-secret-0123456789"


def vectors(*rows: list[float], order: list[int] | None = None) -> Step:
    """Answers with these vectors, in this order of their numbers."""
    data = [{"object": "embedding", "index": i, "embedding": rows[i]} for i in order or range(len(rows))]
    return raw(json.dumps({"object": "list", "data": data, "model": "m"}).encode())


def lengths() -> Step:
    """Answers each text with (its length, 1)."""

    async def step(server: ModelServer, request: Request, writer: asyncio.StreamWriter) -> None:
        await vectors(*([float(len(t)), 1.0] for t in request.body["input"]))(server, request, writer)

    return step


async def encode(server: ModelServer, *texts: str, **options: Any) -> Vectors:
    given = {"model": "m", "base_url": server.url, "deadline_s": 5.0} | options
    encoder = make(given, {})
    try:
        return await encoder.encode(texts)
    finally:
        await encoder.aclose()


async def test_rows_come_in_the_order_of_the_texts_and_at_length_one() -> None:
    async with model_server(vectors([3.0, 4.0], [0.0, 2.0], order=[1, 0])) as server:
        found = await encode(server, "a", "b", api_key=Secret(KEY), dimensions=2)
    assert np.allclose(found, [[0.6, 0.8], [0.0, 1.0]]) and found.dtype == np.float32
    (request,) = server.requests
    assert request.path == "/v1/embeddings" and request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {"model": "m", "input": ["a", "b"], "encoding_format": "float", "dimensions": 2}


async def test_many_texts_go_in_several_requests_and_an_empty_one_as_a_blank() -> None:
    texts = ["", *("x" * n for n in range(1, BATCH + 5))]
    async with model_server(lengths()) as server:
        found = await encode(server, *texts)
    assert [len(r.body["input"]) for r in server.requests] == [BATCH, 5]
    assert server.requests[0].body["input"][:2] == [" ", "x"]
    assert "authorization" not in server.requests[0].headers, "without a key, none is sent"
    assert found.shape == (BATCH + 5, 2)
    assert np.allclose(found[-1], np.array([BATCH + 4, 1]) / np.hypot(BATCH + 4, 1))


@pytest.mark.parametrize("first", [fails(429, retry_after="0"), fails(503, retry_after="0"), hangs_up()])
async def test_it_tries_again(first: Step) -> None:
    async with model_server(first, vectors([1.0, 0.0])) as server:
        found = await encode(server, "a")
    assert found.tolist() == [[1.0, 0.0]] and len(server.requests) == 2


@pytest.mark.parametrize("status", [400, 401, 404])
async def test_what_will_not_change_is_not_tried_again_and_no_key_is_shown(status: int) -> None:
    async with model_server(fails(status, f"wrong key {KEY}")) as server:
        with pytest.raises(EncoderUnavailable, match=f"HTTP {status}") as caught:
            await encode(server, "a", api_key=Secret(KEY))
    assert len(server.requests) == 1 and KEY not in str(caught.value)


@pytest.mark.parametrize("step", [fails(429, retry_after="60"), goes_silent()])
async def test_the_deadline_holds(step: Step) -> None:
    async with model_server(step) as server:
        async with asyncio.timeout(5):
            with pytest.raises(EncoderUnavailable):
                await encode(server, "a", deadline_s=0.3)
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    "data",
    [
        b"no json",
        b'{"data": []}',
        b'{"object": "list"}',
        json.dumps({"data": [{"index": 1, "embedding": [1.0, 0.0]}]}).encode(),
        json.dumps({"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]}).encode(),
        json.dumps({"data": [{"index": 0, "embedding": [0.0, 0.0]}]}).encode(),
        json.dumps({"data": [{"index": 0, "embedding": []}]}).encode(),
        json.dumps({"data": [{"index": 0, "embedding": ["x"]}]}).encode(),
    ],
)
async def test_status_200_is_not_believed(data: bytes) -> None:
    async with model_server(raw(data)) as server:
        with pytest.raises(EncoderUnavailable):
            await encode(server, "a")


async def test_vectors_of_another_length_than_before_are_refused() -> None:
    async with model_server(vectors([1.0, 0.0, 0.0])) as server:
        with pytest.raises(EncoderUnavailable, match="differ in length"):
            await encode(server, "a", dimensions=2)


@pytest.mark.parametrize(
    "options, environ, named",
    [
        ({"model": "m"}, {}, "OPENAI_API_KEY or ENCODER_API_KEY"),
        ({"base_url": "http://127.0.0.1:1/v1"}, {}, "ENCODER_MODEL"),
        ({"model": "m", "base_url": "127.0.0.1"}, {}, "encoder.base_url"),
        ({"model": "m", "base_url": "http://u:p@127.0.0.1/v1"}, {}, "keys do not belong"),
        ({"model": "m", "api_key": KEY}, {}, "encoder.api_key: keys do not belong in agent files"),
        ({"model": "m", "dimensions": 0, "base_url": "http://127.0.0.1:1/v1"}, {}, "encoder.dimensions: got 0"),
        ({"model": 3}, {}, "encoder.model: got 3"),
        ({"modle": "m"}, {}, "encoder.modle: no such option"),
        ({"model": "m", "base_url": "http://127.0.0.1:1/v1", "key_variable": "MINE"}, {}, "MINE"),
    ],
)
def test_bad_settings_are_named_and_no_key_shown(options: dict[str, Any], environ: dict[str, str], named: str) -> None:
    with pytest.raises(EncoderMisconfigured, match=named) as caught:
        make(options, environ)
    assert KEY not in str(caught.value)


def test_openais_key_goes_to_openai_alone() -> None:
    environ = {"OPENAI_API_KEY": KEY}
    assert repr(make({"model": "m"}, environ)) == "OpenAIEncoder(m)"
    other: Any = make({"model": "m", "base_url": "http://127.0.0.1:1/v1"}, environ)
    assert isinstance(other, OpenAIEncoder) and other._key is None


async def test_by_name_it_is_cached() -> None:
    async with model_server(lengths()) as server:
        encoder = make_encoder("openai", {"model": "m", "base_url": server.url}, {})
        assert encoder is not None and encoder.name == "m"
        for _ in range(2):
            await encoder.encode(["a", "a"])
        await encoder.aclose()
    assert [r.body["input"] for r in server.requests] == [["a"]]


async def test_a_server_that_is_not_there_is_an_encoder_error_and_soon() -> None:
    encoder = make({"model": "m", "base_url": "http://127.0.0.1:9/v1", "deadline_s": 600}, {})
    spent = Spent()
    async with asyncio.timeout(10):
        with pytest.raises(EncoderError, match="no connection"):
            await encoder.encode(["a"], spent)
    await encoder.aclose()
    assert spent == Spent(), "nothing was paid"


def counted(tokens: int) -> Step:
    """One vector, and what the server says that it took."""
    data = [{"object": "embedding", "index": 0, "embedding": [1.0, 0.0]}]
    return raw(json.dumps({"object": "list", "data": data, "usage": {"prompt_tokens": tokens}}).encode())


async def spends(server: ModelServer, spent: Spent, text: str = "some words", **options: Any) -> None:
    encoder = make({"model": "m", "base_url": server.url, "deadline_s": 5.0} | options, {})
    try:
        await encoder.encode([text], spent)
    finally:
        await encoder.aclose()


async def test_what_the_server_counts_is_spent_and_what_it_does_not_count_is_estimated() -> None:
    async with model_server(counted(7), vectors([1.0, 0.0]), goes_silent()) as server:
        spent = Spent()
        await spends(server, spent)
        assert (spent.tokens, spent.calls, spent.estimated) == (7, 1, False)
        await spends(server, spent)
        assert (spent.tokens, spent.calls, spent.estimated) == (7 + estimate("some words"), 2, True)
        with pytest.raises(EncoderUnavailable):
            await spends(server, spent, deadline_s=0.3)
        assert spent.calls == 3, "a request without an answer may have been paid"


async def test_nothing_is_sent_that_might_pass_what_may_be_spent() -> None:
    async with model_server(raw(b"no json"), counted(5)) as server:
        with pytest.raises(EncoderUnavailable, match="the turn may use 3"):
            await spends(server, Spent(most_tokens=3))
        assert server.requests == []
        spent = Spent(most_calls=1)
        with pytest.raises(EncoderUnavailable):
            await spends(server, spent)
        with pytest.raises(EncoderUnavailable, match="may make 1 calls"):
            await spends(server, spent)
        assert len(server.requests) == 1


async def test_cancelling_ends_the_request() -> None:
    async with model_server(goes_silent()) as server:
        encoder = make({"model": "m", "base_url": server.url, "deadline_s": 60.0}, {})
        asking = asyncio.ensure_future(encoder.encode(["a"]))
        await asyncio.wait_for(server.arrived.wait(), 5)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await asyncio.wait_for(server.gone.wait(), 5)
        await encoder.aclose()


@pytest.mark.parametrize(
    "options, price",
    [
        ({"model": "text-embedding-3-small", "base_url": "https://h/v1"}, 0.02),
        ({"model": "m", "base_url": "https://h/v1"}, None),
        ({"model": "m", "base_url": "http://127.0.0.1:1/v1"}, 0.0),
        ({"model": "m", "base_url": "https://h/v1", "usd_per_million": 3}, 3.0),
    ],
)
def test_its_price_is_the_one_given_else_the_tables(options: dict[str, Any], price: float | None) -> None:
    assert make(options, {}).usd_per_million == price


def test_a_negative_price_is_named() -> None:
    with pytest.raises(EncoderMisconfigured, match=r"encoder\.usd_per_million: got -1, a price is not negative"):
        make({"model": "m", "base_url": "https://h/v1", "usd_per_million": -1}, {})
