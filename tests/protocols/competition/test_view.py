"""What a person sees of a competition: speeches with words and clock, scores, warnings, scoreboard, verdict."""

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from parley.client import records
from parley.client.errors import BadInput
from parley.client.protocols.competition import files as formats
from parley.client.protocols.competition import live
from parley.client.protocols.competition.decided import decided
from parley.client.protocols.competition.plot import draw
from parley.client.protocols.competition.presenter import CompetitionPresenter
from parley.client.protocols.competition.story import Due, Story, due, fold
from parley.client.protocols.competition.transcript import in_short, unscored_words
from parley.client.records import Record
from parley.client.rendering import explain, page, transcript
from parley.client.session_view import seen
from parley.client.show.frames import framed
from parley.client.show.live_seats import Scene
from parley.schemas import log
from parley.schemas.citation import Citation
from parley.schemas.post import Live, Post
from parley.schemas.protocols.competition.messages import Breach, Fine, Outcome, Said, Scored
from parley.schemas.result import Result
from parley.schemas.wire import encode, raw
from parley.show.view import PlainView
from tests.client.test_page import ALL, Reader
from tests.protocols.competition.play import Play, exchange, free, marks, small, speech, vote, words

LONG = "The first word of many. " * 12


def of(play: Play) -> Record:
    return Record(sid="s1", entries=tuple(encode(e).decode() for e in play.entries))


def shown(record: Record, *, everything: bool = False) -> str:
    return "\n".join(transcript.show(seen(record, everything=everything)))


def posted(kind: str, body: object, channel: str = "public", seat: str = "pro_1", n: int = 0, round_: int = 1) -> Post:
    return Post(
        session="s",
        channel=channel,
        k=n,
        n=n,
        transition=n,
        at_ns=0,
        seat=seat,
        kind=kind,
        round=round_,
        body=raw(body),
    )


def said(text: str = LONG, n: float = 60, limit: int = 100, **more: Any) -> Said:
    values: dict[str, Any] = {
        "seat": "pro_1", "stage": "Opening", "act": "speech", "text": text, "words": n, "limit": limit,
        "seconds": n * 0.6, "overtime": n > limit,
    }  # fmt: skip
    return Said(**{**values, **more})


def told(*posts: Post, story: Story | None = None) -> list[str]:
    presenter = CompetitionPresenter()
    presenter.story = story or Story()
    teller = transcript.Teller(presenter)
    return [text for post in posts for _, text in teller.lines(post)]


def begun(play: Play) -> Story:
    """Before its first post, knowing its format."""
    presenter = seen(of(play)).presenter()
    assert isinstance(presenter, CompetitionPresenter)
    return presenter.story


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


# ---------------------------------------------------------------- in lines


def test_a_speech_is_shown_whole_with_its_words_and_time_against_the_limit() -> None:
    lines = told(posted("speech", said()))
    assert lines[:2] == ["", "Stage 1: Opening"]
    assert lines[2] == "  pro_1 (Pro), speech: 60 of 100 words, 0:36 of 1:00"
    assert " ".join(text.strip() for text in lines[3:]) == LONG.strip()
    assert max(len(text) for text in lines) <= 100


def test_overtime_the_teams_clocks_and_what_a_speech_rests_on_stand_below_it() -> None:
    cited = (Citation(document="a.md", quote="first word"), Citation(document="a.md", quote="not in the speech"))
    body = said(n=130, act="free", left={"pro": 81.6, "con": 240}, citations=cited)
    lines = told(posted("speech", body), story=Story(formats.read_format("oxford")))
    assert "      ! overtime: 30 words beyond the limit of 100" in lines
    assert "      time left: For the motion 1:22, Against the motion 4:00" in lines
    assert lines[-2:] == ["      rests on a.md (2)", "      a.md: “not in the speech”"]


def test_a_score_shows_marks_violations_fines_and_totals() -> None:
    given = marks(7, Breach(kind="counter_question", quote="And you?"), Breach(kind="off_topic", note="weather"))
    fine = Fine(rule="counter_question", seat="con_1", team="con", individual_points=-2, team_points=0, note="And you?")
    body = Scored(post=0, seat="con_1", marks=given, score=7, fines=(fine,), totals={"con_1": 5, "con": 5, "pro": -3})
    assert told(posted("scored", body, "scores"))[2:] == [
        "  con_1 scores 7 (logic 7, persuasion 7, expression 7, teamwork 7, rules 7)",
        "  ! counter question: con_1 -2 (And you?)",
        "  ! off topic, costs nothing: “weather”",
        "      con_1 5; Pro -3, Con 5",
    ]


