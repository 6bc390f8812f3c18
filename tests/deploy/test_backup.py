"""A copy of the store is a backup: what was under way when it was taken goes on after the restore."""

import shutil
from pathlib import Path

from parley.schemas.result import Result
from parley.schemas.wire import decode
from tests.support.engine import engine


async def test_a_session_goes_on_from_a_copy_of_the_store(tmp_path: Path) -> None:
    """As docs/operations/backup.md says: the server ends, its folder is copied, and the copy is started elsewhere."""
    first, copy = tmp_path / "first", tmp_path / "copy"
    first.mkdir()
    async with engine(first) as before:
        await before.moderator()
        await before.workers(drain_s=0.1)
        await before.open("ended")
        ended = decode((await before.closed("ended")).body, Result)
    async with engine(first) as before:
        await before.moderator()
        await before.workers({"latency_s": 60}, drain_s=0.1)
        assert (await before.open("open")).fate == "taken"
        assert len(await before.entries("open")) == 1, "opened, and nobody has answered"
    shutil.copytree(first, copy)
    shutil.rmtree(first)
    async with engine(copy) as after:
        await after.moderator()
        await after.workers()
        result = decode((await after.closed("open", 30.0)).body, Result)
        assert result.status == "finished" and result.outcome["answer"] == "the agreed answer"
        assert decode((await after.closed("ended")).body, Result) == ended
        rows = {row.session: row.status for row in (await after.sessions()).rows}
        assert rows == {"open": "finished", "ended": "finished"}
