"""One test a sentence of seeds/ai-debate.md, quoted. The format is the one shipped, formats/four_stage.yaml."""

from itertools import pairwise
from typing import Any

import msgspec
import pytest

from parley.bus.channels import ACCOUNT_OF_ROLE, may_read, may_write
from parley.coordinator.briefing import build
from parley.schemas import log
from parley.schemas.protocols.competition.format import Format
from parley.schemas.protocols.competition.messages import Note
from parley.schemas.wire import encode
from tests.protocols.competition.play import Play, marks, shipped, small, speech, words, workers

FOUR = shipped("four_stage")


def whole(**settings: Any) -> Play:
    return Play(FOUR, settings).to_the_end()


def said(p: Play, stage: int) -> list[tuple[str, str, int]]:
    """(seat, act, limit) of what was said in a stage."""
    return [(x.seat, b["act"], b["limit"]) for x, b in zip(p.posts("speech"), p.bodies("speech"), strict=True)
            if x.round == stage]  # fmt: skip


def at(stage: int, kind: str, format_: Any = FOUR) -> Play:
    """Played with plain replies up to the first turn of this kind in a stage, numbered from 1."""
    p = Play(format_)
    while p.session.inner.stage < stage - 1 or kind not in [k for _, k in p.asked()]:
        p.auto(p.asked()[0][0])
    return p


# ---------------------------------------------------------------- Overview, Agent Architecture


def test_nine_agents() -> None:
    """9 independent AI agents (8 debaters + 1 judge). Each role (pro, con, judge) can use different LLM providers"""
    there = [msgspec.structs.replace(w, model=f"model of {w.queue}") for w in workers(msgspec.convert(FOUR, Format))]
    seats = Play(FOUR, there=there).session.opened.seats
    assert len(seats) == 9 and [s.role for s in seats].count("judge") == 1
    assert len({s.queue for s in seats}) == 9, "each on a queue of its own"
    assert {s.seat: s.model for s in seats} == {s.seat: f"model of {s.seat}" for s in seats}


def test_who_speaks_when_and_for_how_long() -> None:
    """standard four-stage debate rules — opening statements, cross-examination, free debate, and closing arguments.
    StageController: Lightweight orchestrator managing stage flow and speaking order.

    1st: Opening statement (750 words/3 min) + Cross-exam summary (500 words/2 min). 2nd, 3rd: Cross-exam questions (125
    words/30 sec) + Answers (250 words/1 min) + Free debate. 4th: Free debate + Closing statement (750 words/3 min).

    Fixed order: Pro 1st → Con 1st. Pro 2nd asks → Con 2nd or 3rd. Con 2nd asks → Pro 2nd or 3rd. Pro 3rd asks → Con 2nd
    or 3rd. Con 3rd asks → Pro 2nd or 3rd. After cross-exam: Pro 1st summary → Con 1st summary. Free debate: Pro speaks
    first, then teams alternate. Fixed order: Con 4th → Pro 4th"""
    p, rounds = Play(FOUR), []
    while p.session.turns:
        seat, kind = p.asked()[0]
        if kind == "question":
            rounds.append((seat, p.brief(seat)["answerers"]))
        p.auto(seat)
    assert [r["stage"] for r in p.result.rounds] == ["opening", "cross_examination", "free_debate", "closing"]
    of_pro, of_con = ["pro_2", "pro_3"], ["con_2", "con_3"]
    assert rounds == [("pro_2", of_con), ("con_2", of_pro), ("pro_3", of_con), ("con_3", of_pro)]
    assert said(p, 1) == [("pro_1", "speech", 750), ("con_1", "speech", 750)]
    assert said(p, 2) == [
        ("pro_2", "question", 125), ("con_2", "answer", 250), ("con_2", "question", 125), ("pro_2", "answer", 250),
        ("pro_3", "question", 125), ("con_2", "answer", 250), ("con_3", "question", 125), ("pro_2", "answer", 250),
        ("pro_1", "summary", 500), ("con_1", "summary", 500),
    ]  # fmt: skip
    floor = said(p, 3)
    assert {act for _, act, _ in floor} == {"free"} and len(floor) > 8 and floor[0][0].startswith("pro")
    assert all(a[0][:3] != b[0][:3] for a, b in pairwise(floor))
    assert said(p, 4) == [("con_4", "closing", 750), ("pro_4", "closing", 750)]
    assert [x.round for x in p.posts("speech")] == sorted(x.round for x in p.posts("speech"))


