"""The maci protocol on the real bus: a session to its end, who hears what, and replies that will not do."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from nats.aio.msg import Msg

from parley.agents.context import Shown
from parley.agents.models import Completion, Emit, make_model
from parley.bus import subjects
from parley.bus.errors import BusError, Denied
from parley.client.client import Client
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.replay import replay
from parley.schemas import log
from parley.schemas.post import Post, ReadPosts
from parley.schemas.protocols.maci.messages import Ruled
from parley.schemas.result import Result
from parley.schemas.turn import Speak
from parley.schemas.wire import decode, encode, raw
from tests.protocols.maci.simulate import example, run
from tests.support.engine import Engine, engine, until

QUESTION, DOCUMENTS, OUTCOMES = example("diagnosis")
ROLES = {"debater_1": "debater", "debater_2": "debater", "judge": "judge", "analyst": "analyst", "helper": "helper"}
MARKED = {**ROLES, "judge_2": "judge", "judge_3": "judge"}
replace = msgspec.structs.replace


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


class Marking:
    """The extractive model with a mark in everything that it says in words of its own. As judge it refuses the second
    argument of everybody."""

    name = family = "extractive"
    computes = True
    metered = False
    usd_per_million_input = usd_per_million_output = 0.0

    def __init__(self) -> None:
        self._model = make_model("extractive")
        self.shown: list[Shown] = []

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """Its reply, marked."""
        self.shown.append(shown)
        done = await self._model.reply(shown, emit)
        body: Any = done.body
        kind = "argue" if shown.kind in ("attack", "answer") else shown.kind
        mark = f"MARK-{kind}-{shown.seat}-{shown.round}"
        if shown.kind == "blind":
            body = replace(body, reasoning=f"{mark}. {body.reasoning}")
        elif kind == "argue":
            marked = (replace(a, claim=f"{a.claim} {mark}-{i}!") for i, a in enumerate(body.arguments))
            met = tuple(replace(m, why=f"{mark}-why. {m.why}") for m in body.answers)
            body = replace(body, arguments=tuple(marked), answers=met, changed=f"{mark}-why")
        elif shown.kind == "crit":
            poor = {item.item for item in shown.brief.items if item.claim.endswith("-1!")}
            scores = (replace(s, evidence=0.0, logic=0.0, relevance=0.0) if s.item in poor else s for s in body.scores)
            body = replace(body, scores=tuple(replace(s, justification=mark) for s in scores))
        return replace(done, body=body)


class Tap:
    """Every WORK message of some queues as it is published, by queue."""

    def __init__(self) -> None:
        self.sent: dict[str, list[bytes]] = {}

    async def on(self, engine: Engine, *queues: str) -> None:
        """Listen with a moderator's credentials."""
        connection = await engine.connect("moderator")
        for queue in queues:
            kept = self.sent.setdefault(queue, [])

            async def keep(msg: Msg, kept: list[bytes] = kept) -> None:
                kept.append(msg.data)

            await connection.subscribe(subjects.work_of(queue), keep)


@pytest.fixture
async def marked(tmp_path: Path) -> AsyncIterator[tuple[Engine, Tap, dict[str, Marking]]]:
    """The same bench with marks, and every turn tapped on its way."""
    models = {queue: Marking() for queue in MARKED}
    async with engine(tmp_path, queues=MARKED) as started:
        await started.moderator()
        tap = Tap()
        await tap.on(started, *MARKED)
        for queue, made in models.items():
            await started.worker(queue, model=made)
        yield started, tap, models


def marks(post: Post) -> str:
    """The mark in an argument's claim."""
    found = re.search(r"MARK-argue-\w+-\d-\d!", decode(post.body, Ruled).claim)
    assert found is not None
    return found[0]


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
