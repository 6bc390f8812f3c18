"""The machine of the competition: every row of its table, and how it ends."""

from pathlib import Path

import msgspec
import pytest
import yaml

from parley.coordinator.estimate import estimate
from parley.coordinator.table import Illegal, Inadmissible
from parley.schemas import log
from parley.schemas.protocols.competition.format import Format
from parley.schemas.protocols.competition.messages import Ballot, Marks, Note, Spoken
from parley.schemas.session import Budget
from parley.schemas.text import Citation
from parley.schemas.turn import Usage
from tests.protocols.competition.play import (
    COMPETITION,
    FORMATS,
    Play,
    exchange,
    free,
    shipped,
    small,
    speech,
    vote,
    words,
)
from tests.protocols.consensus.play import document
from tests.support.play import START_NS

TWO = small(speech("pro_1"), speech("con_1"))


# ---------------------------------------------------------------- conferring


def test_both_teams_confer_at_once_one_seat_after_another() -> None:
    p = Play(small(speech("pro_1"), confer=2))
    assert p.asked() == [("pro_1", "confer"), ("con_1", "confer")]
    p.auto("pro_1")
    assert p.asked() == [("con_1", "confer"), ("pro_2", "confer")]
    p.auto("pro_2")
    p.auto("pro_1")
    assert p.brief("pro_2")["turn"] == 2 and p.brief("pro_2")["turns"] == 2
    p.auto("pro_2")
    assert p.asked() == [("con_1", "confer")], "pro is through, con is not"
    for seat in ("con_1", "con_2", "con_1", "con_2"):
        p.auto(seat)
    assert p.asked() == [("pro_1", "speak")]
    assert [(x.seat, x.channel) for x in p.posts("note") if x.seat.startswith("con")] == [
        (seat, "team_con") for seat in ("con_1", "con_2", "con_1", "con_2")
    ]


def test_what_lies_ahead_is_told_by_team() -> None:
    agenda = (speech("pro_1"), exchange("pro_2", "con_1", "con_2"), free(), vote("before"))
    p = Play(small(*agenda, confer=1, audience=1))
    assert p.brief("pro_1")["ahead"] == [
        "pro_1 speaks (10 words): pro_1 speaks",
        "pro_2 asks con_1 or con_2 at least 3 questions (10 words)",
        "free debate: 20 s a team, 10 words a speech; Pro speaks first, then the teams alternate; everybody must speak",
    ]
    assert p.brief("con_1")["ahead"][0] == "con_1 or con_2 answers the questions of pro_2 (10 words)"


# ---------------------------------------------------------------- speeches and exchanges


def test_a_silent_speaker_is_passed_over() -> None:
    p = Play(TWO)
    p.fail("pro_1")
    assert p.asked() == [("con_1", "speak")] and p.last("silent")["asked"] == "speak"
    p.expire()
    assert p.asked() == [("judge", "review")]
    p.auto("judge")
    assert p.outcome["silent"] == ["pro_1: speak in one", "con_1: speak in one"]


def test_each_question_is_one_of_its_own_to_whom_may_answer() -> None:
    p = Play(small(exchange("pro_1", "con_2"), exchange("pro_1", "con_1")))
    p.asks("pro_1", "con_1")
    assert p.ask("pro_1").error == "answerer: got 'con_1'; who may answer: con_2"
    p.asks("pro_1", "con_2", "Why?", "How?")
    assert p.last("silent")["why"] == "questions: got 2, at least 3 are wanted"
    p.asks("pro_1", "con_1", "Who pays?", "When?", "  who  PAYS ?!")
    assert p.ask("pro_1").error == "questions: number 3 is number 1 again; each must be one of its own"
    p.asks("pro_1", "con_1", "Who pays?", "When?", "Who pays when?")
    assert p.asked() == [("judge", "score"), ("con_1", "answer")]


def test_quotations_stand_in_documents_that_the_seat_holds() -> None:
    mine = msgspec.structs.replace(document("pro.txt", "Sugar is sold to infants."), holders=("pro_1", "pro_2"))
    everybodys = Play(TWO, documents=(document("a.txt", "a"),)).session.opened.documents[0]
    assert everybodys.holders == ("pro_1", "pro_2", "con_1", "con_2"), "dealt to nobody, it is all debaters'"
    p = Play(TWO, documents=(mine,))
    p.says("pro_1", citations=(Citation(document="pro.txt", quote="sold to adults"),))
    assert "quote it word for word" in p.ask("pro_1").error
    p.says("pro_1", citations=(Citation(document="pro.txt", quote="sold to infants"),))
    p.scores()
    p.says("con_1", citations=(Citation(document="pro.txt", quote="sold to infants"),))
    assert p.ask("con_1").error == "citations: there is no document 'pro.txt'; there are none: leave it empty"
    assert "pro.txt" in str(p.ask("con_1").refused), "it is shown what was refused"


