"""A worker that waits for the answer to its reply is not put off by the stop that the reply led to."""

import time
from pathlib import Path

from nats.aio.msg import Msg

from parley.bus import streams, subjects
from parley.schemas.post import Post
from parley.schemas.protocols.consensus import PanelBrief
from parley.schemas.turn import Caps, SubmitAnswer, Turn, TurnStatus, Work
from parley.schemas.wire import encode, raw
from tests.support.engine import engine, until


async def test_a_stop_does_not_cancel_a_submission(tmp_path: Path) -> None:
    """Whoever took the reply said stop, and died before the rest of its effects: the reply must be told again."""
    async with engine(tmp_path) as bus:
        moderator = await bus.connect("moderator")
        await streams.ensure_streams(moderator, ack_wait_s=1.0)
        await streams.ensure_queue(moderator, "panelist_1", ack_wait_s=1.0)
        told: list[Msg] = []

        async def hear(msg: Msg) -> None:
            told.append(msg)
            if len(told) == 1:
                post = Post(
                    session="s1", channel="control", k=0, n=0, transition=5, at_ns=1, kind="stop", round=0, body=raw({})
                )
                await moderator.publish(subjects.post("s1", "control", post.kind), encode(post))
            else:
                await moderator.publish(msg.reply, encode(SubmitAnswer(verdict="accepted", n=5)))

        async def look(msg: Msg) -> None:
            await moderator.publish(msg.reply, encode(TurnStatus(open=True, at_ns=time.time_ns())))

        await moderator.subscribe(subjects.say.of(lane=subjects.ANY), hear)
        await moderator.subscribe(
            subjects.check.of(lane=subjects.ANY), look
        )  # the first turn asks for the server's time
        turn = Turn(
            id="4-0", token="t", seat="panelist_1", role="panelist", kind="answer",
            brief=raw(PanelBrief(iteration=1, round_limit=5)), deadline_ns=time.time_ns() + 60_000_000_000, caps=Caps(),
        )  # fmt: skip
        await bus.worker("panelist_1")
        work = Work(
            session="s1", protocol="consensus", question="?", round=1, channel="public", lane=subjects.ANY,
            decided_ns=time.time_ns(), turns=(turn,),
        )  # fmt: skip
        await moderator.store(subjects.work("panelist_1", "s1", "4-0"), encode(work))

        async def settled() -> bool:
            state = (await moderator.api(f"STREAM.INFO.{streams.WORK}"))["state"]
            return bool(told) and not state["messages"]

        await until(settled, 10.0)
        assert len(told) == 2, "told again after the first silence"
