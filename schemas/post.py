"""What channels carry, and how their history is asked for."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from parley.schemas.folders.notes import Memory
from parley.schemas.wire import Json, decode, decode_or_none, encode

CLOSED = "closed"
"""Kind of the last post of a session, on `control`."""
WITHHELD = "no reply that could be used; why stands in the log"
"""The reason that a post gives for a missing reply where the reason itself may quote what its readers do not read."""


class Post(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Something said on a channel. Only moderators publish them."""

    session: str
    channel: str
    k: int
    """Number of this post on its channel, from 0 without gaps: readers drop doubles and see what they missed."""
    n: int
    """Number of this post in its session, over all channels."""
    transition: int
    """The transition of the session's log that it belongs to."""
    at_ns: int
    seat: str = ""
    """Who said it; empty for the moderator."""
    kind: str
    round: int
    body: Json


class Posted(Post, frozen=True, kw_only=True):
    """A post as it is published, with others of its kind that follow it on its channel and were made in the same go."""

    more: tuple[Post, ...] = ()


_TOGETHER_BYTES = 32_000
"""Of the bodies of posts that are one message, unless the first alone has more."""


def together(posts: Sequence[Post]) -> list[list[Post]]:
    """Posts of one session, as they go out: those of one channel and kind are one message, as long as none of another
    kind lies between them on their channel."""
    groups: list[list[Post]] = []
    last: dict[str, tuple[list[Post], int]] = {}
    """Channel -> its last message, and the bytes in it."""
    for post in posts:
        size = len(bytes(post.body))
        before = last.get(post.channel)
        if before is not None and before[0][0].kind == post.kind and before[1] + size <= _TOGETHER_BYTES:
            before[0].append(post)
            last[post.channel] = before[0], before[1] + size
        else:
            mine = [post]
            groups.append(mine)
            last[post.channel] = mine, size
    return groups


def posted(posts: Sequence[Post]) -> bytes:
    """One message with these posts."""
    first = posts[0]
    return encode(first if len(posts) == 1 else Posted(**_fields(first), more=tuple(posts[1:])))


def decode_posts(data: bytes) -> tuple[Post, ...]:
    """The posts of one message. Raises Undecodable."""
    message = decode(data, Posted)
    return (Post(**_fields(message)), *message.more)


def _fields(post: Post) -> dict[str, Any]:
    return {name: getattr(post, name) for name in Post.__struct_fields__}


class Live(msgspec.Struct, frozen=True, kw_only=True):
    """A seat's state or text as it comes: lossy, never stored, never evidence of anything."""

    session: str
    seat: str
    turn: str
    state: str
    """queued | thinking | retrying | text | tool | done | failed. `tool`: it called one, as the text says."""
    text: str = ""
    attempt: int = 1


class ReadPosts(msgspec.Struct, frozen=True, kw_only=True):
    """Ask a moderator for a channel's posts from number `k` on. The channel stands in the subject."""

    k: int = 0


class Posts(msgspec.Struct, frozen=True, kw_only=True):
    """A page of a channel."""

    posts: tuple[Post, ...]
    more: bool = False
    """Ask again from the last `k` plus one."""
    known: bool = True
    """False: no moderator knows this session, or it was refused."""
    refused: str = ""
    """Why it was, in that case."""
    behind: bool = False
    """The log could not be read in time: there may be more posts than these."""


