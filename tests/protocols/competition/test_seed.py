"""One test a sentence of seeds/ai-debate.md, quoted. The format is the one shipped, formats/four_stage.yaml."""

from itertools import pairwise
from typing import Any

import msgspec
import pytest

from parley.bus.channels import ACCOUNT_OF_ROLE, may_read, may_write
from parley.coordinator.briefing import build
from parley.schemas import log
from parley.schemas.protocols.competition.format import Format, Violation
from parley.schemas.protocols.competition.messages import Breach, Note
from parley.schemas.wire import encode
from tests.protocols.competition.play import Play, exchange, free, marks, shipped, small, speech, words, workers

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
    """9 independent AI agents (8 debaters + 1 judge)"""
    seats = Play(FOUR).session.opened.seats
    assert len(seats) == 9 and [s.role for s in seats].count("judge") == 1
    assert len({s.queue for s in seats}) == 9, "each on a queue of its own"


def test_four_stages() -> None:
    """standard four-stage debate rules — opening statements, cross-examination, free debate, and closing arguments"""
    assert [r["stage"] for r in whole().result.rounds] == ["opening", "cross_examination", "free_debate", "closing"]


def test_the_moderator_orders_stages_and_speakers() -> None:
    """StageController: Lightweight orchestrator managing stage flow and speaking order"""
    rounds = [p.round for p in whole().posts("speech")]
    assert rounds == sorted(rounds) and set(rounds) == {1, 2, 3, 4}


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
    """You are {team} {position}, stance: {stance}; Debate style: {personality}; Injected by position (1-4)"""
    style = {"name": "Logical", "characteristics": "Syllogism"}
    p = Play(FOUR, {"personalities": {"logical": style}, "styles": {"pro_1": "logical"}, "stances": {"pro": "ban it"}})
    assert p.brief("pro_1")["me"] == {
        "team": "pro", "team_name": "Proposition", "position": 1, "stance": "ban it", "role": FOUR["positions"][0],
        "personality": style, "mates": ["pro_2", "pro_3", "pro_4"],
    }  # fmt: skip


def test_the_context_is_the_stage_and_what_was_said() -> None:
    """[Context]  Current stage + visible historical speeches"""
    p = at(4, "speak")
    assert p.brief("con_4")["stage"] == "Closing statements"
    assert {x.n for x in p.seen("con_4") if x.channel == "public"} == {x.n for x in p.posts("speech")}


@pytest.mark.parametrize(
    ("position", "does"),
    [
        (1, {("speech", 750), ("summary", 500)}),
        (2, {("question", 125), ("answer", 250), ("free", 150)}),
        (3, {("question", 125), ("answer", 250), ("free", 150)}),
        (4, {("free", 150), ("closing", 750)}),
    ],
)
def test_what_each_position_is_responsible_for(position: int, does: set[tuple[str, int]]) -> None:
    """1st: Opening statement (750 words/3 min) + Cross-exam summary (500 words/2 min). 2nd, 3rd: Cross-exam questions
    (125 words/30 sec) + Answers (250 words/1 min) + Free debate. 4th: Free debate + Closing statement (750 words/3
    min)"""
    p, found, turn = Play(FOUR), set(), 0
    while p.session.turns:
        seat, kind = p.asked()[0]
        if kind == "question":  # the first time the second answers, then the third
            turn += 1
            p.asks(seat, p.brief(seat)["answerers"][turn > 2])
        elif kind == "speak" and p.session.inner.stage == 2:
            p.says(seat, words(100))
        else:
            p.auto(seat)
    for stage in (1, 2, 3, 4):
        found |= {(act, limit) for seat, act, limit in said(p, stage) if seat == f"pro_{position}"}
    assert does <= found and {act for act, _ in found} <= {act for act, _ in does} | {"free"}
    assert FOUR["positions"][position - 1]


# ---------------------------------------------------------------- JudgeAgent


