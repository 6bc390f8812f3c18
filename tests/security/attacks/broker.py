"""What the broker refuses by the subject alone: to hear, to speak, and to ask JetStream's API.

What would be let through does no harm: a stream does not keep it for its header, JetStream refuses its form, and a
subscription ends at once.
"""

from collections.abc import Iterable, Iterator
from functools import partial

from parley.bus import accounts, channels, streams, subjects
from parley.bus.storage.index import STATES
from parley.schemas import expert
from tests.security.attacks.actor import Actor, Attack
from tests.security.attacks.scene import writes

API = "$JS.API."
_NO_JSON = b"{"
_SEQ = b'{"seq":1}'
_SETTLE = {"acknowledges": b"+ACK", "hands back": b"-NAK", "terminates": b"+TERM", "keeps back": b"+WPI"}
_NO_TURN = "1.999999999.999999999.0.0"
"""A delivery that no consumer made."""
_NOBODY = "somebody"
_ASKED = ("sessions", "mine", "workers", "log", "index", "erase")
OF_EACH_STREAM = {
    "looks at": "STREAM.INFO.{}", "gets a message of": "STREAM.MSG.GET.{}", "copies": "STREAM.SNAPSHOT.{}",
    "changes": "STREAM.UPDATE.{}", "purges": "STREAM.PURGE.{}", "deletes a message of": "STREAM.MSG.DELETE.{}",
    "deletes": "STREAM.DELETE.{}", "lists the consumers of": "CONSUMER.LIST.{}",
    "lists the names of the consumers of": "CONSUMER.NAMES.{}", "gets directly from": "DIRECT.GET.{}",
    "makes an ephemeral consumer of": "CONSUMER.CREATE.{}", "makes a named consumer of": "CONSUMER.CREATE.{}.check",
    "makes a durable consumer of": "CONSUMER.DURABLE.CREATE.{}.check",
    "makes a filtered consumer of": "CONSUMER.CREATE.{}.check.>",
}  # fmt: skip
OF_EACH_CONSUMER = {
    "looks at": "CONSUMER.INFO.{}", "changes": "CONSUMER.DURABLE.CREATE.{}", "wakes": "CONSUMER.PAUSE.{}",
    "deletes": "CONSUMER.DELETE.{}",
}  # fmt: skip
OF_THE_ACCOUNT = {
    "looks at the account": "INFO", "lists streams": "STREAM.LIST", "lists the names of streams": "STREAM.NAMES",
    "makes a stream": "STREAM.CREATE.CHECK", "takes messages of IN": "CONSUMER.MSG.NEXT.IN.moderators",
    "takes messages of INNER": "CONSUMER.MSG.NEXT.INNER.moderators",
}  # fmt: skip
OBSERVED = (
    "gets a message of LOG", "gets directly from LOG", "gets directly from OUTCOMES", "looks at the account",
    "lists the consumers of WORK", *(f"looks at {stream}" for stream in streams.STREAMS),
)  # fmt: skip
"""What observers are there for."""


def attacks(actor: Actor) -> Iterator[Attack]:
    for what, subject, queue in (*_hears_channels(actor), *_hears_core(actor), *_hears_others(actor)):
        yield what, partial(actor.subscribes, subject, queue=queue)
    parts = (_as_others, _elsewhere, _as_a_moderator, _as_a_client, _asking, _to_the_server)
    for what, at in (row for part in parts for row in part(actor)):
        yield what, partial(actor.publishes, *at)
    granted = OBSERVED if actor.observer else ()
    for what, at, body in (*_asking_jetstream(actor), *_taking(actor)):
        if what not in granted:
            yield what, partial(actor.publishes, *at, payload=body)


# -- hearing: words, subject, queue group


def _hears_channels(actor: Actor) -> Iterator[tuple[str, str, str]]:
    sid = actor.scene.sid
    for channel in actor.foreign():
        every, one = subjects.post.of(channel=channel), subjects.post.of(session=sid, channel=channel)
        yield f"hears posts of {channel}", every, ""
        yield f"hears posts of {channel} of one session", one, ""
        yield f"hears posts of {channel} in a queue group", one, "readers"
        yield f"hears posts of {channel} of one kind", subjects.post.of(channel=channel, kind="said"), ""
        yield f"hears posts of {channel} by the place of its name", f"*.*.*.{subjects.escape(channel)}.*", ""
        yield f"hears live text of {channel}", subjects.live_owned.of(channel=channel), ""
        for speaker in [c for c in actor.victims(accounts.AGENT) if channel in writes(c)][:1]:
            live = subjects.live_owned(channel, speaker.user, _NOBODY, sid)
            yield f"hears live text of one speaker on {channel}", live, ""


