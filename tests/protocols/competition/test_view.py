"""What a competition says: speeches with words and clock, marks, violations, scoreboard, verdict and its doubts."""

from typing import Any

import msgspec
import pytest

from parley.client.protocols.competition import files as formats
from parley.client.protocols.competition.show import CompetitionShow
from parley.schemas import log
from parley.schemas.protocols.competition.messages import Breach
from parley.schemas.wire import encode
from tests.client import shown
from tests.protocols.competition.play import Play, exchange, free, small, speech, words


@pytest.fixture(scope="module")
def debate() -> Play:
    """A summary, an exchange, a free debate with an overtime speech, fines by the judge and the rule engine."""
    agenda = (speech("pro_1"), exchange("pro_2", "con_1", "con_2"), free(20, 10))
    p = Play(small(*agenda, confer=1, summary=True))
    p.until("speak").says("pro_1", words(12))
    p.scores(6, comment="a rushed opening")
    p.asks("pro_2", "con_1", "Why so?", "Since when?", "By whom?")
    p.scores(7)
    p.says("con_1", "And what would you do?")
    p.scores(5, Breach(kind="counter_question", quote="And what would you do?"))
    p.names("pro_1", "pro_1", "press them on costs")
    p.says("pro_1", words(10))
    p.interrupts("pro_2")
    p.scores(8)
    p.to_the_end()
    return p


def test_the_scoreboard_has_means_beside_sums_and_what_was_taken(debate: Play) -> None:
    card = shown.card(debate)
    part = shown.part(card, "scoreboard")
    assert part.table is not None and part.table.head == ("Scoreboard", "Speeches", "Mean", "Taken", "Total")
    pro = next(row for row in part.table.rows if row.strong and row.side == "one")
    assert pro.cells[0].startswith("Pro") and pro.cells[3] == "-8"
    assert any(text.startswith("Best debater: ") and " a speech (" in text and ", sum " in text for text in part.lines)
    assert "counter question" in "\n".join(shown.part(card, "fines").lines)
    assert "Stage 1 of 1: One:" in shown.screen(debate)


def show_of(format_: str = "four_stage") -> CompetitionShow:
    return CompetitionShow({"format": msgspec.to_builtins(formats.read_format(format_))})


def ask(words: int, **more: Any) -> log.Ask:
    play = Play(small(speech("pro_1", words=words)))
    given = play.ask("pro_1")
    brief = {**msgspec.json.decode(given.brief), **more}
    return msgspec.structs.replace(given, brief=msgspec.Raw(encode(brief)))


def test_words_run_while_a_seat_speaks_and_overtime_is_called() -> None:
    show = show_of()
    assert show.doing(ask(150, seconds_left=120.0), words(50)) == "speaks: 50 of 150 words"
    assert show.doing(ask(150), words(160)).endswith(" OVERTIME")
    assert show.doing(ask(150), "") == "speaks", "nothing was said yet"
    assert show.doing(ask(150), "言葉言葉").startswith("speaks: 4 of 150 words")


# ---------------------------------------------------------------- what decided
