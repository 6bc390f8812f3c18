"""The standing session that all moderators share, what of it enters an opening, and calls to people."""

import asyncio

from parley.bus import subjects
from parley.bus.channels import OWNER, SESSION
from parley.bus.streams import ensure_streams
from parley.coordinator.admission import admit
from parley.coordinator.commands import Notify, Tell, Wish
from parley.coordinator.protocols import STANDING
from parley.schemas import log
from parley.schemas.presence import Announcement
from parley.schemas.routing import TaskOutcome
from parley.schemas.session import OpenSession, TellSession
from parley.schemas.wire import encode, raw
from tests.coordinator.floor_play import ends, when
from tests.engine.floor import opened, posted, protocols, say
from tests.support.engine import Engine, until
from tests.support.experts import expert

BREAKER = "madp-breaker"


def tells(ok: bool) -> Tell:
    return Tell(session=BREAKER, kind="outcome", body=raw(TaskOutcome(session="s", ok=ok)))


async def first(engine: Engine, sid: str) -> log.Opened:
    event = (await engine.entries(sid))[0].event
    assert isinstance(event, log.Opened)
    return event


async def test_two_moderators_share_the_breaker_through_the_log(bare: Engine) -> None:
    one = await bare.moderator(protocols(reads=(BREAKER,)))
    two = await bare.moderator(protocols(reads=(BREAKER,)))
    await opened(bare, "s0")
    assert (await first(bare, "s0")).known == {}, "nobody has told it anything: it is not there"
    when("fail", tells(False), tells(False), *ends_of())
    for i in (1, 2):
        await opened(bare, f"s{i}")
        assert (await first(bare, f"s{i}")).known == ({} if i == 1 else {"degraded": False})
        await say(bare, "fail", f"s{i}")
        await told(bare, 2 * i)
    text = (await posted(bare, "degraded", BREAKER, "control"))["text"]
    assert "4 of the last 4 tasks" in text
    for moderator in (one, two):
        held = await moderator.sessions.look(BREAKER, fresh=True)
        assert held.session is not None and held.session.inner.phase == "degraded"
    await opened(bare, "s3")
    assert (await first(bare, "s3")).known == {"degraded": True}
    assert [type(e.event).__name__ for e in await bare.entries(BREAKER)] == ["Opened", *["Told"] * 4]


async def test_a_breaker_that_another_version_left_behind_is_opened_anew(bare: Engine) -> None:
    """Its log recomputes to something else: it stops no task, and what it remembered is gone."""
    protocol = STANDING[BREAKER]
    request = OpenSession(question="The moderators' own.", protocol=protocol.name)
    event = admit(protocol, request, (), 0, "")
    old = log.Entry(n=0, at_ns=1, cause="standing", event=event, commands=(), digest="0" * 32)
    connection = await bare.connect("moderator")
    await ensure_streams(connection, ack_wait_s=bare.ack_wait_s)
    await connection.store(subjects.log(BREAKER, subjects.OPENED), encode(old))
    moderator = await bare.moderator(protocols(reads=(BREAKER,)))
    when("fail", tells(False), *ends_of())
    await opened(bare, "s1")
    await say(bare, "fail", "s1")

    async def anew() -> bool:
        held = await moderator.sessions.look(BREAKER, fresh=True)
        return held.session is not None and len(held.session.inner.last) == 1

    await until(anew)


def ends_of() -> tuple[Wish, ...]:
    return ends(None)  # type: ignore[arg-type]


async def told(engine: Engine, times: int) -> None:
    await until(lambda: engine.entries(BREAKER), right=lambda found: len(found) == 1 + times)


async def test_it_is_opened_once_though_two_tell_it_at_once(bare: Engine) -> None:
    for _ in range(2):
        await bare.moderator(protocols())
    moderator = await bare.connect("moderator")
    bodies = [encode_told(i) for i in range(8)]
    await asyncio.gather(
        *(moderator.store(subjects.inbox(SESSION, f"s{i}", BREAKER), body) for i, body in enumerate(bodies))
    )
    await told(bare, 8)


def encode_told(i: int) -> bytes:
    return encode(TellSession(place="1-0", kind="outcome", body=raw(TaskOutcome(session=f"s{i}", ok=True))))


async def test_nobody_cancels_it(bare: Engine) -> None:
    await bare.moderator(protocols())
    moderator = await bare.connect("moderator")
    await moderator.store(subjects.inbox(SESSION, "s0", BREAKER), encode_told(0))
    await told(bare, 1)
    await bare.owner.store(subjects.inbox(OWNER, "owner", BREAKER), b'{"t":"cancel"}')
    refused = await bare.cancel(BREAKER)
    assert refused.fate == "refused" and "opened by somebody else" in refused.why
    assert len(await bare.entries(BREAKER)) == 2


# ---------------------------------------------------------------- experts


async def test_an_opening_holds_the_experts_where_the_protocol_wants_them(bare: Engine) -> None:
    moderator = await bare.moderator(protocols(experts=True))
    await bare.workers()
    for i in range(500):
        one = Announcement(
            instance="i1", queue=f"expert_e{i:03}", roles=("expert",), model="m", family="f", expert=expert(f"e{i:03}")
        )
        moderator.presence.hear(one)
    await opened(bare)
    held = await first(bare, "s1")
    assert len(held.experts) == 500 and held.experts[7].id == "e007"
    assert {r for w in held.workers for r in w.roles} == {"panelist"}
    await bare.open("s2")
    other = await first(bare, "s2")
    assert other.experts == () and {r for w in other.workers for r in w.roles} == {"panelist", "analyst"}


# ---------------------------------------------------------------- calls to people


async def test_a_call_to_people_stands_in_the_log_and_is_counted_once(bare: Engine) -> None:
    moderator = await bare.moderator(protocols())
    when("call", Notify(severity="warning", text="look at this"))
    await opened(bare)
    await say(bare, "call")
    await moderator.sessions.reissue("s1")
    await say(bare, "x", window="floor")
    assert [c for e in await bare.entries("s1") for c in e.commands if isinstance(c, Notify)] == [
        Notify(severity="warning", text="look at this")
    ]
    sample = moderator._metrics.registry.get_sample_value
    assert sample("parley_notifications_total", {"severity": "warning"}) == 1
