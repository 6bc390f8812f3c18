"""The maci protocol on the real bus: a session to its end, who hears what, and replies that will not do."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from nats.aio.msg import Msg

from parley.agents.models import make_model
from parley.bus import subjects
from parley.bus.errors import BusError, Denied
from parley.client.client import Client
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.replay import replay
from parley.schemas import log
from parley.schemas.post import ReadPosts
from parley.schemas.result import Result
from parley.schemas.turn import Speak
from parley.schemas.wire import decode, encode, raw
from tests.protocols.maci.simulate import example, run
from tests.support.engine import Engine, engine, until

QUESTION, DOCUMENTS, OUTCOMES = example("diagnosis")
ROLES = {"debater_1": "debater", "debater_2": "debater", "judge": "judge", "analyst": "analyst", "helper": "helper"}


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Engine]:
    """One moderator and an extractive worker for each of five queues."""
    async with engine(tmp_path, queues=ROLES) as started:
        await started.moderator()
        for queue in ROLES:
            await started.worker(queue, model=make_model("extractive"))
        yield started


async def opened(on: Engine, **settings: Any) -> None:
    """Once the moderator has heard of every queue: those that it has not heard of judge nothing."""
    client = Client(on.owner, "owner")

    async def all_there() -> bool:
        return {w.queue for w in (await client.workers()).workers} >= set(on.queues)

    await until(all_there)
    fate = await on.open(
        "s1", question=QUESTION, protocol="maci", documents=DOCUMENTS, settings={"outcomes": OUTCOMES, **settings}
    )
    assert fate.fate == "taken", fate


async def result(on: Engine) -> Result:
    return decode((await on.closed("s1", 30.0)).body, Result)


async def test_a_session_runs_to_its_agreement_as_without_a_bus(bench: Engine) -> None:
    await opened(bench)
    found = await result(bench)
    assert (found.stop.reason, found.stop.converged, found.status) == ("agreement", True, "finished")
    entries = await bench.log("s1")
    drawn = decode(entries[0].encode(), log.Entry).event
    assert isinstance(drawn, log.Opened)
    same = (await asyncio.to_thread(run, QUESTION, DOCUMENTS, OUTCOMES, seed=drawn.seed)).result
    assert (found.outcome, found.rounds) == (same.outcome, same.rounds)
    assert replay(PROTOCOLS.get, "s1", entries).session.closed
    for channel in ("public", "scores", "control"):
        posts = await bench.posts("s1", channel)
        assert [p.k for p in posts] == list(range(len(posts))) and posts, channel
    kinds = {p.kind for p in await bench.posts("s1", "scores")}
    assert kinds == {"blind", "case", "crit"}
    assert {p.kind for p in await bench.posts("s1", "public")} == {"passages", "argument", "signals", "plan"}


# ---------------------------------------------------------------- who hears what


async def test_a_debaters_credentials_open_no_way_to_the_scores(bench: Engine) -> None:
    await opened(bench, round_limit=1)
    await result(bench)
    assert await bench.posts("s1", "scores")
    debater, judge = await bench.connect("debater_1"), await bench.connect("judge")

    async def hear(_: Msg) -> None:
        raise AssertionError("it heard something")

    for subject in (
        subjects.channel_all("scores"), subjects.channel("s1", "scores"), subjects.channels_of("s1"),
        subjects.live_all("scores"), subjects.work_of("debater_2"), subjects.work_of("judge"),
    ):  # fmt: skip
        with pytest.raises(Denied):
            await debater.subscribe(subject, hear)
    speak = encode(Speak(window="w", kind="k", body=raw({})))
    for subject, data in (
        (subjects.read("scores", "s1"), encode(ReadPosts())),
        (subjects.doc("scores", "s1"), b"{}"),
        (subjects.say(subjects.ANY, "scores", "debater_1", "s1"), speak),
        (subjects.say(subjects.ANY, "public", "debater_2", "s1"), speak),
    ):
        with pytest.raises(BusError):
            await debater.request(subject, data, 1.0)
    with pytest.raises(Denied):
        await debater.publish(subjects.post("s1", "scores", "score"), b"{}", confirm=True)
    # The same questions are answered to those who may ask them.
    assert (await debater.request(subjects.read("public", "s1"), encode(ReadPosts()), 5.0)).data
    assert (await judge.request(subjects.read("scores", "s1"), encode(ReadPosts()), 5.0)).data
