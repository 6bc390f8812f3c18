"""`parley ask --protocol maci` on an example, with every debater and judge its own process."""

import json
from pathlib import Path

import pytest

from tests.parley.support import ROOT, Front
from tests.support.debater import panel

pytestmark = [pytest.mark.slow]
EXAMPLE = ROOT / "examples" / "diagnosis"
STOPS = ["agreement", "budget", "plateau", "round_limit", "stalemate"]
SEATS = (*(f"{role}_{i}" for role in ("debater", "judge") for i in (1, 2, 3)), "analyst")


def test_an_agreement_that_is_convergence(tmp_path: Path) -> None:
    front = Front(tmp_path)
    code, out, err = front.run(
        "ask", (EXAMPLE / "question.txt").read_text().strip(), "--protocol", "maci", "--evidence",
        str(EXAMPLE / "evidence"), "--outcomes", str(EXAMPLE / "outcomes.txt"), "--json", "--panel-file",
        str(panel(front.folder, seats=SEATS, protocol="maci")),
    )  # fmt: skip
    assert (code, err) == (0, "")
    result = json.loads(out)
    outcome, stop = result["outcome"], result["stop"]
    assert (stop["reason"], stop["converged"], result["status"]) == ("agreement", True, "finished")
    signals = [played["signals"] for played in result["rounds"]]
    assert signals[0]["jsd"] > 0.3 > 0.1 > signals[-1]["jsd"], "they began apart"
    assert outcome["answer"] == "Fusarium wilt" and outcome["plan"]["tests"]
    assert sorted(stop["certificate"]["stops"]) == STOPS, "all stops are laid open"
    assert stop["certificate"]["stops"]["agreement"]["holds"]
    assert stop["certificate"]["cross_family"] is outcome["cross_family"] is False
    front.assert_nothing_left()