def test_scoring_dimensions_and_weights() -> None:
    """Logic — Weight 0.25. Persuasion — Weight 0.25. Expression — Weight 0.20. Teamwork — Weight 0.15. Rule Compliance
    — Weight 0.15"""
    for name, weight in (
        ("logic", 0.25), ("persuasion", 0.25), ("expression", 0.20), ("teamwork", 0.15), ("rule_compliance", 0.15),
    ):  # fmt: skip
        p = at(1, "score")
        p.reply("judge", marks(1, **{name: 10.0}, comment=""))
        assert p.last("scored")["score"] == pytest.approx(1 + 9 * weight)


def test_marks_are_one_to_ten() -> None:
    """Scoring Dimensions (1-10 points)"""
    for value in (0.5, 10.5):
        p = at(1, "score")
        wrong = msgspec.to_builtins(marks(5)) | {"logic": value}
        p.reply("judge", wrong)
        assert "logic" in p.ask("judge").error and "1 to 10" in p.ask("judge").error


@pytest.mark.parametrize("kind", Violation.__args__)  # type: ignore[attr-defined]
def test_the_judge_is_told_what_to_look_for(kind: str) -> None:
    """counter_question, not_direct_answer, attacker_answered, off_topic, scripted_summary, personal_attack"""
    p = Play(FOUR)
    told: dict[str, list[str]] = {}
    while p.session.turns:
        seat, asked = p.asked()[0]
        if asked == "score":
            told.setdefault(p.brief("judge")["act"], p.brief("judge")["violations"])
        p.auto(seat)
    where = {act for act, kinds in told.items() if kind in kinds}
    assert (
        where
        == {
            "counter_question": {"answer"},  # Defender asks questions back
            "not_direct_answer": {"answer"},  # Fails to answer directly
            "attacker_answered": {"question"},  # Attacker answers questions
            "scripted_summary": {"summary"},  # Cross-exam summary is scripted
            "off_topic": set(told),  # Seriously deviates from topic
            "personal_attack": set(told),  # Personal attacks
        }[kind]
    )


# ---------------------------------------------------------------- Stages 1 and 2


def test_opening_statements() -> None:
    """Fixed order: Pro 1st (3 min/750 words) → Con 1st (3 min/750 words)"""
    assert said(whole(), 1) == [("pro_1", "speech", 750), ("con_1", "speech", 750)]


def test_four_rounds_of_cross_examination() -> None:
    """Pro 2nd asks → Con 2nd or 3rd. Con 2nd asks → Pro 2nd or 3rd. Pro 3rd asks → Con 2nd or 3rd. Con 3rd asks → Pro
    2nd or 3rd"""
    p = Play(FOUR)
    rounds = []
    while p.session.turns:
        seat, kind = p.asked()[0]
        if kind == "question":
            rounds.append((seat, p.brief(seat)["answerers"]))
        p.auto(seat)
    assert rounds == [
        ("pro_2", ["con_2", "con_3"]), ("con_2", ["pro_2", "pro_3"]), ("pro_3", ["con_2", "con_3"]),
        ("con_3", ["pro_2", "pro_3"]),
    ]  # fmt: skip


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


def test_summaries_after_the_cross_examination() -> None:
    """After cross-exam: Pro 1st summary (2 min/500 words) → Con 1st summary (2 min/500 words)"""
    assert said(whole(), 2)[-2:] == [("pro_1", "summary", 500), ("con_1", "summary", 500)]


# ---------------------------------------------------------------- Stage 3


def test_pro_speaks_first_then_teams_alternate() -> None:
    """Pro speaks first, then teams alternate. Same team cannot speak consecutively"""
    teams = [seat[:3] for seat, act, _ in said(whole(), 3)]
    assert len(teams) > 8 and teams[0] == "pro"
    assert all(a != b for a, b in pairwise(teams))


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


def test_a_second_speech_of_the_same_team_is_not_let_in() -> None:
    """Same team cannot speak consecutively"""
    p = at(3, "captain")
    p.auto("pro_1")
    p.auto(p.asked()[0][0])
    before = p.posts("speech")
    p.interrupts("pro_2")
    assert p.posts("speech") == before and p.last("fine")["rule"] == "consecutive"


