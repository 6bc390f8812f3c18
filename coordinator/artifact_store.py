"""Answers requests about artifacts: whether this author may store one here, whether it is a folder's archive,
whether it exists.
"""

import asyncio

from parley.bus.artifacts import Artifacts
from parley.bus.channels import CLIENT, PUBLIC
from parley.bus.library import Msg
from parley.coordinator.sessions.store import Sessions
from parley.coordinator.sessions.token_keys import TokenKeys
from parley.schemas.artifact import GetArtifact, GotArtifact, PutArtifact, TakeArtifact
from parley.schemas.folders import archive
from parley.schemas.folders.archive import FolderError
from parley.schemas.turn import SubmitAnswer
from parley.schemas.wire import InvalidValue, decode


class ArtifactService:
    """Serves `put`, `get` and `take`."""

    def __init__(self, artifacts: Artifacts, sessions: Sessions, keys: TokenKeys) -> None:
        self._artifacts = artifacts
        self._sessions = sessions
        self._keys = keys

    async def put(self, msg: Msg, channel: str, author: str, sid: str) -> SubmitAnswer:
        """Store one: from a worker with an open turn, or from a client before it opens the session or in its own
        session. Each must be a folder's archive that can be unpacked safely."""
        request = decode(msg.data, PutArtifact)
        why = await (self._client(author, sid) if channel == CLIENT else self._worker(channel, author, sid, request))
        if why:
            return SubmitAnswer(verdict="refused", why=why)
        try:
            await asyncio.to_thread(archive.check, request.data)
            await self._artifacts.put(sid, request.data)
        except (FolderError, InvalidValue) as error:
            return SubmitAnswer(verdict="refused", why=str(error))
        return SubmitAnswer(verdict="accepted")

    async def get(self, msg: Msg, channel: str, sid: str, owner: str | None = None) -> GotArtifact:
        """Send one by its id, to a client or an owner. The broker has checked that the asker may read the channel, for
        the sessions of `owner` if one is named. Artifacts lie on `public`."""
        request = decode(msg.data, GetArtifact)
        may_read = channel == PUBLIC and (owner is None or (await self._sessions.look(sid, fresh=True)).is_of(owner))
        data = await self._artifacts.get(sid, request.id) if may_read else None
        return GotArtifact(found=data is not None, data=data or b"")

    async def take(self, msg: Msg, channel: str, author: str, sid: str) -> GotArtifact:
        """Send one that an open turn of this worker names, and no other: a task's folder is for those who work on it or
        review it."""
        request = decode(msg.data, TakeArtifact)
        turn = await self._sessions.open_turn(sid, channel, author, request, self._keys)
        if isinstance(turn, str):
            return GotArtifact(found=False, data=b"", why=turn)
        if request.id.encode() not in bytes(turn.ask.brief):
            return GotArtifact(found=False, data=b"", why=f"turn {request.turn} names no artifact {request.id}")
        data = await self._artifacts.get(sid, request.id)
        return GotArtifact(found=data is not None, data=data or b"")

    async def _client(self, author: str, sid: str) -> str:
        cached = await self._sessions.look(sid, fresh=True)
        if cached.over:
            return f"session {sid}: {cached.over}"
        if cached.session is not None and cached.session.opened.author != author:
            return f"session {sid} was opened by somebody else"
        return ""

    async def _worker(self, channel: str, author: str, sid: str, request: PutArtifact) -> str:
        turn = await self._sessions.open_turn(sid, channel, author, request, self._keys)
        return turn if isinstance(turn, str) else ""
