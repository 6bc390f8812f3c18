"""Every subject of Parley, each builder beside its parser: the only place with dots.

Ids are escaped one-to-one before they meet a subject, so that a dot, a space, `*` or `>` in one can never reach it:
ASCII letters, digits, `-` and `_` stand for themselves, every other byte of the UTF-8 text is `=XX`. The empty id is
`=`.

| subject | who publishes | what |
|---|---|---|
| `parley.log.<sid>.<kind>` | moderators | LOG: a message a transition; kind is opened, step, closed, refused, erased |
| `parley.index.<state>.<owner>.<sid>` | moderators | INDEX: a session's row; state is refused, open, over |
| `parley.outcomes` | observers | OUTCOMES: the totals of all sessions, its last value |
| `parley.in.<channel>.<author>.<sid>` | clients, humans | IN: submissions that no worker stands behind |
| `parley.inner.<sender>.<sid>` | moderators | INNER: what one session says to another |
| `parley.work.<queue>.<sid>.<n>` | moderators | WORK: turns |
| `$JS.API.CONSUMER.MSG.NEXT.WORK.<queue>` | workers | the next turns, asked of WORK's consumer |
| `parley.timer.<sid>`, `parley.fired.<sid>` | moderators, the server | TIMER: a session's schedule, what it makes |
| `parley.aside.<sid>` | moderators | ASIDE: what could not be handled |
| `parley.ch.<sid>.<channel>.<kind>` | moderators | live posts, core: who acts on one kind hears that alone |
| `parley.live.<channel>.<author>.<owner>.<sid>` | workers | seat states and text as it comes, core |
| `parley.say.<lane>.<channel>.<author>.<sid>` | participants | replies and words from the floor, core request |
| `parley.check.<lane>.<channel>.<author>.<sid>` | participants | is this turn open, core request |
| `parley.read.<channel>.<sid>` | readers of the channel | history, core request |
| `parley.doc.<channel>.<sid>` | readers of the channel | documents by content hash, core request |
| `parley.artifact.<sid>.<id>` | moderators | ARTIFACTS: an object by the hash of its content |
| `parley.put.<channel>.<author>.<sid>` | experts, clients | store an artifact, core request |
| `parley.get.<channel>.<sid>` | clients | an artifact by id, core request |
| `parley.take.<channel>.<author>.<sid>` | experts | an artifact that the author's open turn names, core request |
| `parley.fate.<channel>.<author>.<sid>` | clients | what became of a submission, core request |
| `parley.own.<what>.<author>.<sid>` | owners | sessions, logs, living workers, erasing a session, core request |
| `parley.own.mine.<author>.<sid>` | clients | the author's own sessions, core request |
| `parley.here.<role>.<queue>.<pin>`, `parley.call` | workers; moderators, helpers | announcements, and the call |
| `parley.left.<account>` | the server; moderators | a connection of an account ended; who hands its turns back |
| `parley.of.<owner>.ch.…`, and `.read.`, `.doc.`, `.get.` | as without `of` | the same, of one owner's sessions |

A session's owner is the client that opened it, or the session above it. Agents, moderators and the owners of the
tenant use the subjects without `of.<owner>`: they see all sessions. A client's account imports its own name only, and
the broker renames it: a client says `parley.read.public.SID`, moderators hear `parley.of.NAME.read.public.SID`.
"""

import re
from functools import lru_cache

_ROOT = "parley"
_START = _ROOT + "."
_PLAIN = re.compile(r"[A-Za-z0-9_-]+\Z")
_ESCAPED = re.compile(r"=([0-9A-F]{2})")
_KEPT = 4_096  # names that are remembered: the same few sessions, queues and channels come again and again
ANY = "any"
"""The lane of whichever moderator is free."""


class BadSubject(ValueError):
    """A subject that is not of the wanted form. The peer's fault."""

    def __init__(self, subject: str, wanted: str) -> None:
        self.subject = subject
        self.wanted = wanted
        super().__init__(f"subject {subject!r}, wanted {wanted}")


@lru_cache(_KEPT)
def escape(name: str) -> str:
    """One-to-one into a subject token."""
    if _PLAIN.match(name):
        return name
    if not name:
        return "="
    return "".join(
        chr(b) if chr(b).isascii() and (chr(b).isalnum() or chr(b) in "-_") else f"={b:02X}" for b in name.encode()
    )


