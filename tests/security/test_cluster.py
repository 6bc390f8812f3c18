"""Every attack, and `parley bus check`, at each server of a cluster: each refuses them."""

import asyncio
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from parley.bus_admin import check as bus_check
from parley.bus_admin.attacks import ATTACKS, Attacker
from parley.coordinator.moderator import Moderator
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.sessions.token_keys import TokenKeys
from parley.observability.metrics import Metrics
from parley.stack import keys
from tests.security.attacks.scene import REFUSED
from tests.security.attacks.trial import trial
from tests.support.cluster import Cluster
from tests.support.engine import KEY

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def attackers(cluster: Cluster) -> list[Attacker]:
    names = [name for name, c in cluster.keys.items() if c.kind not in bus_check.TRUSTED]
    return [Attacker(cluster.keys[name], cluster.keys, "nobodys") for name in names]


async def test_every_attack_is_refused_at_each_server(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path / "nats")
    (tmp_path / "keys").mkdir()
    for credentials in cluster.keys.values():
        credentials.save(keys.file(tmp_path / "keys", credentials.user))
    await asyncio.to_thread(cluster.__enter__)
    try:
        async with (
            await cluster.dial("moderator") as conn,
            Moderator(conn, metrics=Metrics(CollectorRegistry()), protocols=PROTOCOLS, token_keys=TokenKeys(KEY)),
        ):
            found = await asyncio.to_thread(bus_check.run, cluster.nats.servers[0].url, tmp_path / "keys")
            rows = {server.url: await trial(server.url, cluster.keys) for server in cluster.nats.servers}
    finally:
        await asyncio.to_thread(cluster.nats.stop)
    assert bus_check.good(found), found
    once = sum(1 for tries in ATTACKS.values() for user in attackers(cluster) for _ in tries(user))
    tried = sum(row.tries for row in found if row.attack != bus_check.COMPARED)
    assert tried == len(rows) * once, "the same attacks at each"
    for at in rows.values():
        assert [row for row in at if row.outcome != REFUSED] == []
        print(f"{len(at)} attacks by {len({row.who for row in at})} users")
    assert len({frozenset((row.who, row.attack) for row in at) for at in rows.values()}) == 1
