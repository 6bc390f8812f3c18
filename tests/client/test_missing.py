"""Records with a gap, a missing seat or a lost version: shown, explained, exported, and never hidden."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from parley.bus import subjects
from parley.bus.log import Stored
from parley.client import records
from parley.client.records import Record, read_record
from parley.client.view.fold import fold_of
from parley.coordinator.sessions import lost
from parley.coordinator.sessions.broken import BrokenLog
from parley.follow import exit_code
from parley.schemas.stops import STOPS, VERSION_LOST
from parley.schemas.wire import encode
from parley.show.view import AnswerView, PlainView, TerminalView
from tests.old_logs.test_old_logs import ENDED, LOGS
from tests.parley.support import QUESTION, Front

WHY = r"its deadline of \S+ s passed"


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Front:
    front = Front(tmp_path_factory.mktemp("missing"))
    config = front.slow_agents(0.0, panelist_1=60.0)
    given = json.loads(config.read_text())
    config.write_text(json.dumps({**given, "turn_timeout_s": 1}))
    return front


@pytest.fixture(scope="module")
def asked(front: Front) -> tuple[str, str]:
    """(session, what `ask` showed)."""
    code, out, err = front.run("ask", QUESTION, "--config", "slow.yaml")
    assert code == 0, err
    found = re.search(r"^session (\w+)$", out, re.M)
    assert found is not None
    return found[1], out


@pytest.mark.slow
def test_the_explanation_names_the_seat_and_the_frame_counts_it(front: Front, asked: tuple[str, str]) -> None:
    code, out, err = front.run("explain", asked[0], "failures")
    assert code == 0, err
    assert re.search(rf"^  Step \d+: Panelist 1, round 1 \(answer, nothing came of it\): {WHY}$", out, re.M)
    why: dict[str, Any] = front.json("explain", asked[0], "--json")
    assert [r["missing"] for r in why["result"]["rounds"]] == [["panelist_1"], ["panelist_1"]]
    assert why["result"]["usage"]["by_seat"]["panelist_1"]["turns"] == 0
    assert {f["seat"] for f in why["view"]["refused"]} == {"panelist_1"}


@pytest.mark.slow
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


SAID = STOPS[VERSION_LOST].words


def ended(path: Path) -> Record:
    """A record, cut off in the middle, and ended."""
    record = read_record(path)
    entries = record.entries[: len(record.entries) // 2]
    stored = [Stored(i + 1, subjects.STEP, text.encode()) for i, text in enumerate(entries)]
    error = BrokenLog(record.sid, "version", "it is of another version", "x", 9)
    entry, _ = lost.ending(record.sid, stored, error, records.entries_of(record)[-1].at_ns)
    whole = Record(sid=record.sid, entries=(*entries, encode(entry).decode()))
    assert list(lost.fold(record.sid, [*stored, Stored(99, subjects.ERASED, encode(entry))]).posts) == records.posts_of(
        whole
    )
    return whole


@pytest.mark.parametrize("name", ENDED)
def test_it_is_shown_whatever_its_protocol(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = ended(LOGS[name])
    path = tmp_path / "s.jsonl"
    path.write_text("".join(f"{text}\n" for text in records.write(record)))
    front = Front(tmp_path)
    for command in (
        ("sessions", "show"), ("explain",), ("sessions", "export", "--format", "html", "--all"),
        ("sessions", "export", "--format", "markdown", "--all"),
    ):  # fmt: skip
        code, out, err = front.run(*command, str(path))
        assert (code, err) == (0, ""), (command, err)
        assert SAID in out or VERSION_LOST in out, (command, out)
    fold = fold_of(record, everything=True)
    result = fold.result
    assert result is not None and exit_code(result) == 1
    for view in (PlainView(), AnswerView(), TerminalView()):
        view.begins(fold)
        view.cards(fold.cards, ())
        view.result(result)
    shown = capsys.readouterr()
    assert SAID in shown.out and SAID in shown.err  # what `parley ask` ends with
    code, out, err = front.run("replay", str(path))
    assert (code, err) == (0, "") and "all came out the same" in out
    code, out, err = front.run("sessions", "export", str(path), "--format", "json", "--all")
    assert json.loads(out)["result"]["stop"]["reason"] == VERSION_LOST
