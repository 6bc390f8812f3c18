"""The artifacts that a turn can reach: bytes under the hash of their content, never overwritten."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from parley.agents.model.base import ModelRefused, ModelUnavailable
from parley.schemas.artifact import Artifact
from parley.schemas.folders.archive import FolderError
from parley.schemas.turn import Usage


class ArtifactError(Exception):
    """A piece that is not there, or is not taken. Names it and says why."""


@contextmanager
def told_of_folder(usage: Usage | None = None) -> Iterator[None]:
    """What is wrong with a turn's folder is the model's fault (ModelRefused); that it cannot be fetched or stored, the
    environment's (ModelUnavailable). `usage`: what the turn has used so far."""
    try:
        yield
    except FolderError as error:
        raise ModelRefused(str(error), usage) from None
    except ArtifactError as error:
        raise ModelUnavailable(str(error), usage) from None


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
