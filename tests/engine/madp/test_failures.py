"""A lead that is gone, and an item that people are called for, on the real bus: what comes of it, and who is told."""

import asyncio
import base64
import re
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from parley.bus import subjects
from parley.schemas import log
from parley.schemas.expert import queue_of
from parley.schemas.presence import ALIVE_S
from parley.schemas.session import TimerDue
from parley.schemas.wire import encode
from tests.protocols.madp.play import (
    AUDITOR,
    EXPERTS,
    IMPL,
    SRE,
    blocked,
    hands,
    matched,
    spec,
)
from tests.support.engine import until
from tests.support.madp import Actor, Crew, lead_of, waits

ONE = matched({SRE: 0.95}, reviewers=[AUDITOR])


@pytest.fixture
async def crew(tmp_path: Path) -> AsyncIterator[Crew]:
    """Seven experts are enrolled; nobody is there yet."""
    async with Crew(tmp_path, (spec(x) for x in EXPERTS)) as started:
        yield started


async def test_a_lead_is_gone(crew: Crew) -> None:
    """The timer fires long before the deadline, to look who is there; while the lead is, nothing comes of it. When
    nobody of it has been heard for the liveness time, the next that claimed it goes on, and no human is asked."""
    later = [0.0]
    moderator = await crew.moderator(clock=lambda: time.monotonic() + later[0])
    models = await crew.experts(SRE)
    stuck = Actor()
    waits(stuck, "work")
    lead = await crew.expert(SRE, stuck, drain_s=0.1)
    await crew.know(moderator)
    await crew.helper(matched({SRE: 0.8, IMPL: 0.6}, reviewers=[AUDITOR]))
    await crew.task("s1", request={"turn_timeout_s": 600.0}, claim_window_s=60.0, coordination_s=300.0)
    await asyncio.wait_for(stuck.stuck.wait(), 10)
    bus = await crew.connect("moderator")
    stored = await bus.api("STREAM.MSG.GET.TIMER", {"last_by_subj": subjects.timer("s1")})
    (at,) = re.findall(r"Schedule: @at (\S+)Z", base64.b64decode(stored["message"]["hdrs"]).decode())
    looks_in_s = (datetime.fromisoformat(at).replace(tzinfo=UTC) - datetime.now(UTC)).total_seconds()
    assert looks_in_s <= ALIVE_S, "before the end of anything that is set"

    async def fired() -> list[log.TimerFired]:
        return [e.event for e in await crew.entries("s1") if isinstance(e.event, log.TimerFired)]

    await bus.store(subjects.fired("s1"), encode(TimerDue()))
    assert await until(fired) == [log.TimerFired()] and not models[IMPL].kinds(), "the lead is there"

    await lead._connection.close()  # it dies
    later[0] = ALIVE_S
    await bus.publish(subjects.CALL, b"")
    await until(lambda: moderator.presence.gone(map(queue_of, EXPERTS)) == (queue_of(SRE),))
    await bus.store(subjects.fired("s1"), encode(TimerDue()))
    result = await crew.result("s1")
    assert (await fired())[1:] == [log.TimerFired(gone=(queue_of(SRE),))]
    assert (lead_of(result), result["stop"]["reason"]) == (IMPL, "reviewed") and not result["outcome"]["items"]
    assert [(r["lead"], r["outcome"]) for r in result["rounds"]] == [(SRE, "missed"), (IMPL, "done")]
    assert stuck.kinds() == ["work"] and models[IMPL].kinds() == ["work"] and models[AUDITOR].kinds() == ["review"]


async def told(crew: Crew, times: int) -> None:
    await until(lambda: crew.entries("madp-breaker"), right=lambda found: len(found) == 1 + times)


async def test_an_open_item_is_a_post_and_is_counted_by_one_moderator(crew: Crew) -> None:
    moderators = [await crew.moderator() for _ in range(2)]
    await crew.experts(SRE)
    await crew.expert(SRE, Actor(work=[blocked(), hands(IMPL)]))
    await crew.helper(ONE)
    await crew.know(*moderators)
    await crew.task("s1")
    item = await crew.item("s1")
    calls = [c for e in await crew.entries("s1") for c in e.commands if isinstance(c, log.Notify)]
    assert calls == [log.Notify(severity="warning", text="a task waits for a human (blocked): Postgres or SQLite?")]
    await crew.decide("s1", item.id, "Postgres")
    assert lead_of(await crew.result("s1")) == IMPL
    counts = [
        m._metrics.registry.get_sample_value("parley_notifications_total", {"severity": "warning"}) or 0
        for m in moderators
    ]
    assert sum(counts) == 1
