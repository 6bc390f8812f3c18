"""Signatures on the real bus: whoever is lost in the middle of them, each is there once, and the log recomputes."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parley.agents.context import Shown
from parley.agents.model.base import Completion, Emit
from parley.bus.errors import BusError
from parley.coordinator.moderator import Moderator
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.replay import replay
from parley.schemas.log import Ask, Replied
from parley.schemas.result import Result
from parley.schemas.wire import decode, encode
from tests.support.engine import Engine, until
from tests.support.model import StubModel, read_journal

SIGNED = ["said", "signed", "signed"]


class Slow(StubModel):
    """The stub, whose signature waits until it is let go."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self.may_sign = asyncio.Event()

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """As the stub's; the call is written down before it waits."""
        done = await super().reply(shown, emit)
        if shown.kind == "sign":
            await self.may_sign.wait()
        return done


async def panel(engine: Engine, slow: str, options: Mapping[str, Any]) -> Slow:
    """A worker for each queue; that of one seat signs when it is told to."""
    model = Slow(options)
    for queue in engine.queues:
        await engine.worker(queue, options, model=model if queue == slow else None)
    return model


async def signatures(engine: Engine) -> int:
    """How many replies of signers are in the log."""
    entries = await engine.entries("s1")
    signs = {f"{e.n}-{i}" for e in entries for i, c in enumerate(e.commands) if isinstance(c, Ask) and c.kind == "sign"}
    return sum(isinstance(e.event, Replied) and e.event.turn in signs for e in entries)


async def ended(engine: Engine) -> Result:
    """The result of a session in which every signature is there once, and whose log recomputes."""
    result = decode((await engine.closed("s1", 30.0)).body, Result)
    assert result.stop.reason == "threshold" and [x["stands"] for x in result.outcome["signatures"]] == SIGNED
    posts = await engine.posts("s1", "public")
    assert Counter(p.seat for p in posts if p.kind == "signature") == {"panelist_2": 1, "panelist_3": 1}
    assert [p.k for p in posts] == list(range(len(posts)))
    assert await signatures(engine) == 2
    stored = [entry.encode() for entry in await engine.log("s1")]
    again = replay(PROTOCOLS.get, "s1", stored)
    assert [encode(e) for e in again.entries] == stored and again.result is not None
    assert again.result.outcome == result.outcome
    return result


async def test_a_worker_that_is_lost_while_it_signs_is_followed_by_a_copy(bare: Engine, tmp_path: Path) -> None:
    options = {"journal": str(tmp_path / "journal"), "metered": True}
    await bare.moderator()
    for queue in ("panelist_1", "panelist_3", "analyst"):
        await bare.worker(queue, options)
    lost = await bare.worker("panelist_2", model=Slow(options))
    await bare.open("s1")

    async def signing() -> bool:
        calls = read_journal(tmp_path / "journal")
        return any(c.turn.startswith("panelist_2/sign/") for c in calls) and await signatures(bare) == 1

    await until(signing)
    await lost._link._connection.close()
    await bare.worker("panelist_2", options)
    result = await ended(bare)
    calls = Counter(c.turn.rpartition("/")[0] for c in read_journal(tmp_path / "journal"))
    assert calls["panelist_2/sign/2"] == 2 and calls["panelist_3/sign/2"] == 1
    assert result.usage.unaccounted_turns == 1, "the first try"


async def test_a_moderator_that_is_lost_between_two_signatures_is_followed_by_another(
    bare: Engine, tmp_path: Path
) -> None:
    gone = await bare.moderator(lane="a")
    slow = await panel(bare, "panelist_3", {"journal": str(tmp_path / "journal")})
    await bare.open("s1")

    async def one_there() -> bool:
        return await signatures(bare) == 1

    await until(one_there)
    await gone._connection.close()
    await bare.moderator(lane="b")
    slow.may_sign.set()
    result = await ended(bare)
    calls = Counter(c.turn.rpartition("/")[0] for c in read_journal(tmp_path / "journal"))
    assert calls["panelist_2/sign/2"] == calls["panelist_3/sign/2"] == 1, "nobody was asked anew"
    assert result.usage.turns == 10


async def test_what_the_last_signature_led_to_is_carried_out_by_the_repeat(bare: Engine) -> None:
    """The moderator is lost after it stored the last signature, before the result was out."""
    crashed = 0

    def checkpoint(point: str, sid: str) -> None:
        nonlocal crashed
        session = moderator.sessions._cache.get(sid).session
        if point == "appended" and session is not None and session.closed and not crashed:
            crashed += 1
            raise BusError("gone after the append")

    moderator: Moderator = await bare.moderator(lane="a", checkpoint=checkpoint)
    await bare.workers()
    await bare.open("s1")
    await ended(bare)
    assert crashed == 1


async def test_signatures_may_be_carried_by_two_moderators_at_once(bare: Engine) -> None:
    await bare.moderator(lane="a")
    await bare.moderator(lane="b")
    await bare.workers()
    await bare.open("s1")
    result = await ended(bare)
    assert result.usage.turns == 10
