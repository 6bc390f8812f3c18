"""How a moderator opens a fork: the record that it carries, what changes, the workers, and the artifacts."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from parley.bus.artifacts import Artifacts
from parley.bus.connection import Connection
from parley.coordinator.admission import build_settings, check_language_models, described
from parley.coordinator.forks.carry import ForkRequest, position_of, rounds_of
from parley.coordinator.machine import Inadmissible, Protocol
from parley.coordinator.presence import Presence
from parley.coordinator.protocols import STANDING
from parley.coordinator.replay import Diverged, VerifiedRecord, replay
from parley.coordinator.sessions.store import Sessions
from parley.schemas import log
from parley.schemas.past_sessions.fork import Change
from parley.schemas.presence import Announcement
from parley.schemas.session import ForkSession, Seat

replace = msgspec.structs.replace


class Forks:
    """Opens forks, over one connection of a moderator."""

    def __init__(
        self, connection: Connection, sessions: Sessions, presence: Presence, protocols: Mapping[str, Protocol]
    ) -> None:
        self._artifacts = Artifacts(connection)
        self._sessions = sessions
        self._presence = presence
        self._protocols = protocols

    async def wanted(self, sid: str, author: str, request: ForkSession, trace: Callable[[], str]) -> ForkRequest:
        """What the fork is made of; the artifacts of the record's session are the fork's too from here on. Raises
        Inadmissible: there is no such record, it is another's or not over; a setting, a seat or a round that cannot
        be."""
        entries = await self._record(author, request.of)
        replayed = await asyncio.to_thread(self._recomputed, request.of, entries)
        protocol = self._protocols[replayed.session.opened.protocol]
        rounds = await asyncio.to_thread(rounds_of, protocol, request.of, replayed.entries)
        round_, position = position_of(rounds, request.of, request.round)
        opened, changes = changed(protocol, _opened(replayed), request, self._presence.alive())
        opened = replace(
            opened,
            author=author,
            parent="",
            continues="",
            trace=trace() or msgspec.UNSET,
            fork=msgspec.UNSET,
            reasoning_tokens=self._presence.reasoning_tokens(),
        )
        for id in await self._artifacts.ids(request.of):
            data = await self._artifacts.get(request.of, id)
            if data is not None:
                await self._artifacts.put(sid, data)
        return ForkRequest(
            sid=sid,
            parent=request.of,
            protocol=protocol,
            record=replayed,
            opened=opened,
            changes=changes,
            round=round_,
            position=position,
        )

    async def _record(self, author: str, of: str) -> list[msgspec.Raw]:
        """The session's entries, as stored. Raises Inadmissible."""
        cached = await self._sessions.look(of, fresh=True)
        if of in STANDING:
            raise Inadmissible("of", f"session {of} is the moderators' own")
        if cached.session is None and cached.over:
            raise Inadmissible("of", f"session {of}: {cached.over}")
        if cached.session is None:
            raise Inadmissible("of", f"there is no session {of}")
        if cached.session.opened.author != author:
            raise Inadmissible("of", f"session {of} was opened by somebody else")
        if not cached.session.closed:
            raise Inadmissible("of", f"session {of} is open: a fork carries the record of one that is over")
        return [msgspec.Raw(bytes(entry)) for entry in await self._sessions.entries(of, 0)]

    def _recomputed(self, of: str, entries: list[msgspec.Raw]) -> VerifiedRecord:
        """Recompute the record. Raises Inadmissible if it does not recompute here."""
        try:
            return replay(self._protocols.get, of, [bytes(entry) for entry in entries])
        except Diverged as error:
            raise Inadmissible("of", f"session {of} cannot be carried on: {error}") from error


def changed(
    protocol: Protocol, recorded: log.Opened, request: ForkSession, workers: tuple[Announcement, ...]
) -> tuple[log.Opened, tuple[Change, ...]]:
    """The opening with the fork's changes, and the changes. Raises Inadmissible."""
    before = msgspec.to_builtins(build_settings(protocol, recorded.settings))
    settings = {**recorded.settings, **request.settings}
    after: dict[str, Any] = msgspec.to_builtins(build_settings(protocol, settings))
    changes = [
        Change(what=f"{protocol.name}.{name}", before=before.get(name), after=value)
        for name, value in after.items()
        if value != before.get(name)
    ]
    names = {queue: name for name, queue in (recorded.queues or {}).items()}
    queues = request.queues or recorded.queues or {}
    served = _seats(recorded.seats, request.seats, workers, lambda q: queues.get(names.get(q, q), q))
    seats = tuple(described(seat, workers, protocol) for seat in served)
    check_language_models(protocol, workers, seats, recorded.waits)
    changes += [
        Change(what=f"model of {new.seat}", before=old.model, after=new.model)
        for old, new in zip(recorded.seats, seats, strict=True)
        if old.model != new.model
    ]
    budget = recorded.budget if request.budget is None else request.budget
    if budget != recorded.budget:
        limits = msgspec.to_builtins(recorded.budget), msgspec.to_builtins(budget)
        changes += [
            Change(what=f"budget.{name}", before=limits[0][name], after=value)
            for name, value in limits[1].items()
            if value != limits[0][name]
        ]
    limited = any(limit is not None for limit in (budget.tokens, budget.calls, budget.cost_usd))
    opened = replace(
        recorded,
        settings=after if request.settings else recorded.settings,
        seats=seats,
        budget=budget,
        queues=queues or msgspec.UNSET,
        turn_timeout_s=recorded.turn_timeout_s if request.turn_timeout_s is None else request.turn_timeout_s,
        fits=recorded.fits if budget == recorded.budget else limited or msgspec.UNSET,
    )
    return opened, tuple(changes)


def _seats(
    recorded: tuple[Seat, ...],
    wanted: tuple[Seat, ...],
    workers: tuple[Announcement, ...],
    now: Callable[[str], str],
) -> tuple[Seat, ...]:
    """The record's seats with the queues that serve them now (`now`: queue -> queue). Raises Inadmissible if nobody
    serves one."""
    named = {s.seat: s for s in wanted}
    have = [s.seat for s in recorded]
    for name in named:
        if name not in have:
            raise Inadmissible(
                "seats",
                f"seats: there is no seat {name[:64]} in the record; its seats are {', '.join(have)}",
                worker=False,
            )
    seats = []
    for seat in recorded:
        mine = replace(seat, queue=now(named.get(seat.seat, seat).queue))
        if not any(w.queue == mine.queue and mine.role in w.roles and not w.draining for w in workers):
            raise Inadmissible(
                f"seats.{mine.seat}",
                f"no worker is alive for role {mine.role} on queue {mine.queue}; start one: parley agent {mine.queue}",
            )
        seats.append(mine)
    return tuple(seats)


def _opened(replayed: VerifiedRecord) -> log.Opened:
    """The opening event, before seats were added."""
    event = replayed.entries[0].event
    assert isinstance(event, log.Opened), "a record begins with its opening"
    return event