@lru_cache(_KEPT)
def unescape(token: str) -> str:
    """The id behind a token. Refuses a token that `escape` never makes.

    Raises
    ------
    BadSubject
        The token is not the escaped form of any id.
    """
    if _PLAIN.match(token):
        return token
    if token == "=":
        return ""
    try:
        name = _ESCAPED.sub(lambda m: chr(int(m[1], 16)), token).encode("latin-1").decode()
    except (UnicodeDecodeError, UnicodeEncodeError):
        raise BadSubject(token, "an escaped id") from None
    if escape(name) != token:
        raise BadSubject(token, "an escaped id")
    return name


def _join(*parts: str) -> str:
    return ".".join((_ROOT, *parts))


def _parse(subject: str, kind: str, count: int) -> list[str]:
    parts = subject.split(".")
    if len(parts) != count + 2 or parts[0] != _ROOT or parts[1] != kind:
        raise BadSubject(subject, f"{_ROOT}.{kind} and {count} tokens")
    return [unescape(p) for p in parts[2:]]


ALL = _join(">")
"""Everything of Parley: what moderators may use."""


# -- LOG
LOG_ALL = _join("log", ">")
OPENED, STEP, CLOSED, FEEDBACK, REFUSED, ERASED = "opened", "step", "closed", "feedback", "refused", "erased"


def log(sid: str, kind: str) -> str:
    """Where a transition is appended."""
    return f"{_ROOT}.log.{escape(sid)}.{kind}"


def log_of(sid: str) -> str:
    """All entries of one session: the filter that compare-and-swap and replay use."""
    return f"{_ROOT}.log.{escape(sid)}.>"


def log_kind(kind: str) -> str:
    """Entries of one kind, of all sessions."""
    return _join("log", "*", kind)


def parse_log(subject: str) -> tuple[str, str]:
    """(session, kind)."""
    sid, kind = _parse(subject, "log", 2)
    return sid, kind


# -- INDEX
INDEX_ALL = _join("index", ">")


def index(state: str, owner: str, sid: str) -> str:
    """Where a session's row stands; `*` stands for any state, owner or session."""
    return _request("index", state, owner, sid)


OUTCOMES = _join("outcomes")


# -- of one owner
def owned(owner: str, subject: str) -> str:
    """A subject of channels, history, documents or artifacts, of one owner's sessions."""
    return f"{_ROOT}.of.{escape(owner) if owner != '*' else owner}.{subject.removeprefix(_START)}"


def parse_owned(subject: str) -> tuple[str, str]:
    """(owner, the subject without it)."""
    parts = subject.split(".", 3)
    if len(parts) != 4 or parts[:2] != [_ROOT, "of"]:
        raise BadSubject(subject, f"{_ROOT}.of, an owner and a subject")
    return unescape(parts[2]), _join(parts[3])


# -- INNER
INNER_ALL = _join("inner", ">")


def inner(sender: str, sid: str) -> str:
    """Where one session says something to another."""
    return _join("inner", escape(sender), escape(sid))


def inner_of_session(sid: str) -> str:
    """Everything that was said to one session."""
    return _join("inner", "*", escape(sid))


def parse_inner(subject: str) -> tuple[str, str]:
    """(sender, session)."""
    sender, sid = _parse(subject, "inner", 2)
    return sender, sid


# -- IN
IN_ALL = _join("in", ">")


def inbox(channel: str, author: str, sid: str) -> str:
    """Where a client or a human submits."""
    return _join("in", escape(channel), escape(author), escape(sid))


def inbox_by(channel: str, author: str) -> str:
    """What one author may publish on IN through a channel."""
    return _join("in", escape(channel), escape(author), "*")


def inbox_of_session(sid: str) -> str:
    """Everything submitted about one session, whoever submitted it."""
    return _join("in", "*", "*", escape(sid))


def parse_inbox(subject: str) -> tuple[str, str, str]:
    """(channel, author, session)."""
    channel, author, sid = _parse(subject, "in", 3)
    return channel, author, sid


# -- WORK
WORK_ALL = _join("work", ">")


def work(queue: str, sid: str, n: str) -> str:
    """Where a queue's turns are published."""
    return f"{_ROOT}.work.{escape(queue)}.{escape(sid)}.{escape(n)}"


def work_of(queue: str) -> str:
    """All turns of one queue: its consumer's filter."""
    return _join("work", escape(queue), ">")


def work_of_session(sid: str) -> str:
    """All turns of one session, whatever their queue: what is purged when it is erased."""
    return _join("work", "*", escape(sid), ">")


def work_of_queue_and_session(queue: str, sid: str) -> str:
    """All turns of one queue in one session."""
    return _join("work", escape(queue), escape(sid), "*")


def parse_work(subject: str) -> tuple[str, str, str]:
    """(queue, session, number)."""
    queue, sid, n = _parse(subject, "work", 3)
    return queue, sid, n