# ---------------------------------------------------------------- Message Channels, Agent Visibility


@pytest.mark.parametrize(
    ("channel", "readers", "writers"),
    [
        ("public", {"pro", "con", "judge"}, {"pro", "con", "judge"}),
        ("team_pro", {"pro"}, {"pro"}),
        ("team_con", {"con"}, {"con"}),
        ("judge_notes", {"judge"}, {"judge"}),
    ],
)
def test_the_table_of_channels(channel: str, readers: set[str], writers: set[str]) -> None:
    """public: All agents, All agents. team_pro: Pro team (4), Pro team. team_con: Con team (4), Con team. judge_notes:
    Judge, Judge"""
    roles = ("pro", "con", "judge")
    assert {r for r in roles if may_read(ACCOUNT_OF_ROLE[r], channel)} == readers
    assert {r for r in roles if may_write(ACCOUNT_OF_ROLE[r], channel)} == writers


@pytest.mark.parametrize(
    ("role", "channels"),
    [("pro", {"public", "team_pro"}), ("con", {"public", "team_con"}), ("judge", {"public", "judge_notes"})],
)
def test_what_each_identity_sees(role: str, channels: set[str]) -> None:
    """Pro debaters: public + team_pro. Con debaters: public + team_con. Judge: public + judge_notes"""
    p = whole()
    roles = {s.seat: s.role for s in p.session.opened.seats}
    asks = [c for e in p.entries for c in e.commands if isinstance(c, log.Ask) and roles[c.seat] == role]
    assert {p.session.posts[n].channel for a in asks for n in a.sees} == channels


def test_what_is_conferred_reaches_that_team_alone() -> None:
    """Dual-layer message pool handling message routing and permission isolation"""
    p = Play(FOUR)
    p.reply("pro_1", Note(text="OUR SECRET PLAN"))
    reached = set()
    while p.session.turns:
        e = p.entries[-1]
        sendings = build(p.session, e.n, e.commands, key=b"k" * 32, lane="l", decided_ns=1)
        reached |= {s.queue for s in sendings if b"OUR SECRET PLAN" in encode(s.work)}
        p.auto(p.asked()[0][0])
    assert reached == {"pro_1", "pro_2", "pro_3", "pro_4"}


# ---------------------------------------------------------------- DebaterAgent


def test_the_layers_of_a_debaters_prompt() -> None:
    """You are {team} {position}, stance: {stance}; Debate style: {personality}; Injected by position (1-4). 5 debate
    styles"""
    style, other = {"name": "Logical", "characteristics": "Syllogism"}, {"name": "E", "characteristics": "Pathos"}
    known = {"personalities": {"logical": style, "e": other}, "styles": {"pro_1": "logical", "con_1": "e"}}
    p = Play(FOUR, {**known, "stances": {"pro": "ban it"}})
    assert p.brief("pro_1")["me"] == {
        "team": "pro", "team_name": "Proposition", "position": 1, "stance": "ban it", "role": FOUR["positions"][0],
        "personality": style, "mates": ["pro_2", "pro_3", "pro_4"],
    }  # fmt: skip
    assert p.brief("con_1")["me"]["personality"] == other
    p.auto("pro_1")
    assert p.brief("pro_2")["me"]["personality"] is None


def test_the_context_is_the_stage_and_what_was_said() -> None:
    """[Context]  Current stage + visible historical speeches"""
    p = at(4, "speak")
    assert p.brief("con_4")["stage"] == "Closing statements"
    assert {x.n for x in p.seen("con_4") if x.channel == "public"} == {x.n for x in p.posts("speech")}


# ---------------------------------------------------------------- JudgeAgent


