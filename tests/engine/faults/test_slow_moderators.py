"""A moderator that is slower than its askers are patient: it is asked no more than it can answer, and what it answers
late counts."""

import asyncio
import time

import pytest
from prometheus_client import CollectorRegistry

from parley.agents.moderator_link import ModeratorLink
from parley.bus import subjects
from parley.bus.connection import Connection
from parley.bus.errors import RequestTimeout
from parley.bus.library import Msg
from parley.observability.metrics import Metrics
from parley.schemas.turn import Answer, Caps, Checked, Reply, Turn, Work
from parley.schemas.wire import encode, raw
from tests.engine.test_rules import announce, asked, say
from tests.support.engine import Engine

SAY, CHECK = subjects.say_lane(subjects.ANY), subjects.check_lane(subjects.ANY)


class Slow:
    """Answers a question only when it was asked once more, and the repeats never."""

    def __init__(self, moderator: Connection, answer: Answer | Checked) -> None:
        self._moderator = moderator
        self._answer = answer
        self.heard: list[str] = []

    async def hear(self, msg: Msg) -> None:
        self.heard.append(msg.reply)
        if len(self.heard) == 2:
            await self._moderator.publish(self.heard[0], encode(self._answer))


def link_of(connection: Connection) -> ModeratorLink:
    return ModeratorLink(connection, "panelist_1", Metrics(CollectorRegistry()))


def work_for(seconds: float) -> tuple[Work, Turn]:
    now_ns = time.time_ns()
    turn = Turn(
        id="0-0", token="t", seat="panelist_1", role="panelist", kind="answer", brief=raw({}), caps=Caps(),
        deadline_ns=now_ns + int(seconds * 1e9),
    )  # fmt: skip
    work = Work(
        session="s1", protocol="consensus", question="?", round=1, channel="public", lane=subjects.ANY,
        decided_ns=now_ns, turns=(turn,),
    )  # fmt: skip
    return work, turn


async def test_what_is_answered_late_counts(bare: Engine) -> None:
    """Where only quick answers counted, a moderator that is slow with all of them would be asked for ever."""
    slow = Slow(await bare.connect("moderator"), Answer(verdict="accepted", n=1))
    await slow._moderator.subscribe(SAY, slow.hear)
    work, turn = work_for(30.0)
    link = link_of(await bare.connect("panelist_1"))
    async with asyncio.timeout(20.0):
        answer = await link.submit(work, turn, Reply(turn=turn.id, token=turn.token, body=raw({})))
    assert answer.verdict == "accepted"
    assert len(slow.heard) == 2


async def test_a_repeat_of_what_got_out_leads_to_nothing(bare: Engine) -> None:
    """Its sender had no patience: the moderator that took the reply knows what it carried out."""
    moderator = await bare.moderator(lane="a")
    await announce(bare)
    await bare.open("s1")
    works = {q: await asked(bare, q) for q in ("panelist_1", "panelist_2", "panelist_3")}
    for _ in range(3):
        for q, w in works.items():
            assert (await say(bare, q, w, w.turns[0], "a")).verdict == "accepted"
    assert moderator._metrics.effects_reissued.labels().value == 0
    moderator._connection.breaks += 1  # what was published just before may not have got through
    await say(bare, "panelist_3", works["panelist_3"], works["panelist_3"].turns[0], "a")
    assert moderator._metrics.effects_reissued.labels().value == 1


async def test_a_question_keeps_an_answer_that_came_between(bare: Engine) -> None:
    """It came after its time and before the next asking: nothing is sent any more."""
    slow = Slow(await bare.connect("moderator"), Checked(open=True))
    await slow._moderator.subscribe(CHECK, slow.hear)
    agent = await bare.connect("panelist_1")
    subject = subjects.check(subjects.ANY, "public", "panelist_1", "s1")
    question = agent.question()
    with pytest.raises(RequestTimeout):
        await question.ask(subject, b"", 0.1, None)
    first = slow.heard[0]
    await slow._moderator.publish(first, b"late")
    await slow._moderator.nc.flush()
    await agent.nc.flush()
    assert (await question.ask(subject, b"", 0.1, None)).data == b"late"
    assert slow.heard == [first]
    question.close()


async def test_what_a_moderator_was_asked_that_is_gone_is_asked_again_at_once(bare: Engine) -> None:
    """Its worker does not wait for its silence."""
    asked: asyncio.Queue[float] = asyncio.Queue()

    async def never_answers(msg: Msg) -> None:
        asked.put_nowait(time.monotonic())

    silent = await bare.connect("moderator")
    await silent.subscribe(SAY, never_answers)
    worker = await bare.worker("panelist_1")
    work, turn = work_for(30.0)
    reply = Reply(turn=turn.id, token=turn.token, body=raw({}))
    submitting = asyncio.create_task(worker._link.submit(work, turn, reply))
    first = await asked.get()
    await silent.publish(subjects.CALL, subjects.ASK_AGAIN)
    assert await asked.get() - first < 2.0, "it waits so long for an answer"
    submitting.cancel()


async def test_moderators_tell_workers_that_one_of_them_is_gone(bare: Engine) -> None:
    said: asyncio.Queue[bytes] = asyncio.Queue()

    async def hear(msg: Msg) -> None:
        said.put_nowait(msg.data)

    worker = await bare.connect("panelist_1")
    await worker.subscribe(subjects.CALL, hear)
    await bare.moderator()
    dying = await bare.connect("moderator")
    await dying.close()
    while await said.get() != subjects.ASK_AGAIN:
        continue
