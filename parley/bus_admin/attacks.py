"""The attacks of `parley bus check`, one for each kind of right in the accounts' table.

An attack is a list of tries: subjects that a user may neither publish on nor subscribe to. None of them can do harm
where it comes through. The session is one that nobody has, the lane and the kind of a post are those that nobody
listens to, a stream refuses what is published to it for its header, and JetStream refuses what it is asked for its
form. A subscription ends at once.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Literal, NamedTuple

from parley.bus import accounts, channels, rights, subjects
from parley.bus.accounts import Credentials
from parley.bus.log import LOG
from parley.schemas.post import ReadLog, ReadPosts
from parley.schemas.wire import encode

NOT_STORED = {"Nats-Expected-Stream": "none"}
"""A header by which every stream refuses a message."""
_API = "$JS.API."
_NO_JSON = b"{"
_NOT_EMPTY = b'{"not":"empty"}'
"""JetStream refuses a deletion that says anything."""
_NO_TURN = "1.999999999.999999999.0.0"
"""A delivery that no consumer made."""
_KEPT = (LOG, "WORK", "IN", "INNER", "INDEX", "OUTCOMES", "ARTIFACTS")


class Try(NamedTuple):
    """One subject that the server must refuse."""

    side: Literal["publish", "subscribe"]
    subject: str
    payload: bytes = b"{}"


class Attacker:
    """One user, those whose rights it tries, and a session id that nobody has."""

    def __init__(self, user: Credentials, users: Mapping[str, Credentials], sid: str) -> None:
        self.user = user
        self.row = user.row
        self.sid = sid
        self.agent = user.kind == accounts.AGENT
        self.others = [c for c in users.values() if c.user != user.user]

    def agents(self) -> list[Credentials]:
        """Every other agent: a right too many may name any single one."""
        return [c for c in self.others if c.kind == accounts.AGENT]

    def submitters(self) -> list[Credentials]:
        """The others who open sessions."""
        return [c for c in self.others if c.kind in (accounts.CLIENT, accounts.OWNER)]

    def foreign(self) -> list[str]:
        """Channels that somebody reads and this user may not."""
        mine = channels.readable_by(self.user.account)
        return [c.name for c in channels.CHANNELS.values() if c.readers and c.name not in mine]

    def hidden(self) -> list[str]:
        """Clients whose sessions it may not read."""
        if self.row.sees_all:
            return []
        return [c.user for c in self.submitters() if c.user not in self.row.reads]


def _hears_channels(me: Attacker) -> Iterator[Try]:
    for channel in me.foreign():
        yield Try("subscribe", subjects.post.of(channel=channel))
        yield Try(
            "subscribe",
            subjects.live_owned.of(channel=channel) if me.row.sees_all else subjects.live.of(channel=channel),
        )


def _writes_channels(me: Attacker) -> Iterator[Try]:
    mine = rights.writable(me.row)
    for channel in channels.CHANNELS:
        if channel not in mine:
            yield Try("publish", subjects.say(me.sid, channel, me.user.user, me.sid))


def _speaks_as_another(me: Attacker) -> Iterator[Try]:
    for victim in me.agents():
        name = victim.user
        for channel in rights.writable(victim.row):
            yield Try("publish", subjects.say(me.sid, channel, name, me.sid))
            yield Try("publish", subjects.live_owned(channel, name, me.sid, me.sid))
        yield Try("publish", f"{victim.inbox_prefix}.{me.sid}")


def _takes_turns(me: Attacker) -> Iterator[Try]:
    for victim in me.agents():
        yield Try("publish", subjects.next_turns(victim.queue), _NO_JSON)
        yield Try("publish", f"$JS.ACK.WORK.{subjects.consumer(victim.queue)}.{_NO_TURN}", b"+WPI")
        yield Try("subscribe", subjects.work.of(queue=victim.queue))


def _reads_the_log(me: Attacker) -> Iterator[Try]:
    yield Try("subscribe", subjects.log.under)
    yield Try("publish", f"{_API}CONSUMER.CREATE.{LOG}", _NO_JSON)
    yield Try("publish", f"{_API}STREAM.SNAPSHOT.{LOG}", _NO_JSON)
    if me.user.kind == accounts.OBSERVER:
        return
    yield Try("publish", f"{_API}DIRECT.GET.{LOG}", b'{"seq":1}')
    yield Try("publish", f"{_API}STREAM.MSG.GET.{LOG}", b'{"seq":1}')


def _writes_the_log(me: Attacker) -> Iterator[Try]:
    yield Try("publish", subjects.log(me.sid, subjects.STEP))
    yield Try("publish", subjects.index("open", me.sid, me.sid))
    if me.user.kind != accounts.OBSERVER:
        yield Try("publish", subjects.OUTCOMES)


def _opens_a_session(me: Attacker) -> Iterator[Try]:
    if me.user.kind not in (accounts.CLIENT, accounts.OWNER, accounts.OBSERVER):
        yield Try("publish", subjects.inbox(channels.CLIENT, me.user.user, me.sid))
    for other in me.submitters():
        yield Try("publish", subjects.inbox(channels.CLIENT, other.user, me.sid))
        yield Try("publish", subjects.inbox(channels.OWNER, other.user, me.sid))


def _posts_as_a_moderator(me: Attacker) -> Iterator[Try]:
    for channel in (channels.CONTROL, channels.PUBLIC):
        post = subjects.post(me.sid, channel, me.sid)
        yield Try("publish", post)
        yield Try("publish", subjects.owned(me.sid, post))
    for queue in [victim.queue for victim in me.agents()] or [me.sid]:
        yield Try("publish", subjects.work(queue, me.sid, "1"))
    for subject in (subjects.timer(me.sid), subjects.fired(me.sid), subjects.inner(me.sid, me.sid)):
        yield Try("publish", subject)


def _reads_others_sessions(me: Attacker) -> Iterator[Try]:
    for channel in me.foreign():
        yield Try("publish", subjects.read(channel, me.sid), encode(ReadPosts()))
    for owner in me.hidden():
        yield Try("publish", subjects.owned(owner, subjects.read(channels.PUBLIC, me.sid)), encode(ReadPosts()))
        yield Try("subscribe", subjects.owned(owner, subjects.post.of(channel=channels.PUBLIC)))
    names = [c.user for c in me.others if c.kind == accounts.OWNER]
    for name in names if me.user.kind == accounts.OWNER else [me.user.user, *names]:
        yield Try("publish", subjects.own("log", name, me.sid), encode(ReadLog()))


def _changes_a_stream(me: Attacker) -> Iterator[Try]:
    yield Try("publish", f"{_API}STREAM.CREATE.{me.sid}", _NO_JSON)
    for stream in _KEPT:
        for change in ("UPDATE", "PURGE", "MSG.DELETE"):
            yield Try("publish", f"{_API}STREAM.{change}.{stream}", _NO_JSON)
        yield Try("publish", f"{_API}STREAM.DELETE.{stream}", _NOT_EMPTY)
    yield Try("publish", f"{_API}CONSUMER.CREATE.WORK.{me.sid}", _NO_JSON)
    yield Try("publish", f"{_API}CONSUMER.DELETE.WORK.{me.sid}", _NOT_EMPTY)


def _hears_everything(me: Attacker) -> Iterator[Try]:
    for subject in (">", "*.>", subjects.ALL, subjects.live.under, subjects.inbox.under, "$JS.>", "_R_.>"):
        yield Try("subscribe", subject)
    for other in me.others:
        if other.kind != accounts.OPERATOR:
            yield Try("subscribe", f"{other.inbox_prefix}.>")


def _commands_the_server(me: Attacker) -> Iterator[Try]:
    yield Try("subscribe", "$SYS.>")
    for subject in ("$SYS.REQ.SERVER.PING", "$SYS.REQ.USER.INFO", f"$SYS.REQ.SERVER.{me.sid}.RELOAD", "$SRV.PING"):
        yield Try("publish", subject, b"")


ATTACKS: dict[str, Callable[[Attacker], Iterator[Try]]] = {
    "hears others' channels": _hears_channels,
    "writes others' channels": _writes_channels,
    "speaks as another seat": _speaks_as_another,
    "takes others' turns": _takes_turns,
    "reads the log": _reads_the_log,
    "writes the log": _writes_the_log,
    "opens a session": _opens_a_session,
    "posts as a moderator": _posts_as_a_moderator,
    "reads others' sessions": _reads_others_sessions,
    "changes a stream": _changes_a_stream,
    "hears everything": _hears_everything,
    "commands the server": _commands_the_server,
}
"""What is tried, in words, and how."""
NEEDS = dict.fromkeys(("speaks as another seat", "takes others' turns"), "another agent's key")
"""Whose key an attack cannot be tried without; the others that have no try need any other user's."""
