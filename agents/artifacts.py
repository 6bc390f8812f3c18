"""The artifacts that a turn can reach: bytes under the hash of their content, never overwritten."""

from typing import Protocol

from parley.schemas.artifact import Artifact


class ArtifactError(Exception):
    """A piece that is not there, or is not taken. Names it and says why."""


class ArtifactAccess(Protocol):
    """The artifacts of one turn's session."""

    async def get(self, id: str) -> bytes:
        """The piece. Raises ArtifactError."""

    async def put(self, data: bytes) -> Artifact:
        """Store a folder's archive. The same bytes are the same piece. Raises ArtifactError."""


class NoArtifacts:
    """Where nobody keeps any."""

    async def get(self, id: str) -> bytes:
        """Raises ArtifactError."""
        raise ArtifactError(f"artifact {id}: nobody keeps artifacts here")

    async def put(self, data: bytes) -> Artifact:
        """Raises ArtifactError."""
        raise ArtifactError("artifact: nobody keeps artifacts here")
