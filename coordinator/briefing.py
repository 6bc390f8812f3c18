"""Builds WORK messages. This is the one place that decides what a seat gets to see.

The machine names posts by number; here they are looked up and checked against the channel table. A machine that would
show a seat what its channels do not hold is stopped (`Leak`) before anything is appended.
"""

import hashlib
import secrets
from collections.abc import Callable
from functools import lru_cache
from itertools import islice

import msgspec

from parley.bus.channels import ACCOUNT_OF_ROLE, CHANNELS, PUBLIC, may_read, may_write, speaks_on
from parley.coordinator.budget import pays_for_tries
from parley.coordinator.machine import MachineError, Session
from parley.coordinator.package_endings import ours
from parley.coordinator.table import CONTROL, seat_of
from parley.schemas import log
from parley.schemas.session import Seat
from parley.schemas.turn import DocumentRef, ShownPost, Turn, Work

_KEPT = 8_192
"""Tokens and boundaries that are remembered: each is asked for at least twice."""


_OF_PACKAGES = "x_"
"""So the channels of packages begin (parley.schemas.packages)."""


class Leak(MachineError):
    """A turn would show a seat a post of a channel that it may not read, or have it speak where it may not. Ours."""

    def __init__(self, seat: str, channel: str, post: int | None = None) -> None:
        self.seat = seat
        self.channel = channel
        what = "speak on" if post is None else "read"
        where = "" if post is None else f" (post {post})"
        super().__init__(f"seat {seat} may not {what} channel {channel}{where}")


class NoPlace(MachineError):
    """A protocol posts on what is no channel, or in the name of what is no seat. Its fault."""


class Sending(msgspec.Struct, frozen=True):
    """One WORK message to publish."""

    queue: str
    number: str
    work: Work


@lru_cache(_KEPT)
def token(key: bytes, sid: str, turn: str) -> str:
    """A turn's token: keyed hash of session and turn, by a key that only moderators hold; never stored."""
    return hashlib.blake2b(f"{sid}\0{turn}".encode(), key=key, digest_size=16).hexdigest()


@lru_cache(_KEPT)
def boundary(key: bytes, sid: str, seat: str) -> str:
    """What the texts of a seat's prompts stand between: keyed hash of session and seat, by the tokens' key. It is the
    same in every turn of the seat, so its prompts begin alike, and nobody can know it before a prompt holds it."""
    return hashlib.blake2b(f"{sid}\0{seat}".encode(), key=key, digest_size=8, person=b"boundary").hexdigest()


def turn_transition(turn: str) -> int:
    """The transition that asked this turn; -1 for what is no turn id."""
    head = turn.split("-")[0]
    return int(head) if head.isdecimal() and len(head) < 10 else -1


def build(
    session: Session,
    n: int,
    commands: tuple[log.Command, ...],
    *,
    key: bytes,
    lane: str,
    decided_ns: int,
    reissued: bool = False,
    turns_per_message: int = 0,
    followed: Callable[[str], bool] = lambda sid: True,
) -> list[Sending]:
    """WORK messages for the asks of one transition that are still open.

    Parameters
    ----------
    session
        The state after the transition or any later one.
    n
        The transition whose commands these are.
    turns_per_message
        At most so many turns of one queue, round and channel lie in a message. 0: as many as let the queue's copies
        share them.
    followed
        Whether somebody may follow a session live.

    Raises
    ------
    Leak
        A seat would see what its channels do not hold.
    NoPlace
        A post would stand on a channel that there is not, or be of a seat that there is not.
    """
    _check_posts(session, commands)
    ask_places = [i for i, c in enumerate(commands) if type(c) is log.Ask]
    if not ask_places:
        return []
    ids = {i: f"{n}-{i}" for i in ask_places}  # a turn's identity: transition and place of its command
    if session.turns.keys().isdisjoint(ids.values()):
        return []
    seats = {s.seat: s for s in session.opened.seats}
    groups: dict[tuple[str, int, str], list[tuple[int, log.Ask]]] = {}
    for index in ask_places:
        ask: log.Ask = commands[index]  # type: ignore[assignment]
        seat = seats[ask.seat]
        channel = channel_of(seat, ask) if ask.channel else speaks_on(ACCOUNT_OF_ROLE[seat.role])
        groups.setdefault((ask.queue or seat.queue, ask.round, channel), []).append((index, ask))
    sendings = []
    for (queue, round_, channel), asks in groups.items():
        most = turns_per_message or share(session.opened, queue, len(asks))
        rest = iter(asks)
        while batch := list(islice(rest, most)):
            # Grouped as they were first, whatever was answered since: one place in the log, one subject.
            part = [(i, a) for i, a in batch if ids[i] in session.turns]
            if not part:
                continue
            work = Work(
                session=session.sid,
                owner=session.opened.author,
                protocol=session.opened.protocol,
                question=session.question or session.opened.question,
                round=round_,
                channel=channel,
                lane=lane,
                decided_ns=decided_ns,
                reissued=reissued,
                together=True,
                followed=followed(session.sid),
                posts=_posts(session, seats, [a for _, a in part]),
                turns=tuple([_turn(session, seats[a.seat], ids[i], a, key) for i, a in part]),
            )
            sendings.append(Sending(queue, ids[batch[0][0]], work))
    return sendings


