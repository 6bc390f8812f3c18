"""Somebody is away for a while: a server, a moderator, a worker. What was sent meanwhile is not lost."""

import asyncio
import time
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from parley.agents.moderator_link import ModeratorLink
from parley.bus import streams, subjects
from parley.bus.connection import Connection
from parley.bus.errors import RequestTimeout
from parley.bus.library import Msg
from parley.client.client import Client
from parley.observability.metrics import Metrics
from parley.schemas import log
from parley.schemas.expert import queue_of
from parley.schemas.post import Post
from parley.schemas.protocols.consensus import PanelBrief
from parley.schemas.session import OpenSession
from parley.schemas.turn import Caps, Reply, SubmitAnswer, Turn, TurnStatus, Work
from parley.schemas.wire import encode, raw
from tests.engine.test_rules import asked, by_hand, say
from tests.protocols.madp.play import EXPERTS, IMPL, SRE, matched, spec
from tests.support.engine import Engine, counted, until
from tests.support.madp import Crew, lead_of

GIVEN_UP_S = 10.2
"""So long after it was stored an opening of an asker without patience is too late."""


@pytest.mark.slow
async def test_an_opening_that_was_stored_before_an_outage_is_opened_after_it(bare: Engine) -> None:
    """Its asker waited all the time. Refused as too late, it is submitted anew, under the same id."""
    watcher = await bare.connect("moderator")
    await streams.ensure_streams(watcher, ack_wait_s=bare.ack_wait_s)
    connection = await bare.connect("client")
    client = Client(connection, "client", patience_s=0.1, outlasts=True)
    asking = asyncio.create_task(client.open(OpenSession(question="?", protocol="consensus"), "s1"))
    await until(lambda: bare.kept("IN"))
    since = time.monotonic()
    bare.server.kill()
    bare.server.restart()
    await until(lambda: time.monotonic() - since > GIVEN_UP_S, 2 * GIVEN_UP_S)
    assert not asking.done()
    await bare.moderator()
    await bare.workers()
    assert await asking == "s1"
    assert (await bare.sessions()).rows[0].status in ("open", "finished")


OLD = 60.0


async def test_an_opening_that_the_bus_was_away_for_waits_for_the_workers(bare: Engine) -> None:
    """The moderator's clock stands still where it does not say otherwise, so that no slow machine makes it old."""
    now = [0.0]
    moderator = await bare.moderator(clock=lambda: now[0])
    now[0] = OLD
    early = await bare.open("early")
    assert (early.fate, early.field) == ("refused", "seats"), "it heard nobody for long"
    bare.server.kill()
    bare.server.restart()
    await until(lambda: moderator.presence.unbroken_s() == 0.0)
    opening = asyncio.create_task(bare.open("waits"))
    moderators = await bare.connect("moderator")

    async def in_hand() -> bool:
        waiting = int((await moderators.api("CONSUMER.INFO.IN.moderators"))["num_ack_pending"])
        return waiting == 1

    await until(in_hand, 30.0)
    assert not opening.done()
    await bare.workers()
    assert (await opening).fate == "taken"


async def test_an_expert_that_was_away_when_a_task_came_claims_it_once_it_is_back(tmp_path: Path) -> None:
    async with Crew(tmp_path, (spec(x) for x in EXPERTS)) as crew:
        moderator = await crew.moderator()
        await crew.experts(SRE)
        away = await crew.expert(SRE)
        await crew.know(moderator)
        await crew.helper(matched({SRE: 0.75, IMPL: 0.7}))
        await away._connection.close()
        await crew.task("s1", claim_window_s=60)

        async def said() -> list[str]:
            return [e.event.author for e in await crew.entries("s1") if isinstance(e.event, log.Spoke)]

        await until(lambda: said(), right=lambda found: queue_of(IMPL) in found)
        assert queue_of(SRE) not in await said(), "it has missed the post"
        await crew.expert(SRE)
        result = await crew.result("s1")
        (claims,) = await crew.kind("s1", "claims")
        assert claims["silent"] == [] and {c["agent_id"] for c in claims["claims"]} == {SRE, IMPL}
        assert lead_of(result) == SRE
        assert (await said()).count(queue_of(IMPL)) == 1, "who heard it before has said it once"


