"""Attacks on another client's session: to hear it, ask about it, or change it.

On the subjects of its own account, with the other's session id: there it must be answered as if there were no such
session. On those under the other's name, or under any name, the broker refuses it. What a row of the accounts' table
grants a client (`reads`) is no attack; it grants reading alone.
"""

import secrets
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any

import msgspec

from parley.bus import accounts, channels, subjects
from parley.bus.errors import BusError, Denied
from parley.bus.subjects import owned as under
from parley.schemas.artifact import GetArtifact, PutArtifact
from parley.schemas.post import ListSessions, ReadPosts, SessionRows
from parley.schemas.session import (
    CancelSession,
    DecideItem,
    ForkSession,
    GiveFeedback,
    OpenSession,
    SessionEnded,
    TellSession,
    child_id,
)
from parley.schemas.turn import FetchDocuments, SubmitAnswer
from parley.schemas.wire import decode, encode, raw
from tests.security.attacks.actor import Actor, Attack, Says, decided, each, worst
from tests.security.attacks.scene import (
    ARCHIVE,
    ARCHIVE_ID,
    ASK_S,
    LET_THROUGH,
    PROTOCOL,
    REFUSED,
    SUCCEEDED,
    CannotRun,
    Owned,
    Verdict,
    violation,
    writes,
)

_MINE = channels.readable_by(channels.CLIENTS)
_READ = encode(ReadPosts())
_TRIES = 3


def attacks(actor: Actor) -> Iterator[Attack]:
    if actor.user.kind not in (accounts.CLIENT, accounts.VIEWER):
        return
    for owned in actor.scene.owned.values():
        if owned.owner == actor.name:
            continue
        if not (actor.user.row.sees_all or owned.owner in actor.user.reads):
            yield from _hearing(actor, owned)
            yield from _live(actor, owned)
            yield from _asking(actor, owned)
            yield from _serving(actor, owned)
        if actor.submits:
            yield from _changing(actor, owned)
    if actor.submits:
        yield from _silencing(actor)


# -- hearing


def _hearing(actor: Actor, owned: Owned) -> Iterator[Attack]:
    who, sid = owned.owner, owned.sid
    for name in _MINE:
        post, every, one = (
            subjects.post(sid, name, "said"),
            subjects.post.of(channel=name),
            subjects.post.of(session=sid, channel=name),
        )
        for what, subject in ((f"a session of {who}", one), (f"sessions of {who} among its own", every)):
            yield f"hears posts on {name} of {what}", partial(_posts_among_its_own, actor, owned, subject, post)
        rows = {
            f"hears posts on {name} under the name of {who}": (under(who, every), ""),
            f"hears posts on {name} of one session under the name of {who}": (under(who, one), ""),
            f"hears posts on {name} under any owner's name, those of {who} too": (under(None, every), ""),
            f"hears posts on {name} of {who} in a queue group": (under(who, every), "readers"),
        }
        for what, (subject, queue) in rows.items():
            yield what, partial(actor.subscribes, subject, queue=queue)
    yield f"hears everything under the name of {who}", partial(actor.subscribes, under(who, subjects.ALL))
    if not actor.submits:  # it opens none that could be told from it
        return
    yield f"hears a session that {who} opens, from the opening on", lambda: _from_the_opening(actor, owned)


async def _posts_among_its_own(actor: Actor, owned: Owned, subject: str, post: str) -> Verdict:
    """On the subjects of its own account, where it hears one session of its own at least."""
    _, name, kind = subjects.post.parse(post)
    mine = subjects.post(actor.scene.fresh(), name, kind)
    says = partial(_says, actor, actor.scene.referee.credentials.user)  # for who sees all sessions, and for an owner
    to_it = says(under(actor.name, mine))
    spoken = says(post, under(owned.owner, post))
    return await actor.overhears(dict.fromkeys([subject, mine]), spoken, to_it, actor.scene.words())


