"""One session with a real, weak model. Without its packages it is skipped, and says so."""

import asyncio
from collections.abc import Iterator

import pytest

from parley.agents.openai import probe
from parley.schemas.protocols.consensus import Position
from parley.schemas.turn import Caps
from tests.llm.support import asked, model, silent
from tests.small_model import runs, server

pytestmark = [pytest.mark.serial, pytest.mark.alone]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    try:
        with server.serving() as found:
            yield found
    except server.NotThere as why:
        pytest.skip(f"NOT TESTED with a real small model: {why}")


@pytest.mark.timeout(300)
async def test_its_window_and_its_speed_are_learned_and_its_reply_is_what_the_check_demands(url: str) -> None:
    probe.forget()
    async with model(url, provider="llama.cpp", model="smollm2-135m") as made:
        await made.prepare()
        known = made.memory.get()
        completion = await asyncio.wait_for(made.reply(asked([], caps=Caps(), seconds=240), silent), 250)
    assert known.window == 8_192 and made.speed is not None and made.speed[1] > 1
    assert isinstance(completion.body, Position) and not completion.body.abstains


@pytest.mark.timeout(660)
def test_two_seats_come_to_positions(url: str) -> None:
    made = runs.run("consensus", 0, url)
    assert made["positions"] >= 2, made
