"""Artifacts, as a turn reaches them: pieces of bytes under the hash of what they are, never overwritten."""

from typing import Protocol

from bus import artifacts
from bus.connection import Connection
from bus.errors import ArtifactRefused, BusError
from schemas.artifact import Artifact
from schemas.turn import Turn, Work
from schemas.wire import InvalidValue


class ArtifactError(Exception):
    """A piece that is not there, or is not taken. Names it and says why."""


class Artifacts(Protocol):
    """The artifacts of one turn's session."""

    async def get(self, id: str) -> bytes:
        """The piece. Raises ArtifactError."""

    async def put(self, data: bytes) -> Artifact:
        """Store a folder's archive. The same bytes are the same piece. Raises ArtifactError."""


class TurnArtifacts:
    """Those of a turn's session, asked of a moderator."""

    def __init__(self, connection: Connection, work: Work, turn: Turn) -> None:
        self._connection = connection
        self._session = work.session
        self._turn = turn

    async def get(self, id: str) -> bytes:
        """The piece. Raises ArtifactError."""
        try:
            return await artifacts.get(self._connection, self._session, id)
        except (ArtifactRefused, BusError, InvalidValue) as error:
            raise ArtifactError(f"artifact {id}: {error}") from None

    async def put(self, data: bytes) -> Artifact:
        """Store a folder's archive, for the turn while it is open. Raises ArtifactError."""
        turn = self._turn
        try:
            id = await artifacts.put(self._connection, self._session, data, turn=turn.id, token=turn.token)
        except (ArtifactRefused, BusError, InvalidValue) as error:
            raise ArtifactError(f"the folder cannot be stored: {error}") from None
        return Artifact(id=id, size=len(data))


class NoArtifacts:
    """Where nobody keeps any."""

    async def get(self, id: str) -> bytes:
        """Raises ArtifactError."""
        raise ArtifactError(f"artifact {id}: nobody keeps artifacts here")

    async def put(self, data: bytes) -> Artifact:
        """Raises ArtifactError."""
        raise ArtifactError("artifact: nobody keeps artifacts here")
