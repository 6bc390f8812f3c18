"""Writes whole results of tools to files, where a session's record holds only their beginning."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec

from parley.bus.channels import PUBLIC
from parley.bus.errors import BusError
from parley.client.errors import BadInput
from parley.planned.access import last_stack, run
from parley.schemas.artifact import Artifact
from parley.schemas.folders.archive import BadArchive, unpacked
from parley.sessions import NoSession
from parley.settings import Settings


class ResultFile(msgspec.Struct, frozen=True, kw_only=True):
    """What was written, and where."""

    session: str
    folder: str
    files: tuple[str, ...]


def write(settings: Settings, sid: str, folder: Path) -> ResultFile:
    """Write the whole results of all turns of a session below a folder, a folder a post.

    Raises
    ------
    BadInput
        There is no such session, a result cannot be had, or the folder cannot be written.
    """

    async def main() -> ResultFile:
        async with last_stack(settings) as parley:
            if parley is None:
                raise NoSession(sid, settings)
            names = []
            for post in await parley.client.history(sid, PUBLIC):
                kept = _kept(post.body)
                if kept is None:
                    continue
                try:
                    files = unpacked(await parley.client.get(sid, kept.id))
                except (BusError, BadArchive) as error:
                    raise BadInput("session", f"the results of post {post.n} cannot be had: {error}") from error
                below = folder / f"{post.n:04d}-{post.seat or post.kind}"
                names += await asyncio.to_thread(_written, below, files)
            return ResultFile(session=sid, folder=str(folder), files=tuple(str(name) for name in names))

    return run(main())


def _kept(body: msgspec.Raw) -> Artifact | None:
    """What a post names as the whole results of its turn."""
    said: Any = msgspec.json.decode(body)
    artifact = said.get("results") if isinstance(said, dict) else None
    try:
        return msgspec.convert(artifact, Artifact) if isinstance(artifact, dict) else None
    except (msgspec.ValidationError, ValueError):
        return None


def _written(folder: Path, files: dict[str, tuple[bytes, bool]]) -> list[Path]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        paths = []
        for name, (data, _) in sorted(files.items()):
            path = folder / Path(name).name  # a result is one file beside the others, whatever it is called
            path.write_bytes(data)
            paths.append(path)
        return paths
    except OSError as error:
        raise BadInput("output", f"cannot write {folder}: {error.strerror}") from error