def test_a_speech_that_nobody_scored_says_so() -> None:
    body = Scored(post=0, seat="con_1", marks=None, score=0, totals={})
    assert "  ! unscored: the judge could not score the speech of con_1" in told(posted("scored", body, "scores"))


def test_a_whole_debate_has_stages_warnings_scoreboard_and_verdict(debate: Play) -> None:
    text = shown(of(debate))
    for wanted in (
        "\nStage 1 of 1: One\n", "pro_1 (Pro), speech: 12 of 10 words, 0:12 of 0:10",
        "! overtime: 2 words beyond the limit of 10", "! overtime: pro_1 -2, team -3 (12 words, 10 allowed)",
        "pro_2 (Pro), questions to con_1: ", "      1. Why so?\n      2. Since when?\n      3. By whom?",
        "! counter question: con_1 -2 (And what would you do?)",
        "! same team twice in a row: team -3 (pro_2 spoke while con had the floor)", "judge sums up One",
        "Verdict: ", "best debater", "! violations found: counter question 1", "! fines: 3",
        "scoreboard               speeches   taken    total",
    ):  # fmt: skip
        assert wanted in text, wanted
    rows = dict(re.findall(r"^  (Pro|Con|  \w+_\d) +\d+ +(-?\d+) +-?[\d.]+$", text, re.M))
    assert rows == {"Pro": "-8", "  pro_1": "-2", "  pro_2": "0", "Con": "-2", "  con_1": "-2", "  con_2": "0"}


def test_what_was_taken_and_the_totals_are_those_of_the_outcome(debate: Play) -> None:
    story = fold(begun(debate), records.posts_of(of(debate)))
    outcome = debate.outcome
    assert story.totals == {**outcome["individual_totals"], **outcome["team_totals"]}
    assert len(story.fines) == len(outcome["fines"]) == 3


def test_silence_is_shown_and_who_was_silent_in_the_end() -> None:
    p = Play(small(speech("pro_1"), speech("con_1")))
    p.fail("pro_1")
    p.to_the_end()
    text = shown(of(p))
    assert "! pro_1 is silent (speak in One): model unreachable" in text and "! silent: pro_1: speak in one" in text


def test_votes_are_counted_and_decide() -> None:
    agenda = (vote("before"), speech("pro_1"), vote("after"))
    p = Play(small(*agenda, audience=2, decided_by="votes"))
    p.reply("audience_1", {"choice": "con", "why": "taxes"})
    p.reply("audience_2", {"choice": "undecided"})
    p.until("vote")
    p.reply("audience_1", {"choice": "pro"})
    p.reply("audience_2", {"choice": "undecided"})
    p.to_the_end()
    text = shown(of(p))
    assert "audience_1 votes Con: taxes" in text
    assert "the audience before the debate: Pro 0, Con 1, undecided 1" in text
    assert "Verdict: Pro wins: votes won over +1 to -1; points" in text


def test_a_debate_that_stopped_early_has_no_verdict() -> None:
    p = Play(small(speech("pro_1"), speech("con_1")))
    p.says("pro_1", "A word.")
    p.scores(6)
    p.event(log.Cancelled(author="client", reason="enough"), "in:3")
    assert "Verdict: no verdict: not every stage was played; points so far Pro 6, Con 0" in shown(of(p))


def test_what_another_version_wrote_is_shown_as_it_came() -> None:
    assert told(posted("speech", {"speech": 7})) == ['  [public] pro_1: speech {"speech":7}']


def test_explain_goes_through_the_stages(debate: Play) -> None:
    text = "\n".join(explain.words(of(debate)))
    assert "Stage 1, One:\n  pro_1, speech: 12 of 10 words, overtime, score 6\n    ! overtime: pro_1 -2" in text
    assert "Verdict: " in text and "  the judge: so it stood" in text


def test_the_plain_view_prints_the_same_without_an_escape(debate: Play, capsys: pytest.CaptureFixture[str]) -> None:
    view = PlainView()
    opened = records.opening(of(debate))
    view.runs(opened.protocol, opened.settings)
    for post in seen(of(debate)).posts:
        view.post(post)
    view.result(debate.result)
    out = capsys.readouterr().out
    assert "Stage 1 of 1: One" in out and "Verdict: " in out and "\x1b" not in out


# ---------------------------------------------------------------- live


def drawn(pieces: Any, width: int = 80) -> list[str]:
    console = Console(file=io.StringIO(), width=width, no_color=True, highlight=False, markup=False, emoji=False)
    for piece in pieces:
        console.print(piece)
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue().splitlines()


