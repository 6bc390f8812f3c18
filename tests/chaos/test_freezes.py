"""A process frozen past every time-out and woken believes what it last knew; the log and the open-turn check do not."""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from parley.rows import AgentRow
from schemas.session import Seat
from tests.chaos.faults import read_metrics
from tests.chaos.harness import Rig, make_stack, pause, shown, until
from tests.support import crash
from tests.support.model import read_journal

pytestmark = [pytest.mark.serial, pytest.mark.timeout(60)]
FOUR_COPIES = (AgentRow(queue="panelist_1", copies=4, room=4), AgentRow(queue="analyst", room=16))
SEATS = (
    *(Seat(seat=f"p{i}", role="panelist", queue="panelist_1") for i in (1, 2, 3)),
    Seat(seat="analyst", role="analyst", queue="analyst"),
)
PAST_TIMEOUTS_S = 3.0
"""ack_wait is 1 s here, a request to a moderator gives up after 2 s."""


def metric(rig: Rig, service: str, series: str) -> float:
    return read_metrics(rig.lease.running().services[service].metrics).get(series, 0.0)


def turns_ended(rig: Rig, service: str) -> float:
    found = read_metrics(rig.lease.running().services[service].metrics)
    return sum(value for name, value in found.items() if name.startswith("parley_worker_turns_total"))


async def test_the_log_refuses_a_moderator_that_slept(tmp_path: Path) -> None:
    """One of two moderators; the other takes its sessions on, and what it writes on waking is refused."""
    async with Rig(tmp_path, make_stack(tmp_path, moderators=2, latency_s=0.4)) as rig:
        await rig.learn()
        sids = [f"s{i}" for i in range(12)]
        sessions = asyncio.create_task(rig.play_all(sids, at_once=12))

        async def all_under_way() -> bool:
            return await rig.pending_turns() >= 3 * len(sids)

        await until(all_under_way, 5.0, "first turns of all sessions under way")
        conflicts = metric(rig, "moderator-1", "parley_append_conflicts_total")
        pid = rig.lease.kill("moderator-1", signal.SIGSTOP)
        try:
            await pause(PAST_TIMEOUTS_S)
            moved = [sid for sid in sids if len(await rig.stored(sid)) > 4]
        finally:
            os.kill(pid, signal.SIGCONT)

        async def refused() -> float:
            return metric(rig, "moderator-1", "parley_append_conflicts_total") - conflicts

        late = await until(refused, 10.0, "a late append that is refused")
        await sessions
        found = await rig.findings()
        print(f"moderator frozen: refused={late:g} {shown(found)}")
        assert found.violations == []
        assert moved, "sessions went on without it"
        assert rig.lease.pids()["moderator-1"] == pid, "it is the same process"


async def test_a_copy_that_slept_with_a_reply_in_hand(tmp_path: Path) -> None:
    """One of four copies, frozen between model and submission: another does the turn, its own reply is not taken."""
    arrival = 8 * 13 + 2  # in the first round of what comes after the calm sessions: a panelist's
    stack = make_stack(tmp_path, agents=FOUR_COPIES, latency_s=0.4, crash=f"replied:{arrival}:stop")
    async with Rig(tmp_path, stack) as rig:
        await rig.learn(seats=SEATS)
        sessions = asyncio.create_task(rig.play_all(["s0", "s1", "s2"], at_once=3, seats=SEATS))

        async def frozen() -> tuple[int, int, str] | None:
            return crash.done(rig.crashes).get(f"replied-{arrival}")

        pid, _, sid = await until(frozen, 10.0, "a copy is frozen")
        service = next(name for name, found in rig.lease.pids().items() if found == pid)
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


async def test_a_copy_that_slept_over_its_turns_begins_no_call(tmp_path: Path) -> None:
    """One of four copies, frozen while turns are handed to it: they are done by others, and it asks before it pays."""
    async with Rig(tmp_path, make_stack(tmp_path, agents=FOUR_COPIES, latency_s=0.05)) as rig:
        await rig.learn(seats=SEATS)
        await rig.quiet()
        service = "panelist_1-1"
        pid = rig.lease.kill(service, signal.SIGSTOP)
        calls = sum(c.pid == pid for c in read_journal(rig.journal))
        try:
            await rig.play_all([f"s{i}" for i in range(6)], at_once=6, seats=SEATS)
            await pause(PAST_TIMEOUTS_S)
        finally:
            os.kill(pid, signal.SIGCONT)

        async def ended() -> bool:
            return turns_ended(rig, service) > calls

        await until(ended, 10.0, "turns that it slept over are ended: by a stop that it heard, or by asking")
        found = await rig.findings()
        print(f"copy frozen before its turns: skipped={turns_ended(rig, service) - calls:g} {shown(found)}")
        assert found.violations == []
        assert sum(c.pid == pid for c in read_journal(rig.journal)) == calls, "no call of its own"
        assert found.extra_calls == 0 and found.redelivered_turns >= 1
