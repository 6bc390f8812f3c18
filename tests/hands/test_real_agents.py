"""Real coding agents, installed from their registry, work in the sandbox as examples/hands/hands.yaml starts them; the
model is played. This measures what holds them and what is counted, not how well they work.

The played model says: look at a file, write it whole, run the tests, say what was done. How far it is shows in how many
results of tools a request holds; which tools there are, the request says.
"""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from parley.agents.hands.catalogue import Hand, load
from parley.agents.hands.hand import AgentHands
from parley.agents.hands.look import try_out
from parley.agents.tools import sandbox
from parley.agents.tools.folder import archive
from parley.agents.worker_model import WorkerModel
from parley.schemas.protocols.madp.work import Work
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


FILE = "app.py"
FIXED = "def greet():\n    return 'hello'\n"
RUN = "python3 -m unittest -q"
_READ = ("read", "read_file", "read_text_file")
_WRITE = ("write", "write_file", "write_text_file", "create_file")
_SHELL = ("bash", "shell", "run_shell_command", "execute", "exec_command", "run", "local_shell")


def say(body: dict[str, Any], _number: int) -> dict[str, Any]:
    """The next step."""
    tools, done = _tools(body), _results(body)
    if not tools:
        return {"text": "Fix the greeting"}
    read, write, shell = (_pick(tools, names) for names in (_READ, _WRITE, _SHELL))
    steps: list[dict[str, Any]] = []
    if read:
        steps.append({"text": "A look.", "tool": read[0], "args": _filled(read[1], path=f"/task/{FILE}")})
    if write:
        arguments = _filled(write[1], path=f"/task/{FILE}", content=FIXED)
        steps.append({"text": "I write it.", "tool": write[0], "args": arguments})
    elif shell:
        steps.append(_ran(shell, f"printf \"def greet():\\n    return 'hello'\\n\" > {FILE}"))
    if shell:
        steps.append(_ran(shell, RUN))
    return steps[done] if done < len(steps) else {"text": "It greets with hello now."}


def _ran(shell: tuple[str, Any], command: str) -> dict[str, Any]:
    return {"text": "I run it.", "tool": shell[0], "args": _filled(shell[1], command=command)}


def _tools(body: dict[str, Any]) -> list[tuple[str, Any]]:
    """Name and schema of each."""
    found = []
    for tool in body.get("tools") or []:
        of = tool.get("function", tool)
        found.append((str(of.get("name") or of.get("type")), of.get("parameters") or of.get("input_schema") or {}))
    return found


def _results(body: dict[str, Any]) -> int:
    """Results of tools in the request."""
    n = 0
    for message in (*body.get("messages", []), *(body["input"] if isinstance(body.get("input"), list) else [])):
        content = message.get("content")
        n += message.get("role") == "tool" or str(message.get("type", "")).endswith("call_output")
        n += sum(p.get("type") == "tool_result" for p in content) if isinstance(content, list) else 0
    return n


def _pick(tools: list[tuple[str, Any]], names: tuple[str, ...]) -> tuple[str, Any] | None:
    return next((tool for name in names for tool in tools if tool[0].lower() == name), None)


def _filled(schema: Any, **known: str) -> dict[str, Any]:
    """Arguments of a tool, by what its schema calls them."""
    filled: dict[str, Any] = {}
    for name, of in schema.get("properties", {}).items():
        plain = name.lower().replace("_", "")
        if plain in ("filepath", "path", "file", "filename"):
            filled[name] = known.get("path", "")
        elif plain in ("content", "contents", "text", "filetext"):
            filled[name] = known.get("content", "")
        elif plain in ("command", "cmd"):
            command = known.get("command", "")
            filled[name] = ["bash", "-lc", command] if of.get("type") == "array" else command
        elif name in (schema.get("required") or []):
            filled[name] = {"string": "as asked", "boolean": False, "array": []}.get(of.get("type"), 1)
    return filled


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
