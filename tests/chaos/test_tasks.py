"""MADP tasks under kills: what they come to is what an undisturbed one does, and every model call is accounted for."""

import asyncio
import os
import signal
from collections import Counter
from pathlib import Path
from random import Random

import psutil
import pytest

from parley.agents.tools.folder import archive
from parley.bus import artifacts
from parley.schemas.expert import queue_of
from parley.schemas.protocols.madp.work import Work
from parley.schemas.session import OpenSession
from parley.schemas.wire import decode
from parley.stack.rows import AgentRow
from tests.chaos import tasks
from tests.chaos.faults import EXPERT, HELPER, MODERATOR, NATS, PANELIST, Faults
from tests.chaos.harness import Rig, make_stack, shown
from tests.support import crash
from tests.support.engine import until
from tests.support.model import Call, read_journal
from tests.tools.support import EXAMPLE

pytestmark = [pytest.mark.serial, pytest.mark.slow, pytest.mark.timeout(120)]
SEED = 20_262
PLAYS = tasks.at_once(), tasks.claimed()


@pytest.mark.parametrize("kinds", [(MODERATOR, HELPER) * 2, (EXPERT, NATS, PANELIST, EXPERT, EXPERT)], ids="-".join)
async def test_killed_at_random_moments(kinds: tuple[str, ...], tmp_path: Path) -> None:
    rng = Random(f"{SEED} {kinds[0]}")
    stack = make_stack(tmp_path, latency_s=0.05, agents=tasks.rows(*PLAYS))
    async with Rig(tmp_path, stack, PLAYS) as rig:
        await rig.learn()
        faults = Faults(rig.lease, rng)
        sessions = asyncio.create_task(rig.play_all([f"s{i}" for i in range(12)], at_once=4))
        await faults.kill_each(kinds, rig.asking, sessions.done, (0.1, 0.4))
        await sessions
        found = await rig.findings()
        print(f"{kinds}: seed={SEED} kills={dict(faults.kills)} {shown(found)}")
        assert found.violations == []
        assert faults.kills == Counter(kinds), "the tasks were over before the kills"
        assert found.extra_calls or found.redelivered_turns or found.disturbed, "nobody missed those that were killed"
        assert found.sessions == 2 + 12 + 1 + 6, "six of them, and one undisturbed, had a session beneath"
        if EXPERT not in kinds:
            assert found.disturbed == 0, "no claim is lost with a moderator"
            assert found.turns == 7 * sum(p.turns + p.beneath for p in PLAYS)


async def test_a_worker_that_dies_amid_its_tools_leaves_one_result(tmp_path: Path) -> None:
    """Killed with the file changed and nothing handed in; and with the folder stored and the reply not submitted. The
    next one begins with a fresh copy."""
    queue = queue_of(tasks.IMPL)
    folder = tmp_path / "folders"
    folder.mkdir()
    agents = (AgentRow(queue="helper"), AgentRow(queue=queue, options={"tools": True, "latency_s": 0.5}))
    env = {"PARLEY_TOOLS": str(EXAMPLE), "TMPDIR": str(folder)}
    # Of each task there are a match and one work; the fourth reply is the second one's work.
    stack = make_stack(tmp_path, agents=agents, crash="replied:4", env=env)
    async with Rig(tmp_path, stack, ()) as rig:
        kept = []
        for sid in ("s1", "s2"):
            start = await artifacts.put(rig.client.connection, sid, archive({"app.py": (b"print('hi')\n", False)}))
            request = OpenSession(question=tasks.AT_ONCE_PROMPT, protocol="madp", settings={"folder": start})
            await rig.client.open(request, sid)
            if sid == "s1":
                await until(lambda: _begun(rig), 20.0, "the tools were called, and the model is asked again")
                pid = rig.lease.pids()[f"{queue}-1"]
                os.kill(pid, signal.SIGKILL)
            (work,) = [decode(p.body, Work) async for p in rig.client.posts(sid) if p.kind == "work"]
            assert [(c.tool, c.ok) for c in work.calls] == [("replace_in_file", True)], "hi stood in it"
            assert work.folder is not None and work.diff.count("+print('hello')") == 1
            kept.append(work.folder.id)
        assert kept[0] == kept[1]
        assert len(crash.done(rig.crashes)) == 1
        calls = Counter(c.session for c in _works(rig))
        assert calls == {"s1": 2, "s2": 2}, "each was paid for twice, and taken once"
        left = [p.pid for p in psutil.process_iter(["cmdline"]) if str(folder) in " ".join(p.info["cmdline"] or ())]
        assert left == [], "servers of tools end with the worker that they served"


async def _begun(rig: Rig) -> bool:
    return bool(_works(rig))


def _works(rig: Rig) -> list[Call]:
    return [c for c in read_journal(rig.journal) if c.turn.split("/")[1] == "work"]