def under_way(text: str, due: Due | None, width: int = 80, story: Story | None = None) -> str:
    found = story or Story(formats.read_format("four_stage"))
    dues = {} if due is None else {"pro_1": due}
    return "\n".join(drawn(live.under_way(found, {"pro_1": ("thinking", text)}, dues, width, 40), width))


def test_words_and_clock_run_while_a_seat_speaks() -> None:
    due = Due("pro_1", "speak", 3, "free", 150, 120.0)
    text = under_way(words(50), due)
    assert "pro_1 (Proposition) speaks: 50 of 150 words, 0:12 of 0:36, team clock 1:48" in text
    assert "OVERTIME" not in text


def test_overtime_is_called_as_it_happens() -> None:
    text = under_way(words(160), Due("pro_1", "speak", 1, "speech", 150))
    assert "160 of 150 words" in text and "! OVERTIME" in text and "beyond the limit" in text


def test_without_the_log_words_are_counted_without_a_limit() -> None:
    assert "pro_1 (Pro) speaks: 50 words, 0:12" in under_way(words(50), None, story=Story())


def test_what_belongs_on_a_teams_channel_is_not_shown_as_a_speech() -> None:
    text = under_way("our secret", Due("pro_1", "confer", 1))
    assert text == "pro_1 confers"


def test_a_script_without_spaces_is_counted_by_its_letters() -> None:
    assert "4 of 150 words" in under_way("言葉言葉", Due("pro_1", "speak", 1, "speech", 150))


@pytest.mark.parametrize("width", [30, 50, 80, 200])
def test_nothing_is_wider_than_the_terminal(debate: Play, width: int) -> None:
    presenter = seen(of(debate)).presenter()
    assert isinstance(presenter, CompetitionPresenter)
    story, teller = presenter.story, transcript.Teller(presenter)
    blocks = [
        framed(piece, presenter.colours, width)
        for post in records.posts_of(of(debate))
        for piece in teller.pieces(post)
        if not isinstance(piece, tuple)
    ]
    story.left = {"pro": 61.0, "con": 5.0}
    below = live.under_way(
        story, {"con_2": ("thinking", LONG * 3)}, {"con_2": Due("con_2", "speak", 1, "free", 20, 60)}, width, 40
    )
    lines = drawn([*blocks, *below], width)
    assert blocks and max(map(len, lines)) <= width
    assert any("Scoreboard" in text for text in lines)


def test_the_scoreboard_has_totals_clocks_and_what_was_taken(debate: Play) -> None:
    story = fold(begun(debate), records.posts_of(of(debate)))
    story.left = {"pro": 61.0, "con": 5.0}
    text = "\n".join(drawn(live.under_way(story, {}, {}, 100, 40), 100))
    assert re.search(r"Pro +\S+ +1:01 left +! -8 +pro_1 \S+  pro_2 ", text)
    assert re.search(r"Con +\S+ +0:05 left +! -2 ", text)


def test_the_scene_knows_what_each_seat_was_asked_for_and_keeps_a_whole_speech() -> None:
    scene, p = Scene(), Play(small(speech("pro_1", words=300)))
    scene.entry(encode(p.entries[0]).decode())
    assert due(scene.asks()["pro_1"]) == Due("pro_1", "speak", 1, "speech", 300)
    for i in range(300):
        scene.live(Live(session="s1", seat="pro_1", turn="0-0", state="text", text=f"word{i} "))
    assert scene.busy()["pro_1"][1].split()[0] == "word0"


def test_a_speech_has_the_limit_of_its_own_turn() -> None:
    """Live text may come before the log says what it is for; the turn before says nothing of it."""
    scene = Scene()
    p = Play(small(speech("pro_1", words=10), speech("pro_1", words=300)))
    scene.entry(encode(p.entries[0]).decode())
    p.says("pro_1", words(9))
    p.scores()
    turn = p.turn("pro_1").id
    scene.live(Live(session="s1", seat="pro_1", turn=turn, state="text", text=words(40)))
    assert "pro_1" not in scene.asks()
    title, over = live.progress(Story(), "pro_1", words(40), None)
    assert not over and "of 10" not in title
    for entry in p.entries[1:]:
        scene.entry(encode(entry).decode())
    assert due(scene.asks()["pro_1"]).words == 300 and scene.busy()["pro_1"][1] == words(40)


# ---------------------------------------------------------------- hostile texts