async def _from_the_opening(actor: Actor, owned: Owned) -> Verdict:
    """What moderators really say in a session of the other's, from its first post to its last."""
    scene = actor.scene

    async def plays(who: str, sid: bytes) -> None:
        await scene.open(sid.decode(), turn_timeout_s=0.3, by=who)
        await scene.until_closed(sid.decode())

    every = [subjects.post.of(channel=name) for name in _MINE]
    words = scene.fresh(), scene.fresh()
    return await actor.overhears(every, partial(plays, owned.owner), partial(plays, actor.name), words)


def _live(actor: Actor, owned: Owned) -> Iterator[Attack]:
    """Seat states and text, as workers tell them."""
    on, who, sid = channels.PUBLIC, owned.owner, owned.sid
    speaker = next((c.user for c in actor.victims(accounts.AGENT) if on in writes(c)), "")
    if not speaker:
        return
    spoken = subjects.live_owned(on, speaker, who, sid)
    of_the_owner = ".".join((*subjects.live.of(channel=on).split(".")[:3], "*", subjects.escape(who), "*"))
    for what, subject in (
        (f"sessions of {who} among its own", subjects.live.of(channel=on)),
        (f"a session of {who}", subjects.live.of(channel=on, session=sid)),
    ):
        yield f"hears live text of {what}", partial(_live_among_its_own, actor, speaker, subject, spoken)
    for what, subject in (
        (f"of any owner, that of {who} too", subjects.live_owned.of(channel=on)),
        (f"under the name of {who}", of_the_owner),
        (f"of one session under the name of {who}", subjects.live_owned.of(channel=on, owner=who, session=sid)),
    ):
        yield f"hears live text {what}", partial(actor.subscribes, subject)


def _says(actor: Actor, who: str, *at: str) -> Says:
    async def say(data: bytes) -> None:
        for subject in at:
            await actor.scene.connections[who].publish(subject, data, confirm=True)

    return say


async def _live_among_its_own(actor: Actor, speaker: str, subject: str, at: str) -> Verdict:
    own = actor.scene.fresh()
    mine = subjects.live_owned(channels.PUBLIC, speaker, actor.name, own)
    also = subjects.live.of(channel=channels.PUBLIC, session=own)
    said, to_it = _says(actor, speaker, at), _says(actor, speaker, mine)
    return await actor.overhears([subject, also], said, to_it, actor.scene.words())


# -- asking


def _asking(actor: Actor, owned: Owned) -> Iterator[Attack]:
    who, sid = owned.owner, owned.sid

    def asks(at: Callable[[str], str], payload: bytes, name: str = "") -> Callable[[], Awaitable[Verdict]]:
        return partial(_as_of_none, actor, who, at, payload, sid, name)

    for name in _MINE:
        asked = partial(subjects.read, name)
        yield f"asks for the history of {name} of a session of {who}", asks(asked, _READ)
        yield f"asks for the history of {name} under the name of {who}", asks(asked, _READ, who)
    for what, form, payload in (
        ("documents", subjects.doc, encode(FetchDocuments(ids=(owned.document,)))),
        ("an artifact", subjects.get, encode(GetArtifact(id=ARCHIVE_ID))),
    ):
        asked = partial(form, channels.PUBLIC)
        yield f"asks for {what} of a session of {who}", asks(asked, payload)
        yield f"asks for {what} under the name of {who}", asks(asked, payload, who)
    yield f"lists the sessions of {who}", lambda: _lists(actor, owned)
    yield f"asks why an opening of {who} was refused", lambda: _why(actor, owned)
    learns = partial(actor.learns, who, sid, owned.seq)
    yield f"learns what became of the opening of a session of {who}", learns


