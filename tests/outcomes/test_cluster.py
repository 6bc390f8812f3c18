"""Counting on three servers, as an observer: it reads the log from its leader."""

import asyncio
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from parley.bus import accounts, subjects
from parley.bus.log import Log
from parley.coordinator.outcomes.counting import Counting
from parley.coordinator.outcomes.session import children
from parley.observability.outcomes import Outcomes
from tests.outcomes.played import KNOWN, TENANT, shown, values
from tests.support.cluster import QUEUES, Cluster

pytestmark = pytest.mark.slow
_RECORD = sorted(Path(__file__).parents[1].glob("old_logs/*/consensus.jsonl"))[0]
SIDS = [f"s{n}" for n in range(6)]


async def written(cluster: Cluster) -> None:
    """One recorded session again and again under other ids."""
    entries = [line for line in _RECORD.read_text().splitlines() if line.startswith('{"n":')]
    async with await cluster.dial("moderator") as conn:
        log = Log(conn)
        for sid in SIDS:
            seq = 0
            for place, entry in enumerate(entries):
                last = subjects.CLOSED if place == len(entries) - 1 else subjects.STEP
                seq = await log.append(sid, subjects.OPENED if not place else last, entry.encode(), seq)


def test_sessions_are_counted_on_a_cluster(tmp_path: Path) -> None:
    users = accounts.table(QUEUES, clients=("client", "bob"), observers=("metrics",))

    async def count(cluster: Cluster) -> None:
        await written(cluster)
        async with await cluster.dial("metrics") as conn:
            outcomes = Outcomes(CollectorRegistry(), children(KNOWN), tenant=TENANT)
            totals = await Counting(conn, outcomes=outcomes, protocols=KNOWN, tenant=TENANT).catch_up()
        found = shown(totals)
        assert values(found, "sessions_opened_total") == {("consensus",): len(SIDS)}
        assert sum(values(found, "sessions_closed_total").values()) == len(SIDS)
        assert totals.v == 1 and totals.position

    with Cluster(tmp_path, users) as cluster:
        asyncio.run(count(cluster))
