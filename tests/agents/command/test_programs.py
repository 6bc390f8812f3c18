"""A whole session whose members are programs."""

import json
import sys
from pathlib import Path

import pytest

from tests.llm.debate import QUESTION
from tests.llm.support import FULL
from tests.parley.support import Front

pytestmark = [pytest.mark.slow]
MEMBER = """
import json, sys
prompt = sys.stdin.read()
fields = json.loads({full!r})
if "differs" in prompt and '"states"' in prompt:
    fields = {{"states": "first", "differs": ""}}
print("Thinking aloud.")
print(json.dumps({{"type": "result", "result": json.dumps(fields)}}))
sys.exit(3)
"""


def test_a_panel_of_programs_answers(tmp_path: Path) -> None:
    front = Front(tmp_path)
    program = tmp_path / "member.py"
    program.write_text(MEMBER.format(full=json.dumps({**FULL, "citations": []})))
    seat = {"provider": "command", "command": [sys.executable, str(program)], "options": {"out": "result"}}
    (tmp_path / "panel.yaml").write_text(json.dumps({"seats": {"panelist_1": seat, "panelist_2": seat, "analyst": {}}}))
    code, out, err = front.run("ask", QUESTION, "--json", "--panel-file", "panel.yaml", "--ephemeral")
    found = json.loads(out)
    assert code == 0, err + json.dumps(found, indent=1)
    assert found["outcome"]["answer"] == "A4" and found["usage"]["calls"] >= 2
    front.assert_nothing_left()
