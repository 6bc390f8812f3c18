"""A session of any protocol that ended because nobody could run it: shown, explained, exported, replayed, followed."""

import json
from pathlib import Path

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
from parley.show.view import AnswerView, PlainView, View
from tests.old_logs.test_old_logs import ENDED, LOGS
from tests.parley.support import Front

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
        ("sessions", "show"), ("explain",), ("sessions", "export", "--html", "--all"),
        ("sessions", "export", "--format", "markdown", "--all"),
    ):  # fmt: skip
        code, out, err = front.run(*command, str(path))
        assert (code, err) == (0, ""), (command, err)
        assert SAID in out or VERSION_LOST in out, (command, out)
    fold = fold_of(record, everything=True)
    result = fold.result
    assert result is not None and exit_code(result) == 1
    for view in (PlainView(), AnswerView(), View()):
        view.begins(fold)
        view.cards(fold.cards, ())
        view.result(result)
    shown = capsys.readouterr()
    assert SAID in shown.out and SAID in shown.err  # what `parley ask` ends with
    code, out, err = front.run("replay", str(path))
    assert (code, err) == (0, "") and "all came out the same" in out
    code, out, err = front.run("sessions", "export", str(path), "--format", "json", "--all")
    assert json.loads(out)["result"]["stop"]["reason"] == VERSION_LOST
