"""Attacks that try to hear: subscriptions by name, by wildcard, in queue groups, on inboxes and on the server's own
subjects. If a subscription gets through, the secret is posted there.
"""

from collections.abc import Awaitable, Callable, Iterator
from functools import partial

from parley.bus import accounts, channels, subjects
from parley.bus.accounts import Credentials
from parley.bus.connection import connect
from parley.schemas import expert
from tests.security.attacks.actor import Actor, Attack
from tests.security.attacks.scene import NOT_STORED, Verdict, writes

Stimulus = Callable[[], Awaitable[object]]


def attacks(actor: Actor) -> Iterator[Attack]:
    """The attacks that this user tries."""
    for channel in actor.foreign():
        yield from _of_channel(actor, channel)
    yield from _of_core(actor)
    yield from _of_others(actor)
    yield from _of_the_server(actor)


def _posts(actor: Actor, subject: str) -> Stimulus:
    """The referee says the secret there; a stream that takes the subject does not keep it."""

    async def say() -> None:
        scene = actor.scene
        await scene.referee.publish(subject, scene.secret, NOT_STORED, confirm=True)

    return say


def _hears(actor: Actor, subject: str, at: str, queue: str = "") -> Callable[[], Awaitable[Verdict]]:
    """Subscribe; the secret is posted at a subject that the subscription covers."""

    async def attack() -> Verdict:
        return await actor.hears(subject, _posts(actor, at), queue=queue, wants=actor.scene.secret)

    return attack


def _of_channel(actor: Actor, channel: str) -> Iterator[Attack]:
    sid = actor.scene.sid
    one, post = subjects.channel(sid, channel), subjects.post(sid, channel, "said")
    yield f"hears posts of {channel}", _hears(actor, subjects.channel_all(channel), post)
    yield f"hears posts of {channel} of one session", _hears(actor, one, post)
    yield f"hears posts of {channel} in a queue group", _hears(actor, one, post, "readers")
    yield f"hears posts of {channel} of one kind", _hears(actor, subjects.posts_all(channel, "said"), post)
    by_name = f"*.*.*.{subjects.escape(channel)}.*"
    yield f"hears posts of {channel} by the place of its name", _hears(actor, by_name, post)
    speakers = [c for c in actor.victims(accounts.AGENT) if channel in writes(c)]
    if speakers:
        live = subjects.live_owned(channel, speakers[0].user, "somebody", sid)
        every = subjects.live_owned(channel, "*", "*", "*")
        for what, subject in ((channel, every), (f"one speaker on {channel}", live)):
            yield f"hears live text of {what}", _hears_live(actor, subject, live, speakers[0])


def _hears_live(actor: Actor, subject: str, at: str, speaker: Credentials) -> Callable[[], Awaitable[Verdict]]:
    async def attack() -> Verdict:
        scene = actor.scene

        async def speak() -> None:
            await scene.connections[speaker.user].publish(at, scene.secret, confirm=True)

        return await actor.hears(subject, speak, wants=scene.secret)

    return attack


