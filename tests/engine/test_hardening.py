"""What a hostile or an unlucky sender must not be able to do to a moderator, a worker or a session."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from parley.bus import streams, subjects
from parley.bus.errors import BusError
from parley.bus.log import Log
from parley.coordinator import briefing
from parley.coordinator.presence import Presence
from parley.schemas.log import Refused
from parley.schemas.post import AskFate, Fate
from parley.schemas.presence import Announcement
from parley.schemas.session import OpenSession
from parley.schemas.turn import MAX_BODY, Reply, SubmitAnswer
from parley.schemas.wire import decode, encode, raw
from tests.engine.test_rules import announce, asked, by_hand, journal, say
from tests.support.engine import KEY, Engine, until

GOOD = raw({"answer": "42", "reasoning": "r", "confidence": 0.5})


@pytest.mark.parametrize("patience_s", [None, 0.9])
async def test_an_opening_whose_effects_got_lost_is_completed_by_its_repeat(
    bare: Engine, patience_s: float | None
) -> None:
    """The repeat of a cause re-issues the transition of that cause, whatever happened to the session since; also where
    a new opening would come too late by then."""
    crashed: list[str] = []

    def checkpoint(point: str, sid: str) -> None:
        if point == "appended" and not crashed:
            crashed.append(sid)
            raise BusError("gone after the append of the opening")

    await bare.moderator(lane="a", checkpoint=checkpoint)
    await announce(bare)
    expires_s = msgspec.UNSET if patience_s is None else patience_s
    opening = OpenSession(question="?", protocol="consensus", expires_s=expires_s)
    ack = await bare.owner.store(subjects.inbox("client", "owner", "s1"), encode(opening))
    assert ack.seq == 1
    await until(lambda: bare.log("s1"), right=lambda found: len(found) == 1)
    assert await bare.kept("WORK") == []
    agent = await bare.connect("panelist_1")
    reply = Reply(turn="0-0", token=briefing.token(KEY, "s1", "0-0"), body=GOOD)
    msg = await agent.request(subjects.say("a", "public", "panelist_1", "s1"), encode(reply), 5.0)
    assert decode(msg.data, SubmitAnswer).verdict == "accepted"
    await until(lambda: bare.kept("WORK"), 5.0, right=lambda found: len(found) == 2)
    assert await bare.kept("WORK", subjects.work.of(queue="panelist_1")) == [], "its turn is closed"
    assert await bare.kept("TIMER", subjects.timer.each) == [subjects.timer("s1")]


async def test_headers_that_are_no_text_do_not_deafen_a_moderator(bare: Engine) -> None:
    moderator = await bare.moderator(lane="a")
    await bare.workers()
    client = await bare.connect("client")
    block = b"NATS/1.0\r\nX: \xff\xfe\r\n\r\n"
    payload = encode(OpenSession(question="?", protocol="consensus"))
    subject = subjects.inbox("client", "client", "s0").encode()
    command = b"HPUB %s %d %d\r\n%s%s\r\n" % (subject, len(block), len(block) + len(payload), block, payload)
    await client.nc._send_command(command)
    await client.nc.flush()
    assert (await bare.open("s1")).fate == "taken"
    await bare.closed("s1")
    assert moderator.ready is None


@pytest.mark.parametrize("sid", ["x" * 2_000, " s", "s\n1", "ä", "a.b", "x" * 65])
async def test_a_session_id_that_nothing_can_carry_is_put_aside(stack: Engine, sid: str) -> None:
    subject = subjects.inbox("client", "owner", sid)
    await stack.owner.store(subject, encode(OpenSession(question="?", protocol="consensus")))
    await until(lambda: stack.kept("ASIDE"), right=lambda found: len(found) == 1)
    assert (await stack.open("s1")).fate == "taken"
    await stack.closed("s1")
    assert [r.session for r in (await stack.sessions()).rows] == ["s1"]


async def test_a_worker_serves_in_the_role_of_its_credential_only(bare: Engine) -> None:
    """A panelist cannot make itself the analyst: the broker pins the role, and the moderator goes by that."""
    moderator = await bare.moderator()
    agent = await bare.connect("panelist_1")
    here = Announcement(
        instance="x",
        queue="panelist_1",
        roles=("panelist", "analyst"),
        model="m",
        family="f",
        usd_per_million_input=1.0,
    )
    await agent.publish(subjects.here("panelist", "panelist_1", ""), encode(here))
    found = await until(lambda: moderator.presence.alive())
    assert [(a.queue, a.roles) for a in found] == [("panelist_1", ("panelist",))]


def test_copies_of_a_queue_count_as_one_at_the_dearest_price() -> None:
    presence = Presence()
    free = Announcement(instance="a", queue="q", roles=("panelist",), model="m", family="f", room=2)
    dear = msgspec.structs.replace(free, instance="b", metered=True, usd_per_million_output=9.0, room=4)
    presence.hear(free)
    presence.hear(dear)
    (seen,) = presence.alive()
    assert (seen.metered, seen.usd_per_million_output, seen.room) == (True, 9.0, 6)
    assert presence.models() == {"q": 1.0}
    presence.hear(msgspec.structs.replace(free, instance="c", model="other"))
    assert presence.models() == {"q": 2.0}
    presence.hear(msgspec.structs.replace(free, instance="c", model="other", draining=True))
    presence.hear(msgspec.structs.replace(dear, draining=True))
    (seen,) = presence.alive()
    assert (seen.metered, seen.room) == (False, 2)


async def test_a_body_too_large_or_too_deep_to_be_read_again_is_refused(bare: Engine) -> None:
    await by_hand(bare)
    work = await asked(bare, "panelist_1")
    turn = work.turns[0]
    agent = await bare.connect("panelist_1")
    subject = subjects.say("a", work.channel, "panelist_1", "s1")
    for body in (b'"' + b"x" * MAX_BODY + b'"', b"[" * 900 + b"]" * 900):
        head = encode({"t": "reply", "turn": turn.id, "token": turn.token})[:-1]
        msg = await agent.request(subject, head + b',"body":' + body + b"}", 5.0)
        assert decode(msg.data, SubmitAnswer).verdict == "refused"
    assert len(await bare.log("s1")) == 1
    assert (await say(bare, "panelist_1", work, turn, "a")).verdict == "accepted"


async def test_a_broken_entry_is_never_built_upon(bare: Engine) -> None:
    """A log that does not recompute stops its session, at the first try and at every other."""
    await by_hand(bare)
    work = await asked(bare, "panelist_1")
    moderator = await bare.connect("moderator")
    entry = (await bare.log("s1"))[0]
    forged = entry.replace('"cause":"in:1"', '"cause":"in:9"').replace('"n":0', '"n":1')
    last = await moderator.api("STREAM.INFO.LOG")
    await moderator.store(
        subjects.log("s1", "step"), forged.encode(), expected_last=(subjects.log_of("s1"), last["state"]["last_seq"])
    )
    for _ in range(3):
        assert (await say(bare, "panelist_1", work, work.turns[0], subjects.ANY)).verdict == "busy"
    assert len(await bare.log("s1")) == 2


async def test_the_heartbeat_goes_on_while_moderators_are_silent(bare: Engine, tmp_path: Path) -> None:
    """A turn that runs is not handed out again because nobody answers questions about it."""
    moderator = await bare.moderator(lane="a")
    for queue in ("panelist_2", "panelist_3", "analyst"):
        await bare.worker(queue, drain_s=0.1)
    calls = tmp_path / "journal"
    for _ in range(2):
        await bare.worker("panelist_1", {"journal": str(calls), "latency_s": 4.0}, drain_s=0.1)
    await bare.open("s1", settings={"round_limit": 1})
    await until(lambda: len(journal(calls)) == 1)
    await moderator.__aexit__(None, None, None)
    connection = await bare.connect("moderator")

    async def aged() -> bool:
        info = await connection.api(f"CONSUMER.INFO.WORK.{subjects.consumer('panelist_1')}")
        assert info["num_redelivered"] == 0
        return bool(loop.time() - started > 3.5)

    loop = asyncio.get_running_loop()
    started = loop.time()
    await until(aged)
    assert len(journal(calls)) == 1


async def test_what_was_refused_once_is_not_taken_when_it_comes_again(bare: Engine) -> None:
    """A moderator recorded a refusal, of which its author heard, and died before it acknowledged the message. By now
    the opening could be taken."""
    dead = await bare.connect("moderator")
    await streams.ensure_streams(dead)
    opening = encode(OpenSession(question="?", protocol="consensus"))
    ack = await bare.owner.store(subjects.inbox("client", "owner", "s1"), opening)
    refused = Refused(cause=f"in:{ack.seq}", what="open", why="seats: one was missing", author="owner", at_ns=1)
    await Log(dead).append("s1", subjects.REFUSED, encode(refused), 0)
    await bare.moderator()
    await bare.workers()
    await bare.emptied("IN")
    fate = await bare.ask(subjects.fate("client", "owner", "s1"), AskFate(seq=ack.seq), Fate)
    assert (fate.fate, fate.why, await bare.log("s1")) == ("refused", refused.why, ())