async def _as_of_none(
    actor: Actor, owner: str, at: Callable[[str], str], payload: bytes, sid: str, name: str = ""
) -> Verdict:
    """The answer must be the one that a session gets which nobody has opened. To its owner another is given. `name`:
    the owner under which it is asked; none: as of the asker's own sessions."""
    scene = actor.scene
    nobodys = scene.fresh()

    async def ask(who: str, session: str, name: str = "") -> bytes:
        subject = under(name, at(session)) if name else at(session)
        for last in range(_TRIES - 1, -1, -1):  # another attacker may have taken the moderator's place
            try:
                return (await scene.connections[who].request(subject, payload, ASK_S)).data
            except BusError as error:
                if isinstance(error, Denied) or not last:
                    raise
        raise AssertionError

    try:
        got = await ask(actor.name, sid, name)
        none = await ask(actor.name, nobodys, name)
    except Denied as denied:
        return violation(denied)
    except BusError as error:
        return Verdict(LET_THROUGH, f"no answer: {error}")
    if got != none:
        return Verdict(SUCCEEDED, f"answered: {got[:120].decode(errors='replace')}")
    if await ask(owner, sid) == none:
        raise CannotRun("its owner gets no other answer")
    return Verdict(REFUSED, "answered as if there were no such session")


async def _lists(actor: Actor, owned: Owned) -> Verdict:
    """Among its own, the one by its id, and in the owner's name."""
    scene = actor.scene
    every, one = encode(ListSessions(limit=1_000)), encode(ListSessions(session=owned.sid))

    async def has(who: str, author: str, asked: bytes) -> bool:
        data = (await scene.connections[who].request(subjects.own("mine", author, ""), asked, ASK_S)).data
        return any(row.session == owned.sid for row in decode(data, SessionRows).rows)

    async def looks(author: str, asked: bytes) -> Verdict:
        seen = await has(actor.name, author, asked)
        return Verdict(SUCCEEDED, "it is on the list") if seen else Verdict(REFUSED, "it is not on the list")

    found = await each(*(partial(looks, who, asked) for who in (actor.name, owned.owner) for asked in (every, one)))
    if not await has(owned.owner, owned.owner, every):
        raise CannotRun("its owner does not find it either")
    return found


async def _why(actor: Actor, owned: Owned) -> Verdict:
    """The other's request is refused, with words that quote it."""
    scene = actor.scene
    sid = scene.fresh()
    fate = await scene.submit(owned.owner, channels.CLIENT, sid, encode(OpenSession(question="?", protocol="nothing")))
    if fate.fate != "refused":
        raise CannotRun(f"no opening was refused, but {fate.fate}")
    return await _as_of_none(actor, owned.owner, partial(subjects.read, channels.CONTROL), _READ, sid)


def _serving(actor: Actor, owned: Owned) -> Iterator[Attack]:
    """Who takes a moderator's place hears the request, and answers it."""
    who = owned.owner
    rows = (("history", subjects.read.each), ("documents", subjects.doc.each), ("artifacts", subjects.get.each))
    for what, every in rows:
        for how, queue in (("", ""), (" in the moderators' group", "moderators")):
            subscribed = partial(actor.subscribes, under(who, every), queue=queue)
            yield f"serves {what} of {who} in a moderator's place{how}", subscribed


# -- changing


