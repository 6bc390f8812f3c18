"""Experts as processes of their own, as `parley agent` runs them: one that is killed and one that starts in the middle
of claims, one that stops, and those that may not serve at all."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path

import pytest

from parley.agents import experts
from parley.schemas import log
from parley.schemas.expert import queue_of
from tests.support.engine import until
from tests.support.expert_model import expert_model
from tests.support.madp import Crew, lead_of

pytestmark = [pytest.mark.serial, pytest.mark.slow]
ROOT = Path(__file__).parents[3]
SRE, DBA, RELEASE, AUDITOR = "sre", "database-engineer", "build-release-engineer", "implementation-auditor"
SLOW_QUERY = "Postgres is slow at noon, latency alerts fire"
RED_BUILD = "The nightly build is red since we bumped the base image, make the pipeline green again"


@pytest.fixture
async def crew(tmp_path: Path) -> AsyncIterator[Crew]:
    """Four of the experts that ship are enrolled; a moderator and a helper that matches."""
    specs = {s.id: s for s in experts.builtin()}
    async with Crew(tmp_path, (specs[x] for x in (SRE, DBA, RELEASE, AUDITOR))) as started:
        await started.helper()
        yield started


class Processes:
    """Child processes, each an expert's worker. Ended with the test."""

    def __init__(self, crew: Crew, folder: Path, env: Mapping[str, str]) -> None:
        self.crew = crew
        self.folder = folder
        self.env = env
        self.by_id: dict[str, subprocess.Popen[str]] = {}

    def start(self, expert: str, spec: str = "", user: str = "") -> "subprocess.Popen[str]":
        """`parley agent`, with the credentials of a user."""
        user = user or queue_of(expert)
        creds = self.folder / f"{user}.json"
        self.crew.credentials[user].save(creds)
        command = [sys.executable, "-m", "parley", "agent", spec or queue_of(expert)]
        command += ["--nats", self.crew.server.url, "--creds", str(creds)]
        kept = {k: v for k, v in os.environ.items() if not k.startswith("PARLEY")}
        self.by_id[expert] = subprocess.Popen(
            command, cwd=self.folder, env={**kept, "PYTHONPATH": str(ROOT), **self.env}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        return self.by_id[expert]

    def close(self) -> None:
        """Nobody is left, frozen or not."""
        for process in self.by_id.values():
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
            process.kill()
            process.communicate()


@pytest.fixture
def processes(crew: Crew, tmp_path: Path) -> Iterator[Processes]:
    with expert_model() as env:
        started = Processes(crew, tmp_path, env)
        yield started
        started.close()


@pytest.mark.timeout(180)
async def test_one_is_killed_and_one_starts_in_the_middle_of_claims(crew: Crew, processes: Processes) -> None:
    """Who was killed is not waited for; who came late takes the next one; who stops, none."""
    moderator = await crew.moderator()
    for expert in (SRE, DBA, AUDITOR):
        processes.start(expert)
    await crew.know(moderator, without=(RELEASE,))
    frozen = processes.by_id[DBA]
    frozen.send_signal(signal.SIGSTOP)
    await crew.task("s1", SLOW_QUERY, claim_window_s=4.0)

    async def spoken() -> bool:
        said = [e.event for e in await crew.entries("s1") if isinstance(e.event, log.Spoke)]
        return (queue_of(SRE), "claim") in [(s.author, s.kind) for s in said]  # the auditor may have passed by then

    await until(spoken)
    frozen.kill()
    processes.start(RELEASE)
    assert not [p for p in await crew.posts("s1", "public") if p.kind == "claims"], "the window is open still"
    result = await crew.result("s1")
    (claims,) = await crew.kind("s1", "claims")
    assert [c["agent_id"] for c in claims["claims"]] == [SRE], "who was killed is gone, and nobody waits for it"
    assert lead_of(result) == SRE and result["stop"]["reason"] == "reviewed"
    assert result["outcome"]["reviewed"] == {AUDITOR: "approved"}
    opened = (await crew.entries("s1"))[0].event
    assert isinstance(opened, log.Opened) and [k.id for k in opened.experts] == [DBA, AUDITOR, SRE]

    await crew.know(moderator, without=(DBA,))
    await crew.task("s2", RED_BUILD)
    assert lead_of(await crew.result("s2")) == RELEASE
    processes.by_id[RELEASE].terminate()
    assert processes.by_id[RELEASE].wait(20) == 0
    await crew.know(moderator, without=(DBA, RELEASE))
    await crew.task("s3", RED_BUILD)
    result = await crew.result("s3")
    assert RELEASE not in [c["expert"] for c in result["outcome"]["candidates"]]
    assert lead_of(result) != RELEASE