SAY, CHECK = subjects.say.of(lane=subjects.ANY), subjects.check.of(lane=subjects.ANY)


class Slow:
    """Answers a question only when it was asked once more, and the repeats never."""

    def __init__(self, moderator: Connection, answer: SubmitAnswer | TurnStatus) -> None:
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
        id="0-0", token="t", seat="panelist_1", role="panelist", kind="answer", caps=Caps(),
        brief=raw(PanelBrief(iteration=1, round_limit=5)), deadline_ns=now_ns + int(seconds * 1e9),
    )  # fmt: skip
    work = Work(
        session="s1", protocol="consensus", question="?", round=1, channel="public", lane=subjects.ANY,
        decided_ns=now_ns, turns=(turn,),
    )  # fmt: skip
    return work, turn


async def test_what_is_answered_late_counts(bare: Engine) -> None:
    """Where only quick answers counted, a moderator that is slow with all of them would be asked for ever."""
    slow = Slow(await bare.connect("moderator"), SubmitAnswer(verdict="accepted", n=1))
    await slow._moderator.subscribe(SAY, slow.hear)
    work, turn = work_for(30.0)
    link = link_of(await bare.connect("panelist_1"))
    async with asyncio.timeout(20.0):
        answer = await link.submit(work, turn, Reply(turn=turn.id, token=turn.token, body=raw({})))
    assert answer.verdict == "accepted"
    assert len(slow.heard) == 2


async def test_a_stop_does_not_cancel_a_submission(bare: Engine) -> None:
    """Whoever took the reply said stop, and died before the rest of its effects: the reply must be told again."""
    moderator = await bare.connect("moderator")
    await streams.ensure_streams(moderator, ack_wait_s=1.0)
    await streams.ensure_queue(moderator, "panelist_1", ack_wait_s=1.0)
    told: list[Msg] = []

    async def hear(msg: Msg) -> None:
        told.append(msg)
        if len(told) == 1:
            stop = Post(
                session="s1", channel="control", k=0, n=0, transition=5, at_ns=1, kind="stop", round=0, body=raw({})
            )
            await moderator.publish(subjects.post("s1", "control", stop.kind), encode(stop))
        else:
            await moderator.publish(msg.reply, encode(SubmitAnswer(verdict="accepted", n=5)))

    async def look(msg: Msg) -> None:  # the first turn asks for the server's time
        await moderator.publish(msg.reply, encode(TurnStatus(open=True, at_ns=time.time_ns())))

    await moderator.subscribe(SAY, hear)
    await moderator.subscribe(CHECK, look)
    await bare.worker("panelist_1")
    await moderator.store(subjects.work("panelist_1", "s1", "0-0"), encode(work_for(60.0)[0]))
    await until(lambda: told)
    await bare.emptied("WORK")
    assert len(told) == 2, "told again after the first silence"


async def test_a_repeat_of_what_got_out_leads_to_nothing(bare: Engine) -> None:
    """Its sender had no patience: the moderator that took the reply knows what it carried out."""
    moderator = await by_hand(bare)
    works = {q: await asked(bare, q) for q in ("panelist_1", "panelist_2", "panelist_3")}
    for _ in range(3):
        for q, w in works.items():
            assert (await say(bare, q, w, w.turns[0], "a")).verdict == "accepted"
    assert counted(moderator._metrics.effects_reissued) == 0
    moderator._connection.breaks += 1  # what was published just before may not have got through
    await say(bare, "panelist_3", works["panelist_3"], works["panelist_3"].turns[0], "a")
    assert counted(moderator._metrics.effects_reissued) == 1


async def test_a_question_keeps_an_answer_that_came_between(bare: Engine) -> None:
    """It came after its time and before the next asking: nothing is sent any more."""
    slow = Slow(await bare.connect("moderator"), TurnStatus(open=True))
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
