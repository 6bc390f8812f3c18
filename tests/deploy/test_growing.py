"""A bus of one server becomes a cluster of three, step by step as docs/operations/cluster.md says."""

import asyncio
import json
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from parley.bus import accounts, streams
from parley.bus.cluster.embedded import PORTS, EmbeddedCluster, free_ports
from parley.bus.connection import connect
from parley.bus_admin.move import move
from parley.client.errors import BadInput
from parley.coordinator.moderator import Moderator
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.sessions.token_keys import TokenKeys
from parley.observability.metrics import Metrics
from parley.schemas.result import Result
from parley.schemas.wire import decode
from parley.stack import keys
from tests.support.engine import KEY, Engine, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


async def test_sessions_go_on_in_the_cluster(tmp_path: Path) -> None:
    """Agents and clients stay connected: the first of the three servers has the old one's address."""
    async with AsyncExitStack() as exits:
        engine = await exits.enter_async_context(Engine(tmp_path / "one"))
        for credentials in engine.credentials.values():
            (tmp_path / "keys").mkdir(exist_ok=True)
            credentials.save(keys.file(tmp_path / "keys", credentials.user))
        async with AsyncExitStack() as before:
            await before.enter_async_context(await _moderator(engine, before))
            await engine.workers({"latency_s": 0.2})
            assert (await engine.open("ended")).fate == "taken"
            ended = decode((await engine.closed("ended", 30.0)).body, Result)
            await engine.open("under-way", settings={"round_limit": 4}, turn_timeout_s=120.0)
            await until(lambda: _said(engine, "under-way"), 20.0)
            await engine.open("untouched", turn_timeout_s=120.0)
        engine.server.stop()

        new = tmp_path / "three"
        new.mkdir()
        ports = [engine.server.port, *free_ports(5)]
        (new / PORTS).write_text(json.dumps(ports))
        cluster = EmbeddedCluster(new, engine.users, accounts.publics(engine.credentials))
        exits.callback(cluster.stop)
        await asyncio.to_thread(cluster.start)
        with pytest.raises(BadInput, match="holds no folder jetstream"):
            move(tmp_path / "three", cluster.url, tmp_path / "keys")
        rows = await asyncio.to_thread(move, tmp_path / "one", cluster.url, tmp_path / "keys")
        assert {row["stream"] for row in rows} == set(streams.STREAMS)
        print(rows)

        await exits.enter_async_context(await _moderator(engine, exits))
        for sid in ("under-way", "untouched"):
            result = decode((await engine.closed(sid, 60.0)).body, Result)
            assert result.status == "finished", sid
        assert decode((await engine.closed("ended")).body, Result) == ended
        assert {row.session for row in (await engine.sessions()).rows} == {"ended", "under-way", "untouched"}
        assert engine.owner.nc.reached == 3
        async with await connect(cluster.url, engine.credentials["moderator"], name="look") as conn:
            for name in streams.STREAMS:
                assert (await conn.api(f"STREAM.INFO.{name}"))["config"]["num_replicas"] == 3, name
        with pytest.raises(BadInput, match="has streams already"):
            await asyncio.to_thread(move, tmp_path / "one", cluster.url, tmp_path / "keys")


async def _moderator(engine: Engine, exits: AsyncExitStack) -> Moderator:
    connection = await connect(engine.server.url, engine.credentials["moderator"], name="moderator")
    exits.push_async_callback(connection.close)
    return Moderator(
        connection, metrics=Metrics(CollectorRegistry()), protocols=PROTOCOLS, token_keys=TokenKeys(KEY),
        in_ack_wait_s=1.0, work_ack_wait_s=1.0,
    )  # fmt: skip


async def _said(engine: Engine, sid: str) -> bool:
    return len(await engine.entries(sid)) > 2
