"""A fork of a session whose seats were chosen of a team: it says what its record says, and goes on."""

from pathlib import Path

import pytest

from tests.parley.support import QUESTION, Front

pytestmark = [pytest.mark.slow]
TEAM = "members:\n" + "".join(f"  {name}: {{expertise: [{name}s]}}\n" for name in ("ada", "ben", "cy", "dora"))


def test_a_session_with_chosen_seats_is_forked_and_keeps_why_they_sit(tmp_path: Path) -> None:
    front = Front(tmp_path)
    (tmp_path / "team.yaml").write_text(TEAM)
    team = str(tmp_path / "team.yaml")
    code, out, err = front.run(
        "ask", QUESTION, "--panel", "3", "--from", team, "--evidence", str(front.evidence), "--plain"
    )
    assert code in (0, 3) and "sits: " in out + err
    sid = front.json("sessions", "list", "--json")["sessions"][0]["session"]
    code, out, err = front.run("fork", sid, "--set", "consensus.threshold=60", "--plain")
    assert code in (0, 3), out + err
    assert front.run("replay", sid, "--set", "consensus.decide=borda")[0] == 2
