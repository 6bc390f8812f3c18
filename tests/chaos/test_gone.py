"""An expert that is killed amid its work, and does not come back: another finishes the task within seconds."""

import os
import signal
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.replay import replay
from parley.schemas import log
from parley.schemas.expert import queue_of
from parley.schemas.presence import ALIVE_S
from parley.schemas.wire import decode
from parley.stack.rows import AgentRow
from tests.chaos import tasks
from tests.chaos.harness import Rig, make_stack, until
from tests.support.model import Call, read_journal

pytestmark = [pytest.mark.serial, pytest.mark.slow, pytest.mark.timeout(120)]
SLACK_S = 6.0
"""For the timer, and a busy machine."""


async def test_a_lead_that_is_killed_for_good_is_followed_by_the_next(tmp_path: Path) -> None:
    """It is left alone as long as its worker is there. Killed, nobody is asked, no deadline passes, and no model is
    called twice but for the work that was lost."""
    options = {tasks.DBA: {"latency_s": 300.0, "metered": True}}
    agents = (
        AgentRow(queue="helper"),
        *(AgentRow(queue=queue_of(x), options=options.get(x, {})) for x in tasks.EXPERTS),
    )
    play = tasks.claimed()
    async with Rig(tmp_path, make_stack(tmp_path, agents=agents), (play,)) as rig:
        await rig.client.open(msgspec.structs.replace(play.request, turn_timeout_s=300.0), "s1")
        await until(lambda: _at_work(rig, tasks.DBA), 20.0, "the lead is at work")
        await until(lambda: _looked(rig), 2 * ALIVE_S, "it was looked who is there")
        assert not await _at_work(rig, tasks.SRE), "the lead is there, and has time"
        supervisor = rig.lease.kill("supervisor", signal.SIGSTOP)  # it would start another at once
        try:
            os.kill(rig.lease.pids()[f"{queue_of(tasks.DBA)}-1"], signal.SIGKILL)
            killed_at = time.monotonic()
            await until(lambda: _at_work(rig, tasks.SRE), ALIVE_S + SLACK_S, "another is at work")
            took_s = time.monotonic() - killed_at
            posts = [p async for p in rig.client.posts("s1")]
        finally:
            os.kill(supervisor, signal.SIGCONT)
        session = replay(PROTOCOLS.get, "s1", await rig.client.log("s1"))

    fired = [e.at_ns / 1e9 for e in session.entries if isinstance(e.event, log.TimerFired)]
    print(
        f"the next lead was at work {took_s:.1f} s after the kill; {len(session.entries)} transitions, looks: {fired}"
    )
    result = msgspec.json.decode(posts[-1].body)
    assert (result["stop"]["reason"], result["outcome"]["lead"]) == ("reviewed", tasks.SRE)
    assert result["outcome"]["items"] == []
    led = [(r["lead"], r["outcome"]) for r in result["rounds"]]
    assert led == [(tasks.DBA, "missed"), (tasks.SRE, "done"), (tasks.SRE, "done")]
    calls = Counter(tuple(c.turn.split("/")[:2]) for c in read_journal(rig.journal))
    assert calls == {
        ("helper", "match"): 1, (tasks.DBA, "work"): 1, (tasks.SRE, "work"): 2,
        (tasks.AUDITOR, "review"): 2, (tasks.QA, "review"): 2,
    }  # fmt: skip
    assert result["usage"]["unaccounted_turns"] == 1, "the killed one's"
    gone = [e.event.gone for e in session.entries if isinstance(e.event, log.TimerFired)]
    assert [g for g in gone if g] == [(queue_of(tasks.DBA),)]
    assert all(b - a > 0.9 for a, b in pairwise(fired)), "it is looked when somebody may be gone, not all the time"


async def _at_work(rig: Rig, expert: str) -> list[Call]:
    return [c for c in read_journal(rig.journal) if c.turn.split("/")[:2] == [expert, "work"]]


async def _looked(rig: Rig) -> bool:
    """Whether the timer has fired twice since somebody was asked to work: once where claims would have been over, and
    then when it was time to look who is there."""
    entries = [decode(entry.encode(), log.Entry) for entry in await rig.client.log("s1")]
    asked = next(
        (e.n for e in entries for c in e.commands if isinstance(c, log.Ask) and c.kind == "work"), len(entries)
    )
    return sum(isinstance(e.event, log.TimerFired) for e in entries[asked:]) > 1
