"""Real coding agents, installed from their registry, work in the sandbox as examples/hands/hands.yaml starts them; the
model is played. This measures what holds them and what is counted, not how well they work."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from parley.agents.hands.catalogue import Hand, load
from parley.agents.hands.hand import AgentHands
from parley.agents.hands.look import try_out
from parley.agents.tools import sandbox
from parley.agents.tools.folder import archive
from parley.agents.worker_model import WorkerModel
from parley.schemas.protocols.madp.work import Work
from tests.hands.coder import FILE, FIXED, say
from tests.hands.stub import KEY, model
from tests.hands.support import options
from tests.llm.support import silent
from tests.support.experts import FolderArtifacts
from tests.tools.support import ROOT, SPEC, Scripted, asked, work

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(sandbox.unavailable()), reason=f"NOT CHECKED: {sandbox.unavailable()}"),
    pytest.mark.skipif(shutil.which("npm") is None, reason="NOT CHECKED: npm is not installed, which installs them"),
]
PACKAGES = (
    "@anthropic-ai/claude-code@2.1.197", "@openai/codex@0.171.0", "opencode-ai@1.18.33",
    "@agentclientprotocol/claude-agent-acp@0.49.0", "@agentclientprotocol/codex-acp@2.6.0",
)  # fmt: skip
NAMES = ("claude", "codex", "opencode", "claude-acp", "codex-acp", "opencode-acp")
TEST = b"""import unittest
from app import greet


class Greets(unittest.TestCase):
    def test_it(self):
        self.assertEqual(greet(), "hello")
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the installed programs."""
    prefix = tmp_path_factory.mktemp("agents")
    command = ["npm", "install", "--global", "--no-audit", "--no-fund", "--prefix", str(prefix), *PACKAGES]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if ran.returncode:
        pytest.skip(f"NOT CHECKED: npm cannot install them: {ran.stderr[-300:]}")
    return prefix / "bin"


@pytest.mark.parametrize("name", NAMES)
async def test_a_real_agent_works_in_the_sandbox_and_is_counted(
    tmp_path: Path, programs: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    hand = load(ROOT / "examples" / "hands" / "hands.yaml").hands[name]
    assert isinstance(hand, Hand)
    starts, what = await try_out(hand)
    assert starts, what
    artifacts = FolderArtifacts(tmp_path)
    files = {FILE: (b"def greet():\n    return 'hi'\n", False), "test_app.py": (TEST, False)}
    start = await artifacts.put(archive(files))
    with model(say) as server:
        worker = WorkerModel(
            Scripted(), SPEC, None, AgentHands(name, hand, options(server.url, model="claude-sonnet-4-6"))
        )
        done = await worker.reply(asked("work", work(folder=start.id), seconds=150.0, calls=40), silent, artifacts)
    found, used = done.body, done.usage
    assert isinstance(found, Work) and found.output == "It greets with hello now."
    assert found.diff.count("diff --git") == 1 and "+    return 'hello'" in found.diff
    assert used.input_tokens + used.output_tokens == server.counted and used.calls == len(server.asked)
    assert {a["body"]["model"] for a in server.asked} == {"claude-sonnet-4-6"}
    assert {a["headers"]["authorization"] for a in server.asked} == {f"Bearer {KEY}"}
    if hand.acp:
        steps = sum(1 for a in server.asked if a["body"].get("tools")) - 1
        assert len(found.calls) >= 0.95 * steps and all(c.server == name and c.ok for c in found.calls)


def test_what_the_example_names_is_known_here() -> None:
    listed = load(ROOT / "examples" / "hands" / "hands.yaml").hands
    assert set(NAMES) | {"mini", "own"} == set(listed) and FIXED.endswith("'hello'\n")
