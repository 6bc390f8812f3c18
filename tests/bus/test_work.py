"""The pull loop: no more than there is room for, nothing lost over a restart, inboxes that do not pile up."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from parley.bus import streams, subjects, work
from parley.bus.library import cancelled
from parley.bus.work import Delivery, Pull
from tests.support.engine import Engine, engine, until


async def _queue(bare: Engine) -> None:
    moderator = await bare.connect("moderator")
    await streams.ensure_streams(moderator, ack_wait_s=1.0)
    await streams.ensure_queue(moderator, "panelist_1", ack_wait_s=1.0)


async def _store(bare: Engine, count: int, first: int = 0) -> None:
    moderator = await bare.connect("moderator")
    for i in range(first, first + count):
        await moderator.store(subjects.work("panelist_1", "s", str(i)), b"x", msg_id=f"m{i}")


class Taker:
    def __init__(self) -> None:
        self.got: list[Delivery] = []
        self.came = asyncio.Event()
        self.pull: Pull

    def take(self, delivery: Delivery) -> None:
        self.got.append(delivery)
        self.came.set()

    async def settle_last(self) -> None:
        await self.pull.settle(self.got[-1])
        self.pull.release()

    async def wait(self, count: int, timeout_s: float = 10.0) -> None:
        async with asyncio.timeout(timeout_s):
            while len(self.got) < count:
                self.came.clear()
                await self.came.wait()


async def _taker(bare: Engine, room: int, **options: Any) -> Taker:
    taker = Taker()
    connection = await bare.connect("panelist_1")
    consumer = subjects.consumer("panelist_1")
    taker.pull = Pull(connection, "WORK", consumer, room=room, on_message=taker.take, **options)
    await taker.pull.start()
    return taker


async def test_a_pull_takes_no_more_than_it_has_room_for(tmp_path: Path) -> None:
    async with engine(tmp_path) as bare:
        await _queue(bare)
        await _store(bare, 5)
        taker = await _taker(bare, room=2)
        await taker.wait(2)
        second = await _taker(bare, room=8)
        await second.wait(3)
        assert len(taker.got) == 2, "the rest is for whoever has room"
        assert {d.subject for d in taker.got + second.got} == {
            subjects.work("panelist_1", "s", str(i)) for i in range(5)
        }
        for d in taker.got:
            await taker.pull.settle(d)
            taker.pull.release()
        await _store(bare, 1, first=5)
        await asyncio.wait([asyncio.create_task(taker.wait(3)), asyncio.create_task(second.wait(4))], timeout=5,
                           return_when=asyncio.FIRST_COMPLETED)  # fmt: skip
        assert len(taker.got) + len(second.got) >= 6
        await taker.pull.stop()
        await second.pull.stop()


async def test_a_pull_goes_on_after_the_server_was_killed(tmp_path: Path) -> None:
    async with engine(tmp_path) as bare:
        await _queue(bare)
        taker = await _taker(bare, room=4)
        await _store(bare, 1)
        await taker.wait(1)
        await taker.settle_last()
        bare.server.kill()
        bare.server.restart()
        await _store(bare, 1, first=1)
        await taker.wait(2, 15.0)
        assert taker.got[-1].subject == subjects.work("panelist_1", "s", "1")
        await taker.pull.stop()


async def test_a_pull_changes_its_inbox(tmp_path: Path) -> None:
    """Across accounts the server remembers every pull of an inbox: a long-lived loop must not keep one for ever."""
    async with engine(tmp_path) as bare:
        await _queue(bare)
        taker = await _taker(bare, room=1, inbox_pulls=5, inbox_s=0.0)
        first = taker.pull._inbox
        for i in range(20):
            await _store(bare, 1, first=i)
            await taker.wait(i + 1)
            await taker.settle_last()
        assert taker.pull._inbox != first
        assert len(taker.pull._subs) == 2
        await taker.pull.stop()


async def test_a_pull_that_nobody_answers_says_so_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """And that it is answered again: the connection stands all the time."""
    caplog.set_level("WARNING", work.__name__)

    async def said(what: str) -> bool:
        return what in caplog.text

    async with engine(tmp_path) as bare:
        taker = await _taker(bare, room=1, silent_s=0.0)
        await until(lambda: said("nobody answers at $JS.API.CONSUMER.MSG.NEXT.WORK.panelist_1"))
        assert taker.pull.unanswered
        await _queue(bare)
        await _store(bare, 1)
        await taker.wait(1)
        await until(lambda: said("is answered again"))
        assert caplog.text.count("nobody answers at") == 1 and not taker.pull.unanswered
        await taker.pull.stop()


async def test_a_task_whose_cancellation_was_dropped_is_ended() -> None:
    """As nats-py waits, in Python 3.11: the wait is over at the moment at which the task is cancelled."""
    over: asyncio.Queue[int] = asyncio.Queue()
    waits = 0

    async def loop() -> None:
        nonlocal waits
        while True:
            waits += 1
            await asyncio.wait_for(over.get(), 60.0)

    task = asyncio.create_task(loop())
    await asyncio.sleep(0)
    over.put_nowait(1)
    await asyncio.sleep(0)
    async with asyncio.timeout(5.0):
        await cancelled(task)
    assert task.cancelled() and waits