def _hears_core(actor: Actor) -> Iterator[tuple[str, str, str]]:
    """Subjects that belong to moderators, and the server's own."""
    sid = actor.scene.sid
    rows = {
        "hears everything": ">", "hears everything of Parley": subjects.ALL, "hears everything by wildcards": "*.*.>",
        "hears every channel of a session": subjects.post.of(session=sid), "hears all live text": subjects.live.under,
        "hears the log": subjects.log.under, "hears the log of one session": subjects.log_of(sid),
        "hears everybody's turns": subjects.work.under, "hears submissions": subjects.inbox.under,
        "hears replies": subjects.say.under, "hears questions about turns": subjects.check.under,
        "hears timers": subjects.timer.each, "hears timers fire": subjects.fired.each,
        "hears what was put aside": subjects.aside.each, "hears announcements": subjects.here.each,
        "serves history in a moderator's place": subjects.read.each,
        "serves documents in a moderator's place": subjects.doc.each,
        "serves artifacts in a moderator's place": subjects.get.each,
        "hears artifacts that are stored": subjects.artifact.each, "hears artifacts on their way": subjects.put.each,
        "hears questions of clients": subjects.fate.each, "hears what sessions tell each other": subjects.inner.under,
        "hears questions of owners": subjects.own.each,
        "hears what is told to the owners of sessions": subjects.owned(None, subjects.ALL),
        "serves history to a session's owner in a moderator's place": subjects.owned(None, subjects.read.each),
        "serves documents to a session's owner in a moderator's place": subjects.owned(None, subjects.doc.each),
        "serves artifacts to a session's owner in a moderator's place": subjects.owned(None, subjects.get.each),
        "hears the server's events": "$SYS.>", "hears JetStream's advisories": "$JS.EVENT.ADVISORY.>",
        "hears all of JetStream's events": "$JS.EVENT.>", "hears requests to JetStream": "$JS.API.>",
        "hears acknowledgements": "$JS.ACK.>", "hears answers between accounts": "_R_.>",
        "hears who looks for services": "$SRV.>",
    }  # fmt: skip
    if actor.user.role not in channels.MATCHING:
        rows["hears announcements of experts"] = subjects.here.of(role=expert.ROLE)
    for what, subject in rows.items():
        yield what, subject, ""


def _hears_others(actor: Actor) -> Iterator[tuple[str, str, str]]:
    """Turns, and inboxes: where answers to others arrive."""
    for victim in actor.others(accounts.AGENT):
        yield f"hears the turns of {victim.user}", subjects.work.of(queue=victim.user), ""
    for victim in actor.others(accounts.AGENT, accounts.CLIENT, accounts.OWNER, accounts.MODERATOR):
        yield f"hears the inbox of {victim.user}", f"{victim.inbox_prefix}.>", ""
    yield "hears all inboxes by wildcard", "*.>", ""


# -- speaking: words, subjects


Speech = Iterator[tuple[str, Iterable[str]]]


def _roles(account: str) -> list[str]:
    return [role for role, its in channels.ACCOUNT_OF_ROLE.items() if its == account]


