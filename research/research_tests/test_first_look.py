"""The page: its words are chosen by the intervals, and what is committed is what the data gives."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from parley_research import first_look, loaders
from parley_research.__main__ import RESULTS, main
from parley_research.comparison import FULL, NO_DEBATE, ORACLE, UNCHANGED, Comparison
from parley_research.statistics import Interval
from parley_research.stops import RELATIVE, equation_10
from research_tests.debates import debate

ROOT = Path(__file__).parents[2]


def data() -> Path:
    """Where the data is; skips where it is not, naming the folder."""
    for name in (loaders.FORD, loaders.GSM8K):
        if not (loaders.DATA / name).is_dir():
            pytest.skip(f"NOT CHECKED: no recorded debates: there is not a folder {loaders.DATA / name}")
    return loaders.DATA


@pytest.mark.slow
def test_the_committed_page_is_what_the_data_gives() -> None:
    assert first_look.text(data()) == RESULTS.read_text(encoding="utf-8"), "make results"


def test_every_debated_row_is_read() -> None:
    ford = loaders.ford(data())
    assert len(ford) == 5_705
    assert {d.group for d in ford} == set(loaders.FORD_GROUPS)
    assert len(loaders.gsm8k(data())) == 100
    assert sum(sum(r.words) for d in ford for r in d.rounds) == sum(
        sum(r.words) for d in loaders.ford(data(), by="speech") for r in d.rounds
    )


@pytest.mark.parametrize(
    ("interval", "said"),
    [
        (Interval(0.0123, 0.0011, 0.0321), "+1.23 [+0.11, +3.21], better"),
        (Interval(-0.0123, -0.0321, -0.0011), "−1.23 [−3.21, −0.11], worse"),
        (Interval(-0.0026, -0.005, -0.0002), "−0.26 [−0.50, −0.02], worse by less than a point"),
        (Interval(0.0, -0.00001, 0.01), "0.00 [0.00, +1.00], no difference that shows"),
    ],
)
def test_the_interval_chooses_the_word(interval: Interval, said: str) -> None:
    assert first_look.judged(interval) == said


def test_rules_are_compared_debate_by_debate() -> None:
    found = Comparison([debate("AB", "AB", "AA"), debate("AB", "BB"), debate("BA", "BB", gold="B")], ("one", "two"))
    assert found.accuracy(FULL).value == pytest.approx(2 / 3)
    assert found.accuracy(NO_DEBATE).value == 0.5
    assert found.gain(UNCHANGED, FULL).value == pytest.approx(-1 / 6)
    assert found.differ(UNCHANGED, FULL) == (0, 1)
    assert found.differ(FULL, NO_DEBATE) == (2, 1)
    assert found.early(UNCHANGED) == 1
    assert found.words(NO_DEBATE).value == 60 / 140
    assert found.rounds(FULL) == pytest.approx(4 / 3)
    assert found.gain(ORACLE, FULL).value == pytest.approx(1 / 6)
    assert found.best_alone() == "one alone"


def test_no_data_is_bad_input_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    assert main(["--data", str(tmp_path), "--out", str(page)]) == 2
    assert str(tmp_path) in capsys.readouterr().err
    assert not page.exists()


def small(folder: Path) -> Path:
    """One debate of each set, by hand: deadlocked for three rounds."""
    turns = [[max(0, t - 1), "llama" if t % 2 == 0 else "vicuna", "AB"[t % 2], 5] for t in range(8)]
    (folder / loaders.FORD).mkdir()
    for group in loaders.FORD_GROUPS:
        row = {"id": f"{group}/copa/1", "gold": "A", "agreed": False, "turns": turns}
        (folder / loaders.FORD / f"{group}.jsonl").write_text(json.dumps(row) + "\n")
    return folder


def test_an_unknown_debate_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--data", str(small(tmp_path)), "--signals", "llama_vicuna/copa/2"]) == 2
    assert "llama_vicuna/copa/2" in capsys.readouterr().err


def test_parley_signals_reads_a_recorded_debate_and_stops_where_this_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--data", str(small(tmp_path)), "--signals", "llama_vicuna/copa/1"]) == 0
    written = tmp_path / "debate.json"
    written.write_text(capsys.readouterr().out)
    asked = json.loads(written.read_text())
    assert asked["config"] == {"reading": "paper", "tau_o": 0.0}
    assert asked["constants"] == {"gamma": 0.0, "tau_q": 0.0}
    assert [r["beliefs"] for r in asked["rounds"]] == [{"llama": [1.0, 0.0], "vicuna": [0.0, 1.0]}] * 4
    command = [sys.executable, "-m", "parley", "signals", str(written)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["stop"]["reason"] == "plateau"
    assert [r["round"] for r in told["rounds"]] == [0, 1, 2]
    assert told["rounds"][-1]["jsd"] == pytest.approx(1.0, abs=1e-4)
    (found,) = [d for d in loaders.ford(tmp_path) if d.id == "llama_vicuna/copa/1"]
    assert equation_10(RELATIVE)(found).rounds == told["rounds"][-1]["round"] < len(found.rounds) - 1