def hostile() -> Record:
    """Texts that a moderator of this version would refuse, as another's log may hold them."""
    p = Play(small(speech("pro_1"), summary=True, confer=1))
    p.until("speak").says("pro_1", ALL)
    p.scores(5, Breach(kind="off_topic", note=ALL), comment=ALL)
    p.reply("judge", {"text": ALL})
    p.reply("judge", {"text": ALL})
    return of(p)


@pytest.mark.parametrize(
    "form",
    [lambda r: shown(r, everything=True), lambda r: "\n".join(transcript.markdown(seen(r, everything=True)))],
)
def test_nothing_that_agents_say_reaches_the_terminal_as_control(form: Callable[[Record], str]) -> None:
    text = form(hostile())
    assert "\\x1b[31mred" in text and "<script>" in text, "it is there, written out"
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", text)


def test_nothing_that_agents_say_reaches_a_live_terminal_as_control() -> None:
    text = under_way(ALL, Due("pro_1", "speak", 1, "speech", 10))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)


def test_nothing_that_agents_say_is_markup_on_the_page() -> None:
    reader = Reader("\n".join(page.html(seen(hostile(), everything=True))))
    assert "script" not in reader.tags and "iframe" not in reader.tags and "svg" not in reader.tags
    assert "<script>" in reader.words


# ---------------------------------------------------------------- the page


def test_the_page_has_verdict_scoreboard_chart_scores_and_speeches(debate: Play) -> None:
    text = "\n".join(page.html(of(debate)))
    words_ = Reader(text).words
    for wanted in (
        transcript.answer_of(debate.result),
        "Scoreboard Who Speeches Points taken Total Pro", "By speech: the judge's marks",
        "1 pro_1 6 6 6 6 6 6 -5", "Stage 1 of 1: One", "pro_1 (Pro), speech: 12 of 10 words, 0:12 of 0:10",
        "! overtime: pro_1 -2, team -3", "judge, final review",
    ):  # fmt: skip
        assert wanted in words_, wanted
    assert 'class="speech pro" id="speech-1"' in text
    assert "data:image/svg+xml;base64," in text and "converged" not in words_


def test_a_debate_that_has_just_begun_has_a_page_too() -> None:
    text = Reader("\n".join(page.html(of(Play(small(speech("pro_1"))))))).words
    assert "The session is still open." in text and "No speech was scored." in text


def test_explain_draws_the_scores_and_says_where_there_are_none(debate: Play, tmp_path: Path) -> None:
    explain.draw(of(debate), tmp_path / "scores.svg")
    assert b"<svg" in (tmp_path / "scores.svg").read_bytes()
    with pytest.raises(BadInput, match="session s1 has no speech that was scored: there are no scores to draw"):
        explain.draw(of(Play(small(speech("pro_1")))), tmp_path / "none.svg")


def test_the_same_debate_gives_the_same_picture_and_another_score_another_one(debate: Play) -> None:
    posts = records.posts_of(of(debate))

    def picture(story: Story) -> bytes:
        return draw(story, "svg")

    first = picture(fold(Story(), posts))
    assert picture(fold(Story(), posts)) == first and b"<svg" in first
    changed = fold(Story(), posts)
    speaking = changed.speeches[0]
    assert speaking.scored is not None
    speaking.scored = msgspec.structs.replace(speaking.scored, score=1.0)
    assert picture(changed) != first


def test_the_results_verdict_is_its_answer() -> None:
    p = Play(small(speech("pro_1")))
    result: Result = p.to_the_end().result
    assert transcript.answer_of(result).startswith("Pro wins: points 5 to 0; best debater pro_1 (5)")


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
    presenter = CompetitionPresenter({})
    for post in play.session.posts:
        presenter.take(post)
    assert play.result.outcome["winner"] == "pro"
    told = presenter.in_short(play.result)
    assert "by the mean of its speeches the other side leads; who wins" in told, told
    figures = " ".join(text for _, text in presenter.beside(play.result))
    assert "8.00 of 1 speech" in figures and "against 5.00 of 2 speeches" in figures and "points are sums" in figures


def test_a_penalty_that_decided_is_named_and_one_that_did_not_is_not() -> None:
    fine = Fine(rule="overtime", seat="con_1", team="con", individual_points=-2.0, team_points=0.0)
    told = in_short(msgspec.to_builtins(ended(fines=(fine,))), Story())
    assert "penalties decided (Con -2); who wins" in told
    ahead = ended(fines=(fine,), team_totals={"pro": 14.0, "con": 9.0})
    assert list(decided(ahead, Story())) == [] == list(decided(ended(), Story()))