def _as_others(actor: Actor) -> Speech:
    for victim in actor.others(accounts.AGENT):
        name, sid = victim.user, actor.scene.fresh()
        on = writes(victim)
        yield f"replies as {name}", [subjects.say("any", c, name, sid) for c in on]
        yield f"asks about turns as {name}", [subjects.check("any", c, name, sid) for c in on]
        yield f"speaks live as {name}", [subjects.live(c, name, sid) for c in on]
        yield (
            f"speaks live as {name} to a session's owner", [subjects.live_owned(c, name, _NOBODY, sid) for c in on]
        )  # fmt: skip
        yield f"stores artifacts as {name}", [subjects.put(c, name, sid) for c in on]
        yield f"takes artifacts of {name}'s turns", [subjects.take(channels.PUBLIC, name, sid)]
        yield f"announces itself as {name}", [subjects.here(r, name, victim.pin) for r in _roles(victim.account)]
        yield f"makes a turn for {name}", [subjects.work(name, sid, "1")]
        yield f"answers what {name} asked", [f"{victim.inbox_prefix}.check.{sid}"]
    if actor.agent:
        mine = _roles(actor.user.account)
        others = [role for role in channels.ACCOUNT_OF_ROLE if role not in mine]
        yield "announces itself in roles of other accounts", [subjects.here(role, actor.name, "") for role in others]
        yield (
            "announces itself with a specification that is not its own",
            [subjects.here(role, actor.name, "0" * 32) for role in mine],
        )
        yield "makes a turn for itself", [subjects.work(actor.name, actor.scene.fresh(), "1")]


def _elsewhere(actor: Actor) -> Speech:
    """In its own name, on channels that it does not write."""
    name = actor.name
    for channel in channels.CHANNELS.keys() - set(writes(actor.user)):
        sid = actor.scene.fresh()
        yield f"replies on {channel}", [subjects.say("any", channel, name, sid)]
        yield f"asks about turns on {channel}", [subjects.check("any", channel, name, sid)]
        if channels.CHANNELS[channel].readers:
            yield f"speaks live on {channel}", [subjects.live(channel, name, sid)]
            owned = [subjects.live_owned(channel, name, _NOBODY, sid)]
            yield f"speaks live on {channel} to a session's owner", owned


def _as_a_moderator(actor: Actor) -> Speech:
    sid = actor.scene.fresh()
    for channel in (c for c, row in channels.CHANNELS.items() if row.readers):
        post = subjects.post(sid, channel, "said")
        yield f"posts on {channel}", [post]
        yield f"posts on {channel} for a session's owner", [subjects.owned(_NOBODY, post)]
    for kind in (subjects.OPENED, subjects.STEP, subjects.CLOSED, subjects.ERASED):
        yield f"writes the log ({kind})", [subjects.log(sid, kind)]
    for state in STATES:
        yield f"writes a session's row ({state})", [subjects.index(state, _NOBODY, sid)]
    rows = {
        "sets a timer": subjects.timer(sid), "makes a timer fire": subjects.fired(sid),
        "submits that a timer fired": subjects.inbox("timer", "timer", sid),
        "stores an artifact by itself": subjects.artifact(sid, "0" * 64),
        "submits as a session": subjects.inbox(channels.SESSION, actor.scene.sid, sid),
        "tells a session something as another session": subjects.inner(actor.scene.sid, sid),
        "puts something aside": subjects.aside(sid), "answers in a moderator's name": f"_R_.check.{sid}",
    }  # fmt: skip
    if not actor.observer:
        rows["writes the totals"] = subjects.OUTCOMES
    if actor.user.role not in channels.MATCHING:
        rows["calls for announcements"] = subjects.CALL
    for what, subject in rows.items():
        yield what, [subject]


def _as_a_client(actor: Actor) -> Speech:
    sid, mine = actor.scene.fresh(), actor.name
    for victim in actor.others(accounts.CLIENT, accounts.OWNER):
        name = victim.user
        yield f"submits as {name}", [subjects.inbox(channels.CLIENT, name, sid)]
        yield f"stores artifacts as {name}", [subjects.put(channels.CLIENT, name, sid)]
        yield f"asks for the fate of what {name} submitted", [subjects.fate(channels.CLIENT, name, sid)]
        if victim.kind == accounts.OWNER:
            yield f"cancels as {name}", [subjects.inbox(channels.OWNER, name, sid)]
    if not (actor.submits or actor.observer):  # a moderator refuses the observer all but its test questions
        yield "submits in its own name", [subjects.inbox(channels.CLIENT, mine, sid)]
    if actor.user.kind in (accounts.VIEWER, accounts.PROBE):
        yield "stores artifacts in its own name", [subjects.put(channels.CLIENT, mine, sid)]
    if not actor.owner:
        yield "cancels as an owner in its own name", [subjects.inbox(channels.OWNER, mine, sid)]


