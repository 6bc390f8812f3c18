"""`parley bus check` at each server of a cluster: every attack is refused at each."""

import asyncio
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from parley.attacks.scene import REFUSED
from parley.bus_admin import check as bus_check
from parley.bus_admin import keys
from parley.coordinator.moderator import Moderator
from parley.coordinator.protocols import PROTOCOLS
from parley.observability.metrics import Metrics
from tests.support.cluster import Cluster
from tests.support.engine import KEY

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


async def test_every_attack_is_refused_at_each_server(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path / "nats")
    (tmp_path / "keys").mkdir()
    for credentials in cluster.keys.values():
        credentials.save(keys.file(tmp_path / "keys", credentials.user))
    await asyncio.to_thread(cluster.__enter__)
    try:
        async with (
            await cluster.dial("moderator") as conn,
            Moderator(conn, metrics=Metrics(CollectorRegistry()), protocols=PROTOCOLS, token_key=KEY),
        ):
            rows = await asyncio.to_thread(bus_check.run, cluster.nats.servers[0].url, tmp_path / "keys")
    finally:
        await asyncio.to_thread(cluster.nats.stop)
    assert [row for row in rows if row.outcome != REFUSED] == []
    at: dict[str, set[tuple[str, str]]] = {}
    for row in rows:
        at.setdefault(row.server, set()).add((row.who, row.attack))
    assert set(at) == {server.url for server in cluster.nats.servers}
    assert len({frozenset(tried) for tried in at.values()}) == 1, "the same attacks at each"
    print(list(bus_check.table(rows))[-1])