# ---------------------------------------------------------------- free debate


def free_play(p: Play, *places: tuple[str, int]) -> None:
    """So many words of each of these, whom their captains name."""
    for speaker, n in places:
        p.names(f"{speaker[:3]}_1", speaker)
        p.says(speaker, words(n))
        p.scores()


def test_a_team_without_time_passes_and_the_other_goes_on() -> None:
    p = Play(small(free(30, words=12, everybody=False)))
    free_play(p, ("pro_1", 25), ("con_1", 8))
    assert p.brief("con_1")["seconds_left"] == 22, "pro has 5 s, less than ten words"
    with pytest.raises(Illegal):
        p.interrupts("con_2")  # its own team has the floor
    free_play(p, ("con_2", 8))
    assert p.asked() == [("con_1", "captain")] and p.brief("con_1")["words"] == 12
    p.names("con_1", "con_1")
    p.says("con_1", words(12))
    with pytest.raises(Illegal):
        p.interrupts("con_2")  # while the judge scores: the floor is nobody's
    p.scores()
    assert p.asked() == [("judge", "review")], "con has 2 s"
    assert [x["seat"] for x in p.bodies("speech")] == ["pro_1", "con_1", "con_2", "con_1"]
    assert all(f["rule"] == "overtime" for x in p.bodies("scored") for f in x["fines"]) and not p.posts("fine")


def test_everybody_speaks_whatever_those_before_take() -> None:
    """Overtime is the fault of whoever speaks: the next has its words all the same."""
    p = Play(small(free(20), seats=2))
    free_play(p, ("pro_1", 60), ("con_1", 10))
    assert p.asked() == [("pro_1", "captain")] and p.brief("pro_1")["may"] == ["pro_2"]
    p.names("pro_1", "pro_2")
    assert p.brief("pro_2")["words"] == 10 and p.brief("pro_2")["seconds_left"] == 0
    p.says("pro_2", words(10))
    assert not p.last("speech")["overtime"]
    p.scores()
    free_play(p, ("con_2", 10))
    assert p.asked() == [("judge", "review")], "each has spoken, and nobody has time"


def test_a_direction_is_for_one_speech_alone() -> None:
    """Neither the next speaker nor the same seat later is shown it as its own."""
    p = Play(small(free(60, everybody=False), speech("pro_1", act="closing"))).until("captain")
    p.names("pro_1", "pro_1", "attack the figures")
    p.says("pro_1")
    p.scores()
    p.until("captain").until("speak")
    p.says(p.asked()[0][0])
    p.scores()
    p.fail("pro_1")
    ((seat, _),) = p.asked()
    assert p.brief(seat).get("direction", "") == "" and "captain" not in p.brief(seat)["task"]
    assert all(x.kind != "decision" for x in p.seen(seat))
    while p.asked() != [("pro_1", "speak")] or p.brief("pro_1")["act"] != "closing":
        p.auto(p.asked()[0][0])
    assert all(x.kind != "decision" for x in p.seen("pro_1")) and p.brief("pro_1").get("direction", "") == ""


def test_bids_within_a_window_and_the_captain_picks() -> None:
    p = Play(small(free(mode="concurrent", bid_seconds=5)))
    assert p.asked() == [("pro_1", "bid"), ("pro_2", "bid")]
    assert {p.ask(s).deadline_ns for s in ("pro_1", "pro_2")} == {START_NS + 5_000_000_000}
    p.bids("pro_2")
    assert p.asked() == [("pro_1", "bid")]
    p.bids("pro_1", wants=False)
    assert p.asked() == [("pro_1", "captain")]
    assert p.brief("pro_1")["may"] == ["pro_2"]
    assert p.brief("pro_1")["bids"]["pro_1"]["wants"] is False and set(p.brief("pro_1")["bids"]) == {"pro_1", "pro_2"}
    assert [x.channel for x in p.posts("bid")] == ["team_pro", "team_pro"]


def test_without_a_bid_the_seat_speaks_that_was_silent_the_longest() -> None:
    p = Play(small(speech("pro_1"), free(mode="concurrent")))
    p.says("pro_1")
    p.scores()
    p.expire()
    assert p.asked() == [("pro_2", "speak")]
    p.says("pro_2")
    p.scores()
    p.bids("con_1", wants=False)
    p.bids("con_2", wants=False)
    assert p.asked() == [("con_1", "speak")]


# ---------------------------------------------------------------- words from the floor


def spoken_first() -> Play:
    p = Play(small(free(40)))
    p.names("pro_1", "pro_1")
    p.says("pro_1")
    return p


