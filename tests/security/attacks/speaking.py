"""Attacks that try to speak: in another's name, on another's channel, as a moderator, a client, an owner or the
server. If one gets through, the check looks whether it arrived.
"""

from collections.abc import Awaitable, Callable, Iterator
from functools import partial

from parley.bus import accounts, channels, subjects
from parley.bus.storage.index import STATES
from tests.security.attacks.actor import Actor, Attack, worst
from tests.security.attacks.scene import NOT_STORED, Verdict, writes

Try = Callable[[], Awaitable[Verdict]]
_ASKED = ("sessions", "mine", "workers", "log", "index", "erase")


def attacks(actor: Actor) -> Iterator[Attack]:
    """The attacks that this user tries."""
    yield from _as_others(actor)
    yield from _elsewhere(actor)
    yield from _as_a_moderator(actor)
    yield from _as_a_client(actor)
    yield from _asking(actor)
    yield from _to_the_server(actor)


def _at(actor: Actor, *at: str, ears: tuple[str, ...] = ()) -> Try:
    """Publish on each; a stream that takes it does not keep it."""

    async def attack() -> Verdict:
        return worst([await actor.publishes(s, headers=NOT_STORED, ears=ears) for s in at])

    return attack


def _roles(account: str) -> list[str]:
    return [role for role, its in channels.ACCOUNT_OF_ROLE.items() if its == account]


def _as_others(actor: Actor) -> Iterator[Attack]:
    for victim in actor.others(accounts.AGENT):
        name, sid = victim.user, actor.scene.fresh()
        on = writes(victim)
        yield f"replies as {name}", _at(actor, *(subjects.say("any", c, name, sid) for c in on))
        yield f"asks about turns as {name}", _at(actor, *(subjects.check("any", c, name, sid) for c in on))
        yield f"speaks live as {name}", _at(actor, *(subjects.live(c, name, sid) for c in on))
        owned = [subjects.live_owned(c, name, "somebody", sid) for c in on]
        yield f"speaks live as {name} to a session's owner", _at(actor, *owned)
        yield f"stores artifacts as {name}", _at(actor, *(subjects.put(c, name, sid) for c in on))
        yield f"takes artifacts of {name}'s turns", _at(actor, subjects.take(channels.PUBLIC, name, sid))
        heres = [subjects.here(role, name, victim.pin) for role in _roles(victim.account)]
        yield f"announces itself as {name}", _at(actor, *heres)
        yield f"makes a turn for {name}", _at(actor, subjects.work(name, sid, "1"))
        inbox = f"{victim.inbox_prefix}.check.{sid}"
        yield f"answers what {name} asked", _at(actor, inbox, ears=(name,))
    if actor.agent:
        others = [role for role in channels.ACCOUNT_OF_ROLE if role not in _roles(actor.user.account)]
        heres = [subjects.here(role, actor.name) for role in others]
        yield "announces itself in roles of other accounts", _at(actor, *heres)
        mine = [subjects.here(role, actor.name, "0" * 32) for role in _roles(actor.user.account)]
        yield "announces itself with a specification that is not its own", _at(actor, *mine)
        yield "makes a turn for itself", _at(actor, subjects.work(actor.name, actor.scene.fresh(), "1"))


def _elsewhere(actor: Actor) -> Iterator[Attack]:
    """In its own name, on channels that it does not write."""
    mine = writes(actor.user)
    for channel in (c.name for c in channels.CHANNELS.values()):
        if channel in mine:
            continue
        sid = actor.scene.fresh()
        name = actor.name
        yield f"replies on {channel}", _at(actor, subjects.say("any", channel, name, sid))
        yield f"asks about turns on {channel}", _at(actor, subjects.check("any", channel, name, sid))
        if channels.CHANNELS[channel].readers:
            owned = subjects.live_owned(channel, name, "somebody", sid)
            yield f"speaks live on {channel}", _at(actor, subjects.live(channel, name, sid))
            yield f"speaks live on {channel} to a session's owner", _at(actor, owned)


