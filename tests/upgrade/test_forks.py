"""A moderator of the last release without forks beside one of this release: it leaves a fork alone."""

import asyncio
import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from parley.client import records, what_if
from parley.client.client import Client
from parley.client.errors import ParleyError
from parley.schemas import log
from parley.schemas.session import ForkSession
from parley.schemas.stops import STOPS, VERSION_LOST
from parley.schemas.wire import decode
from tests.support.engine import until
from tests.upgrade.test_rolling import ROOT, Stack, opened, owner

BEFORE = "f000aebad9ebc6ebc04c1f849f98dd53fa6712d5"
"""The commit that brought forks; its parent knows none."""
PANEL = ("panelist_1", "panelist_2", "panelist_3", "analyst")
ALONE_S = 6.0
"""So long the moderator of the release before is alone with the fork."""


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the last release without forks."""
    folder = tmp_path_factory.mktemp("before")
    found = subprocess.run(["git", "-C", str(ROOT), "archive", f"{BEFORE}^"], capture_output=True, check=False)
    if found.returncode:
        pytest.skip(f"NOT CHECKED: forks beside {BEFORE}^, which this clone does not have (a shallow one?)")
    with tarfile.open(fileobj=io.BytesIO(found.stdout)) as tar:
        tar.extractall(folder, filter="data")
    assert not (folder / "schemas" / "afterwards" / "fork.py").exists()
    return folder


async def _gathered(client: Client) -> bool:
    try:
        return {w.queue for w in (await client.everybody(10.0)).workers} >= set(PANEL)
    except ParleyError:
        return False


@pytest.mark.serial
@pytest.mark.slow
@pytest.mark.timeout(150)
async def test_a_moderator_that_knows_no_forks_leaves_one_to_those_that_do(tmp_path: Path, before: Path) -> None:
    with Stack(tmp_path, before) as stack:
        new = stack.moderator(ROOT, "moderator-1")
        await stack.ready(stack.agents(ROOT, PANEL), ROOT)
        async with owner(stack) as client:
            await until(lambda: _gathered(client), 20.0)
            (session,) = await opened(client, ["consensus"])
            await session.result()
            fork = await client.fork(ForkSession(of=session.sid, round=1, settings={"round_limit": 4}))
            carried = len(await client.log(fork))
            new.kill()
            old = stack.moderator(before, "moderator-2")
            await until(lambda: _gathered(client), 20.0)
            await asyncio.wait((asyncio.ensure_future(asyncio.to_thread(old.wait)),), timeout=ALONE_S)
            assert old.poll() is None, old.__dict__["log"].read_text()
            told = old.__dict__["log"].read_text()
            (other,) = await opened(client, ["consensus"])
            assert (await other.result()).status == "finished", "it goes on with what it knows"
            stack.moderator(ROOT, "moderator-1")
            async with asyncio.timeout(60):
                result = await client.result(fork)
            entries = await client.log(fork)
        assert result.stop.reason in STOPS, told
        assert result.stop.reason != VERSION_LOST and result.status == "finished", told
        assert isinstance(decode(entries[0].encode(), log.Entry).event, log.Opened) and len(entries) > carried
        assert what_if.verify(records.Record(sid=fork, entries=tuple(entries)))["closed"]