def test_marks_are_one_to_ten() -> None:
    """Scoring Dimensions (1-10 points)"""
    for value in (0.5, 10.5):
        p = at(1, "score")
        wrong = msgspec.to_builtins(marks(5)) | {"logic": value}
        p.reply("judge", wrong)
        assert "logic" in p.ask("judge").error and "1 to 10" in p.ask("judge").error


def test_the_judge_is_told_what_to_look_for() -> None:
    """counter_question, not_direct_answer, attacker_answered, off_topic, scripted_summary, personal_attack"""
    p = Play(FOUR)
    told: dict[str, set[str]] = {}
    while p.session.turns:
        seat, asked = p.asked()[0]
        if asked == "score":
            told.setdefault(p.brief("judge")["act"], set(p.brief("judge")["violations"]))
        p.auto(seat)
    anywhere = {"off_topic", "personal_attack"}
    assert told == {
        **dict.fromkeys(("speech", "free", "closing"), anywhere),
        "question": {"attacker_answered", *anywhere},
        "answer": {"counter_question", "not_direct_answer", *anywhere},
        "summary": {"scripted_summary", *anywhere},
    }


# ---------------------------------------------------------------- Stages 1 and 2


@pytest.mark.parametrize("chosen", ["con_2", "con_3"])
def test_the_asker_chooses_who_answers(chosen: str) -> None:
    """Select Con 2nd or 3rd to answer"""
    p = at(2, "question")
    p.asks("pro_2", chosen)
    p.scores()
    assert p.asked() == [(chosen, "answer")]


def test_at_least_three_questions() -> None:
    """Each round: Questions 30 sec (125 words, 3+ questions)"""
    p = at(2, "question")
    assert p.brief("pro_2")["least"] == 3 and p.brief("pro_2")["words"] == 125
    p.asks("pro_2", "con_2", "Why?", "How?")
    assert p.ask("pro_2").error == "questions: got 2, at least 3 are wanted"
    p.asks("pro_2", "con_2", "Why?", "How?", "When?", "Who?")
    assert p.last("speech")["limit"] == 125


def test_answers_have_a_minute() -> None:
    """Answers 1 min (250 words)"""
    p = at(2, "answer")
    assert p.brief("con_2")["words"] == 250
    p.says("con_2", words(250))
    assert p.last("speech")["seconds"] == 60 and not p.last("speech")["overtime"]


# ---------------------------------------------------------------- Stage 3


def test_four_minutes_a_team_by_words() -> None:
    """4 minutes total per team (estimated by word count)"""
    p = at(3, "captain")
    assert p.brief("pro_1")["seconds_left"] == 240
    p.auto("pro_1")
    p.says(p.asked()[0][0], words(100))
    assert p.last("speech")["seconds"] == 24 and p.last("speech")["left"] == {"pro": 216, "con": 240}
    while p.session.inner.stage == 2:
        seat, kind = p.asked()[0]
        p.says(seat, words(p.brief(seat)["words"])) if kind == "speak" else p.auto(seat)
    assert sum(b["words"] for b in p.bodies("speech") if b["act"] == "free") == 2 * 1_000


def test_each_debater_speaks_at_least_once() -> None:
    """Each debater must speak at least once. Prioritize unspoken debaters to ensure each speaks at least once."""
    p = at(3, "captain")
    first: dict[str, list[str]] = {"pro": [], "con": []}
    while p.session.inner.stage == 2:
        seat, kind = p.asked()[0]
        if kind == "captain":
            may, unspoken = p.brief(seat)["may"], p.brief(seat)["unspoken"]
            assert may == (unspoken or [f"{seat[:3]}_{i}" for i in (1, 2, 3, 4)])
            p.names(seat, may[-1])
        else:
            if kind == "speak":
                first[seat[:3]].append(seat)
            p.auto(seat)
    for team, spoke in first.items():
        assert set(spoke[:4]) == {f"{team}_{i}" for i in (1, 2, 3, 4)}


