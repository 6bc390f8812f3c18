"""Attacks that only a moderator can refuse: false tokens, others' turns, events that an author has no right to,
others' sessions. They run on a session of the check's own that is really open, with its real turns and tokens.
"""

import secrets
from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial

import msgspec

from parley.bus import accounts, channels, subjects
from parley.bus.accounts import Credentials
from parley.bus.errors import Denied
from parley.coordinator import briefing
from parley.schemas.session import CancelSession, OpenSession, TimerDue
from parley.schemas.turn import Reply, SubmitAnswer, TurnStatus, TurnStatusRequest
from parley.schemas.wire import Undecodable, decode, encode, raw
from tests.security.attacks.actor import Actor, Attack, decided, each, worst
from tests.security.attacks.scene import (
    ASK_S,
    LET_THROUGH,
    PROTOCOL,
    REFUSED,
    SUCCEEDED,
    Verdict,
    violation,
)

_BODY = raw({"answer": "stolen", "reasoning": "stolen", "confidence": 1.0})
_KNOWN_KEYS = (b"\0" * 32, b"k" * 32, b"parley", b"secret", b"changeme")
"""Keys that somebody may try: of all zeros, of one letter, words."""


def attacks(actor: Actor) -> Iterator[Attack]:
    if actor.agent:
        yield "answers an open turn with a forged token", lambda: _forge(actor)
        yield "answers another seat's turn with its stolen token", lambda: _steal(actor)
        yield "asks whether another seat's turn is open", lambda: _ask(actor)
        for what, event in _events():
            yield f"submits {what} as a reply", _event(actor, event)
    elif actor.submits:
        victims = actor.victims(accounts.CLIENT, accounts.OWNER)
        if not actor.owner and actor.name != actor.scene.opener:
            yield "cancels a session that another opened", lambda: _cancel(actor)
        for victim in victims[:1]:
            yield f"learns what became of what {victim.user} submitted", _fate(actor, victim)
        yield "submits that a timer fired, as a client", lambda: _time(actor)


def _own_channel(actor: Actor) -> str:
    return channels.speaks_on(actor.user.account)


async def _says(actor: Actor, channel: str, author: str, message: msgspec.Struct) -> Verdict:
    """Submit as a participant; what the moderator answers."""
    subject = subjects.say("any", channel, author, actor.scene.sid)
    try:
        msg = await actor.conn.request(subject, encode(message), ASK_S)
    except Denied as denied:
        return violation(denied)
    answer = decode(msg.data, SubmitAnswer)
    return decided(answer.verdict, answer.why)


async def _all_ways(actor: Actor, author: str, on: str, messages: Iterable[msgspec.Struct]) -> Verdict:
    """In its own name and in another's. What refuses first is shown, unless one gets through."""
    mine = _own_channel(actor)
    ways = ((mine, actor.name), (on, author))
    return worst([await _says(actor, *way, message) for message in messages for way in ways])