def test_the_captain_decides_in_one_turn() -> None:
    """StageController uses a single LLM call to simulate “captain” decision"""
    p = at(3, "captain")
    assert p.asked() == [("pro_1", "captain")], "a turn of the seat that the format names"
    p.names("pro_1", "pro_2")
    assert p.asked() == [("pro_2", "speak")]


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
    """Inject direction into selected debater’s instruction → Selected debater calls speak() → Generate speech."""
    p = at(3, "captain")
    p.names("pro_1", "pro_2", "Refute opponent's employment argument")
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


def test_closing_statements() -> None:
    """Fixed order: Con 4th (3 min/750 words) → Pro 4th (3 min/750 words)"""
    assert said(whole(), 4) == [("con_4", "closing", 750), ("pro_4", "closing", 750)]


def test_the_judge_scores_each_closing_statement() -> None:
    """Judge scores each closing statement."""
    p = whole()
    scored = {b["post"] for b in p.bodies("scored")}
    assert {x.n for x in p.posts("speech") if x.round == 4} <= scored


def test_a_final_review() -> None:
    """After all stages, Judge provides final review."""
    p = whole()
    assert [x.seat for x in p.posts("review")] == ["judge"] and p.posts("review")[0].n > p.posts("stop")[0].n
    assert p.outcome["review"] == "a fine debate"


