"""A log that loses its end, a session of which nothing is due any more, what TIMER keeps, and a timer that fired and
that nobody takes."""

import asyncio
import contextlib
import os
from pathlib import Path

import pytest
from msgspec.structs import replace
from prometheus_client import generate_latest

from parley.bus import streams, subjects
from parley.bus.errors import BusError
from parley.bus.storage.index import Index
from parley.bus.work import Delivery, Pull
from parley.coordinator.sessions import sweep
from parley.schemas.post import EraseSession, SessionRow
from parley.schemas.presence import AskWorkers, Workers
from parley.schemas.turn import SubmitAnswer
from parley.schemas.wire import decode, encode
from tests.support.engine import Engine, until


def blocks(bare: Engine) -> list[Path]:
    """The files of LOG's messages, the oldest first."""
    found = bare.server.folder.glob("jetstream/CORE/streams/LOG/msgs/*.blk")
    return sorted(found, key=lambda path: int(path.stem))


def cut(bare: Engine, size: int) -> None:
    """What a power loss does: the server is gone, and the end of its log with it."""
    bare.server.kill()
    last = blocks(bare)[-1]
    os.truncate(last, last.stat().st_size - size)
    bare.server.restart()


async def workers_of(bare: Engine) -> Workers:
    async def once() -> Workers | None:
        with contextlib.suppress(BusError):  # the connection broke with the server
            return decode((await bare.owner.request(asked, encode(AskWorkers()), 5.0)).data, Workers)
        return None

    asked = subjects.own("workers", "owner", "")
    found = await until(once)
    assert isinstance(found, Workers)
    return found


async def test_a_session_whose_log_lost_its_end_goes_on(bare: Engine) -> None:
    """The entry that closed it is gone, and with it its timer and its turns."""
    moderator = await bare.moderator()
    await bare.workers()
    await bare.play("s1")
    whole = len(await bare.log("s1"))
    cut(bare, 37)

    async def told() -> tuple[str, ...]:
        return tuple(d.session for d in (await workers_of(bare)).damaged)

    assert await until(told, 15.0) == ("s1",)
    await bare.closed("s1")
    assert len(await bare.log("s1")) >= whole
    assert b"parley_logs_damaged 1.0" in generate_latest(moderator._metrics.registry)


async def test_a_moderator_that_starts_finds_a_session_of_which_nothing_is_due(bare: Engine) -> None:
    first = await bare.moderator()
    await bare.workers()
    await bare.play("s1")
    await first.__aexit__()
    cut(bare, 37)
    second = await bare.moderator()
    await bare.closed("s1")
    assert b"parley_sessions_revived_total 1.0" in generate_latest(second._metrics.registry)


async def test_an_open_session_whose_timer_and_turns_are_gone_is_set_going_within_a_sweep(bare: Engine) -> None:
    await bare.moderator(sweep_s=0.3)
    quiet = await bare.workers({"latency_s": 30.0})
    await bare.open("s1", turn_timeout_s=2.0)
    for worker in quiet:
        await worker.__aexit__()
    moderator = await bare.connect("moderator")
    await streams.erase_session(moderator, "s1")
    await bare.closed("s1")


async def test_a_session_whose_log_is_gone_is_told_and_leaves_nothing(bare: Engine) -> None:
    await bare.moderator()
    await bare.workers({"latency_s": 30.0})
    await bare.open("s1")
    bare.server.kill()
    for file in bare.server.folder.glob("jetstream/CORE/streams/LOG/msgs/*"):
        file.unlink()
    bare.server.restart()

    async def told() -> tuple[str, ...]:
        return tuple(d.why for d in (await workers_of(bare)).damaged if d.session == "s1")

    (why,) = await until(told, 15.0)
    assert "its log is gone" in why
    await bare.emptied("TIMER")
    await bare.emptied("WORK")


