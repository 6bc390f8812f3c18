"""Small experts, and artifacts without a bus, for tests of tasks."""

from hashlib import sha256
from pathlib import Path
from typing import Any

from parley.agents.artifacts import ArtifactError, NoArtifacts
from parley.schemas.artifact import MAX_ARTIFACT, Artifact
from parley.schemas.expert import Deliberation, Domain, ExpertSpec, Triggers


def expert(name: str, **given: Any) -> ExpertSpec:
    """An expert that owns what its name says."""
    about = name.replace("-", " ")
    return ExpertSpec(
        **{
            "id": name,
            "name": about.title(),
            "triggers": Triggers(primary=(about,)),
            "domain": Domain(owns=(about,)),
            "deliberation": Deliberation(claim=f"I know about {about}."),
            **given,
        }
    )


class FolderArtifacts:
    """Artifacts in a folder of this machine."""

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
        if len(data) > MAX_ARTIFACT:
            raise ArtifactError(f"artifact: {len(data):,} bytes, allowed are at most {MAX_ARTIFACT:,}")
        artifact = Artifact(id=sha256(data).hexdigest(), size=len(data))
        (self._folder / artifact.id).write_bytes(data)
        return artifact


class Held(NoArtifacts):
    """Artifacts by the names that a test gives them."""

    def __init__(self, held: dict[str, bytes]) -> None:
        self._held = held

    async def get(self, id: str) -> bytes:
        """The piece."""
        return self._held[id]
