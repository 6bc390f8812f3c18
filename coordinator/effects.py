"""What a transition leads to on the bus: posts, turns, the timer, other sessions, people. Idempotent by ids made from
the log position, so that carrying it out twice is carrying it out once."""

import asyncio
import contextlib
from bisect import bisect_left
from collections.abc import Coroutine, Mapping
from typing import Any

from bus import subjects
from bus.channels import CLIENTS, may_read
from bus.connection import Connection
from bus.errors import BusError, Conflict
from bus.timers import Timers
from coordinator import briefing
from coordinator.folded.lost import Lost
from coordinator.machine import Protocol, Session
from coordinator.notify import Notifier
from coordinator.presence import Presence
from observability import tracing
from schemas import log
from schemas.post import Post
from schemas.result import Result
from schemas.session import CancelSession, SessionEnded, TellSession
from schemas.stops import VERSION_LOST
from schemas.wire import decode, encode

_SOON_NS = 300_000_000
Commands = tuple[log.Command, ...]


class Effects:
    """Carries commands out, over one connection of a moderator."""

    def __init__(
        self,
        connection: Connection,
        *,
        protocols: Mapping[str, Protocol],
        presence: Presence,
        key: bytes,
        lane: str,
        notifier: Notifier,
        turns_per_message: int = 1,
    ) -> None:
        self._connection = connection
        self._protocols = protocols
        self._presence = presence
        self._timers = Timers(connection)
        self._key = key
        self._lane = lane
        self._notifier = notifier
        self._turns_per_message = turns_per_message

    def build(
        self, session: Session, n: int, commands: Commands, at_ns: int, *, reissued: bool = False
    ) -> list[briefing.Sending]:
        """The WORK messages of transition `n`. Raises briefing.Leak."""
        return briefing.build(
            session, n, commands, key=self._key, lane=self._lane, decided_ns=at_ns, reissued=reissued,
            turns_per_message=self._turns_per_message,
        )  # fmt: skip

    async def carry_out(
        self, session: Session, n: int, commands: Commands, sendings: list[briefing.Sending], *, reissued: bool = False
    ) -> None:
        """The effects of transition `n`.

        Parameters
        ----------
        session
            The state after it, or any later one.

        Raises
        ------
        BusError
            Some may not be out: carry it out again.
        """
        sid = session.sid
        effects: list[Coroutine[Any, Any, Any]] = [self._send(sid, sending, reissued) for sending in sendings]
        for i, command in enumerate(commands):
            match command:
                case log.ClearTimer():
                    effects.append(self._clear_timer(sid))
                case log.StartChild() if command.session in session.children:
                    effects.append(self._submit(sid, command.session, command.opening, f"{sid}-{n}-{i}"))
                case log.CancelChild():
                    cancel = CancelSession(reason=f"session {sid} ended it")
                    effects.append(self._submit(sid, command.session, cancel, f"{sid}-{n}-{i}"))
                case log.Tell():
                    told = TellSession(place=f"{n}-{i}", kind=command.kind, body=command.body)
                    effects.append(self._submit(sid, command.session, told, f"{sid}-{n}-{i}"))
                case log.Notify():
                    self._notifier.call(sid, f"{sid}-{n}-{i}", command.severity, command.text, session.at_ns)
                case log.Close() if session.opened.parent:
                    effects.append(self.ended(sid, session.opened.parent, _ended(session)))
        if session.closed and not any(isinstance(c, log.ClearTimer) for c in commands):
            effects.append(self._clear_timer(sid))  # it fired, and what it made lies there
        at_ns = self._timer(session, commands)
        if at_ns is not None:
            again = "-again" if reissued else ""
            effects.append(self._timers.arm(sid, at_ns, f"{sid}-{n}-timer{again}"))
        if any(isinstance(c, log.Say) for c in commands):  # last: what is to be stored is on its way when all wake up
            effects.append(self._say(session, n, commands))
        if len(effects) == 1:
            await effects[0]
        elif effects:
            await asyncio.gather(*effects)

    async def _say(self, session: Session, n: int, commands: Commands) -> None:
        """Posts go out twice: for agents and others who see all sessions, and for their owner."""
        first = _first_post(session, n)
        for post in session.posts[first : first + sum(isinstance(c, log.Say) for c in commands)]:
            await self._post(session.opened.author, post)

    async def _post(self, owner: str, post: Post) -> None:
        subject, data = subjects.post(post.session, post.channel, post.kind), encode(post)
        await self._connection.publish(subject, data)
        if may_read(CLIENTS, post.channel):
            await self._connection.publish(subjects.owned(owner, subject), data)

    def _timer(self, session: Session, commands: Commands) -> int | None:
        """When the session's timer is to fire, where these commands move it: when it is set for, or earlier, to look
        whether somebody serves the turns that are out."""
        due = session.timer_ns
        if session.closed or due is None:
            return None
        is_set = any(isinstance(c, log.SetTimer) and c.at_ns == due for c in commands)
        if not is_set and not any(isinstance(c, log.Ask) for c in commands):
            return None
        queues = self._protocols[session.opened.protocol].watched(session)
        look = min(due, self._connection.clock.now_ns() + self._presence.look_in_ns(queues)) if queues else due
        return look if is_set or look < due else None

    async def rearm(self, session: Session) -> None:
        """Set the session's timer for its deadline, or for the next moment where that has passed."""
        if session.timer_ns is not None:
            now = self._connection.clock.now_ns()
            at_ns = max(session.timer_ns, now + _SOON_NS)
            await self._timers.arm(session.sid, at_ns, f"{session.sid}-{session.n}-timer-{now}")

    async def ended(self, sid: str, parent: str, ended: SessionEnded) -> None:
        """Tell a session that one which it started is over. Told again, it is not awaited any more."""
        await self._submit(sid, parent, ended, f"{sid}-ended")

    async def lost(self, sid: str, end: Lost) -> None:
        """What a session that nobody could run leaves to be done: who waits for it is told, what is beneath it ends,
        and whoever follows it hears. Repeating it is fine."""
        await self._clear_timer(sid)
        for child in end.children:
            await self._submit(sid, child, CancelSession(reason=f"session {sid} ended"), f"{sid}-lost-{child}")
        if end.parent:  # as one whose texts are gone: every release books all that it might have used
            told = SessionEnded(protocol=end.protocol, status="erased", reason=VERSION_LOST, why=end.why)
            await self.ended(sid, end.parent, told)
        for post in end.posts[-2:]:
            await self._post(end.author, post)

    async def _submit(self, sid: str, to: str, message: object, msg_id: str) -> None:
        """From one session to another, through INNER."""
        headers: dict[str, str] = {}
        subject = subjects.inner(sid, to)
        with tracing.publish("inner", subject, headers=headers, session=to, message_id=msg_id):
            await self._connection.store(subject, encode(message), msg_id=msg_id, headers=headers)

    async def _send(self, sid: str, sending: briefing.Sending, reissued: bool) -> None:
        """One WORK message. Sent again, it is stored only if the first is not there any more: however late that is."""
        headers: dict[str, str] = {}
        subject = subjects.work(sending.queue, sid, sending.number)
        with tracing.publish("work", subject, headers=headers, session=sid, message_id=f"{sid}-{sending.number}"):
            data = encode(sending.work)
            if not reissued:
                await self._connection.store(subject, data, msg_id=f"{sid}-{sending.number}", headers=headers)
                return
            with contextlib.suppress(Conflict):
                await self._connection.store(subject, data, expected_last=(subject, 0), headers=headers)

    async def _clear_timer(self, sid: str) -> None:
        with contextlib.suppress(BusError):  # it fires at a closed session then, and is dropped there
            await self._timers.clear(sid)


def _ended(session: Session) -> SessionEnded:
    assert session.stopped is not None, "a closed session was stopped"
    result = decode(session.posts[-1].body, Result)
    lost = session.ledger.lost
    return SessionEnded(
        protocol=result.protocol, status=result.status, reason=result.stop.reason, result=result,
        unaccounted_calls=lost.calls, unaccounted_cost_usd=lost.cost_usd,
    )  # fmt: skip


def _first_post(session: Session, n: int) -> int:
    """Number of the first post of transition `n`: posts lie in the order of transitions."""
    return bisect_left(session.posts, n, key=lambda post: post.transition)