def consumer(queue: str) -> str:
    """Name of a queue's durable consumer. `=` is not allowed in one, so it is `~` there."""
    return escape(queue).replace("=", "~")


def queue_of(consumer: str) -> str:
    """The queue whose consumer has this name."""
    return unescape(consumer.replace("~", "="))


def next_turns(queue: str) -> str:
    """Where a worker asks for its queue's next turns.

    The server remembers each question for as long as the inbox that it named is subscribed (0.7 kB each, measured): who
    pulls for long takes a new inbox every thousand pulls or so.
    """
    return f"$JS.API.CONSUMER.MSG.NEXT.WORK.{consumer(queue)}"


# -- TIMER
TIMER_ALL, FIRED_ALL = _join("timer", "*"), _join("fired", "*")


def timer(sid: str) -> str:
    """The session's schedule."""
    return _join("timer", escape(sid))


def fired(sid: str) -> str:
    """What the schedule makes."""
    return _join("fired", escape(sid))


def parse_fired(subject: str) -> str:
    """The session."""
    (sid,) = _parse(subject, "fired", 1)
    return sid


def timers_of(sid: str) -> str:
    """A session's schedule and what it made: what is purged when it is over."""
    return _join("*", escape(sid))


# -- ASIDE
ASIDE_ALL = _join("aside", "*")


def aside(sid: str) -> str:
    """Where a message of a session that could not be handled is recorded."""
    return _join("aside", escape(sid))


# -- ARTIFACTS
ARTIFACT_ALL = _join("artifact", "*", "*")


def artifact(sid: str, id: str) -> str:
    """Where an artifact of a session is stored."""
    return _join("artifact", escape(sid), escape(id))


def artifact_of(sid: str) -> str:
    """All artifacts of one session."""
    return _join("artifact", escape(sid), "*")


# -- channels
def post(sid: str, name: str, kind: str) -> str:
    """A live post of one kind, as it is published."""
    return f"{_ROOT}.ch.{escape(sid)}.{escape(name)}.{escape(kind)}"


def channel(sid: str, name: str) -> str:
    """Live posts of one channel."""
    return _join("ch", escape(sid), escape(name), "*")


def channels_of(sid: str) -> str:
    """Every channel of one session."""
    return _join("ch", escape(sid), "*", "*")


def channel_all(name: str) -> str:
    """One channel of every session: what an account imports."""
    return _join("ch", "*", escape(name), "*")


def posts_all(name: str, kind: str) -> str:
    """Posts of one kind on one channel of every session."""
    return _join("ch", "*", escape(name), escape(kind))


def parse_post(subject: str) -> tuple[str, str, str]:
    """(session, channel, kind)."""
    sid, name, kind = _parse(subject, "ch", 3)
    return sid, name, kind


def live(name: str, author: str, sid: str) -> str:
    """Seat states and live text, as the account of one owner's reader has them."""
    return _join("live", escape(name), escape(author), escape(sid))


def live_owned(name: str, author: str, owner: str, sid: str) -> str:
    """Seat states and live text, as a worker publishes them; `*` stands for any author, owner or session."""
    return _request("live", name, author, owner, sid)


def parse_live(subject: str) -> tuple[str, str, str]:
    """(channel, author, session), with the owner or without."""
    name, author, *_, sid = _parse(subject, "live", 4 if subject.count(".") == 5 else 3)
    return name, author, sid


def live_by(name: str, author: str) -> str:
    """What one author says live on a channel, as the account of one owner's reader has it."""
    return _join("live", escape(name), escape(author), "*")


def live_of(name: str, sid: str) -> str:
    """Everything live of one channel of a session, without the owner."""
    return _join("live", escape(name), "*", escape(sid))


def live_all(name: str) -> str:
    """Everything live of one channel, without the owner."""
    return _join("live", escape(name), "*", "*")


LIVE_ALL = _join("live", ">")
"""Everything live."""


# -- requests to moderators
def _request(kind: str, *tokens: str) -> str:
    return _join(kind, *[t if t in ("*", ">") else escape(t) for t in tokens])


def say(lane: str, channel: str, author: str, sid: str) -> str:
    """A reply, or words from the floor."""
    return _request("say", lane, channel, author, sid)


def say_by(channel: str, author: str) -> str:
    """What one author may say on a channel, whatever the lane."""
    return _request("say", "*", channel, author, "*")


def say_lane(lane: str) -> str:
    """What a moderator serves."""
    return _request("say", lane, "*", "*", "*")


def parse_say(subject: str) -> tuple[str, str, str, str]:
    """(lane, channel, author, session)."""
    lane, channel, author, sid = _parse(subject, "say", 4)
    return lane, channel, author, sid


