"""With two of three servers gone nothing is accepted, users are told what is missing, and all goes on by itself."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from parley.bus.accounts import load_credentials
from parley.bus.connection import connect
from parley.client.client import Client
from parley.client.errors import Unreachable
from parley.stack.disk_watch import BACK, telling
from parley.stack.lease import OWNER
from tests.chaos.cluster.faults import ClusterFaults
from tests.chaos.cluster.rig import TURN_S, ClusterRig
from tests.chaos.harness import CONSENSUS
from tests.support.engine import until
from tests.support.links import Links

pytestmark = [pytest.mark.serial, pytest.mark.timeout(240)]


async def test_without_a_majority_nobody_is_told_that_something_was_accepted(tmp_path: Path) -> None:
    request = msgspec.structs.replace(CONSENSUS.request, turn_timeout_s=TURN_S)  # no turn is missed by its time
    play = msgspec.structs.replace(CONSENSUS, seeds=1, request=request)
    with Links() as links:
        async with ClusterRig(tmp_path, links, (play,)) as rig:
            faults = ClusterFaults(rig, links)
            await until(faults.settled, 60.0, "the cluster did not come up")
            await rig.learn()
            supervisor = rig.lease.running().supervisor
            told: list[str] = []
            credentials = load_credentials(rig.lease.credentials(OWNER))
            async with (
                await connect(rig.lease.url, credentials, name="impatient") as conn,
                telling(None, told.append, lambda: rig.client.connection.nc.lacking),
            ):
                under_way = asyncio.create_task(rig.play("under-way", 0, play))
                await until(lambda: _heard(rig, "under-way"), 30.0, "the session did not begin")
                patient = Client(conn, OWNER, patience_s=0.5, outlasts=True)
                follows = asyncio.create_task(patient.result("under-way"))
                os.kill(supervisor, signal.SIGSTOP)
                try:
                    for pid in rig.server_pids()[1:]:
                        os.kill(pid, signal.SIGKILL)
                    impatient = Client(conn, OWNER, patience_s=8.0)
                    with pytest.raises(Unreachable, match="no majority: 1 of 3 servers is there, 2 are needed"):
                        await impatient.open(play.request, "refused")
                    asks = asyncio.create_task(patient.open(play.request, "asked-meanwhile"))
                    said = await asyncio.to_thread(_doctor, rig.lease.url, rig.lease.credentials(OWNER))
                    assert "no majority: 1 of 3 servers is there" in said
                    assert said.count(": nothing listens there") == 2 and "it reaches no other server" in said
                    assert f"parley up --state {rig.lease.state}" in said
                finally:
                    os.kill(supervisor, signal.SIGCONT)
                await under_way
                assert (await follows).status == "finished"
                assert (await patient.result(await asks)).status == "finished"
                await until(faults.settled, 60.0, "the cluster did not come back")
                await until(lambda: told[-1:] == [f"parley: {BACK}"], 10.0, f"told: {told}")
            assert len(told) == 2 and "no majority" in told[0]
            found = await rig.findings()
            assert found.violations == []


async def _heard(rig: ClusterRig, sid: str) -> bool:
    return len(rig.heard.get(sid, ())) > 1


def _doctor(url: str, credentials: Path) -> str:
    command = [sys.executable, "-m", "parley", "doctor", "--nats", url, "--creds", str(credentials)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).stdout
