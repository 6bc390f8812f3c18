"""Artifacts: files and folders that a task works on, stored by the hash of their content."""

import msgspec

from parley.schemas.wire import InvalidValue, at_most, in_range

MAX_ARTIFACT = 4_000_000
"""Bytes of one: in JSON a third more, and the bus carries at most 16 MB in one message."""
MAX_ARTIFACTS = 64
"""Of one session."""
ID_CHARS = 64
"""SHA-256, hex."""


def check_id(id: str) -> None:
    """Refuse what is no artifact's id."""
    if len(id) != ID_CHARS or not set(id) <= set("0123456789abcdef"):
        raise InvalidValue("artifact.id", id, f"wanted are {ID_CHARS} hex digits")


class Artifact(msgspec.Struct, frozen=True, kw_only=True):
    """What stands in the object store."""

    id: str
    """SHA-256 of its bytes, hex."""
    type: str = "folder"
    """`folder` (a tar archive of the task's folder) or the media type of one file."""
    path: str = ""
    size: int = 0
    """Bytes."""

    def __post_init__(self) -> None:
        check_id(self.id)
        at_most("artifact.type", self.type, 100)
        at_most("artifact.path", self.path, 1_000)


class PutArtifact(msgspec.Struct, frozen=True, kw_only=True):
    """Store these bytes. Answered by parley.schemas.turn.SubmitAnswer; the id is their SHA-256, hex."""

    data: bytes
    turn: str = ""
    """Of a worker: the open turn that it is for, with its token."""
    token: str = ""

    def __post_init__(self) -> None:
        if len(self.data) > MAX_ARTIFACT:
            raise InvalidValue("artifact", f"{len(self.data):,} bytes", f"allowed are at most {MAX_ARTIFACT:,}")
        in_range("artifact.turn (characters)", len(self.turn), 0, 200)


class GetArtifact(msgspec.Struct, frozen=True, kw_only=True):
    """Ask for one by its id."""

    id: str

    def __post_init__(self) -> None:
        check_id(self.id)


class TakeArtifact(msgspec.Struct, frozen=True, kw_only=True):
    """A worker asks for one that its open turn names."""

    id: str
    turn: str
    token: str

    def __post_init__(self) -> None:
        check_id(self.id)
        in_range("artifact.turn (characters)", len(self.turn), 1, 200)


class GotArtifact(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked for."""

    found: bool
    data: bytes = b""
    why: str = ""
    """Why a worker does not get it."""
