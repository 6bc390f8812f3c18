"""The service on a real bus: totals equal a recount of all sessions, whatever becomes of its copies and of the log."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from prometheus_client import CollectorRegistry

from parley.bus import streams, subjects
from parley.bus.library import cancelled
from parley.bus.storage import direct
from parley.bus_admin.streams import change
from parley.coordinator.outcomes.counting import Checkpoint, Counting
from parley.coordinator.outcomes.session import children
from parley.observability.outcomes import Outcomes
from parley.schemas.result import Result, Totals
from parley.schemas.wire import decode
from tests.engine.test_owner import erase
from tests.outcomes.played import KNOWN, TENANT, fold, shown, take, values
from tests.support.engine import Engine, until

SESSIONS = 16
DEATHS = 10


async def copy_of(engine: Engine, checkpoint: Checkpoint | None = None) -> Counting:
    """One more copy; it counts when it is told to."""
    return Counting(
        await engine.connect("metrics"), outcomes=Outcomes(CollectorRegistry(), children(KNOWN), tenant=TENANT),
        protocols=KNOWN, tenant=TENANT, checkpoint=checkpoint,
    )  # fmt: skip


@asynccontextmanager
async def running(engine: Engine) -> AsyncIterator[Counting]:
    """One more copy, which counts by itself."""
    copy = await copy_of(engine)
    task = asyncio.create_task(copy.run())
    try:
        yield copy
    finally:
        await cancelled(task)


async def written(engine: Engine) -> Totals:
    """The checkpoint."""
    got = await direct.last(await engine.connect("moderator"), streams.OUTCOMES, subjects.OUTCOMES)
    return Totals() if got is None else decode(got.data, Totals)


async def last_of_log(engine: Engine) -> int:
    """The last place."""
    moderator = await engine.connect("moderator")
    return int((await moderator.api("STREAM.INFO.LOG"))["state"]["last_seq"])


async def recount(engine: Engine, sids: list[str]) -> Totals:
    """Of what an owner exports."""
    into = fold()
    for sid in sids:
        take(into, sid, [e.encode() for e in await engine.log(sid)])
    return into.totals()


def same(one: Totals, other: Totals) -> None:
    """Sums of money and seconds may differ in the last bits: sessions were added up in another order."""
    assert one.numbers.keys() == other.numbers.keys()
    for series in one.numbers:
        assert one.numbers[series] == pytest.approx(other.numbers[series]), series
    assert one.spreads.keys() == other.spreads.keys()
    for series, spreads in one.spreads.items():
        for labels, spread in spreads.items():
            assert spread.counts == other.spreads[series][labels].counts, (series, labels)
            assert spread.total == pytest.approx(other.spreads[series][labels].total)
    assert one.days == pytest.approx(other.days)


async def run(engine: Engine, sids: list[str]) -> None:
    """Sessions of a panel, each with its own end."""
    for sid in sids:
        await engine.open(sid, settings={"panel": 3}, turn_timeout_s=5.0)
    for sid in sids:
        await engine.closed(sid, 60.0)


class Died(Exception):
    """What a copy ends by that is killed: nothing of it goes on but what it wrote."""


async def test_totals_equal_a_recount_after_many_deaths_of_two_copies(stack: Engine) -> None:
    dice = random.Random(7)
    due = {("stored", 1), ("stored", 2), *(("counted", n) for n in dice.sample(range(2, 120), DEATHS - 2))}
    arrived: Counter[str] = Counter()
    deaths = 0

    def checkpoint(point: str, sid: str) -> None:
        arrived[point] += 1
        if (point, arrived[point]) in due:
            raise Died

    async def count() -> None:
        """One copy, in whose place another one comes whenever it died."""
        nonlocal deaths
        last = await last_of_log(stack)
        copy = await copy_of(stack, checkpoint)
        while copy.totals.position < last:
            try:
                await copy.catch_up()
            except Died:
                deaths += 1
                copy = await copy_of(stack, checkpoint)

    sids = [f"s{n}" for n in range(SESSIONS)]
    for some in (sids[: SESSIONS // 2], sids[SESSIONS // 2 :]):
        await run(stack, some)
        await asyncio.gather(count(), count())
    assert deaths == DEATHS
    totals = await written(stack)
    same(totals, await recount(stack, sids))
    results = [decode((await stack.closed(sid)).body, Result) for sid in sids]
    found = shown(totals)
    assert sum(values(found, "sessions_closed_total").values()) == SESSIONS
    assert values(found, "session_calls_total") == {("consensus",): sum(r.usage.calls for r in results)}


async def test_two_copies_show_the_same_and_count_nothing_twice(stack: Engine) -> None:
    async with running(stack) as one, running(stack) as two:
        sids = [f"s{n}" for n in range(6)]
        await run(stack, sids)
        last = await last_of_log(stack)
        await until(lambda: one.totals.position == two.totals.position == last, 30.0)
        assert one.totals == two.totals == await written(stack)
        same(one.totals, await recount(stack, sids))
        assert one.ready is None and two.ready is None


async def test_erased_sessions_stay_in_the_totals_and_count_once(stack: Engine) -> None:
    """Whether they were counted before their texts went, or not."""
    sids = ["before", "after", "kept"]
    await run(stack, sids[:1])
    copy = await copy_of(stack)
    await copy.catch_up()
    assert (await erase(stack, "before")).verdict == "accepted"
    await run(stack, sids[1:])
    assert (await erase(stack, "after")).verdict == "accepted"
    kept = shown(await recount(stack, ["kept"]))
    calls = values(kept, "session_calls_total")[("consensus",)]
    for counting in (copy, await copy_of(stack)):
        found = shown(await counting.catch_up())
        assert values(found, "sessions_opened_total") == {("consensus",): 3}
        assert sum(values(found, "sessions_closed_total").values()) == 3
        assert values(found, "session_seconds_count") == {("consensus",): 3}
        assert values(found, "session_rounds_count") == {("consensus",): 2}, "of one, the tombstone alone is left"
        assert values(found, "session_calls_total") == {("consensus",): 2 * calls}


async def test_totals_outlive_the_logs_age_limit(stack: Engine) -> None:
    await run(stack, ["s0", "s1"])
    copy = await copy_of(stack)
    before = await copy.catch_up()
    moderator = await stack.connect("moderator")
    await change(moderator, 0.2 / streams.DAY_S, lambda shorter: None)
    await until(lambda: moderator.api("STREAM.INFO.LOG"), 30.0, right=lambda found: not found["state"]["messages"])
    await streams.ensure_streams(moderator)
    assert await (await copy_of(stack)).catch_up() == before
    await run(stack, ["s2"])
    found = shown(await copy.catch_up())
    assert sum(values(found, "sessions_closed_total").values()) == 3
