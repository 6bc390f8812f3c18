"""What a person reads fits the terminal: rows are wrapped between words, and ids stay whole. What is piped is whole."""

from pathlib import Path

import msgspec
import pytest

from parley.client.records import read_record
from parley.client.rendering import explain
from parley.client.show.session_list import FoundSession, Search, found_lines, sessions_table
from parley.client.text import columns
from parley.doctor import screen
from parley.doctor.encoder import EncoderFound
from parley.doctor.report import Missing, ModelFound, Part, Report, RoleFound
from parley.schemas.post import SessionRow
from tests.client.terminal import screen_of
from tests.parley.support import Front

LOG = Path(__file__).parents[2] / "old_logs/1/maci.jsonl"
QUESTION = "Which rollout should we use for the new payment service, and who is to say so to the merchants? " * 3


def rows() -> list[SessionRow]:
    row = SessionRow(
        session="6d0789bf2af546abce2e", seq=1, protocol="competition", question=QUESTION, status="finished",
        reason="objections_exhausted", opened_ns=1,
    )  # fmt: skip
    return [row, msgspec.structs.replace(row, session="f8177eba6dd371219d5c", status="open", reason="")]


@pytest.mark.parametrize("feedback", ["", "wrong"])
def test_a_list_of_sessions_fits_the_terminal_and_keeps_ids_whole(feedback: str) -> None:
    listed = [msgspec.structs.replace(row, feedback=feedback) for row in rows()]
    for width in (60, 80, 110, 131, 200):
        lines = list(sessions_table(listed, width))
        assert max(map(columns, lines)) <= width
        text = "\n".join(lines)
        assert all(row.session in text for row in listed) and text.count("Which rollout should") == len(listed)
        assert "objections_exhausted" in text and (feedback in text)


def test_a_list_that_is_piped_has_the_whole_questions() -> None:
    assert all(line.endswith(" ".join(QUESTION.split())) for line in list(sessions_table(rows()))[1:])


def test_what_a_search_found_fits_the_terminal() -> None:
    one = FoundSession(
        session="6d0789bf2af546abce2e", protocol="consensus", status="finished", opened_ns=1, question=QUESTION,
        answer="Canary, since " + QUESTION,
    )  # fmt: skip
    search = Search(searched=1, more=False, sessions=(one,))
    assert max(map(columns, found_lines(search, 80))) <= 80
    assert any(line.endswith(" ".join(QUESTION.split())) for line in found_lines(search))


def test_the_doctors_report_fits_the_terminal() -> None:
    text = "a long sentence that says what was found, where it was found and what follows from it " * 2
    report = Report(
        ok=False, protocol="consensus", bus=Part(status="ok", what=text),
        credentials=Part(status="ok", what="/a/path/" + "of-long-names/" * 8),
        moderators=Part(status="not running", what=text),
        roles=(RoleFound(protocol="consensus", role="panelist", needed=3, queues={"q" * 60: 1}, status="ok"),),
        models=(ModelFound(seat="implementation-engineer-of-the-second-team", model=text, status="configured"),),
        encoder=EncoderFound(agent="helper", status="unknown", why=text), missing=(Missing(what=text, mend=text),),
    )  # fmt: skip
    assert max(map(columns, screen.words(report, 80))) <= 80
    assert max(map(columns, screen.words(report))) > 150


def test_an_explanation_is_wrapped_between_words(tmp_path: Path) -> None:
    shown = screen_of(Front(tmp_path), "explain", str(LOG), rows=48)
    assert max(map(columns, shown)) <= 80
    whole = " ".join(" ".join(explain.words(read_record(LOG))).split())
    assert " ".join(" ".join(shown).split()) == whole, "no word is cut, and none is left out"
