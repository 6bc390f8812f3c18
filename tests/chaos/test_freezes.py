"""A process frozen past every time-out and woken believes what it last knew; the log and the open-turn check do not.
And what a death or a freeze at the worst moment may cost: an opening, and a call to a model."""

import asyncio
import os
import signal
import time
from pathlib import Path

import psutil
import pytest

from parley.schemas.session import Seat
from parley.stack.rows import AgentRow
from tests.chaos.faults import read_metrics
from tests.chaos.harness import CONSENSUS, SEEDS, TURNS, Rig, calm_arrivals, make_stack, shown
from tests.support import crash
from tests.support.engine import until
from tests.support.model import read_journal

pytestmark = [pytest.mark.serial, pytest.mark.timeout(60)]
FOUR_COPIES = (AgentRow(queue="panelist_1", copies=4, room=4), AgentRow(queue="analyst", room=16))
SEATS = (
    *(Seat(seat=f"p{i}", role="panelist", queue="panelist_1") for i in (1, 2, 3)),
    Seat(seat="analyst", role="analyst", queue="analyst"),
)
CONFLICTS = "parley_append_conflicts_total"
LOST_S = 2.0
"""What an opening may lose when the moderator that has it is killed."""


def metric(rig: Rig, service: str, series: str) -> float:
    return read_metrics(rig.lease.running().services[service].metrics).get(series, 0.0)


def turns_ended(rig: Rig, service: str) -> float:
    found = read_metrics(rig.lease.running().services[service].metrics)
    return sum(value for name, value in found.items() if name.startswith("parley_worker_turns_total"))


async def frozen(rig: Rig, deed: str) -> tuple[int, int, str, str]:
    """A process that came to its named point and stands still there: pid, Unix ns, session, service."""

    async def still() -> tuple[int, int, str] | None:
        found = crash.done(rig.crashes).get(deed)
        return found if found and psutil.Process(found[0]).status() == psutil.STATUS_STOPPED else None

    pid, at_ns, sid = await until(still, 10.0, f"a process is frozen: {deed}")
    return pid, at_ns, sid, next(name for name, other in rig.lease.pids().items() if other == pid)


async def test_the_log_refuses_a_moderator_that_slept(tmp_path: Path) -> None:
    """One of two moderators, frozen with a transition made and not appended. The other takes its sessions on; what it
    believes is its next transition is refused on waking."""
    sids = [f"s{i}" for i in range(12)]
    arrival = calm_arrivals("stepped") + len(sids) + 2  # all are open, the first replies of the first round come
    async with Rig(
        tmp_path, make_stack(tmp_path, moderators=2, latency_s=0.4, crash=f"stepped:{arrival}:stop", ack_wait_s=1.0)
    ) as rig:
        await rig.learn()
        assert crash.done(rig.crashes) == {}
        before = {name: metric(rig, name, CONFLICTS) for name in ("moderator-1", "moderator-2")}
        sessions = asyncio.create_task(rig.play_all(sids, at_once=len(sids)))
        pid, frozen_ns, sid, service = await frozen(rig, f"stepped-{arrival}")

        async def taken_on() -> int:
            return sum(s.at_ns > frozen_ns for s in await rig.stored(sid))

        try:
            # Workers ask the moderator that they know, then any, 2 s each; any may be the frozen one again.
            ahead = await until(taken_on, 30.0, "the other appends to the session that the frozen one was stepping")
        finally:
            os.kill(pid, signal.SIGCONT)

        async def refused() -> float:
            return metric(rig, service, CONFLICTS) - before[service]

        late = await until(refused, 10.0, "its late append is refused")
        await sessions
        found = await rig.findings()
        print(f"{service} frozen: {ahead} transitions ahead of it, refused={late:g} {shown(found)}")
        assert found.violations == []
        assert rig.lease.pids()[service] == pid, "it is the same process"


async def test_a_copy_that_slept_with_a_reply_in_hand(tmp_path: Path) -> None:
    """One of four copies, frozen between model and submission: another does the turn, its own reply is not taken."""
    arrival = SEEDS * TURNS + 2  # in the first round of what comes after the calm sessions: a panelist's
    stack = make_stack(tmp_path, agents=FOUR_COPIES, latency_s=0.4, crash=f"replied:{arrival}:stop", ack_wait_s=1.0)
    async with Rig(tmp_path, stack) as rig:
        await rig.learn(seats=SEATS)
        sessions = asyncio.create_task(rig.play_all(["s0", "s1", "s2"], at_once=3, seats=SEATS))

        pid, _, sid, service = await frozen(rig, f"replied-{arrival}")
        assert service.startswith("panelist_1-")

        async def first_round() -> bool:
            return len(await rig.stored(sid)) > 3

        try:
            await until(first_round, 10.0, "its turn is done by another copy")
            assert not sessions.done()
        finally:
            woken_ns = time.time_ns()
            os.kill(pid, signal.SIGCONT)

        async def answered() -> bool:
            """Every call of this process has ended; turns that it slept over end without one."""
            return bool(turns_ended(rig, service) >= sum(c.pid == pid for c in read_journal(rig.journal)))

        await sessions
        await until(answered, 10.0, "its late reply is answered")
        found = await rig.findings()
        taken = [s.at_ns for s in (await rig.stored(sid))[1:4]]
        print(f"copy frozen with a reply: woken_ms_after={(woken_ns - max(taken)) / 1e6:.0f} {shown(found)}")
        assert found.violations == [], "not taken twice"
        assert max(taken) < woken_ns, "the reply in the log is the other's"
        assert found.redelivered_turns >= 1 and found.extra_calls >= 1
        assert rig.lease.pids()[service] == pid, "it is the same process"


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
