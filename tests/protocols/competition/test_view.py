"""What a competition says: speeches with words and clock, marks, violations, scoreboard, verdict and its doubts."""

from typing import Any

import msgspec
import pytest

from parley.client.protocols.competition import files as formats
from parley.client.protocols.competition.scores import decided, lead_words, unscored_words
from parley.client.protocols.competition.show import CompetitionShow
from parley.schemas import log
from parley.schemas.protocols.competition.messages import Breach, Fine, Outcome
from parley.schemas.wire import encode
from tests.client import shown
from tests.protocols.competition.play import Play, exchange, free, small, speech, words

NAMES = {"pro": "Pro", "con": "Con"}


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


def test_one_screen_leaves_out_what_teams_say_to_themselves(debate: Play) -> None:
    brief = "\n".join(shown.posts(debate.session.posts, brief=True))
    assert "to its team alone" not in brief and "to its team alone" in "\n".join(shown.posts(debate.session.posts))


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


def test_words_and_clock_run_while_a_seat_speaks_and_overtime_is_called() -> None:
    show = show_of()
    assert show.doing(ask(150, seconds_left=120.0), words(50)) == (
        "speaks: 50 of 150 words, 0:12 of 0:36, team clock 1:48"
    )
    assert show.doing(ask(150), words(160)).endswith(" OVERTIME")
    assert show.doing(ask(150), "") == "speaks", "nothing was said yet"
    assert show.doing(ask(150), "言葉言葉").startswith("speaks: 4 of 150 words")


def test_stages_have_their_titles_and_the_sides_their_names() -> None:
    show = show_of()
    assert show.round_title(2).startswith("Stage 2 of 4: ") and show.board() is None


# ---------------------------------------------------------------- what decided


def ended(**more: Any) -> Outcome:
    values: dict[str, Any] = {
        "format": "short", "winner": "pro", "decided_by": "points", "complete": True, "best": (), "violations": {},
        "team_totals": {"pro": 10.0, "con": 9.0}, "individual_totals": {}, "fines": (), "unscored": (),
        "to_score": 16,
    }  # fmt: skip
    return Outcome(**{**values, **more})


@pytest.mark.parametrize(("to_score", "words"), [(16, "1 of 16 speeches"), (1, "1 of 1 speech")])
def test_a_speech_without_marks_is_told_among_those_that_were_to_have_some(to_score: int, words: str) -> None:
    assert unscored_words(ended(unscored=(3,), to_score=to_score)) == f"{words} could not be scored"


def test_a_side_that_leads_by_more_speeches_and_not_by_the_mean_is_named() -> None:
    play = Play(small(speech("pro_1"), speech("con_1"), speech("pro_2")))
    for seat, mark in (("pro_1", 5), ("con_1", 8), ("pro_2", 5)):
        play.until("speak").says(seat)
        play.scores(mark)
    play.to_the_end()
    card = shown.card(play)
    assert play.result.outcome["winner"] == "pro" and card.text.startswith("Pro wins: points 10 to 8")
    assert card.weak[0] == "Con led by mean speech, 8.00 to 5.00"
    assert "who wins is not who is right" in card.weak


def test_a_penalty_that_decided_is_named_and_one_that_did_not_is_not() -> None:
    fine = Fine(rule="overtime", seat="con_1", team="con", individual_points=-2.0, team_points=0.0)
    assert list(decided(ended(fines=(fine,)), (), NAMES)) == [
        "penalties decided (Con -2): without them Pro had 10 to 11"
    ]
    ahead = ended(fines=(fine,), team_totals={"pro": 14.0, "con": 9.0})
    assert list(decided(ahead, (), NAMES)) == [] == list(decided(ended(), (), NAMES))


def test_a_narrow_lead_is_called_little() -> None:
    close = ended(team_totals={"pro": 58.02, "con": 57.91})
    assert (
        lead_words(close) == "by the judge's marks, 0.11 points ahead, so few that another judge may see it otherwise"
    )
    assert "so few" not in lead_words(ended(team_totals={"pro": 20.0, "con": 9.0}))
