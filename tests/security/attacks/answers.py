"""Attacks by answers that arrive where their asker may not publish, and by headers and message ids.

The server checks where a user publishes, not where it wants the answer. Whatever answers, a moderator, a stream or a
consumer, would then speak in the asker's place. Across accounts such an answer stays in the asker's account.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from functools import partial

from parley.bus import accounts, channels, streams, subjects
from parley.bus.accounts import Credentials
from parley.bus.errors import BusError, Denied, StoreError
from parley.bus.storage import direct
from parley.schemas.post import CLOSED
from parley.schemas.result import Totals
from parley.schemas.session import CancelSession
from parley.schemas.wire import encode
from tests.security.attacks.actor import Actor, Attack
from tests.security.attacks.scene import (
    ASK_S,
    LET_THROUGH,
    NOT_STORED,
    REFUSED,
    SUCCEEDED,
    CannotRun,
    Verdict,
    violation,
)

Try = Callable[[], Awaitable[Verdict]]
_BURST = 6
_FIRES_S = 5.0
_PULL_S = 0.3
_PULL = b'{"batch":1,"expires":%d}' % round(_PULL_S * 1e9)
_STAYED = "the answer stayed in its own account"


def attacks(actor: Actor) -> Iterator[Attack]:
    for what, target in _targets(actor):
        yield f"has an answer arrive {what}", _history(actor, target)
        if actor.agent:
            yield f"has a turn arrive {what}", _turn(actor, target)
        elif actor.observer:
            yield f"has a log entry arrive {what}", _entry(actor, target)
            yield f"has the account of a stream arrive {what}", _looked(actor, target)
        elif actor.submits:
            yield f"has an acknowledgement arrive {what}", _ack(actor, target)
    for victim in actor.victims(accounts.AGENT)[:1]:
        if actor.agent:
            yield f"draws a turn of {victim.user} by an answer", _draw(actor, victim)
    yield "settles another's turn by an answer", lambda: _settle(actor)
    if actor.observer:
        yield from _headers(actor, subjects.OUTCOMES, "totals")
    elif actor.submits:
        yield from _headers(actor, subjects.inbox(channels.CLIENT, actor.name, actor.scene.fresh()), "submissions")
        yield from _ids(actor)


def _targets(actor: Actor) -> Iterator[tuple[str, Callable[[str], str]]]:
    """Where an answer may not arrive: words, and the subject by session."""
    for channel in ["public", *actor.foreign()]:
        yield f"as a post on {channel}", partial(_post_on, channel)
    for victim in actor.victims(accounts.AGENT)[:1]:
        name, on = victim.user, channels.speaks_on(victim.account)
        yield f"as a reply of {name}", partial(subjects.say, "any", on, name)
        yield f"as live text of {name}", partial(subjects.live, on, name)
        yield f"as a turn of {name}", lambda sid, name=name: subjects.work(name, sid, "1")  # type: ignore[misc]
        yield f"in the inbox of {name}", (victim.inbox_prefix + ".{}").format
    yield "as a post for a session's owner", lambda sid: subjects.owned("somebody", _post_on(channels.PUBLIC, sid))
    yield "as what one session tells another", partial(subjects.inner, "somebody")
    yield "in the log", lambda sid: subjects.log(sid, subjects.STEP)
    yield "as a timer", lambda sid: subjects.timer(sid)
    yield "as a submission", lambda sid: subjects.inbox("client", "somebody", sid)
    yield "as an owner's question", lambda sid: subjects.own("log", "somebody", sid)


def _post_on(channel: str, sid: str) -> str:
    return subjects.post(sid, channel, "said")


async def _astray(
    actor: Actor, target: str, ask: Callable[[str], Awaitable[object]], control: Callable[[], Awaitable[object]]
) -> Verdict:
    """Ask so that the answer goes to `target`; a control shows that answers are given."""
    scene = actor.scene
    names = [v.user for v in actor.victims(accounts.AGENT, accounts.CLIENT)][:3]
    async with scene.ears(target, [scene.referee.credentials.user, *names]) as heard:
        try:
            await ask(target)
        except Denied as denied:
            return violation(denied)
        try:
            await control()
        except (BusError, TimeoutError) as error:
            raise CannotRun(f"no answer to the same question asked rightly: {error}") from error
        await scene.settle(actor.conn, *(scene.connections[n] for n in names), scene.referee)
        if not heard:
            await scene.grace()
        return Verdict(SUCCEEDED, f"it arrived at {target}") if heard else Verdict(REFUSED, _STAYED)


def _history(actor: Actor, target: Callable[[str], str]) -> Try:
    return _asked(actor, target, subjects.read(channels.PUBLIC, actor.scene.sid), b"{}", times=3)


def _entry(actor: Actor, target: Callable[[str], str]) -> Try:
    """LOG answers with an entry, whose bytes the attacker knows."""
    return _asked(actor, target, "$JS.API.DIRECT.GET.LOG", b'{"seq":%d}' % actor.scene.planted.seq)


def _looked(actor: Actor, target: Callable[[str], str]) -> Try:
    return _asked(actor, target, "$JS.API.STREAM.INFO.LOG", b"")


def _ack(actor: Actor, target: Callable[[str], str]) -> Try:
    """A stream answers a submission, here with its refusal."""
    mine = subjects.inbox(channels.CLIENT, actor.name, actor.scene.fresh())
    return _asked(actor, target, mine, b"{}", NOT_STORED)


def _asked(
    actor: Actor,
    target: Callable[[str], str],
    subject: str,
    body: bytes,
    headers: dict[str, str] | None = None,
    times: int = 1,
) -> Try:
    """`times`: several moderators answer, and each is asked."""

    async def ask(reply: str) -> None:
        await actor.conn.publish(subject, body, headers, reply=reply, confirm=True)

    async def control() -> None:
        for _ in range(times):
            await actor.conn.request(subject, body, ASK_S, headers)

    return lambda: _astray(actor, target(actor.scene.fresh()), ask, control)


def _turn(actor: Actor, target: Callable[[str], str]) -> Try:
    """A consumer answers a pull with a turn, whose bytes the attacker may know. Several are there, since its own worker
    may take some."""
    scene, queue = actor.scene, actor.user.queue

    async def attack() -> Verdict:
        sid = scene.fresh()
        await scene.ensure_consumer(queue)
        pull = subjects.next_turns(actor.user.queue)

        async def ask(reply: str) -> None:
            await actor.conn.publish(pull, _PULL, reply=reply, confirm=True)

        async def control() -> None:
            inbox = actor.conn.nc.new_inbox()
            got: list[bytes] = []
            sub = await actor.conn.subscribe(inbox, lambda msg: got.append(msg.data))
            await actor.conn.publish(pull, _PULL, reply=inbox, confirm=True)
            for n in range(_BURST):
                await scene.referee.store(subjects.work(queue, sid, str(n)), scene.secret)
            deadline = time.monotonic() + ASK_S
            while not got and time.monotonic() < deadline:
                await scene.grace()
            await sub.unsubscribe()
            if not got:
                raise TimeoutError("no turn came")

        async with scene.serving[queue]:
            try:
                return await _astray(actor, target(scene.fresh()), ask, control)
            finally:
                await scene.referee.api("STREAM.PURGE.WORK", {"filter": subjects.work.of(session=sid)})

    return attack


def _draw(actor: Actor, victim: Credentials) -> Try:
    """The answer to a pull arrives at the victim's pull: its turn would go to where the first is settled."""
    scene, queue = actor.scene, actor.user.queue

    async def attack() -> Verdict:
        one, other = sorted((queue, victim.queue))
        async with scene.serving[one], scene.serving[other]:
            for name in (queue, victim.queue):
                await scene.ensure_consumer(name)
            sid = scene.fresh()
            try:
                verdict = await pull(sid, subjects.work(victim.queue, sid, "1"))
                if verdict.outcome == SUCCEEDED:  # or it went to a pull of an earlier attack, which is over by then
                    await asyncio.sleep(2 * _PULL_S)
                    verdict = await pull(sid, subjects.work(victim.queue, sid, "2"))
                return verdict
            except Denied as denied:
                return violation(denied)
            finally:
                await scene.referee.api("STREAM.PURGE.WORK", {"filter": subjects.work.of(session=sid)})

    async def pull(sid: str, drawn: str) -> Verdict:
        stored = await scene.referee.store(drawn, scene.secret)
        mine = subjects.next_turns(actor.user.queue)
        for n in range(_BURST):
            await scene.referee.store(subjects.work(queue, sid, str(n)), b'{"batch":1}')
            await actor.conn.publish(mine, _PULL, reply=subjects.next_turns(victim.queue), confirm=True)
        # Its own worker settles it at once if there is one; else it is not given out. In between it was drawn.
        deadline = time.monotonic() + 1.5
        while True:
            await scene.grace()
            info = await scene.referee.api(f"CONSUMER.INFO.WORK.{subjects.consumer(victim.queue)}")
            left = await scene.referee.api("STREAM.INFO.WORK", {"subjects_filter": drawn})
            if info["delivered"]["stream_seq"] < stored.seq or not left["state"].get("subjects"):
                return Verdict(REFUSED, _STAYED)
            if time.monotonic() > deadline:
                return Verdict(SUCCEEDED, f"the turn of {victim.user} was given out, and not to its worker")

    return attack