def check(lane: str, channel: str, author: str, sid: str) -> str:
    """Is this turn open?"""
    return _request("check", lane, channel, author, sid)


def check_by(channel: str, author: str) -> str:
    """What one author may check, whatever the lane."""
    return _request("check", "*", channel, author, "*")


def check_lane(lane: str) -> str:
    """What a moderator serves."""
    return _request("check", lane, "*", "*", "*")


def parse_check(subject: str) -> tuple[str, str, str, str]:
    """(lane, channel, author, session)."""
    lane, channel, author, sid = _parse(subject, "check", 4)
    return lane, channel, author, sid


SAY_ALL, CHECK_ALL = _join("say", ">"), _join("check", ">")
READ_ALL, DOC_ALL, GET_ALL = _join("read", "*", "*"), _join("doc", "*", "*"), _join("get", "*", "*")
PUT_ALL, TAKE_ALL = _join("put", "*", "*", "*"), _join("take", "*", "*", "*")
FATE_ALL, OWN_ALL = _join("fate", "*", "*", "*"), _join("own", "*", "*", "*")
CALL, HERE_ALL = _join("call"), _join("here", "*", "*", "*")
ASK_AGAIN = b"again"
"""What a call says if a moderator is gone: whatever it was asked is asked again."""


def read(channel: str, sid: str) -> str:
    """A channel's history; `*`: of every session, as an account imports it. So with documents and artifacts."""
    return _request("read", channel, sid)


def parse_read(subject: str) -> tuple[str, str]:
    """(channel, session) of history, documents and artifacts: `read`, `doc`, `get`."""
    kind = subject.split(".")[1] if subject.count(".") else ""
    channel, sid = _parse(subject, kind if kind in ("doc", "get") else "read", 2)
    return channel, sid


def doc(channel: str, sid: str) -> str:
    """Documents of a session."""
    return _request("doc", channel, sid)


def put(channel: str, author: str, sid: str) -> str:
    """Store an artifact of a session."""
    return _request("put", channel, author, sid)


def take(channel: str, author: str, sid: str) -> str:
    """An artifact that an open turn of the author names."""
    return _request("take", channel, author, sid)


def get(channel: str, sid: str) -> str:
    """An artifact of a session."""
    return _request("get", channel, sid)


def fate(channel: str, author: str, sid: str) -> str:
    """What became of a submission."""
    return _request("fate", channel, author, sid)


def requests_by(kind: str, channel: str, author: str) -> str:
    """What one author may ask of a kind that names him: `put`, `take`, `fate`."""
    return _request(kind, channel, author, "*")


def parse_authored(subject: str) -> tuple[str, str, str]:
    """(channel, author, session) of a request that names its author: `put`, `take`, `fate`."""
    kind = subject.split(".")[1] if subject.count(".") else ""
    channel, author, sid = _parse(subject, kind if kind in ("put", "take", "fate") else "put", 3)
    return channel, author, sid


def own(what: str, author: str, sid: str) -> str:
    """What only an owner may ask: `sessions`, `workers` and `index` (sid is ignored), `log`, `erase`; and a client of
    its own sessions: `mine`."""
    return _request("own", what, author, sid)


def own_by(author: str) -> str:
    """What one owner may ask."""
    return _request("own", "*", author, "*")


def parse_own(subject: str) -> tuple[str, str, str]:
    """(what, author, session)."""
    what, author, sid = _parse(subject, "own", 3)
    return what, author, sid


def here(role: str, queue: str, pin: str = "") -> str:
    """A worker announces itself, in a role that its credential has; an expert with the specification of this pin."""
    return _request("here", role, queue, pin)


def here_of(role: str) -> str:
    """Announcements of one role."""
    return _request("here", role, "*", "*")


def parse_here(subject: str) -> tuple[str, str, str]:
    """(role, queue, pin)."""
    role, queue, pin = _parse(subject, "here", 3)
    return role, queue, pin


# -- LEFT
LEFT_ALL = _join("left", "*")
ENDED = "$SYS.ACCOUNT.*.DISCONNECT"
"""Where the server says in its own account that a connection ended."""
CORE_LEFT = _join("left", "CORE")
"""A moderator's connection ended."""
BEAT = _join("left", "beat")
"""A moderator is there."""
LEFT_TO_CORE = _join("left", "$1")
"""What CORE calls that."""
CLAIMED = _join("left", "=")
"""Where a moderator says of which queue it would hand back turns."""


def parse_left(subject: str) -> str:
    """The user whose connection ended; empty for the users of CORE, and for `CLAIMED`."""
    (account,) = subject.removeprefix(_START + "left.").split(".")
    return unescape(account.rpartition(":")[2]) if ":" in account else ""