def test_scores_come_after_each_speech() -> None:
    """Real-time Scoring (after each speech) — Judge agent scores"""
    p = whole()
    order = [x for x in p.session.posts if x.kind in ("speech", "scored")]
    assert [x.kind for x in order] == ["speech", "scored"] * (len(order) // 2)
    assert all(b["post"] == x.n for x, b in zip(p.posts("speech"), p.bodies("scored"), strict=True))


@pytest.mark.parametrize(
    ("rule", "team", "individual"),
    [("overtime", -3, -2), ("counter_question", 0, -2), ("attacker_answered", 0, -2), ("consecutive", -3, 0)],
)
def test_penalties(rule: str, team: int, individual: int) -> None:
    """Overtime: Team -3, Individual -2. Counter-question in cross-exam: Individual -2. Attacker answers in cross-exam:
    Individual -2. Same team consecutive speeches: Team -3"""
    if rule == "overtime":
        p = at(1, "speak")
        p.says("pro_1", words(751))
        p.scores()
    elif rule == "consecutive":
        p = at(3, "captain")
        p.auto("pro_1")
        p.auto("pro_1")
        p.interrupts("pro_2")
    elif rule == "counter_question":
        p = at(2, "answer")
        p.scores()
        p.says("con_2", "And you?")
        p.scores(5, Breach(kind="counter_question", quote="And you?"))
    else:
        p = at(2, "question")
        p.asks("pro_2", "con_2", "Why? Because it harms.", "How?", "When?")
        p.scores(5, Breach(kind="attacker_answered", quote="Because it harms."))
    (fine,) = p.outcome_now()["fines"]
    assert (fine["rule"], fine["team_points"], fine["individual_points"]) == (rule, team, individual)


def test_stage_summaries() -> None:
    """Stage Summary + Final Summary"""
    p = whole()
    assert [x.round for x in p.posts("summary")] == [1, 2, 3, 4]
    assert {x.channel for x in p.posts("summary")} == {"scores"}


def test_the_score_of_a_single_speech() -> None:
    """Single Speech Score = logic * 0.25 + persuasion * 0.25 + expression * 0.20 + teamwork * 0.15 + rule_compliance *
    0.15"""
    p = at(1, "score")
    p.reply("judge", marks(logic=7, persuasion=8, expression=6, teamwork=5, rule_compliance=9))
    # 1.75 + 2.00 + 1.20 + 0.75 + 1.35
    assert p.last("scored")["score"] == 7.05


def test_individual_total() -> None:
    """Individual Total = sum(all speech scores) + individual penalties (negative)"""
    p = Play(small(speech("pro_1"), speech("pro_1")))
    p.says("pro_1", words(11))
    p.scores(6)
    p.says("pro_1")
    p.scores(7)
    assert p.last("scored")["totals"]["pro_1"] == 6 + 7 - 2


def test_team_total() -> None:
    """Team Total = sum(4 individuals' totals) + team penalties (negative)"""
    p = Play(small(*(speech(f"con_{i}") for i in (1, 2, 3, 4)), seats=4))
    for i, value in ((1, 5), (2, 6), (3, 7), (4, 8)):
        p.says(f"con_{i}", words(11 if i == 4 else 5))
        p.scores(value)
    assert p.last("scored")["totals"]["con"] == (5 + 6 + 7 + (8 - 2)) - 3


def test_no_lower_limit() -> None:
    """No lower limit (can be negative, reflecting severe violation penalties)"""
    p = Play(small(speech("pro_1")))
    p.says("pro_1", words(11))
    p.scores(1)
    assert p.last("scored")["totals"] == {"pro_1": -1, "pro_2": 0, "con_1": 0, "con_2": 0, "pro": -4, "con": 0}


def test_best_debater() -> None:
    """Best Debater = Individual with highest total"""
    p = Play(small(speech("pro_1"), speech("con_2")))
    for seat, value in (("pro_1", 6), ("con_2", 7)):
        p.says(seat)
        p.scores(value)
    p.auto("judge")
    assert p.outcome["best"] == ["con_2"]


# ---------------------------------------------------------------- Configuration, Showcase


def test_each_seat_may_have_a_model_of_its_own() -> None:
    """Each role (pro, con, judge) can use different LLM providers"""
    there = [msgspec.structs.replace(w, model=f"model of {w.queue}") for w in workers(msgspec.convert(FOUR, Format))]
    seats = Play(FOUR, there=there).session.opened.seats
    assert {s.seat: s.model for s in seats} == {s.seat: f"model of {s.seat}" for s in seats}


def test_a_style_for_each_seat() -> None:
    """5 debate styles"""
    styles = {name: {"name": name.title(), "characteristics": f"is {name}"} for name in ("logical", "emotional")}
    p = Play(FOUR, {"personalities": styles, "styles": {"pro_1": "logical", "con_1": "emotional"}})
    assert p.brief("pro_1")["me"]["personality"]["name"] == "Logical"
    assert p.brief("con_1")["me"]["personality"]["characteristics"] == "is emotional"
    p.auto("pro_1")
    assert p.brief("pro_2")["me"]["personality"] is None


def test_words_and_time_of_each_speech() -> None:
    """Real-time word count and timing"""
    p = at(1, "speak")
    p.says("pro_1", words(375))
    assert (p.last("speech")["words"], p.last("speech")["seconds"], p.last("speech")["limit"]) == (375, 90, 750)


def test_a_scoreboard_after_each_speech() -> None:
    """Live scoring after each speech. Scoreboard panel"""
    p = at(1, "score")
    p.scores(6)
    board = p.last("scored")["totals"]
    assert set(board) == {"pro", "con", *(f"{t}_{i}" for t in ("pro", "con") for i in (1, 2, 3, 4))}
    assert board["pro_1"] == board["pro"] == 6 and p.posts("scored")[0].channel == "scores"


def test_warnings_of_overtime_and_violations() -> None:
    """Overtime/violation warnings"""
    p = at(1, "speak")
    p.says("pro_1", words(760))
    assert p.last("speech")["overtime"]
    p.scores()
    assert p.last("scored")["fines"][0]["note"] == "760 words, 750 allowed"


def test_a_final_scoreboard_with_verdict() -> None:
    """Final scoreboard with verdict"""
    p = Play(FOUR)
    while p.session.turns:
        seat, kind = p.asked()[0]
        p.scores(8 if p.brief(seat)["seat"].startswith("con") else 5) if kind == "score" else p.auto(seat)
    assert p.outcome["winner"] == "con" and p.stop["certificate"]["winner"] == "con"
    assert p.outcome["team_totals"]["con"] > p.outcome["team_totals"]["pro"]
    assert p.outcome["individual_totals"] == p.stop["certificate"]["individual_totals"]


def test_silent_seats_do_not_hang_it() -> None:
    """complete debate competition simulation"""
    p = Play(small(speech("pro_1"), exchange("pro_1", "con_1"), free(20)))
    while p.session.turns:
        p.expire()
    assert p.result.stop.reason == "nothing_said" and p.outcome["team_totals"] == {"pro": 0, "con": 0}
    assert len(p.outcome["silent"]) >= 6