def test_the_team_that_spoke_last_speaking_up_is_fined_and_not_heard() -> None:
    p = spoken_first()
    before = len(p.posts("speech"))
    p.interrupts("pro_2")  # while the judge scores: the floor is con's
    assert p.last("fine") == {
        "rule": "consecutive", "seat": "pro_2", "team": "pro", "individual_points": 0, "team_points": -3,
        "note": "pro_2 spoke while con had the floor",
    }  # fmt: skip
    assert p.posts("fine")[0].channel == "scores" and len(p.posts("speech")) == before
    with pytest.raises(Illegal, match="already"):
        p.interrupts("pro_1")
    p.scores()
    p.auto("con_1")
    assert p.phase == "debating"
    with pytest.raises(Illegal):
        p.interrupts("con_2")  # con has the floor
    assert p.outcome_now()["team_totals"]["pro"] == 5 - 3


def test_nobody_else_is_heard() -> None:
    p = spoken_first()
    for author, channel in (("con_1", "public"), ("judge", "public"), ("stranger", "public"), ("pro_1", "team_pro")):
        with pytest.raises(Illegal):
            p.interrupts(author, channel)
    with pytest.raises(Illegal, match=r"^nobody may speak up now$"):
        Play(TWO).interrupts("con_1")  # a speech of the agenda


# ---------------------------------------------------------------- votes, summaries, the end


def test_the_audience_votes_at_once_and_nobody_sees_it() -> None:
    p = Play(small(vote("before"), speech("pro_1"), seats=1, audience=2), {"stances": {"pro": "ban it"}})
    assert p.asked() == [("audience_1", "vote"), ("audience_2", "vote")]
    assert p.brief("audience_1") == {"name": "before", "stances": {"pro": "ban it", "con": "against the motion"}}
    assert p.ask("audience_1").sees == ()
    p.auto("audience_2")
    p.fail("audience_1")
    assert p.last("tally") == {
        "name": "before", "votes": {"pro": 0, "con": 0, "undecided": 1}, "ballots": {"audience_2": "undecided"},
    }  # fmt: skip
    assert p.posts("tally")[0].channel == "scores" and p.ask("pro_1").sees == ()


def test_a_stage_is_summed_up_and_the_debate_reviewed() -> None:
    f = small(speech("pro_1"), summary=True)
    f["stages"].append({**f["stages"][0], "name": "two", "title": "Two"})
    p = Play(f)
    p.says("pro_1")
    p.scores(6)
    assert p.asked() == [("judge", "summarize")] and p.ask("judge").channel == "judge_notes"
    assert p.brief("judge")["totals"]["pro"] == 6
    p.auto("judge")
    assert p.posts("summary")[0].channel == "scores"
    assert p.asked() == [("pro_1", "speak")] and p.ask("pro_1").round == 2
    p.says("pro_1")
    p.scores(7)
    p.fail("judge")
    assert p.asked() == [("judge", "review")], "a summary that does not come is recorded"
    assert p.stop["reason"] == "played" and p.stop["certificate"]["stages_played"] == 2
    p.auto("judge")
    assert p.posts("review")[0].channel == "public"
    assert p.outcome["complete"] and p.outcome["review"] == "a fine debate"
    assert [s["summary_post"] for s in p.result.rounds] == [p.posts("summary")[0].n, None]
    assert p.result.status == "finished" and not p.result.stop.converged


CAPS = {"max_input_tokens": 100, "max_output_tokens": 20, "attempts": 1}
ONE_TURN = 240
"""Tokens reserved for a turn: a call and a repair."""


@pytest.mark.parametrize(("turns", "phase", "speeches"), [(0, None, 0), (1, "speaking", 1), (2, "scoring", 1)])
def test_a_budget_that_runs_out_in_a_stage(turns: int, phase: str | None, speeches: int) -> None:
    """Money for the review is held back; what was played stands, and nobody has won."""
    budget = Budget(tokens=ONE_TURN * (turns + 1))
    if not turns:
        with pytest.raises(Inadmissible, match="the first turns do not fit"):
            Play(TWO, CAPS, budget=budget, metered=True)
        return
    p = Play(TWO, CAPS, budget=budget, metered=True)
    spend = Usage(input_tokens=200, output_tokens=40, calls=2)
    p.reply("pro_1", Spoken(text=words(11)), usage=spend)
    if turns == 2:
        p.reply("judge", Marks(logic=8, persuasion=8, expression=8, teamwork=8, rule_compliance=8), usage=spend)
    assert p.asked() == [("judge", "review")]
    assert p.stop["reason"] == "budget" and "budget.tokens" in p.stop["certificate"]["what"]
    p.auto("judge")
    assert not p.outcome["complete"] and p.outcome["winner"] == ""
    assert len(p.posts("speech")) == speeches and len(p.outcome["fines"]) == 1
    assert p.outcome["individual_totals"]["pro_1"] == (-2 if turns == 1 else 6)
    assert p.outcome["unscored"] == ([p.posts("speech")[0].n] if turns == 1 else [])