def _check_posts(session: Session, commands: tuple[log.Command, ...]) -> None:
    """Raises NoPlace. A protocol of Parley's also posts in the name of experts who have no seat yet."""
    protocol, seats = session.opened.protocol, session.opened.seats
    of_ours = ours(protocol)
    for c in commands:
        if type(c) is log.Say:
            if c.channel not in CHANNELS:
                raise NoPlace(f"protocol {protocol} posts on {c.channel!r}, which is no channel")
            if of_ours or c.channel == CONTROL:
                continue  # on control the machine speaks: a protocol's words there are refused before
            seat = next((s for s in seats if s.seat == c.seat), None)
            if c.seat and seat is None:
                raise NoPlace(f"protocol {protocol} posts in the name of {c.seat!r}, who has no seat")
            theirs = c.channel == PUBLIC or c.channel.startswith(_OF_PACKAGES)
            if not theirs and not (seat and may_write(ACCOUNT_OF_ROLE[seat.role], c.channel)):
                raise NoPlace(f"protocol {protocol} posts on {c.channel!r}, which is not its own")


def share(opened: log.Opened, queue: str, turns: int) -> int:
    """How many of a queue's turns of one round lie in a message, at least one: each copy gets as many, and none more
    than it has room for. It follows from the opening alone, so that a message that is sent again is the same."""
    for serving in opened.workers:
        if serving.queue == queue:
            if serving.copies is msgspec.UNSET:
                return 1  # a release asked that sent each turn alone
            return max(1, min(-(-turns // serving.copies), serving.room // serving.copies))
    return 1  # nobody is known


def queue_of(seat: Seat, ask: log.Ask) -> str:
    """Whose turn it is: the person's who sits there, else that of the seat's own queue."""
    return ask.queue or seat.queue


def channel_of(seat: Seat, ask: log.Ask) -> str:
    """Where the reply to a turn is submitted. Raises Leak: the seat's account does not write there."""
    account = ACCOUNT_OF_ROLE[seat.role]
    if ask.channel and not may_write(account, ask.channel):
        raise Leak(seat.seat, ask.channel)
    return ask.channel or speaks_on(account)


def not_its_turn(
    session: Session | None,
    fits: Callable[[Callable[[bytes], bool]], bool],
    channel: str,
    author: str,
    sid: str,
    turn: str,
    presented: str,
) -> str:
    """Why this author, with the token given, may not act for this turn on this channel; empty if he may, or if the turn
    is not open any more. `fits`: whether a token fits one of the moderators' keys."""
    if session is None:
        return f"there is no session {sid}"
    given = presented.encode()
    if not fits(lambda key: secrets.compare_digest(token(key, sid, turn).encode(), given)):
        return f"turn {turn}: the token is not right"
    open_turn = session.turns.get(turn)
    if open_turn is not None:
        seat = seat_of(session.opened, open_turn.ask.seat)
        queue = open_turn.ask.queue or seat.queue
        if queue != author:
            return f"turn {turn} belongs to queue {queue}, not to {author}"
        wanted = channel_of(seat, open_turn.ask) if open_turn.ask.channel else speaks_on(ACCOUNT_OF_ROLE[seat.role])
        if channel != wanted:
            return f"turn {turn} is answered on channel {wanted}, not on {channel}"
    return ""


def _posts(session: Session, seats: dict[str, Seat], asks: list[log.Ask]) -> tuple[ShownPost, ...]:
    """Every post that these turns show, once; each checked against the table."""
    wanted: dict[int, None] = {}
    for ask in asks:
        account = ACCOUNT_OF_ROLE[seats[ask.seat].role]
        for number in ask.sees if ask.own is None else (*ask.sees, ask.own):
            post = session.posts[number]
            if not may_read(account, post.channel):
                raise Leak(ask.seat, post.channel, number)
            wanted[number] = None
    shown = []
    for number in sorted(wanted):
        p = session.posts[number]
        shown.append(ShownPost(n=p.n, channel=p.channel, kind=p.kind, round=p.round, body=p.body))
    return tuple(shown)


def _documents(session: Session, seat: str, round_: int) -> tuple[DocumentRef, ...]:
    return tuple(
        [
            DocumentRef(id=d.id, name=d.name, background=d.background)
            for d in session.opened.documents
            if d.is_shown(seat, round_)
        ]
    )


def _turn(session: Session, seat: Seat, turn: str, ask: log.Ask, key: bytes) -> Turn:
    return Turn(
        id=turn,
        token=token(key, session.sid, turn),
        boundary=boundary(key, session.sid, ask.seat),
        seat=ask.seat,
        role=seat.role,
        kind=ask.kind,
        brief=ask.brief,
        sees=ask.sees,
        own=ask.own,
        documents=_documents(session, ask.seat, ask.round) if session.opened.documents else (),
        deadline_ns=ask.deadline_ns,
        caps=ask.caps,
        stream=ask.stream,
        booked=not ask.queue and pays_for_tries(seat, session.opened.budget),
        attempt=ask.attempt,
        error=ask.error,
        refused=ask.refused or "",
    )
