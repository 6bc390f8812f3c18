"""What a person reads: rows fit the terminal, and a threshold is told on one scale."""

from pathlib import Path

import msgspec
import pytest

from parley.client import what_if
from parley.client.records import read_record
from parley.client.rendering import explain
from parley.client.show.session_list import SessionLine, sessions_table
from parley.client.text import columns
from parley.doctor import screen
from parley.doctor.report import Component, Missing, ModelFound, Report, RoleFound
from tests.client.terminal import screen_of
from tests.parley.support import Front

LOG = Path(__file__).parents[2] / "old_logs/1/maci.jsonl"
QUESTION = "Which rollout should we use for the new payment service, and who is to say so to the merchants? " * 3


def rows() -> list[SessionLine]:
    row = SessionLine(
        session="6d0789bf2af546abce2e", seq=1, protocol="competition", question=QUESTION, status="finished",
        reason="objections_exhausted", opened_ns=1, closed_ns=2, kind="unsettled", answer="Canary, since " + QUESTION,
        sure="not settled: 2 of 3 hold it; last round played; confidence 0.62, self-rated", confidence=0.62,
    )  # fmt: skip
    return [
        row,
        SessionLine(session="f8177eba6dd371219d5c", seq=2, protocol="", question="", status="open", opened_ns=1),
    ]


@pytest.mark.parametrize("feedback", ["", "wrong"])
def test_a_list_of_sessions_fits_the_terminal_and_is_whole_where_it_is_piped(feedback: str) -> None:
    listed = [msgspec.structs.replace(row, feedback=feedback) for row in rows()]
    for width in (60, 80, 110, 131, 200):
        lines = list(sessions_table(listed, width))
        assert max(map(columns, lines)) <= width
        text = " ".join(" ".join(lines).split())
        assert all(row.session in text for row in listed) and "Canary, since Which" in text
        assert "last round played; confidence 0.62, self-rated, 0.0000 USD" in text and feedback in text
    first, question, answer, *_ = sessions_table(listed)
    assert first.startswith("6d0789bf2af546abce2e") and question.strip() == " ".join(QUESTION.split())
    assert " ".join(QUESTION.split()) in answer


def test_the_doctors_report_fits_the_terminal() -> None:
    text = "a long sentence that says what was found, where it was found and what follows from it " * 2
    report = Report(
        ok=False, protocol="consensus", bus=Component(status="ok", what=text),
        credentials=Component(status="ok", what="/a/path/" + "of-long-names/" * 8),
        moderators=Component(status="not running", what=text),
        roles=(RoleFound(protocol="consensus", role="panelist", needed=3, queues={"q" * 60: 1}, status="ok"),),
        models=(ModelFound(seat="implementation-engineer-of-the-second-team", model=text, status="configured"),),
        encoder=Component(status="unknown", what=text), missing=(Missing(what=text, mend=text),),
    )  # fmt: skip
    assert max(map(columns, screen.report_lines(report, 80))) <= 80
    assert max(map(columns, screen.report_lines(report))) > 150


def test_an_explanation_is_wrapped_between_words(tmp_path: Path) -> None:
    shown = screen_of(Front(tmp_path), "explain", str(LOG), rows=48)
    assert max(map(columns, shown)) <= 80
    whole = " ".join(" ".join(explain.explanation_lines(read_record(LOG), cut=True, named=str(LOG))).split())
    assert " ".join(" ".join(shown).split()) == whole, "no word is cut, and none is left out"


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (0.7, "threshold: 70 in place of 90"), (70, "threshold: 70 in place of 90"),
        (0.9, "these settings are those of the record"),
    ],
)  # fmt: skip
def test_a_replay_says_on_the_scale_of_scores_what_it_changes(typed: float, told: str) -> None:
    report = what_if.compare(read_record(LOG.with_stem("consensus")), {"consensus": {"threshold": typed}})
    assert report["changed"] == ({} if typed == 0.9 else {"threshold": {"recorded": 90.0, "this": 70.0}})
    assert next(what_if.comparison_words(report)) == told
