"""Store and settings name another number of partitions: whoever waits for such a stack is told so, with the numbers."""

import json
import os
import signal
from pathlib import Path

import pytest

from parley.bus_admin import partitions
from parley.client.api import connected
from parley.client.errors import BadInput, StackFailed
from parley.doctor import checks
from parley.planned.local_stack import LocalParley
from parley.planned.plan import plan_of
from parley.settings import load
from parley.stack.lease import OWNER, REMEMBERED, Lease
from parley.stack.rows import Stack
from parley.stack.servers import check_partitions

ONE, FOUR = Stack(agents=()), Stack(agents=(), partitions=4)
CAUSE = r"the log has 1 partition since this bus was set up, bus\.partitions says 4.*set bus\.partitions to 1"


async def test_a_stack_that_cannot_serve_its_store_says_so_to_whoever_waits(tmp_path: Path) -> None:
    async with Lease(ONE, tmp_path, wait_ready=True) as lease:
        async with connected(lease.url, lease.credentials(OWNER), 0.5, outlasts=True) as client:
            parley = LocalParley(client, lease)
            assert await partitions.wrong(lease.url, tmp_path / "keys", 1) is None
            refused = await partitions.wrong(lease.url, tmp_path / "keys", 4)
            assert refused is not None and (refused.existing, refused.wanted) == (1, 4)
            order = json.loads((tmp_path / REMEMBERED).read_bytes())
            order["stack"]["partitions"] = 4
            (tmp_path / REMEMBERED).write_text(json.dumps(order))
            os.kill(lease.running().supervisor, signal.SIGKILL)
            with pytest.raises(StackFailed, match=CAUSE):
                while True:  # what was asked before it was gone is answered still
                    await parley.client.sessions()
    with pytest.raises(StackFailed, match=CAUSE):
        Lease(FOUR, tmp_path).__enter__()
    with pytest.raises(BadInput, match=CAUSE):
        check_partitions(tmp_path, 4)
    check_partitions(tmp_path, 1)
    settings = load(None, {"state": tmp_path, "bus": {"partitions": 4}})
    report = await checks.examine(plan_of(settings))
    assert [said.mend for said in report.missing] == ["set bus.partitions to 1, or begin with an empty store"]