async def _settle(actor: Actor) -> Verdict:
    """An answer that arrived where a turn is settled would acknowledge it."""
    scene = actor.scene
    try:
        await actor.conn.publish(subjects.read(channels.PUBLIC, scene.sid), b"{}", reply=scene.held, confirm=True)
    except Denied as denied:
        return violation(denied)
    return Verdict(SUCCEEDED, "the broker takes that subject for an answer")


# -- headers and ids, on the stream that clients write, and headers on that of observers


def _headers(actor: Actor, subject: str, what_is_there: str) -> Iterator[Attack]:
    at = datetime.fromtimestamp(time.time() + 60, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    target = subjects.inbox(channels.CLIENT, "somebody", actor.scene.fresh())
    rows = {
        "wipes a subject by a rollup header": {"Nats-Rollup": "sub"},
        "reaches another's subject by a schedule header": {
            "Nats-Schedule": f"@at {at}", "Nats-Schedule-Target": target,
        },
        f"makes {what_is_there} expire by a header": {"Nats-TTL": "60"},
        f"stores a batch of {what_is_there} at once": {
            "Nats-Batch-Id": "check", "Nats-Batch-Sequence": "1", "Nats-Batch-Commit": "1",
        },
    }  # fmt: skip
    for what, headers in rows.items():
        yield what, partial(_stored, actor, subject, headers)


async def _stored(actor: Actor, subject: str, headers: dict[str, str]) -> Verdict:
    data = encode(CancelSession())
    if actor.observer:  # where it is taken, the totals are what they were
        before = await direct.last(actor.scene.referee, streams.OUTCOMES, subject)
        data = encode(Totals()) if before is None else before.data
    try:
        ack = await actor.conn.store(subject, data, headers=headers, timeout_s=ASK_S)
    except Denied as denied:
        return violation(denied)
    except StoreError as error:
        return Verdict(REFUSED, f"refused by JetStream: {error.text}")
    return Verdict(SUCCEEDED, f"stored at {ack.seq}")


def _ids(actor: Actor) -> Iterator[Attack]:
    for victim in actor.victims(accounts.CLIENT, accounts.OWNER)[:1]:
        yield f"swallows a submission of {victim.user} by its id", _swallow(actor, victim)
    yield "swallows a timer by its id", lambda: _swallow_timer(actor)


def _swallow(actor: Actor, victim: Credentials) -> Try:
    """Store something under each id that the victim's next submission may be guessed to have."""
    scene = actor.scene

    async def attack() -> Verdict:
        sid = scene.fresh()
        cancel = encode(CancelSession())
        mine = subjects.inbox(channels.CLIENT, actor.name, sid)
        for guess in (sid, f"{sid}-0", f"{sid}-open", f"open-{sid}", scene.message_id(sid)):
            await actor.conn.store(mine, cancel, msg_id=guess)
        theirs = subjects.inbox(channels.CLIENT, victim.user, sid)
        ack = await scene.connections[victim.user].store(theirs, cancel, msg_id=scene.message_id(sid))
        if ack.duplicate:
            return Verdict(SUCCEEDED, f"what {victim.user} submitted was taken for a repeat")
        return Verdict(REFUSED, "its id is 128 random bits; what was submitted is stored")

    return attack


async def _swallow_timer(actor: Actor) -> Verdict:
    """Store something under the ids that a session's timers have, which can be known, before its moderator does:
    nothing would ever end the session, whose seats are silent."""
    scene = actor.scene
    sid = scene.fresh()
    elsewhere = scene.fresh()
    denied, guesses = 0, (f"{sid}-0-timer", f"{sid}-0-timer-again")
    for guess in guesses:
        headers = {"Nats-Msg-Id": guess}
        await actor.conn.publish(
            subjects.inbox(channels.CLIENT, actor.name, elsewhere), encode(CancelSession()), headers, confirm=True
        )
        try:
            await actor.conn.publish(subjects.timer(elsewhere), b"{}", headers, confirm=True)
        except Denied:
            denied += 1
    await scene.open(sid, turn_timeout_s=0.3)
    deadline = time.monotonic() + _FIRES_S
    while time.monotonic() < deadline:
        await scene.grace()
        if any(post.kind == CLOSED for post in await scene.posts(sid, channels.CONTROL)):
            how = "its timers fired" if denied else "the broker let it write timers, and they fired all the same"
            return Verdict(REFUSED if denied == len(guesses) else LET_THROUGH, how)
    return Verdict(SUCCEEDED, f"no deadline of the session passed within {_FIRES_S:g} s")