def test_the_captains_seven_inputs() -> None:
    """[Task] [Team messages] [Public debate records] [Speak counts] [Unspoken debaters] [Time remaining] Output format
    (strict JSON)"""
    p = at(3, "captain")
    for _ in range(6):
        p.auto(p.asked()[0][0])
    assert p.asked() == [("pro_1", "captain")]
    brief, seen = p.brief("pro_1"), p.seen("pro_1")
    assert brief["me"]["team"] == "pro" and brief["stage"] == "Free debate"
    assert {x.kind for x in seen if x.channel == "team_pro"} == {"note", "decision"}
    assert {x.n for x in seen if x.channel == "public"} == {x.n for x in p.posts("speech")}
    assert brief["spoken"] == {"pro_1": 1, "pro_2": 0, "pro_3": 0, "pro_4": 0}
    assert brief["unspoken"] == ["pro_2", "pro_3", "pro_4"]
    assert 230 < brief["seconds_left"] < 240
    p.reply("pro_1", {"speaker": "pro_2"})
    assert "direction" in p.ask("pro_1").error, "both fields, or another attempt"


def test_the_direction_is_injected_into_the_speakers_instruction() -> None:
    """StageController uses a single LLM call to simulate “captain” decision. Inject direction into selected debater’s
    instruction → Selected debater calls speak() → Generate speech."""
    p = at(3, "captain")
    assert p.asked() == [("pro_1", "captain")], "a turn of the seat that the format names"
    p.names("pro_1", "pro_2", "Refute opponent's employment argument")
    assert p.asked() == [("pro_2", "speak")]
    assert p.brief("pro_2")["direction"] == "Refute opponent's employment argument"
    assert p.posts("decision")[-1].channel == "team_pro"
    p.says("pro_2")
    p.scores()
    assert all(b"employment argument" not in bytes(x.body) for x in p.seen("con_1"))


def test_sequential_and_concurrent() -> None:
    """Free debate (sequential + concurrent)"""
    concurrent = msgspec.json.decode(encode(FOUR))
    concurrent["stages"][2]["agenda"][0]["mode"] = "concurrent"
    p = at(3, "bid", concurrent)
    assert p.asked() == [(f"pro_{i}", "bid") for i in (1, 2, 3, 4)]
    assert at(3, "captain").asked() == [("pro_1", "captain")]


# ---------------------------------------------------------------- Stage 4, scoring


def test_scores_come_after_each_speech() -> None:
    """Real-time Scoring (after each speech) — Judge agent scores. Judge scores each closing statement."""
    p = whole()
    order = [x for x in p.session.posts if x.kind in ("speech", "scored")]
    assert [x.kind for x in order] == ["speech", "scored"] * (len(order) // 2)
    assert all(b["post"] == x.n for x, b in zip(p.posts("speech"), p.bodies("scored"), strict=True))


def test_no_lower_limit() -> None:
    """No lower limit (can be negative, reflecting severe violation penalties)"""
    p = Play(small(speech("pro_1")))
    p.says("pro_1", words(11))
    p.scores(1)
    assert p.last("scored")["totals"] == {"pro_1": -1, "pro_2": 0, "con_1": 0, "con_2": 0, "pro": -4, "con": 0}


# ---------------------------------------------------------------- Configuration, Showcase


def test_words_time_and_scores_of_each_speech() -> None:
    """Real-time word count and timing. Live scoring after each speech. Scoreboard panel. Overtime/violation warnings"""
    p = at(1, "speak")
    p.says("pro_1", words(375))
    assert (p.last("speech")["words"], p.last("speech")["seconds"], p.last("speech")["limit"]) == (375, 90, 750)
    p.scores(6)
    board = p.last("scored")["totals"]
    assert set(board) == {"pro", "con", *(f"{t}_{i}" for t in ("pro", "con") for i in (1, 2, 3, 4))}
    assert board["pro_1"] == board["pro"] == 6 and p.posts("scored")[0].channel == "scores"
    p.says("con_1", words(760))
    assert p.last("speech")["overtime"]
    p.scores()
    assert p.last("scored")["fines"][0]["note"] == "760 words, 750 allowed"
