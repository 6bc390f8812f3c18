"""What a death or a freeze at the worst moment may cost: an opening, and a call to a model."""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.chaos.harness import CONSENSUS, Rig, make_stack
from tests.chaos.test_freezes import turns_ended
from tests.support import crash
from tests.support.engine import until
from tests.support.model import read_journal

pytestmark = [pytest.mark.serial, pytest.mark.timeout(60)]
LOST_S = 2.0
"""What an opening may lose when the moderator that has it is killed."""


async def test_an_opening_loses_no_more_than_two_seconds_with_its_moderator(tmp_path: Path) -> None:
    """Workers have all of `ack_wait`; what has no worker behind it comes again sooner."""
    stack = make_stack(tmp_path, moderators=2, crash="stepped:1")
    async with Rig(tmp_path, stack) as rig:
        began = time.monotonic()
        await rig.client.open(CONSENSUS.request, "s1")
        lost_s = time.monotonic() - began
        assert list(crash.done(rig.crashes)) == ["stepped-1"]
        print(f"opened after {lost_s:.2f} s")
        assert lost_s < LOST_S


async def test_a_copy_that_froze_before_its_call_looks_again(tmp_path: Path) -> None:
    """Between its check and its call it sleeps for as long as the other copy takes to answer the turn."""
    stack = make_stack(tmp_path, copies=2, crash="asking:1:stop", ack_wait_s=1.0)
    async with Rig(tmp_path, stack) as rig:
        await rig.play("s1", 0)
        ((pid, _, session),) = crash.done(rig.crashes).values()
        assert session == "s1"
        os.kill(pid, signal.SIGCONT)
        service = next(name for name, other in rig.lease.pids().items() if other == pid)
        await until(lambda: turns_ended(rig, service) >= 1, 10.0, "the turn that it slept over is ended")
        assert [c for c in read_journal(rig.journal) if c.pid == pid] == []
