"""`parley mcp` as a process: nothing but the protocol on standard output, and its own stack where none runs."""

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.parley.support import ANSWER, Front

_INITIALIZE = {
    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"},
}  # fmt: skip


def _request(number: int, method: str, params: dict[str, Any]) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"


def test_it_starts_a_stack_with_the_first_call_and_says_nothing_but_the_protocol(tmp_path: Path) -> None:
    front = Front(tmp_path)
    child = front.start("mcp", "--set", "protocol=consensus", stdin=subprocess.PIPE)
    assert child.stdin is not None and child.stdout is not None and child.stderr is not None
    lines = []

    def ask(text: str) -> dict[str, Any]:
        assert child.stdin is not None and child.stdout is not None
        child.stdin.write(text)
        child.stdin.flush()
        while True:
            line = child.stdout.readline()
            lines.append(line)
            found: dict[str, Any] = json.loads(line)
            if "id" in found:
                return found

    assert ask(_request(1, "initialize", _INITIALIZE))["result"]["serverInfo"]["name"] == "parley"
    child.stdin.write(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}) + "\n")
    assert len(ask(_request(2, "tools/list", {}))["result"]["tools"]) == 8
    assert not front.state.exists(), "nothing is started before it is needed"
    given = {"question": "What is the capital of Lithuania?", "context": "Vilnius is the capital of Lithuania."}
    found = ask(_request(3, "tools/call", {"name": "iterative_debate", "arguments": given}))["result"]
    assert found["structuredContent"]["answer"] == ANSWER and front.state.exists()
    child.stdin.close()
    assert child.wait(30) == 0
    lines += child.stdout.read().splitlines()
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in lines)
    child.stdout.close()
    child.stderr.close()
    front.assert_nothing_left()


def test_what_cannot_be_right_is_said_before_anything_is_served(tmp_path: Path) -> None:
    front = Front(tmp_path)
    code, out, err = front.run("mcp", "--root", str(tmp_path / "nothing"))
    assert code == 2 and not out and "root: " in err and "is not a folder" in err
    panels = tmp_path / "panels"
    panels.mkdir()
    code, out, err = front.run("mcp", "--panels", str(panels))
    assert code == 2 and not out and "holds no panel file" in err
    (panels / "consensus.yaml").write_text("seats: {}\n")
    assert "consensus is a protocol" in front.run("mcp", "--panels", str(panels))[2]
    assert not front.state.exists()
