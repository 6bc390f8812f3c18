"""Artifacts, as a turn reaches them: pieces of bytes under the hash of what they are, never overwritten."""

from hashlib import sha256
from pathlib import Path
from typing import Protocol

from schemas.madp_work import Artifact

MOST_BYTES = 4_000_000
"""Of one piece."""


class ArtifactError(Exception):
    """A piece that is not there, or is not taken. Names it and says why."""


class Artifacts(Protocol):
    """The artifacts of one turn's session."""

    async def get(self, id: str) -> bytes:
        """The piece. Raises ArtifactError."""

    async def put(self, data: bytes) -> Artifact:
        """Store a folder's archive. The same bytes are the same piece. Raises ArtifactError."""


class FolderArtifacts:
    """Artifacts in a folder of this machine: for trying out, without a bus."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def get(self, id: str) -> bytes:
        """The piece. Raises ArtifactError."""
        path = self._folder / Artifact(id=id).id
        if not path.is_file():
            raise ArtifactError(f"artifact {id}: it is not there")
        return path.read_bytes()

    async def put(self, data: bytes) -> Artifact:
        """Store a folder's archive. Raises ArtifactError."""
        if len(data) > MOST_BYTES:
            raise ArtifactError(f"artifact: {len(data):,} bytes, allowed are at most {MOST_BYTES:,}")
        found = Artifact(id=sha256(data).hexdigest(), size=len(data))
        (self._folder / found.id).write_bytes(data)
        return found


class NoArtifacts:
    """Where nobody keeps any."""

    async def get(self, id: str) -> bytes:
        """Raises ArtifactError."""
        raise ArtifactError(f"artifact {id}: nobody keeps artifacts here")

    async def put(self, data: bytes) -> Artifact:
        """Raises ArtifactError."""
        raise ArtifactError("artifact: nobody keeps artifacts here")
