"""The end of a session that nobody can run any more: what its log says without a machine, and the entry that ends it.

That entry lies beside the transitions, under the kind of an erased session: a moderator of any release takes nothing
more for such a session. Unlike there all texts stay, and the entry posts the result as any last entry does.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from parley.bus import subjects
from parley.bus.channels import CONTROL
from parley.bus.log import Stored
from parley.coordinator.sessions.broken import BrokenLog
from parley.schemas import log
from parley.schemas.past_sessions.fork import CAUSE
from parley.schemas.post import CLOSED, Post, SessionRow
from parley.schemas.result import Result, ResultUsage, Stop
from parley.schemas.stops import STOPS, VERSION_LOST
from parley.schemas.turn import Usage
from parley.schemas.wire import compact, decode_or_none, raw


class _AnyEntry(msgspec.Struct, frozen=True):
    """The part of an entry that every release writes."""

    n: int
    at_ns: int
    cause: str
    event: msgspec.Raw
    commands: tuple[msgspec.Raw, ...]


class _Tagged(msgspec.Struct, frozen=True):
    t: str = ""
    author: str = ""
    """The author of an event."""
    session: str = ""
    """The session that a command starts."""


class Opening(msgspec.Struct, frozen=True):
    """The part of an opening that every release writes."""

    protocol: str = ""
    version: int = 0
    question: str = ""
    parent: str = ""
    author: str = ""


class _Reply(msgspec.Struct, frozen=True):
    usage: Usage = Usage()


class LostSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session that ended because nobody could run it."""

    protocol: str
    question: str
    author: str
    """Its owner."""
    parent: str
    children: tuple[str, ...]
    """Sessions that it started."""
    causes: dict[str, int]
    authors: dict[str, str]
    """Cause -> author, for each cause that was submitted to IN."""
    posts: tuple[Post, ...]
    """All of its posts; the result is the last."""
    opened_ns: int
    closed_ns: int

    @property
    def why(self) -> str:
        """Why nothing is accepted for it any more."""
        return f"it is over: {STOPS[VERSION_LOST].words} ({VERSION_LOST})"


def read_end(stored: Stored) -> log.Entry | None:
    """The entry that ends a lost session; None if the session was erased."""
    return decode_or_none(stored.data, log.Entry)


def read_opening(stored: Stored) -> tuple[Opening, int] | None:
    """The opening entry of any release, and its time; None if it is no opening."""
    entry = decode_or_none(stored.data, _AnyEntry)
    opening = None if entry is None or entry.n else decode_or_none(entry.event, Opening)
    return None if entry is None or opening is None else (opening, entry.at_ns)


def read_close(stored: Stored) -> tuple[log.Close, int] | None:
    """How an entry ends its session, and when; None if it does not."""
    entry = decode_or_none(stored.data, _AnyEntry)
    if entry is None:
        return None
    ends = (decode_or_none(c, log.Close) for c in entry.commands if _tagged(c).t == "close")
    return next(((close, entry.at_ns) for close in ends if close is not None), None)


def fold(sid: str, stored: Sequence[Stored]) -> LostSession:
    """What a whole log says, with its ending."""
    entries = list(_entries(stored))
    opening = _opening(entries)
    children = dict.fromkeys(c.session for e in entries for c in map(_tagged, e.commands) if c.t == "start_child")
    return LostSession(
        protocol=opening.protocol,
        question=opening.question,
        author=opening.author,
        parent=opening.parent,
        children=tuple(children),
        causes={e.cause: e.n for e in entries},
        authors={e.cause: _tagged(e.event).author for e in entries if e.cause.startswith("in:")},
        posts=tuple(_posts(sid, entries)),
        opened_ns=entries[0].at_ns if entries else 0,
        closed_ns=entries[-1].at_ns if entries else 0,
    )


def ending(sid: str, stored: Sequence[Stored], error: BrokenLog, at_ns: int) -> tuple[log.Entry, SessionRow]:
    """The entry to append, and its row."""
    entries = list(_entries(stored))
    opening, opened_ns = _opening(entries), entries[0].at_ns if entries else at_ns
    version = opening.version or error.version
    stop = Stop(
        reason=VERSION_LOST,
        converged=False,
        certificate={"protocol": opening.protocol, "version": version, "why": str(error), "reason": error.reason},
    )
    status = STOPS[VERSION_LOST].status
    result = Result(
        session=sid,
        protocol=opening.protocol,
        status=status,
        outcome={},
        stop=stop,
        rounds=(),
        usage=_used(entries),
        duration_s=max(0.0, (at_ns - opened_ns) / 1e9),
    )
    n = entries[-1].n + 1 if entries else 0
    stop_body = {"reason": VERSION_LOST, "converged": False, "transition": n, "certificate": stop.certificate}
    commands = (
        log.Say(channel=CONTROL, kind="stop", round=0, body=raw(stop_body)),
        log.Say(channel=CONTROL, kind=CLOSED, round=0, body=raw(result)),
        log.Close(status=status, reason=VERSION_LOST),
    )
    entry = log.Entry(
        n=n,
        at_ns=at_ns,
        cause=VERSION_LOST,
        event=log.Lost(why=str(error)),
        commands=commands,
        digest="",
    )
    row = SessionRow(
        session=sid,
        seq=0,
        protocol=opening.protocol,
        question=opening.question[:300],
        status=status,
        reason=VERSION_LOST,
        opened_ns=opened_ns,
        closed_ns=at_ns,
    )
    return entry, row


def _entries(stored: Iterable[Stored]) -> Iterable[_AnyEntry]:
    for message in stored:
        if message.kind != subjects.REFUSED and (entry := decode_or_none(message.data, _AnyEntry)) is not None:
            yield entry


def _opening(entries: Sequence[_AnyEntry]) -> Opening:
    first = decode_or_none(entries[0].event, Opening) if entries and not entries[0].n else None
    return first or Opening()


def _tagged(command: msgspec.Raw) -> _Tagged:
    return decode_or_none(command, _Tagged) or _Tagged()


def _posts(sid: str, entries: Sequence[_AnyEntry]) -> Iterable[Post]:
    """The posts, numbered as the machine numbers them."""
    ks: Counter[str] = Counter()
    n = 0
    for entry in entries:
        for command in entry.commands:
            if _tagged(command).t != "say" or (post := decode_or_none(command, log.Say)) is None:
                continue
            yield Post(
                session=sid,
                channel=post.channel,
                k=ks[post.channel],
                n=n,
                transition=entry.n,
                at_ns=entry.at_ns,
                seat=post.seat,
                kind=post.kind,
                round=post.round,
                body=compact(post.body),
            )
            ks[post.channel] += 1
            n += 1


def _used(entries: Sequence[_AnyEntry]) -> ResultUsage:
    """The usage of its replies, and the number of turns without one: these may have cost something."""
    tags = [_tagged(e.event).t for e in entries]
    replies = [
        Usage() if e.cause.startswith(CAUSE) else r.usage  # another session paid for what was carried over
        for e, t in zip(entries, tags, strict=True)
        if t == "replied" and (r := decode_or_none(e.event, _Reply))
    ]
    used = sum(replies, Usage())
    asks = sum(_tagged(c).t == "ask" for e in entries for c in e.commands)
    return ResultUsage(
        turns=len(replies),
        calls=used.calls,
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        estimated=used.estimated,
        cost_usd=used.cost_usd,
        unaccounted_turns=max(0, asks - len(replies)),
        unaccounted_tokens=0,
        by_seat={},
        cached_tokens=used.cached_tokens,
        unpriced=used.unpriced,
    )