def _asking(actor: Actor) -> Speech:
    """History and documents of others' channels, and what only owners may ask."""
    sid = actor.scene.sid
    for channel in actor.foreign():
        yield f"asks for the history of {channel}", [subjects.read(channel, sid)]
        yield f"asks for documents of {channel}", [subjects.doc(channel, sid)]
    if actor.agent or actor.user.account not in channels.WITH_ARTIFACTS:
        yield "asks for artifacts", [subjects.get(channels.PUBLIC, sid)]
    names = [*(o.user for o in actor.others(accounts.OWNER)), *([] if actor.owner else [actor.name])]
    for what in _ASKED:
        for name in names:
            if name == actor.name and what == _may_ask(actor):
                continue
            whose = "in its own name" if name == actor.name else f"as {name}"
            # Of a session that is not there: where it gets through, nothing is erased.
            yield f"asks an owner's question ({what}) {whose}", [subjects.own(what, name, actor.scene.fresh())]


def _may_ask(actor: Actor) -> str:
    """The owner's question that it may ask: a client lists its own sessions, or those that it was granted; a probe
    asks who is alive."""
    if actor.agent:
        return ""
    if actor.user.kind == accounts.PROBE:
        return "workers"
    return "sessions" if actor.user.row.sees_all else "mine"


def _to_the_server(actor: Actor) -> Speech:
    for what in ("PING", "INFO", "STATS"):
        yield f"asks which services there are ({what})", [f"$SRV.{what}"]
    for what in ("SERVER.PING", "ACCOUNT.PING.CONNZ", "SERVER.PING.CONNZ", "SERVER.PING.ACCOUNTZ", "USER.INFO"):
        yield f"asks the server ({what})", [f"$SYS.REQ.{what}"]
    server = actor.conn.server_id
    yield "reloads the server", [f"$SYS.REQ.SERVER.{server}.RELOAD"]
    yield "ends a connection of the server", [f"$SYS.REQ.SERVER.{server}.KICK"]
    yield "tells of a connection in the server's name", ["$SYS.ACCOUNT.CORE.CONNECT"]
    yield "tells of advice in JetStream's name", ["$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.WORK.nobody"]


# -- JetStream: words, subjects, body


def _asking_jetstream(actor: Actor) -> Iterator[tuple[str, Iterable[str], bytes]]:
    for stream in streams.STREAMS:
        for what, form in OF_EACH_STREAM.items():
            yield f"{what} {stream}", [API + form.format(stream)], _SEQ if "GET" in form else _NO_JSON
    entry = subjects.log(actor.scene.planted.sid, subjects.STEP)
    yield "gets directly from LOG, by subject", [f"{API}DIRECT.GET.LOG.{entry}"], b""
    consumers = {"moderators' consumer": "IN.moderators", "moderators' consumer of INNER": "INNER.moderators"}
    for victim in actor.victims(accounts.AGENT)[:1]:
        consumers[f"the consumer of {victim.user}"] = f"WORK.{subjects.consumer(victim.user)}"
    if actor.agent:
        consumers["its own consumer"] = f"WORK.{subjects.consumer(actor.name)}"
    for whose, consumer in consumers.items():
        for what, form in OF_EACH_CONSUMER.items():
            yield f"{what} {whose}", [API + form.format(consumer)], _NO_JSON
    for what, suffix in OF_THE_ACCOUNT.items():
        yield what, [API + suffix], _NO_JSON


def _taking(actor: Actor) -> Iterator[tuple[str, Iterable[str], bytes]]:
    """Others' turns: asked for, and settled, those that the check holds among them."""
    for what, word in _SETTLE.items():
        for stream in ("IN", "INNER"):
            yield f"{what} a message of {stream}", [f"$JS.ACK.{stream}.moderators.{_NO_TURN}"], word
        for victim in actor.others(accounts.AGENT):
            real = f"$JS.ACK.WORK.{subjects.consumer(victim.user)}.{_NO_TURN}"
            yield f"{what} a turn of {victim.user}", [actor.scene.held, real], word
    for victim in actor.others(accounts.AGENT):
        ways = (subjects.next_turns(victim.user),)
        yield f"takes turns of {victim.user}", ways, _NO_JSON
    yield "takes the next turn by settling another", [actor.scene.held], b"+NXT"
