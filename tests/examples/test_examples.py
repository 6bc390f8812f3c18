"""The bot on NATS, beside a real server of somebody else's, and the examples that run each in an environment."""

import asyncio
import json
import os
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nats
import pytest

from parley.bus.embedded import find_server
from tests.parley.support import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
BOT = ROOT / "examples" / "nats-bot" / "bot.py"


@pytest.fixture
def url() -> Iterator[str]:
    """A server without accounts, as a user of NATS has one."""
    command = [find_server(), "-a", "127.0.0.1", "-p", "-1"]
    child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert child.stderr is not None
    try:
        said = next(line for line in child.stderr if "Listening for client connections on" in line)
        yield f"nats://{said.split()[-1]}"
    finally:
        child.terminate()
        child.communicate(timeout=20)


@pytest.fixture
def bot(url: str, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """The bot, ready; it ends by itself when it is told to."""
    (tmp_path / "canal.md").write_text("The Suez Canal opened in 1869 for ships.")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = [sys.executable, str(BOT), url, "--evidence", str(tmp_path / "canal.md")]
    env = {**os.environ, "PATH": path}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=env) as child:
        assert child.stdout is not None and child.stdout.readline() == "ready\n"
        yield child
        child.terminate()
        assert child.wait(30) == 0


async def test_a_question_is_answered_and_its_posts_are_published(url: str, bot: subprocess.Popen[str]) -> None:
    assert len(BOT.read_text().splitlines()) <= 60
    async with await nats.connect(url) as bus:
        posts: list[dict[str, Any]] = []

        async def hear(message: Any) -> None:
            posts.append(json.loads(message.data))

        await bus.subscribe("panel.posts.*", cb=hear)
        asking = [bus.request("panel.ask", q.encode(), timeout=60) for q in ("In which year did it open?", "")]
        told, refused = [json.loads(reply.data) for reply in await asyncio.gather(*asking)]
        await bus.flush()
    assert told["answer"] == "1869" and not told["agreed"] and told["stop"] == "one_source"
    assert "question" in refused["error"] and bot.poll() is None
    assert {"panelist_1", "panelist_2", "panelist_3"} <= {p["seat"] for p in posts if p["kind"] == "position"}


RUN = runpy.run_path(str(ROOT / "examples" / "run.py"))
NEEDS: dict[str, tuple[str, ...]] = RUN["NEEDS"]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", NEEDS)
def test_an_example_runs(name: str) -> None:
    ran = subprocess.run([sys.executable, "-m", "examples.run", name], cwd=ROOT, capture_output=True, text=True)
    if ran.returncode == RUN["NOT_INSTALLED"]:
        pytest.skip(f"NOT CHECKED: {', '.join(NEEDS[name])} cannot be installed here: {ran.stderr[-300:]}")
    assert ran.returncode == 0, ran.stdout + ran.stderr