@pytest.mark.parametrize("name", ["four_stage", "oxford"])
def test_no_session_comes_to_more_than_was_estimated_nor_a_full_one_to_less(name: str) -> None:
    p = Play(shipped(name))
    told = estimate(COMPETITION, p.session.opened)
    while p.session.turns:
        seat, kind = p.asked()[0]
        p.says(seat, words(p.brief(seat)["words"])) if kind == "speak" else p.auto(seat)
    asked: dict[str, int] = {}
    for e in p.entries:
        for c in e.commands:
            if isinstance(c, log.Ask):
                asked[c.seat] = asked.get(c.seat, 0) + 1
    assert sum(asked.values()) == told.shortest_most.turns
    assert all(asked.get(s.seat, 0) <= s.most.turns for s in told.seats)
    assert told.rounds == len(shipped(name)["stages"])


@pytest.mark.parametrize(
    ("note", "turns", "calls", "chain", "saved"),
    [("for stage {round}", 9, 119, 72, {}), ("the same in each stage", 9, 103, 66, {"idle": 16})],
)
def test_a_whole_competition_of_short_speeches_is_at_most_120_calls_and_90_in_sequence(
    note: str, turns: int, calls: int, chain: int, saved: dict[str, int]
) -> None:
    """What goes on at once is answered at once; who repeats itself on its channel is not asked again."""
    p = Play(shipped("four_stage"))
    depth = asked = 0
    while p.session.turns:
        depth += 1
        for seat, kind in p.asked():
            asked += 1
            p.reply(seat, Note(text=note.format(round=p.ask(seat).round) + seat)) if kind == "confer" else p.auto(seat)
    assert (p.result.stop.reason, asked, depth) == ("played", calls, chain)
    assert sum(x["act"] == "free" for x in p.bodies("speech")) == 2 * turns
    assert p.outcome["saved"] == saved and not p.outcome["unscored"]


# ---------------------------------------------------------------- formats from their files

ROOT = Path(__file__).parents[3]


def test_the_audience_decides_it() -> None:
    """The whole Oxford format from its file: the audience starts at two to two, and con wins two of them over."""
    p = Play(shipped("oxford"))
    first = {1: "pro", 2: "pro", 3: "con", 4: "con", 5: "undecided"}
    last = {1: "pro", 2: "con", 3: "con", 4: "con", 5: "con"}
    for i, choice in first.items():
        p.reply(f"audience_{i}", Ballot(choice=choice, why="as I came"))  # type: ignore[arg-type]
    while p.session.inner.stage != 4:
        seat, kind = p.asked()[0]
        p.says(seat, f"{seat} {words(p.brief(seat)['words'] - 2)}") if kind == "speak" else p.auto(seat)
    for i, choice in last.items():
        p.reply(f"audience_{i}", Ballot(choice=choice))  # type: ignore[arg-type]
    assert p.asked() == [("judge", "review")] and p.brief("judge")["winner"] == "con"
    p.auto("judge")
    assert p.result.stop.reason == "played" and p.outcome["complete"]
    said = [(x.round, x.seat) for x in p.posts("speech")]
    for stage in (2, 4):
        assert [seat for round_, seat in said if round_ == stage] == ["pro_1", "con_1", "pro_2", "con_2"]
    floor = [seat for round_, seat in said if round_ == 3]
    assert [seat[:3] for seat in floor] == ["con", "pro"] * 7, "1,600 words a side, 240 at a time: seven places each"
    assert set(floor) == {"pro_1", "pro_2", "con_1", "con_2"}
    # before pro 2 con 2, after pro 1 con 4: pro lost one, con won two
    assert p.outcome["swing"] == {"pro": -1, "con": 2} and p.outcome["winner"] == "con"
    assert p.outcome["decided_by"] == "votes"
    assert [t["votes"] for t in p.outcome["votes"]] == [
        {"pro": 2, "con": 2, "undecided": 1}, {"pro": 1, "con": 4, "undecided": 0},
    ]  # fmt: skip
    assert p.outcome["team_totals"]["pro"] == p.outcome["team_totals"]["con"], "points are kept, and decide nothing"


def test_no_code_knows_a_format_by_its_name() -> None:
    code = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "coordinator").rglob("*.py"))
    assert "oxford" not in code and "four_stage" not in code


@pytest.mark.parametrize("path", sorted(FORMATS.glob("*.yaml")), ids=lambda p: p.stem)
def test_every_file_shipped_is_a_format_by_its_own_name_and_can_be_played(path: Path) -> None:
    f = msgspec.convert(yaml.safe_load(path.read_text(encoding="utf-8")), Format)
    assert f.name == path.stem and f.title and f.about
    assert Play(shipped(path.stem)).to_the_end().result.stop.reason == "played"
