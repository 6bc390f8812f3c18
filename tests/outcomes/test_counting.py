"""The service on a real bus: totals equal a recount of all sessions, whatever becomes of its copies and of the log."""

import asyncio
import os
import random
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from parley.bus import streams, subjects
from parley.bus.library import cancelled
from parley.bus.storage import direct
from parley.bus_admin.streams import change
from parley.coordinator.outcomes.counting import Counting
from parley.coordinator.outcomes.session import children
from parley.observability.outcomes import Outcomes
from parley.schemas.result import Result, Totals
from parley.schemas.wire import decode
from tests.engine.test_owner import erase
from tests.outcomes.played import KNOWN, TENANT, fold, shown, take, values
from tests.support import crash
from tests.support.engine import Engine, until

SESSIONS = 40
KILLS = 14


async def copy_of(engine: Engine) -> Counting:
    """One more copy, in this process; it counts when it is told to."""
    outcomes = Outcomes(CollectorRegistry(), children(KNOWN), tenant=TENANT)
    return Counting(await engine.connect("metrics"), outcomes=outcomes, protocols=KNOWN, tenant=TENANT)


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


class Restarted:
    """One copy as a process, which is started again whenever it ended itself."""

    def __init__(self, engine: Engine, folder: Path, environ: dict[str, str]) -> None:
        self._words = (sys.executable, "-m", "tests.outcomes.killed", engine.server.url, str(folder / "metrics.json"))
        self._log = folder / f"copy-{id(self)}.log"
        self._environ = environ
        self._over = False
        self._child: asyncio.subprocess.Process | None = None
        self.kills = 0

    async def run(self) -> None:
        """Until `end`."""
        while not self._over:
            with self._log.open("ab") as said:
                child = self._child = await asyncio.create_subprocess_exec(
                    *self._words, env=self._environ, stdout=said, stderr=said
                )
            if self._over:
                child.kill()
            code = await child.wait()
            assert code == -signal.SIGKILL, (code, self._log.read_text())
            self.kills += 1

    def end(self) -> None:
        """It is not started again."""
        self._over = True
        if self._child is not None and self._child.returncode is None:
            self._child.kill()


@pytest.mark.slow
@pytest.mark.serial
@pytest.mark.timeout(180)
async def test_totals_equal_a_recount_after_many_kills_of_two_copies(stack: Engine, tmp_path: Path) -> None:
    stack.credentials["metrics"].save(tmp_path / "metrics.json")
    dice = random.Random(7)
    stored = sorted(dice.sample(range(1, 12), 4))
    counted = sorted(dice.sample(range(2, 120), KILLS - len(stored)))
    deeds = [*(f"stored:{n}" for n in stored), *(f"counted:{n}" for n in counted)]
    deaths = tmp_path / "deaths"
    deaths.mkdir()
    environ = {**os.environ, crash.CRASH: " ".join(deeds), crash.CRASH_DIR: str(deaths)}
    copies = [Restarted(stack, tmp_path, environ) for _ in range(2)]
    running = [asyncio.create_task(copy.run()) for copy in copies]
    sids = [f"s{n}" for n in range(SESSIONS)]
    try:
        await run(stack, sids)
        last = await last_of_log(stack)

        async def caught_up() -> bool:
            for task in running:
                if task.done():
                    task.result()
            return (await written(stack)).position == last

        await until(caught_up, 90.0)
    finally:
        for copy in copies:
            copy.end()
        await asyncio.gather(*running)
    assert len(crash.done(deaths)) >= KILLS - 4, "they ended themselves where it was said"
    assert all(copy.kills >= 2 for copy in copies)
    totals = await written(stack)
    same(totals, await recount(stack, sids))
    results = [decode((await stack.closed(sid)).body, Result) for sid in sids]
    found = shown(totals)
    assert sum(values(found, "sessions_closed_total").values()) == SESSIONS
    assert values(found, "session_calls_total") == {("consensus",): sum(r.usage.calls for r in results)}
    assert sum(values(found, "tokens_total").values()) == sum(
        r.usage.input_tokens + r.usage.output_tokens for r in results
    )


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
