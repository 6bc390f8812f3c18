"""One member fails on the real bus, by its endpoint or with its process: its round ends soon after the others' answers,
the result says why, and the log leads to the same again."""

import asyncio
import dataclasses
import re
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from parley.coordinator.grace import Grace
from parley.coordinator.machine import Protocol
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.replay import replay
from parley.schemas import log
from parley.schemas.result import Result
from parley.schemas.wire import decode
from tests.llm.server import fails, goes_silent, model_server
from tests.llm.support import model
from tests.support.engine import Engine, until

SHORT = Grace(least_s=1.0, unknown_s=1.5, silent_s=1.0, gone_s=1.0)
SOON: Mapping[str, Protocol] = {
    **PROTOCOLS, "consensus": dataclasses.replace(PROTOCOLS["consensus"], grace=SHORT)
}  # fmt: skip
OTHERS = ("panelist_1", "panelist_2", "analyst")
LOST = "panelist_3"
STEPS = {
    "429": (fails(429, "slow down"), "HTTP 429, slow down"),
    "500": (fails(500, "overloaded"), "HTTP 500, overloaded"),
    "never": (goes_silent(), ""),
}


async def ended(engine: Engine, timeout_s: float = 40.0) -> tuple[Result, list[log.Entry]]:
    """The result, and the log of it, which leads to the same again."""
    result = decode((await engine.closed("s1", timeout_s)).body, Result)
    stored = [entry.encode() for entry in await engine.log("s1")]
    return result, list(replay(SOON.get, "s1", stored).entries)


def why(result: Result) -> str:
    """Why the seat is missing in the first round."""
    return str(result.rounds[0]["why_missing"][LOST])


@pytest.mark.parametrize("fault", STEPS)
async def test_a_member_whose_endpoint_fails_is_not_waited_for(fault: str, bare: Engine) -> None:
    step, words = STEPS[fault]
    missing = rf"failing for \d+ s: {words}" if words else r"no reply for \d+ s"
    async with model_server(step, look=fails(404)) as server, model(server.url) as made:
        await bare.worker(LOST, model=made)
        await bare.moderator(SOON)  # it calls all who are there
        for queue in OTHERS:
            await bare.worker(queue, {"agree_from": 1})
        began = time.monotonic()
        await bare.open("s1", turn_timeout_s=120.0)
        result, entries = await ended(bare)
    assert time.monotonic() - began < 60, "its deadline is 120 s"
    assert result.stop.reason == "threshold" and re.fullmatch(missing, why(result))
    told = [e.event for e in entries if isinstance(e.event, log.Retrying)]
    assert [t.why for t in told] == [words] * (fault != "never")


async def test_a_member_whose_process_is_gone_is_not_waited_for(bare: Engine) -> None:
    jump = [0.0]
    await bare.moderator(SOON, clock=lambda: time.monotonic() + jump[0])
    for queue in OTHERS:
        await bare.worker(queue, {"agree_from": 1, "latency_s": 1.0})
    lost = await bare.worker(LOST, {"latency_s": 600.0})
    await bare.open("s1", turn_timeout_s=120.0)
    await until(lambda: _busy(bare))
    await lost._connection.close()
    jump[0] = 20.0  # it was silent for so long when the others have answered
    result, entries = await ended(bare)
    assert result.stop.reason == "threshold" and why(result).startswith("its worker is gone for")
    assert any(isinstance(e.event, log.TimerFired) and e.event.gone == (LOST,) for e in entries)


async def _busy(engine: Engine) -> bool:
    return len(await engine.log("s1")) >= 1


async def test_a_reply_that_came_while_no_moderator_served_is_in_time(bare: Engine, tmp_path: Path) -> None:
    """The moderator goes before the grace ends, and one that comes long after that hears the reply first."""
    first = await bare.moderator(SOON)
    for queue in OTHERS:
        await bare.worker(queue, {"agree_from": 1})
    await bare.worker(LOST, {"agree_from": 1, "latency_s": 1.5})
    await bare.open("s1", turn_timeout_s=120.0)

    async def waits() -> bool:
        return sum(isinstance(e.event, log.Replied) for e in await bare.entries("s1")) == 2

    await until(waits)
    await first.__aexit__(None, None, None)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.Event().wait(), 2.5)  # its reply and the end of its grace pass meanwhile
    await bare.moderator(SOON)
    result, _ = await ended(bare)
    assert result.rounds[0]["missing"] == [] and LOST in result.rounds[0]["positions"]
