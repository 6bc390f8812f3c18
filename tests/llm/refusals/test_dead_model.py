"""A model's server that is not there is told at once, in Python as on the command line."""

import time

import pytest

import parley
from tests.llm.server import model_server, says


async def test_python_tells_of_a_dead_endpoint_within_ten_seconds() -> None:
    async with model_server(says("x")) as server:
        url = server.url
    started = time.monotonic()
    options = {"provider": "openai_compatible", "base_url": url, "model": "m"}
    with pytest.raises(parley.BadInput, match="cannot be used: no connection"):
        async with parley.local(2, protocol="consensus", model="openai", options=options):
            raise AssertionError("the stack came up")
    assert time.monotonic() - started < 10