def _as_a_moderator(actor: Actor) -> Iterator[Attack]:
    sid = actor.scene.fresh()
    for channel in (c for c, row in channels.CHANNELS.items() if row.readers):
        post = subjects.post(sid, channel, "said")
        yield f"posts on {channel}", _at(actor, post)
        yield f"posts on {channel} for a session's owner", _at(actor, subjects.owned("somebody", post))
    for kind in (subjects.OPENED, subjects.STEP, subjects.CLOSED, subjects.ERASED):
        yield f"writes the log ({kind})", _at(actor, actor.scene.log(sid, kind))
    yield "sets a timer", _at(actor, subjects.timer(sid))
    yield "makes a timer fire", _at(actor, subjects.fired(sid))
    yield "submits that a timer fired", _at(actor, subjects.inbox("timer", "timer", sid))
    for state in STATES:
        yield f"writes a session's row ({state})", _at(actor, subjects.index(state, "somebody", sid))
    if not actor.observer:
        yield "writes the totals", _at(actor, subjects.OUTCOMES)
    yield "stores an artifact by itself", _at(actor, subjects.artifact(sid, "0" * 64))
    yield "submits as a session", _at(actor, subjects.inbox(channels.SESSION, actor.scene.sid, sid))
    yield "tells a session something as another session", _at(actor, subjects.inner(actor.scene.sid, sid))
    yield "puts something aside", _at(actor, subjects.aside(sid))
    if actor.user.role not in channels.MATCHING:
        yield "calls for announcements", _at(actor, subjects.CALL)
    yield "answers in a moderator's name", _at(actor, f"_R_.check.{sid}")


def _as_a_client(actor: Actor) -> Iterator[Attack]:
    sid = actor.scene.fresh()
    for victim in actor.others(accounts.CLIENT, accounts.OWNER):
        name = victim.user
        yield f"submits as {name}", _at(actor, subjects.inbox(channels.CLIENT, name, sid))
        yield f"stores artifacts as {name}", _at(actor, subjects.put(channels.CLIENT, name, sid))
        yield f"asks for the fate of what {name} submitted", _at(actor, subjects.fate(channels.CLIENT, name, sid))
        if victim.kind == accounts.OWNER:
            yield f"cancels as {name}", _at(actor, subjects.inbox(channels.OWNER, name, sid))
    if not (actor.submits or actor.observer):  # a moderator refuses the observer all but its test questions
        yield "submits in its own name", _at(actor, subjects.inbox(channels.CLIENT, actor.name, sid))
    if actor.user.kind in (accounts.VIEWER, accounts.PROBE):
        yield "stores artifacts in its own name", _at(actor, subjects.put(channels.CLIENT, actor.name, sid))
    if not actor.owner:
        yield "cancels as an owner in its own name", _at(actor, subjects.inbox(channels.OWNER, actor.name, sid))


def _asking(actor: Actor) -> Iterator[Attack]:
    """History and documents of others' channels, and what only owners may ask."""
    scene = actor.scene
    for channel in actor.foreign():
        yield f"asks for the history of {channel}", partial(actor.asks, subjects.read(channel, scene.sid), b"{}")
        yield f"asks for documents of {channel}", partial(actor.asks, subjects.doc(channel, scene.sid), b'{"ids":[]}')
    if actor.agent or actor.user.account not in channels.WITH_ARTIFACTS:
        yield "asks for artifacts", partial(actor.asks, subjects.get(channels.PUBLIC, scene.sid), b"{}")
    owners = actor.others(accounts.OWNER)
    names = [*(o.user for o in owners), *([] if actor.owner else [actor.name])]
    for what in _ASKED:
        for name in names:
            if name == actor.name and what == _may_ask(actor):
                continue
            # Of a session that is not there: where it gets through, nothing is erased.
            subject = subjects.own(what, name, scene.fresh())
            whose = "in its own name" if name == actor.name else f"as {name}"
            yield f"asks an owner's question ({what}) {whose}", partial(actor.asks, subject, b"{}")


def _may_ask(actor: Actor) -> str:
    """The owner's question that it may ask: a client lists its own sessions, or those that it was granted; a probe
    asks who is alive."""
    if actor.agent:
        return ""
    if actor.user.kind == accounts.PROBE:
        return "workers"
    return "sessions" if actor.user.row.sees_all else "mine"


def _to_the_server(actor: Actor) -> Iterator[Attack]:
    for what in ("PING", "INFO", "STATS"):
        yield f"asks which services there are ({what})", _at(actor, f"$SRV.{what}")
    for what in ("SERVER.PING", "ACCOUNT.PING.CONNZ", "SERVER.PING.CONNZ", "SERVER.PING.ACCOUNTZ", "USER.INFO"):
        yield f"asks the server ({what})", partial(actor.asks, f"$SYS.REQ.{what}")
    server = actor.conn.server_id
    yield "reloads the server", lambda: actor.asks(f"$SYS.REQ.SERVER.{server}.RELOAD")
    yield "ends a connection of the server", lambda: actor.asks(f"$SYS.REQ.SERVER.{server}.KICK", b'{"cid":0}')
    yield "tells of a connection in the server's name", _at(actor, "$SYS.ACCOUNT.CORE.CONNECT")
    yield "tells of advice in JetStream's name", _at(actor, "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.WORK.nobody")