def _of_core(actor: Actor) -> Iterator[Attack]:
    """Subjects that belong to moderators."""
    sid = actor.scene.sid
    public, log = subjects.post(sid, "public", "said"), actor.scene.log(sid)
    owned = partial(subjects.owned, "somebody")
    rows = {
        "hears everything": (">", log),
        "hears everything of Parley": (subjects.ALL, log),
        "hears everything by wildcards": ("*.*.>", log),
        "hears every channel of a session": (subjects.channels_of(sid), public),
        "hears all live text": (subjects.LIVE_ALL, subjects.live_owned("public", "somebody", "somebody", sid)),
        "hears the log": (subjects.LOG_ALL, log),
        "hears the log of one session": (subjects.log_of(sid), log),
        "hears everybody's turns": (subjects.WORK_ALL, subjects.work("somebody", sid, "1")),
        "hears submissions": (subjects.IN_ALL, subjects.inbox("client", "somebody", sid)),
        "hears replies": (subjects.SAY_ALL, subjects.say("any", "public", "somebody", sid)),
        "hears questions about turns": (subjects.CHECK_ALL, subjects.check("any", "public", "somebody", sid)),
        "hears timers": (subjects.TIMER_ALL, subjects.timer(sid)),
        "hears timers fire": (subjects.FIRED_ALL, subjects.fired(sid)),
        "hears what was put aside": (subjects.ASIDE_ALL, subjects.aside(sid)),
        "hears announcements": (subjects.HERE_ALL, subjects.here("nobody", "nobody")),
        "serves history in a moderator's place": (subjects.READ_ALL, subjects.read("public", sid)),
        "serves documents in a moderator's place": (subjects.DOC_ALL, subjects.doc("public", sid)),
        "hears artifacts that are stored": (subjects.ARTIFACT_ALL, subjects.artifact(sid, "0" * 64)),
        "hears artifacts on their way": (subjects.PUT_ALL, subjects.put("public", "somebody", sid)),
        "serves artifacts in a moderator's place": (subjects.GET_ALL, subjects.get("public", sid)),
        "hears questions of clients": (subjects.FATE_ALL, subjects.fate("client", "somebody", sid)),
        "hears what sessions tell each other": (subjects.INNER_ALL, subjects.inner(sid, "somebody")),
        "hears what is told to the owners of sessions": (subjects.owned("*", subjects.ALL), owned(public)),
        "serves history to a session's owner in a moderator's place": (
            subjects.owned("*", subjects.READ_ALL), owned(subjects.read("public", sid)),
        ),
        "serves documents to a session's owner in a moderator's place": (
            subjects.owned("*", subjects.DOC_ALL), owned(subjects.doc("public", sid)),
        ),
        "serves artifacts to a session's owner in a moderator's place": (
            subjects.owned("*", subjects.GET_ALL), owned(subjects.get("public", sid)),
        ),
        "hears questions of owners": (subjects.OWN_ALL, subjects.own("nothing", "somebody", sid)),
    }  # fmt: skip
    if actor.user.role not in channels.MATCHING:
        experts = subjects.here_of(expert.ROLE)
        rows["hears announcements of experts"] = (experts, subjects.here(expert.ROLE, "nobody", "nobody"))
    for what, (subject, at) in rows.items():
        yield what, _hears(actor, subject, at)
    for victim in actor.others(accounts.AGENT):
        turn = subjects.work(victim.user, sid, "1")
        yield f"hears the turns of {victim.user}", _hears(actor, subjects.work_of(victim.user), turn)


def _of_others(actor: Actor) -> Iterator[Attack]:
    """Inboxes: where answers to others arrive."""
    everyone = actor.others(accounts.AGENT, accounts.CLIENT, accounts.OWNER, accounts.MODERATOR)

    def hears(subject: str, victim: Credentials) -> Callable[[], Awaitable[Verdict]]:
        async def attack() -> Verdict:
            return await actor.hears(subject, lambda: _is_answered(actor, victim), wants=actor.scene.secret)

        return attack

    for victim in everyone:
        yield f"hears the inbox of {victim.user}", hears(f"{victim.inbox_prefix}.>", victim)
    if everyone:
        yield "hears all inboxes by wildcard", hears("*.>", everyone[0])


async def _is_answered(actor: Actor, victim: Credentials) -> None:
    """The victim gets an answer with the secret in it, from the log as moderators ask for it, or from itself."""
    conn = actor.scene.connections[victim.user]
    inbox = conn.nc.new_inbox()
    await conn.publish(inbox, actor.scene.secret)  # as an answer would; refused where it may not
    if victim.kind == accounts.MODERATOR:
        await conn.request(subjects.read("public", actor.scene.sid), b"{}", 1.0)


def _of_the_server(actor: Actor) -> Iterator[Attack]:
    scene = actor.scene

    async def knock() -> None:
        """Connecting makes the server tell its system account."""
        async with await connect(scene.url, actor.user, name="check"):
            pass

    async def ask_jetstream() -> None:
        await scene.referee.api("STREAM.NAMES")

    async def advise() -> None:
        """Making and deleting a consumer makes advisories."""
        name = scene.fresh()
        config = {"name": name, "ack_policy": "none", "mem_storage": True, "inactive_threshold": 10**9}
        await scene.referee.api(f"CONSUMER.CREATE.LOG.{name}", {"stream_name": "LOG", "config": config})
        await scene.referee.api(f"CONSUMER.DELETE.LOG.{name}")

    async def settle() -> None:
        await scene.referee.publish("$JS.ACK.LOG.nobody.1.1.1.0.0", b"")

    async def answer() -> None:
        await scene.referee.publish("_R_.nobody.nothing", b"secret")

    async def look_for_services() -> None:
        await scene.referee.publish("$SRV.PING", b"")

    rows: dict[str, tuple[str, Stimulus]] = {
        "hears the server's events": ("$SYS.>", knock),
        "hears JetStream's advisories": ("$JS.EVENT.ADVISORY.>", advise),
        "hears all of JetStream's events": ("$JS.EVENT.>", advise),
        "hears requests to JetStream": ("$JS.API.>", ask_jetstream),
        "hears acknowledgements": ("$JS.ACK.>", settle),
        "hears answers between accounts": ("_R_.>", answer),
        "hears who looks for services": ("$SRV.>", look_for_services),
    }
    for what, (subject, stimulus) in rows.items():
        yield what, partial(actor.hears, subject, stimulus)
