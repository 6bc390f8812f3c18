"""A copy of the store is a backup: what was under way when it was taken goes on after the restore."""

import asyncio
import contextlib
import json
import shutil
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from parley.bus import subjects
from parley.bus.accounts import publics
from parley.bus.errors import NoModerator
from parley.bus.streams import STREAMS
from parley.bus_admin.restore import restore
from parley.bus_admin.streams import replicas
from parley.client.errors import BadInput
from parley.schemas.post import EraseSession
from parley.schemas.result import Result
from parley.schemas.turn import SubmitAnswer
from parley.schemas.wire import decode, encode
from parley_research.embedded_cluster import PORTS, EmbeddedCluster, free_ports
from tests.security.test_users import Kept
from tests.support.engine import Engine, engine, until


async def restart(bare: Engine, change: Callable[[Path], object]) -> None:
    """Stop the server, change its store, and start it beneath the running moderators and workers."""
    breaks = bare.owner.breaks
    bare.server.kill()
    change(bare.server.folder / "jetstream")
    bare.server.restart()

    async def back() -> bool:
        with contextlib.suppress(NoModerator):  # it comes back when it comes
            return bare.owner.breaks > breaks and bare.owner.connected and bool(await bare.sessions())
        return False

    await until(back)


async def test_a_moderator_that_knows_more_than_a_restored_log_reads_it_again(tmp_path: Path) -> None:
    """The log goes back beneath it: to the opening of one session, and to before another one."""
    backup = tmp_path / "backup"
    async with engine(tmp_path / "bus") as bare:
        moderator = await bare.moderator()
        moderator._sweeping.cancel()  # a worker may ask before the sweep has looked
        workers = await bare.workers({"latency_s": 60}, drain_s=0.1)
        assert (await bare.open("s1")).fate == "taken"
        await restart(bare, lambda store: shutil.copytree(store, backup))
        for worker in workers:
            await worker.__aexit__()
        await bare.workers()
        await bare.closed("s1", 30.0)
        assert (await bare.open("s2")).fate == "taken"
        await bare.closed("s2")

        def restore(store: Path) -> None:
            shutil.rmtree(store)
            shutil.copytree(backup, store)

        await restart(bare, restore)
        assert not [p for p in await bare.posts("s2", "control")], "what the log does not have is not told"
        result = decode((await bare.closed("s1", 30.0)).body, Result)
        assert result.status == "finished" and result.outcome["answer"] == "the agreed answer"
        assert {row.session for row in (await bare.sessions()).rows} == {"s1"}
        assert (await bare.open("s2")).fate == "taken", "the log has nothing of it any more"
        await bare.closed("s2")


async def test_a_restore_ends_nothing_but_brings_back_all_that_was_not_erased(tmp_path: Path) -> None:
    """It refuses while moderators run. The server, the workers and whoever asks stay as they are."""
    backup, asked = tmp_path / "backup", list[int]()
    async with Kept(tmp_path) as bare:
        url = bare.server.url

        async def restored() -> dict[str, Any]:
            return await asyncio.to_thread(restore, backup, url, bare.keys, (), asked.append)

        moderator = await bare.moderator()
        await bare.workers()
        for sid in ("told", "kept"):
            await bare.play(sid, question=f"What is {sid} here?")
        await restart(
            bare, lambda store: shutil.copytree(store, backup / "jetstream" / "jetstream")
        )  # as in a container
        assert found(backup, "What is told here?")
        await bare.play("later")
        said = await bare.owner.request(subjects.own("erase", "owner", "told"), encode(EraseSession()), 5.0)
        assert decode(said.data, SubmitAnswer).verdict == "accepted"
        with pytest.raises(BadInput, match=r"moderators run: moderator\. End them first; nothing was done"):
            await restored()
        assert {row.session for row in (await bare.sessions()).rows} == {"told", "kept", "later"} and not asked
        await moderator.__aexit__()
        await moderator._connection.close()
        (tmp_path / "empty" / "jetstream").mkdir(parents=True)
        with pytest.raises(BadInput, match="it holds no log of a bus; nothing was done"):
            await asyncio.to_thread(restore, tmp_path / "empty", url, bare.keys, (), lambda many: None)
        assert (await restored())["erased"] == ["told"] and asked == [3]
        assert not found(backup, "What is told here?") and found(backup, "What is kept here?")
        assert not found(tmp_path / "bus", "What is told here?")
        await bare.moderator()
        assert {r.session: r.status for r in (await bare.sessions()).rows} == {"told": "erased", "kept": "finished"}
        assert (await bare.open("told")).fate != "taken", "its id stays taken"
        await bare.open("new")
        assert decode((await bare.closed("new")).body, Result).status == "finished"


async def test_a_bus_of_one_server_grows_into_a_cluster(tmp_path: Path) -> None:
    """As docs/operations/cluster.md says. Agents and clients stay: the first server has the old one's address."""
    async with Kept(tmp_path) as bare, AsyncExitStack() as exits:
        moderator = await bare.moderator()
        await bare.workers({"latency_s": 0.2})
        await bare.open("ended")
        ended = decode((await bare.closed("ended", 30.0)).body, Result)
        await bare.open("under-way", settings={"round_limit": 4}, turn_timeout_s=120.0)
        await until(lambda: _said(bare, "under-way"), 20.0)
        await moderator.__aexit__()
        await moderator._connection.close()
        bare.server.stop()

        three = tmp_path / "three"
        three.mkdir()
        (three / PORTS).write_text(json.dumps([bare.server.port, *free_ports(5)]))
        cluster = EmbeddedCluster(three, bare.users, publics(bare.credentials))
        exits.callback(cluster.stop)
        await asyncio.to_thread(cluster.start)
        with pytest.raises(BadInput, match="holds no folder jetstream"):
            restore(three, cluster.url, bare.keys, (), lambda many: None)
        done = await asyncio.to_thread(restore, bare.server.folder, cluster.url, bare.keys, (), lambda many: None)
        assert {row["stream"] for row in done["streams"]} == set(STREAMS)

        await bare.moderator()
        result = decode((await bare.closed("under-way", 60.0)).body, Result)
        assert result.status == "finished"
        assert decode((await bare.closed("ended")).body, Result) == ended
        assert bare.owner.nc.reached == 3
        assert {row["replicas"] for row in await asyncio.to_thread(replicas, cluster.url, bare.keys, None)} == {3}


async def _said(bare: Engine, sid: str) -> bool:
    return len(await bare.entries(sid)) > 2


def found(folder: Path, text: str) -> bool:
    """Whether a file of a store has it."""
    return any(text.encode() in path.read_bytes() for path in folder.rglob("*") if path.is_file())
