"""Effects: carry out on the bus what a transition commands: posts, turns, the timer, other sessions, calls to people.

The commands are in the log before anything here runs. A process may die at any line, and a repeat of the submission, a
timer or a sweep then carries the same transition out again. So the rule of this module is: twice is the same as once.

What makes it so, for each kind of effect:

- A post has its number on its channel. A reader that has the number drops the post.
- A turn has the place of its command in the log as its id and a subject of its own. The first time, the server drops a
  second message with the same id. That memory lasts only minutes. So a turn that is sent again is stored only if its
  subject holds nothing (`expected_last`), however late it is.
- The timer of a session is one message, and the last one counts. A timer that fires too early finds nothing due.
- A message to another session has an id from the log position, and the receiver's log knows its cause.
- The row in the index is computed from the session, and never replaces a row that is further along.

Why the steps have this order (`carry_out`):

- Everything that the server stores is sent first, and nothing is awaited yet: the waits overlap.
- Posts are sent last. Who hears a post may act at once. What was to be stored is on its way by then.
- Only then are the answers awaited. An error is kept for its transition, and the others go on. The submission of a
  transition with an error is not answered as accepted: its sender repeats it, and the effects go out again.
- The timer is set from the state after the last transition, once for all that were appended together.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from parley.bus import streams, subjects
from parley.bus.channels import CLIENTS, CONTROL, PUBLIC, may_read
from parley.bus.connection import Connection
from parley.bus.errors import BusError, Conflict
from parley.bus.posts import Audience
from parley.bus.storage.index import Index
from parley.coordinator import briefing
from parley.coordinator.machine import Protocol, Session
from parley.coordinator.presence import Presence
from parley.coordinator.sessions import rows, spans
from parley.coordinator.sessions.lanes import Held, Lanes
from parley.coordinator.sessions.lost import LostSession
from parley.coordinator.sessions.token_keys import TokenKeys
from parley.schemas import log
from parley.schemas.past_sessions.feedback import FEEDBACK, NOTES
from parley.schemas.post import Post, posted, together
from parley.schemas.result import Result
from parley.schemas.session import CancelSession, SessionEnded, TellSession, is_human
from parley.schemas.stops import VERSION_LOST
from parley.schemas.wire import decode, encode

_SOON_NS = 300_000_000
Commands = tuple[log.Command, ...]
_ON_THEIR_OWN_WAYS = (log.Say, log.Ask, log.SetTimer)
"""Posts, turns and the timer: most of the effects."""


class StepEffects(NamedTuple):
    """What one transition leads to."""

    n: int
    commands: Commands
    sendings: list[briefing.Sending]


class Effects:
    """Carries out commands, over one connection of a moderator."""

    def __init__(
        self,
        connection: Connection,
        *,
        protocols: Mapping[str, Protocol],
        presence: Presence,
        keys: TokenKeys,
        lane: str,
        index: Index,
        turns_per_message: int = 0,
        is_open: Callable[[str, Iterable[str]], bool],
    ) -> None:
        """`is_open`: whether any of these turns of a session is open, as far as this process knows."""
        self.index = index
        self.lanes = Lanes(presence.room, is_open, presence.now)
        self._sent: set[asyncio.Future[Any]] = set()
        self._all_seers = Audience(connection, subjects.read.each)
        self._owners = Audience(connection, subjects.owned(None, subjects.read.each))
        self._connection = connection
        self._protocols = protocols
        self._presence = presence
        self._keys = keys
        self._lane = lane
        self._turns_per_message = turns_per_message

    async def open(self) -> None:
        """Begin to hear who follows sessions."""
        await self._all_seers.open()
        await self._owners.open()

    def build(
        self, session: Session, n: int, commands: Commands, at_ns: int, *, reissued: bool = False
    ) -> list[briefing.Sending]:
        """The WORK messages of transition `n`. Raises briefing.Leak."""
        return briefing.build(
            session, n, commands, key=self._keys.signing, lane=self._lane, decided_ns=at_ns, reissued=reissued,
            turns_per_message=self._turns_per_message,
            followed=self._followed,
        )  # fmt: skip

    def _followed(self, sid: str) -> bool:
        return self._owners.follows(sid) or self._all_seers.follows(sid)

    async def carry_out(
        self, session: Session, parts: Sequence[StepEffects], *, reissued: bool = False
    ) -> list[Exception | None]:
        """The effects of transitions that were appended together. All are on their way before one is awaited.

        Parameters
        ----------
        session
            The state after the last of them, or any later one.

        Returns
        -------
        For each transition, what went wrong: some of its effects may not be out, and it must be carried out again.
        """
        errors: list[Exception | None] = [None] * len(parts)
        effects: list[tuple[int, Awaitable[Any]]] = []
        for place, part in enumerate(parts):
            for effect in self._begin(session, part, reissued):
                effects.append((place, effect))
        if session.closed and not any(isinstance(c, log.ClearTimer) for part in parts for c in part.commands):
            effects.append(
                (0, asyncio.ensure_future(self._clear_timer(session.sid)))
            )  # the timer fired: its message lies there
        place, at_ns = self._timer(session, parts)
        if at_ns is not None:
            suffix = "-again" if reissued else ""
            msg_id = f"{session.sid}-{parts[place].n}-timer{suffix}"
            effects.append((place, streams.arm_timer(self._connection, session.sid, at_ns, msg_id)))
        try:  # The timer comes last: everything else is then on its way.
            await self._say(session, parts)
        except Exception as error:
            errors = [error] * len(parts)
        for place, effect in effects:
            try:
                await effect
            except Exception as error:
                errors[place] = errors[place] or error
        return errors

    def _begin(self, session: Session, part: StepEffects, reissued: bool) -> list[Awaitable[Any]]:
        """Begin all effects of one transition that are stored."""
        sid, n = session.sid, part.n
        own_record = session.opened.fork is msgspec.UNSET or not _is_carried(session, n)
        effects: list[Awaitable[Any]] = []
        for sending in part.sendings:
            if (sent := self._send_in_lane(session, sending, reissued)) is not None:
                effects.append(sent)
        for i, command in enumerate(part.commands):
            if type(command) in _ON_THEIR_OWN_WAYS:
                continue
            match command:
                case log.ClearTimer():  # it has not fired; if it fires all the same, a moderator drops the message
                    effects.append(asyncio.ensure_future(self._clear_timer(sid)))
                case log.StartChild() if command.session in session.children:
                    effects.append(self._submit(sid, command.session, command.opening, f"{sid}-{n}-{i}", session))
                case log.CancelChild() if own_record:
                    cancel = CancelSession(reason=f"session {sid} ended it")
                    effects.append(self._submit(sid, command.session, cancel, f"{sid}-{n}-{i}", session))
                case log.Tell() if own_record:
                    submission = TellSession(place=f"{n}-{i}", kind=command.kind, body=command.body)
                    effects.append(self._submit(sid, command.session, submission, f"{sid}-{n}-{i}", session))
                case log.Close() if session.opened.parent:
                    effects.append(self._submit(sid, session.opened.parent, _ended(session), f"{sid}-ended", session))
        if n == 0 or (session.closed and any(map(_changes_row, part.commands))):
            effects.append(asyncio.ensure_future(self.index.put(rows.of(session))))
        return effects

    async def _say(self, session: Session, parts: Sequence[StepEffects]) -> None:
        """Publish posts twice: to agents and others who see all sessions, and to the owner. Successive posts of one
        kind and channel are one message."""
        fork = session.opened.fork
        first = parts[0].n if fork is msgspec.UNSET else max(parts[0].n, fork.carried)  # a carried post is no news
        for posts in together(_posts(session, first, parts[-1].n)):
            headers = spans.post_headers(session, posts[0]) if session.opened.trace else None
            await self._post(session.opened.author, posts, headers)

    async def say_again(self, session: Session) -> None:
        """Publish again, live, what the protocol said to all who take part. A reader that has it already ignores it."""
        for post in session.posts:
            if not post.seat and post.channel == PUBLIC:
                headers = spans.post_headers(session, post) if session.opened.trace else None
                await self._post(session.opened.author, [post], headers)

    async def _post(self, owner: str, posts: Sequence[Post], headers: Mapping[str, str] | None = None) -> None:
        """Publish live. What seats said is left out while nobody listens. What the protocol says always goes out:
        workers act on it, and they do not ask for history."""
        post = posts[0]
        sid, subject = post.session, subjects.post(post.session, post.channel, post.kind)
        to = [(self._all_seers, subject)]
        if may_read(CLIENTS, post.channel):
            to.append((self._owners, subjects.owned(owner, subject)))
        if post.channel != CONTROL:
            for p in posts:
                if not p.seat:
                    break
            else:
                to = [(who, s) for who, s in to if who.hears(sid, s)]
                if not to:
                    return
        data = posted(posts)
        for who, s in to:
            if not who.put(sid, s, data, headers):
                await self._connection.publish(s, data, headers)

    def _timer(self, session: Session, parts: Sequence[StepEffects]) -> tuple[int, int | None]:
        """(Place of the last transition that moves the session's timer, when it is to fire). It fires at the deadline,
        or earlier, to check that somebody serves the open turns. None: it stays as it is."""
        due = session.timer_ns
        if session.closed or due is None:
            return 0, None
        asks = place = -1
        for i, part in enumerate(parts):
            for command in part.commands:
                if isinstance(command, log.Ask):
                    asks = i
                elif isinstance(command, log.SetTimer) and command.at_ns == due:
                    place = i
        if session.quorum_ns == session.at_ns:  # from now on it is looked who of the others is gone
            asks = len(parts) - 1
        if place < 0 and asks < 0:
            return 0, None
        queues = self._protocols[session.opened.protocol].watched(session)
        look = due
        if queues:
            at_once = asks >= 0 and self._presence.gone(queues)
            look_in_ns = _SOON_NS if at_once else self._presence.look_in_ns(queues)
            look = min(due, self._connection.clock.now_ns() + look_in_ns)
        return max(place, asks), look if place >= 0 or look < due else None

    async def rearm(self, session: Session) -> None:
        """Set the session's timer for its deadline, or for the next moment if that has passed."""
        if session.timer_ns is not None:
            now = self._connection.clock.now_ns()
            at_ns = max(session.timer_ns, now + _SOON_NS)
            await streams.arm_timer(self._connection, session.sid, at_ns, f"{session.sid}-{session.n}-timer-{now}")

    async def tell_ended(self, sid: str, parent: str, ended: SessionEnded) -> None:
        """Tell the parent that this session is over. A repeat changes nothing: the parent does not await it any
        more."""
        await self._submit(sid, parent, ended, f"{sid}-ended")

    async def lost(self, sid: str, end: LostSession) -> None:
        """What remains to be done for a session that nobody could run: its parent is told, its children are cancelled,
        its followers hear of it. A repeat is harmless."""
        await self._clear_timer(sid)
        await self.index.put(rows.of_lost(sid, end))
        for child in end.children:
            await self._submit(sid, child, CancelSession(reason=f"session {sid} ended"), f"{sid}-lost-{child}")
        if end.parent:  # like a session whose texts are gone: every release books all that it might have used
            ended = SessionEnded(protocol=end.protocol, status="erased", reason=VERSION_LOST, why=end.why)
            await self.tell_ended(sid, end.parent, ended)
        for post in end.posts[-2:]:
            await self._post(end.author, (post,))

    def _submit(
        self, sid: str, to: str, message: object, msg_id: str, session: Session | None = None
    ) -> Awaitable[Any]:
        """Send from one session to another, through INNER."""
        headers = spans.session_headers(session) if session is not None and session.opened.trace else {}
        return self._connection.store(subjects.inner(sid, to), encode(message), msg_id=msg_id, headers=headers)

    def _send_in_lane(self, session: Session, sending: briefing.Sending, reissued: bool) -> Awaitable[Any] | None:
        """Send a WORK message, or let it wait for its owner's next place on the queue (None)."""
        if is_human(sending.queue):
            return self._send(session, sending, reissued)

        def send() -> None:
            sent = asyncio.ensure_future(_tried(self._send(session, sending, reissued)))
            self._sent.add(sent)
            sent.add_done_callback(self._sent.discard)

        held = Held(session.sid, tuple([turn.id for turn in sending.work.turns]), send)
        if self.lanes.send(sending.queue, session.opened.author, held):
            return self._send(session, sending, reissued)
        return None

    def _send(self, session: Session, sending: briefing.Sending, reissued: bool) -> Awaitable[Any]:
        """Send one WORK message. A repeat is stored only if the first message is gone, however late the repeat is."""
        sid, work = session.sid, sending.work
        headers = spans.work_headers(session, work.round) if session.opened.trace else {}
        subject, data = subjects.work(sending.queue, sid, sending.number), encode(work)
        if not reissued:
            return self._connection.store(subject, data, msg_id=f"{sid}-{sending.number}", headers=headers)
        return _unless_there(self._connection.store(subject, data, expected_last=(subject, 0), headers=headers))

    async def _clear_timer(self, sid: str) -> None:
        with contextlib.suppress(BusError):  # it fires at a closed session then, and is dropped there
            await streams.purge_timers(self._connection, sid)


async def _tried(stored: Awaitable[Any]) -> None:
    """A turn that could not be stored is found by the sweep, or by its session's timer."""
    with contextlib.suppress(BusError):
        await stored


async def _unless_there(stored: Awaitable[Any]) -> None:
    with contextlib.suppress(Conflict):
        await stored


def _is_carried(session: Session, n: int) -> bool:
    """Whether a transition repeats one of another session, whose record this session carries. There people were called
    and sessions told; here that is not done again."""
    fork = session.opened.fork
    return fork is not msgspec.UNSET and n <= fork.carried


def _changes_row(command: log.Command) -> bool:
    return isinstance(command, log.Close) or (isinstance(command, log.Say) and command.kind in (FEEDBACK, NOTES))


def _ended(session: Session) -> SessionEnded:
    assert session.stopped is not None, "a closed session was stopped"
    result = decode(session.closing.body, Result)
    lost = session.ledger.lost
    return SessionEnded(
        protocol=result.protocol,
        status=result.status,
        reason=result.stop.reason,
        result=result,
        unaccounted_calls=lost.calls,
        unaccounted_cost_usd=lost.cost_usd,
    )


def _posts(session: Session, first: int, last: int) -> Sequence[Post]:
    """The posts of transitions `first` to `last`. Nearly always these are the last posts: posts lie in the order of
    transitions."""
    posts = session.posts
    end = len(posts)
    while end and posts[end - 1].transition > last:
        end -= 1
    start = end
    while start and posts[start - 1].transition >= first:
        start -= 1
    return posts[start:end]
