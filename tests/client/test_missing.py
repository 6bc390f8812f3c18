"""Records with a gap or a lost version: shown, explained, exported, and never hidden."""

from pathlib import Path

import pytest

from parley.bus import subjects
from parley.bus.log import Stored
from parley.client import records
from parley.client.records import Record, read_record
from parley.client.rendering import explain, html, terminal
from parley.client.view.fold import fold_of
from parley.coordinator.sessions import lost
from parley.coordinator.sessions.broken import BrokenLog
from parley.follow import exit_code
from parley.schemas.stops import STOPS, VERSION_LOST
from parley.schemas.wire import encode
from parley.show.view import AnswerView, PlainView, TerminalView
from tests.parley.support import Front

LOGS = Path(__file__).parents[1] / "old_logs" / "1"
SAID = STOPS[VERSION_LOST].words


def test_a_record_with_a_gap_or_without_its_end_says_so(tmp_path: Path) -> None:
    front = Front(tmp_path)
    file, cut, gap = (tmp_path / name for name in ("s.jsonl", "cut.jsonl", "gap.jsonl"))
    lines = (LOGS / "consensus.jsonl").read_text().splitlines()
    file.write_text("\n".join(lines) + "\n")
    cut.write_text("\n".join(lines[:-1]) + "\n")
    code, out, err = front.run("replay", str(cut))
    assert (code, err) == (0, "")
    assert out.endswith("the record is incomplete: it ends before the session does\n")
    gap.write_text("\n".join([*lines[:3], *lines[5:]]) + "\n")
    code, _, err = front.run("replay", str(gap))
    assert code == 1 and "transitions 2 to 3 are missing from the record" in err
    code, _, err = front.run("replay", str(file), "--set", "consensus.panel=5")
    assert code == 2 and err.startswith("parley: consensus.panel: it acts only before the first event")


def ended(path: Path) -> Record:
    """A record, cut off in the middle, and ended."""
    record = read_record(path)
    entries = record.entries[: len(record.entries) // 2]
    stored = [Stored(i + 1, subjects.STEP, text.encode()) for i, text in enumerate(entries)]
    error = BrokenLog(record.sid, "version", "it is of another version", "x", 9)
    entry, _ = lost.ending(record.sid, stored, error, records.entries_of(record)[-1].at_ns)
    whole = Record(sid=record.sid, entries=(*entries, encode(entry).decode()))
    folded = lost.fold(record.sid, [*stored, Stored(99, subjects.ERASED, encode(entry))])
    assert list(folded.posts) == records.posts_of(whole)
    return whole


@pytest.mark.parametrize("name", sorted(path.stem for path in LOGS.glob("*.jsonl") if path.stem != "breaker"))
def test_it_is_shown_whatever_its_protocol(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = ended(LOGS / f"{name}.jsonl")
    fold = fold_of(record, everything=True)
    for lines in (
        terminal.show(record), explain.explanation_lines(record), html.html(record), terminal.markdown(fold),
    ):  # fmt: skip
        text = "\n".join(lines)
        assert SAID in text or VERSION_LOST in text, text
    assert fold.result is not None and exit_code(fold.result) == 1
    assert fold.result.stop.reason == VERSION_LOST
    for view in (PlainView(), AnswerView(), TerminalView()):
        view.begins(fold)
        view.cards(fold.cards, ())
        view.result(fold.result)
    shown = capsys.readouterr()
    assert SAID in shown.out and SAID in shown.err  # what `parley ask` ends with
    path = tmp_path / "s.jsonl"
    path.write_text("".join(f"{text}\n" for text in records.write(record)))
    code, out, err = Front(tmp_path).run("replay", str(path))
    assert (code, err) == (0, "") and "all came out the same" in out