class AskFate(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a submission to IN? Asked until there is an answer."""

    seq: int
    """The stream sequence that IN's PubAck gave: the cause of its log entry."""


class Fate(msgspec.Struct, frozen=True, kw_only=True):
    """pending | taken | refused | aside, and why."""

    fate: str
    why: str = ""
    field: str = ""
    """For a refusal: which field, where one is to blame."""
    retry_s: float | msgspec.UnsetType = msgspec.UNSET
    """For a limit that was reached: after so many seconds another try may succeed."""


class ListSessions(msgspec.Struct, frozen=True, kw_only=True):
    """An owner asks for sessions, or a client for its own: those that changed last come first."""

    before_seq: int | None = None
    """Only rows ahead of this one: the last `seq` of the page before."""
    limit: int = 50
    session: str = ""
    """Only this one."""
    open: bool = False
    """Only sessions that are open."""
    limits: bool = False
    """With what is used of the asker's limits."""


class SessionRow(msgspec.Struct, frozen=True, kw_only=True):
    """One session in a list."""

    session: str
    seq: int
    """Where the row stands in the list: it rises when the session changes."""
    owner: str = ""
    """The client that opened it, or the session above it; empty for moderators' own, and where it is not known."""
    protocol: str
    question: str
    status: str
    """open | finished | failed | cancelled | refused | erased"""
    reason: str = ""
    opened_ns: int
    closed_ns: int | None = None
    erased_ns: int | None = None
    erased_by: str = ""
    """The owner who had its texts removed."""
    forks: str = ""
    """The session whose record it carries on; empty: it carries none."""
    parent: str = ""
    """The session that it was started beneath; empty: none."""
    feedback: str = ""
    """right | wrong, as a person said last; empty: nobody did."""
    feedback_ns: int | None = None
    """When it was said."""
    tokens: int = 0
    """What it used until its end."""
    usd: float = 0.0
    unpriced: bool | msgspec.UnsetType = msgspec.UNSET
    """Of some of it no price is known, and `usd` is without that."""
    memory: Memory | msgspec.UnsetType = msgspec.UNSET
    """What is remembered of it. Left out: nothing."""
    recalls: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """Sessions of whose notes it was opened with some. Left out: none."""

    @property
    def changed_ns(self) -> int:
        """When a person, or its end, changed it last; 0: it is open."""
        kept_ns = 0 if self.memory is msgspec.UNSET else self.memory.changed_ns
        return max(self.closed_ns or 0, self.feedback_ns or 0, self.erased_ns or 0, kept_ns)


class LimitUse(msgspec.Struct, frozen=True, kw_only=True):
    """A limit of whoever opens sessions, and how much of it is used."""

    limit: str
    """open_sessions | openings_per_minute | tokens_per_day | usd_per_day"""
    tenant: bool = False
    """It is of all owners together."""
    used: float
    most: float
    retry_s: float
    """Once it is reached: after so many seconds another try may succeed."""


class SessionRows(msgspec.Struct, frozen=True, kw_only=True):
    """A page of sessions."""

    rows: tuple[SessionRow, ...]
    more: bool = False
    whole: bool = True
    """False: sessions may be missing, until the index is rebuilt."""
    limits: tuple[LimitUse, ...] = ()
    """Those that there are, where the asker wanted them."""


class RebuildIndex(msgspec.Struct, frozen=True, kw_only=True):
    """An owner has sessions entered in the index from the log, piece by piece."""

    after_seq: int = 0
    """The piece begins behind this sequence of the log: the `seq` of the piece before."""


class IndexRebuilt(msgspec.Struct, frozen=True, kw_only=True):
    """One piece is done."""

    seq: int
    """The log was read up to this sequence."""
    last_seq: int
    """The log's last sequence."""
    sessions: int
    """Sessions that were looked at in this piece."""
    unreadable: tuple[str, ...] = ()
    """Those among them whose log does not say what a row needs: they are not entered."""
    done: bool = False
    """It was the last piece, and the index is whole."""


class EraseSession(msgspec.Struct, frozen=True, kw_only=True):
    """An owner has a closed session's texts removed. Who asks and which session stand in the subject."""


class ReadLog(msgspec.Struct, frozen=True, kw_only=True):
    """An owner asks for a session's log from transition `n` on."""

    n: int = 0


class LogPage(msgspec.Struct, frozen=True, kw_only=True):
    """Log entries exactly as stored."""

    entries: tuple[Json, ...]
    more: bool = False


class _Kinded(Protocol):
    """A post, or a command that says one."""

    @property
    def kind(self) -> str: ...
    @property
    def body(self) -> Json: ...


def decode_body(post: _Kinded, kinds: Mapping[str, type]) -> Any:
    """The body as the type of the post's kind; None for a kind that is absent, or what another version wrote."""
    wanted = kinds.get(post.kind)
    return None if wanted is None else decode_or_none(post.body, wanted)