@pytest.mark.parametrize("others", [0, sweep.RECENT], ids=["changed lately", "long ago"])
async def test_sessions_that_are_over_and_lost_as_a_whole_are_told(others: int, bare: Engine) -> None:
    """A block of LOG is gone, with all that two closed sessions and an open one had; one that ended later, and one that
    was erased, have lost nothing."""
    moderator = await bare.moderator()
    workers = await bare.workers()
    for sid in ("s1", "s2", "s3"):
        await bare.play(sid)
    for worker in workers:
        await worker.__aexit__()
    await bare.workers({"latency_s": 60.0})
    await bare.open("s4")
    log = await bare.connect("moderator")
    while len(blocks(bare)) == 1:
        await log.store(subjects.log("filler", subjects.STEP), bytes(2**22))
    await bare.open("s5")
    for sid in ("s4", "s5"):
        await bare.cancel(sid)
        await bare.closed(sid)
    erased = await bare.owner.request(subjects.own("erase", "owner", "s3"), encode(EraseSession()), 5.0)
    assert decode(erased.data, SubmitAnswer).verdict == "accepted"
    later = SessionRow(session="", seq=0, protocol="", question="", status="refused", opened_ns=0)
    await asyncio.gather(*(Index(log).put(replace(later, session=f"r{n}")) for n in range(others)))
    bare.server.kill()
    blocks(bare)[0].unlink()
    bare.server.restart()

    async def told() -> Workers | None:
        found = await workers_of(bare)
        return found if found.damaged_count >= 3 else None

    found = await until(told, 20.0)
    assert {d.session: d.why for d in found.damaged} == {
        "s1": sweep.GONE, "s2": sweep.GONE, "s4": sweep.NO_BEGINNING
    }  # fmt: skip
    assert b"parley_logs_damaged 3.0" in generate_latest(moderator._metrics.registry)
    assert await moderator._sweep._comparison.lost() == {}, "every row is compared once, not at each sweep"


async def test_nothing_of_a_closed_session_stays_in_timer(bare: Engine) -> None:
    await bare.moderator()
    await bare.workers({"latency_s": 30.0})
    await bare.open("s1", turn_timeout_s=0.5)  # every turn is missed: its timer fires
    await bare.closed("s1")
    await bare.emptied("TIMER")


async def test_turns_of_closed_sessions_that_nobody_is_handed_are_removed_by_a_sweep(bare: Engine) -> None:
    """A server that is killed, or whose disk is full, may keep a message that was acknowledged: nobody is handed it."""
    await bare.moderator(sweep_s=0.2)
    workers = await bare.workers()
    await bare.play("s1")
    for worker in workers:
        await worker.__aexit__()
    moderator = await bare.connect("moderator")
    await moderator.store(subjects.work("analyst", "s1", "9-0"), b"{}")
    await bare.emptied("WORK")


async def test_what_closed_sessions_left_in_timer_is_removed_by_a_sweep(bare: Engine) -> None:
    first = await bare.moderator()
    await bare.workers()
    await bare.play("s1")
    await first.__aexit__()
    moderator = await bare.connect("moderator")
    await moderator.store(subjects.fired("s1"), b"{}")
    assert await bare.kept("TIMER", subjects.fired.each)
    await bare.moderator()
    await bare.emptied("TIMER")


async def test_a_session_whose_timer_nobody_takes_goes_on(bare: Engine) -> None:
    """A moderator has taken the timer, says again and again that it works on it, and never does."""
    first = await bare.moderator()
    await bare.workers({"latency_s": 60.0})
    await bare.open("s1", turn_timeout_s=3.0)
    await first.__aexit__()
    taken: list[Delivery] = []
    hangs = await bare.connect("moderator")
    pull = Pull(hangs, streams.TIMER, streams.MODERATORS, room=1, on_message=taken.append)
    await pull.start()
    await until(lambda: taken)
    working = asyncio.create_task(_works_on(pull, taken[0], bare.ack_wait_s / 10))
    try:
        await bare.moderator()
        await bare.closed("s1", 30.0)
        assert not any(e.cause == f"timer:{taken[0].seq}" for e in await bare.entries("s1"))
    finally:
        working.cancel()
        await pull.stop()


async def _works_on(pull: Pull, delivery: Delivery, every_s: float) -> None:
    while True:
        await pull.settle(delivery, b"+WPI")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), every_s)
