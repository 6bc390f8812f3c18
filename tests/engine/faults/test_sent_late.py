"""A moderator is frozen between an append and the turns that follow from it. Another one sends them, and they are
answered. What the first one sends then pays no model."""

import time
from pathlib import Path

from parley.bus import streams, subjects
from parley.bus.library import Msg
from parley.schemas.turn import Work
from parley.schemas.wire import decode
from tests.engine.test_rules import journal
from tests.support.engine import Engine, until


async def test_a_turn_that_is_sent_late_is_asked_for_before_a_model_is_paid(bare: Engine, tmp_path: Path) -> None:
    await bare.moderator()
    await bare.workers({"journal": str(tmp_path / "journal")})
    moderators = await bare.connect("moderator")
    sent: list[Msg] = []
    heard = await moderators.subscribe(subjects.WORK_ALL, sent.append)
    await bare.open("s1")
    await bare.closed("s1")
    await heard.unsubscribe()
    calls = len(journal(tmp_path / "journal"))
    last = max(decode(msg.data, Work).decided_ns for msg in sent)

    async def late() -> bool:
        return time.time_ns() - last > bare.ack_wait_s / 4 * 1e9

    await until(late)
    for msg in sent:
        await moderators.store(msg.subject, msg.data)

    async def settled() -> bool:
        return not (await moderators.api(f"STREAM.INFO.{streams.WORK}"))["state"]["messages"]

    await until(settled)
    assert len(sent) == calls == len(journal(tmp_path / "journal"))
