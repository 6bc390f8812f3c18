"""A seat that gives no position is seen in every account of the session, with the reason."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.parley.support import QUESTION, Front

pytestmark = [pytest.mark.slow]

WHY = r"its deadline of \S+ s passed"


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Front:
    front = Front(tmp_path_factory.mktemp("missing"))
    config = front.slow_agents(0.0)
    config.write_text(config.read_text() + "turn_timeout_s: 1\nconsensus: {attempts: 1}\n")
    slow = front.folder / "panelist_1.yaml"
    slow.write_text(slow.read_text().replace("latency_s: 0.0", "latency_s: 60"))
    return front


@pytest.fixture(scope="module")
def asked(front: Front) -> tuple[str, str]:
    """(session, what `ask` showed)."""
    code, out, err = front.run("ask", QUESTION, "--config", "slow.yaml")
    assert code == 0, err
    found = re.search(r"^session (\w+)$", out, re.M)
    assert found is not None
    return found[1], out


def test_the_explanation_names_the_seat_and_the_frame_counts_it(front: Front, asked: tuple[str, str]) -> None:
    code, out, err = front.run("explain", asked[0], "failures")
    assert code == 0, err
    assert re.search(rf"^  Step \d+: Panelist 1, round 1 \(answer, nothing came of it\): {WHY}$", out, re.M)
    why: dict[str, Any] = front.json("explain", asked[0], "--json")
    assert [r["missing"] for r in why["result"]["rounds"]] == [["panelist_1"], ["panelist_1"]]
    assert why["result"]["usage"]["by_seat"]["panelist_1"]["turns"] == 0
    assert {f["seat"] for f in why["view"]["refused"]} == {"panelist_1"}


def test_a_record_with_a_gap_or_without_its_end_says_so(front: Front, asked: tuple[str, str]) -> None:
    file = front.folder / "s.jsonl"
    assert front.run("sessions", "export", asked[0], "-o", str(file))[0] == 0
    lines = file.read_text().splitlines()
    cut = Path(front.folder / "cut.jsonl")
    cut.write_text("\n".join(lines[:-1]) + "\n")
    code, out, err = front.run("replay", str(cut))
    assert (code, err) == (0, "")
    assert out.endswith("the record is incomplete: it ends before the session does\n")
    gap = Path(front.folder / "gap.jsonl")
    gap.write_text("\n".join([*lines[:3], *lines[5:]]) + "\n")
    code, _, err = front.run("replay", str(gap))
    assert code == 1
    assert "transitions 2 to 3 are missing from the record" in err
    code, _, err = front.run("replay", str(file), "--set", "consensus.panel=5")
    assert code == 2
    assert err.startswith("parley: consensus.panel: it acts only before the first event")