def _changing(actor: Actor, owned: Owned) -> Iterator[Attack]:
    """In its own name the moderator refuses it; in the owner's, and in a session's, the broker."""
    who, sid = owned.owner, owned.sid
    beneath, fork = child_id(sid, 1), actor.scene.fresh()
    theirs = partial(subjects.inbox, channels.CLIENT, who)
    orders = [subjects.inbox(channels.OWNER, name, sid) for name in (who, actor.name)]
    opening = OpenSession(question="?", protocol=PROTOCOL.name)
    ended = SessionEnded(protocol=PROTOCOL.name, status="finished")
    forged = TellSession(place="1-0", kind="check", body=raw({}))
    rows: dict[str, tuple[str, Any, list[str]]] = {
        f"cancels a session of {who}": (sid, CancelSession(reason="stolen"), [theirs(sid), *orders]),
        f"decides in a session of {who}": (sid, DecideItem(item="1", choice="yes"), [theirs(sid), *orders]),
        f"says that the result of a session of {who} was wrong": (
            sid, GiveFeedback(right=False), [theirs(sid), *orders],
        ),
        f"goes on from the record of a session of {who}": (fork, ForkSession(of=sid), [theirs(fork)]),
        f"opens the id of one beneath a session of {who}": (
            beneath, opening, [theirs(beneath), subjects.inner(sid, beneath)],
        ),
        f"opens a session beneath one of {who}, by its name": (
            actor.scene.fresh(), msgspec.structs.replace(opening, parent=sid), [subjects.inner(sid, beneath)],
        ),
        f"cancels one beneath a session of {who}": (
            beneath, CancelSession(), [theirs(beneath), subjects.inner(sid, beneath)],
        ),
        f"tells a session of {who} that one beneath it is over": (sid, ended, [subjects.inner(beneath, sid)]),
        f"tells a session of {who} something in another's name": (
            sid, forged, [subjects.inner(beneath, sid), subjects.inbox(channels.SESSION, beneath, sid)],
        ),
    }  # fmt: skip
    for what, (to, message, ways) in rows.items():
        yield what, partial(_submits, actor, owned, to, message, ways)
    yield f"opens the id of a session of {who} once more", lambda: _open(actor, owned)
    yield f"stores an artifact in a session of {who}", lambda: _put(actor, owned)


async def _submits(actor: Actor, owned: Owned, sid: str, message: msgspec.Struct, ways: list[str]) -> Verdict:
    scene = actor.scene
    data = encode(message)
    fate = await scene.submit(actor.name, channels.CLIENT, sid, data)
    return worst([decided(fate.fate, fate.why), await actor.publishes(*ways, payload=data)])


async def _open(actor: Actor, owned: Owned) -> Verdict:
    """In its own name, with all that an opening needs; and in the owner's."""
    scene = actor.scene
    try:
        await scene.open(owned.sid, turn_timeout_s=300.0, by=actor.name)
    except CannotRun as error:
        mine = Verdict(REFUSED if "already" in str(error) else LET_THROUGH, str(error))
    else:
        return Verdict(SUCCEEDED, "the moderator took it")
    subject = subjects.inbox(channels.CLIENT, owned.owner, owned.sid)
    return worst([mine, await actor.publishes(subject)])


async def _put(actor: Actor, owned: Owned) -> Verdict:
    """In its own name, and in the owner's."""

    async def puts(author: str) -> Verdict:
        subject = subjects.put(channels.CLIENT, author, owned.sid)
        msg = await actor.conn.request(subject, encode(PutArtifact(data=ARCHIVE)), ASK_S)
        answer = decode(msg.data, SubmitAnswer)
        return decided(answer.verdict, answer.why)

    return await each(partial(puts, actor.name), partial(puts, owned.owner))


def _silencing(actor: Actor) -> Iterator[Attack]:
    """Under the ids that moderators' words will have, which follow from a session's id: the stream would take those
    for repeats, and drop them."""
    for what, last in (("the start of a session beneath another", "1-0"), ("the end of one", "c1-ended")):
        yield f"swallows {what} by its id", partial(_swallow, actor, last)


async def _swallow(actor: Actor, last: str) -> Verdict:
    scene = actor.scene
    sid, to = scene.fresh(), scene.fresh()
    id = f"{sid}-{last}"
    message = encode(TellSession(place=secrets.token_hex(4), kind="check", body=raw({})))
    await actor.conn.store(subjects.inbox(channels.CLIENT, actor.name, sid), encode(CancelSession()), msg_id=id)
    denied = False
    try:
        await actor.conn.publish(subjects.inner(sid, to), message, {"Nats-Msg-Id": id}, confirm=True)
    except Denied:
        denied = True
    ack = await scene.referee.store(subjects.inner(sid, to), message, msg_id=id)
    if ack.duplicate:
        return Verdict(SUCCEEDED, "what the moderator said was taken for a repeat")
    if not denied:
        return Verdict(LET_THROUGH, "the broker took it on the moderators' own stream")
    return Verdict(REFUSED, "moderators speak through a stream of their own; what they said is stored")
