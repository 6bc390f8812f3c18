"""Every subject of Parley, each with its parser: the only place with dots.

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
    """The id behind a token. Refuses a token that `escape` never makes. Raises BadSubject: the token is not the escaped
    form of any id."""
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


class SubjectForm:
    """One row of the table: a function of its ids to the subject.

    Attributes
    ----------
    each
        All subjects of this form.
    under
        All subjects that begin as these do: what a stream takes.
    """

    def __init__(self, kind: str, *ids: str) -> None:
        self._kind, self._ids = kind, ids
        self.each, self.under = self.of(), _join(kind, ">")

    def __call__(self, *ids: str) -> str:
        if len(ids) != len(self._ids):
            raise TypeError(f"{self._kind}: got {len(ids)} ids, wanted are {', '.join(self._ids)}")
        return _join(self._kind, *map(escape, ids))

    def of(self, **ids: str | None) -> str:
        """The subjects with these ids, whatever the others are; None: whatever this one is."""
        if unknown := ids.keys() - set(self._ids):
            raise TypeError(f"{self._kind} has no {', '.join(unknown)}")
        named = (ids.get(id) for id in self._ids)
        return _join(self._kind, *("*" if id is None else escape(id) for id in named))

    def parse(self, subject: str) -> tuple[str, ...]:
        """The ids. Raises BadSubject."""
        root, *parts = subject.split(".")
        if root != _ROOT or len(parts) != len(self._ids) + 1 or parts[0] != self._kind:
            raise BadSubject(subject, f"{_ROOT}.{self._kind} and {len(self._ids)} tokens")
        return tuple(map(unescape, parts[1:]))


ALL = _join(">")
"""Everything of Parley: what moderators may use."""
OUTCOMES, CALL = _join("outcomes"), _join("call")
ASK_AGAIN = b"again"
"""What a call says if a moderator is gone: whatever it was asked is asked again."""
OPENED, STEP, CLOSED, FEEDBACK, REFUSED, ERASED = "opened", "step", "closed", "feedback", "refused", "erased"
"""Kinds of entries of LOG."""

log = SubjectForm("log", "session", "kind")
index = SubjectForm("index", "state", "owner", "session")
inner = SubjectForm("inner", "sender", "session")
inbox = SubjectForm("in", "channel", "author", "session")
work = SubjectForm("work", "queue", "session", "number")
timer, fired = SubjectForm("timer", "session"), SubjectForm("fired", "session")
aside = SubjectForm("aside", "session")
artifact = SubjectForm("artifact", "session", "id")
post = SubjectForm("ch", "session", "channel", "kind")
live_owned = SubjectForm("live", "channel", "author", "owner", "session")
"""Seat states and live text, as a worker publishes them."""
live = SubjectForm("live", "channel", "author", "session")
"""The same as the account of one owner's reader has them."""
say = SubjectForm("say", "lane", "channel", "author", "session")
check = SubjectForm("check", "lane", "channel", "author", "session")
read = SubjectForm("read", "channel", "session")
doc = SubjectForm("doc", "channel", "session")
get = SubjectForm("get", "channel", "session")
put = SubjectForm("put", "channel", "author", "session")
take = SubjectForm("take", "channel", "author", "session")
fate = SubjectForm("fate", "channel", "author", "session")
own = SubjectForm("own", "what", "author", "session")
"""What is `sessions`, `workers` and `index` (the session is ignored), `log`, `erase`; and a client's own: `mine`."""
here = SubjectForm("here", "role", "queue", "pin")


def log_of(sid: str) -> str:
    """All entries of one session: the filter that compare-and-swap and replay use."""
    return f"{_ROOT}.log.{escape(sid)}.>"


def timers_of(sid: str) -> str:
    """A session's schedule and what it made: what is purged when it is over."""
    return _join("*", escape(sid))


def parse_live(subject: str) -> tuple[str, str, str]:
    """(channel, author, session), with the owner or without."""
    name, author, *_, sid = (live_owned if subject.count(".") == 5 else live).parse(subject)
    return name, author, sid


# -- of one owner
def owned(owner: str | None, subject: str) -> str:
    """A subject of channels, history, documents or artifacts, of one owner's sessions; None: of any owner's."""
    return _join("of", "*" if owner is None else escape(owner), subject.removeprefix(_START))


def parse_owned(subject: str) -> tuple[str, str]:
    """(owner, the subject without it)."""
    parts = subject.split(".", 3)
    if len(parts) != 4 or parts[:2] != [_ROOT, "of"]:
        raise BadSubject(subject, f"{_ROOT}.of, an owner and a subject")
    return unescape(parts[2]), _join(parts[3])


# -- consumers of WORK
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


# -- connections that ended
ENDED = "$SYS.ACCOUNT.*.DISCONNECT"
"""Where the server says in its own account that a connection ended."""
LEFT_ALL = _join("left", "*")
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
