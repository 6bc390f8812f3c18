"""Answers requests about artifacts: whether this author may store one here, whether it is a folder's archive,
whether it exists.
"""

import asyncio

from bus.artifacts import Artifacts
from bus.channels import CLIENT, PUBLIC
from bus.library import Msg
from coordinator import briefing
from coordinator.session_store import Sessions
from schemas.artifact import GetArtifact, GotArtifact, PutArtifact, TakeArtifact
from schemas.folders import archive
from schemas.folders.archive import FolderError
from schemas.turn import Answer
from schemas.wire import InvalidValue, decode


class Shelf:
    """Serves `put`, `get` and `take`."""

    def __init__(self, artifacts: Artifacts, sessions: Sessions, key: bytes) -> None:
        self._artifacts = artifacts
        self._sessions = sessions
        self._key = key

    async def put(self, msg: Msg, channel: str, author: str, sid: str) -> Answer:
        """Store one: for a worker's open turn, or of a client, before it opens the session or in its own. All are
        archives of folders, and none is stored that whoever unpacks it would refuse."""
        asked = decode(msg.data, PutArtifact)
        why = await (self._client(author, sid) if channel == CLIENT else self._worker(channel, author, sid, asked))
        if why:
            return Answer(verdict="refused", why=why)
        try:
            await asyncio.to_thread(archive.check, asked.data)
            await self._artifacts.put(sid, asked.data)
        except (FolderError, InvalidValue) as error:
            return Answer(verdict="refused", why=str(error))
        return Answer(verdict="accepted")

    async def get(self, msg: Msg, channel: str, sid: str, owner: str | None = None) -> GotArtifact:
        """One by its id, for a client or an owner. The broker has seen to it that the asker reads the channel, of the
        sessions of `owner` if one is named; artifacts lie on `public`."""
        asked = decode(msg.data, GetArtifact)
        there = channel == PUBLIC and (owner is None or (await self._sessions.look(sid, fresh=True)).is_of(owner))
        data = await self._artifacts.get(sid, asked.id) if there else None
        return GotArtifact(found=data is not None, data=data or b"")

    async def take(self, msg: Msg, channel: str, author: str, sid: str) -> GotArtifact:
        """One that an open turn of this worker names, and no other: a task's folder is for who works on it or reviews
        it."""
        asked = decode(msg.data, TakeArtifact)
        held = await self._sessions.look(sid)
        if held.session is None or asked.turn not in held.session.turns:
            held = await self._sessions.look(sid, fresh=True)
        why = briefing.not_its_turn(held.session, self._key, channel, author, sid, asked.turn, asked.token)
        turn = held.session.turns.get(asked.turn) if held.session is not None else None
        if not why and turn is None:
            why = f"turn {asked.turn} is not open"
        if not why and turn is not None and asked.id.encode() not in bytes(turn.ask.brief):
            why = f"turn {asked.turn} names no artifact {asked.id}"
        data = None if why else await self._artifacts.get(sid, asked.id)
        return GotArtifact(found=data is not None, data=data or b"", why=why)

    async def _client(self, author: str, sid: str) -> str:
        held = await self._sessions.look(sid, fresh=True)
        if held.over:
            return f"session {sid}: {held.over}"
        if held.session is not None and held.session.opened.author != author:
            return f"session {sid} was opened by somebody else"
        return ""

    async def _worker(self, channel: str, author: str, sid: str, asked: PutArtifact) -> str:
        held = await self._sessions.look(sid)
        if held.session is None or asked.turn not in held.session.turns:
            held = await self._sessions.look(sid, fresh=True)
        fault = briefing.not_its_turn(held.session, self._key, channel, author, sid, asked.turn, asked.token)
        if fault or held.session is None or asked.turn in held.session.turns:
            return fault
        return f"turn {asked.turn} is not open"