async def _forge(actor: Actor) -> Verdict:
    stolen = actor.scene.turns[0]
    sid, turn = actor.scene.sid, stolen.turn.id
    real = stolen.turn.token
    tokens = ["", "0" * len(real), secrets.token_hex(len(real) // 2), real[:-1], real.swapcase()]
    tokens += [briefing.token(key, sid, turn) for key in _KNOWN_KEYS]
    forged = [Reply(turn=turn, token=t, body=_BODY) for t in tokens if t != real or t in tokens[5:]]
    return await _all_ways(actor, stolen.queue, stolen.work.channel, forged)


async def _steal(actor: Actor) -> Verdict:
    stolen = actor.scene.turns[1]
    reply = Reply(turn=stolen.turn.id, token=stolen.turn.token, body=_BODY)
    return await _all_ways(actor, stolen.queue, stolen.work.channel, [reply])


async def _ask(actor: Actor) -> Verdict:
    """By its real token, in its own name and in the seat's."""
    stolen = actor.scene.turns[1]

    async def asks(channel: str, author: str) -> Verdict:
        subject = subjects.check("any", channel, author, actor.scene.sid)
        ask = encode(TurnStatusRequest(turn=stolen.turn.id, token=stolen.turn.token))
        answer = decode((await actor.conn.request(subject, ask, ASK_S)).data, TurnStatus)
        answered = answer.open or "not open" in answer.why
        return Verdict(SUCCEEDED if answered else REFUSED, f"the moderator: {answer.why or 'it is open'}")

    ways = (_own_channel(actor), actor.name), (stolen.work.channel, stolen.queue)
    return await each(*(partial(asks, *way) for way in ways))


def _events() -> Iterator[tuple[str, bytes]]:
    yield "a cancellation", encode(CancelSession(reason="stolen"))
    yield "an opening", encode(OpenSession(question="?", protocol=PROTOCOL.name))
    yield "a timer that fired", encode(TimerDue())
    yield "an entry of the log", b'{"t":"cancelled","author":"owner","reason":"stolen"}'


def _event(actor: Actor, event: bytes) -> Callable[[], Awaitable[Verdict]]:
    """What only clients, timers or moderators submit: as a reply, and where those do."""

    async def attack() -> Verdict:
        scene = actor.scene
        msg = await actor.conn.request(
            subjects.say("any", _own_channel(actor), actor.name, scene.sid), event, ASK_S
        )  # fmt: skip
        verdicts = []
        try:
            answer = decode(msg.data, SubmitAnswer)
            verdicts.append(decided(answer.verdict, answer.why))
        except Undecodable as error:
            verdicts.append(Verdict(LET_THROUGH, f"another answer: {error}"))
        # A session of another id: where it gets through, the check goes on.
        sid = scene.fresh()
        owner = scene.opener
        ways = (
            subjects.inbox(channels.CLIENT, owner, sid), subjects.inbox(channels.OWNER, owner, sid),
            subjects.inbox(channels.TIMER, channels.TIMER, sid), subjects.log(sid, subjects.STEP),
        )  # fmt: skip
        return worst([*verdicts, await actor.publishes(*ways, payload=event)])

    return attack


async def _cancel(actor: Actor) -> Verdict:
    """On its own, on the opener's, and on owners' subjects."""
    scene = actor.scene
    cancel = encode(CancelSession(reason="stolen"))
    fate = await scene.submit(actor.name, channels.CLIENT, scene.sid, cancel)
    ways = ((channels.CLIENT, scene.opener), (channels.OWNER, scene.opener), (channels.OWNER, actor.name))
    at = [subjects.inbox(channel, author, scene.fresh()) for channel, author in ways]
    return worst([decided(fate.fate, fate.why), await actor.publishes(*at, payload=cancel)])


def _fate(actor: Actor, victim: Credentials) -> Callable[[], Awaitable[Verdict]]:
    scene = actor.scene

    async def attack() -> Verdict:
        verdicts = []
        for data in (encode(CancelSession()), b"not even JSON"):
            sid = scene.fresh()
            seq = await scene.store(victim.user, channels.CLIENT, sid, data)
            if (await scene.fate(victim.user, victim.user, channels.CLIENT, sid, seq)).fate == "pending":
                return Verdict(LET_THROUGH, "no moderator took what the victim submitted")
            verdicts.append(await actor.learns(victim.user, sid, seq))
        return worst(verdicts)

    return attack


async def _time(actor: Actor) -> Verdict:
    """Fires a timer in the user's own name, and in the timers'."""
    scene = actor.scene
    fate = await scene.submit(actor.name, channels.CLIENT, scene.sid, encode(TimerDue()))
    subject = subjects.inbox(channels.TIMER, channels.TIMER, scene.fresh())
    return worst([decided(fate.fate, fate.why), await actor.publishes(subject)])
