"""The rule engine: every score, fine and total worked out by hand."""

from typing import Any

import msgspec
import pytest

from parley.client.protocols.competition.show import CompetitionShow
from parley.coordinator.protocols.competition.outcome import outcome
from parley.coordinator.protocols.competition.rules import OF_ACT, possible
from parley.coordinator.protocols.competition.speech_words import count, seconds, words_in
from parley.coordinator.replay import what_if
from parley.coordinator.table import View
from parley.schemas import log
from parley.schemas.protocols.competition.format import Pace, Violation
from parley.schemas.protocols.competition.messages import Breach, Marks, Settings
from parley.schemas.wire import encode
from tests.client import shown
from tests.protocols.competition.play import (
    COMPETITION,
    Play,
    exchange,
    free,
    marks,
    shipped,
    small,
    speech,
    words,
)

VIOLATIONS = Violation.__args__  # type: ignore[attr-defined]
HAND = small(
    speech("pro_1"), speech("con_1"), exchange("pro_2", "con_1", "con_2"), free(20),
    speech("pro_1", act="summary"), speech("con_2", act="closing"),
)  # fmt: skip


def by_hand() -> Play:
    """Every fine of the seed once, at 60 words a minute: a word is a second. Limits are 10 words."""
    p = Play(HAND)
    p.says("pro_1", words(11))  # 1 word over: overtime
    p.reply("judge", Marks(logic=8, persuasion=6, expression=7, teamwork=9, rule_compliance=10))  # 7.75, as above
    p.says("con_1", words(10))
    p.scores(6)  # all weights add up to 1: 6
    p.asks("pro_2", "con_2", "Why? Because I say so.", "How?", "When?")  # 7 words
    p.scores(5, Breach(kind="attacker_answered", quote="Because I say so."))
    p.says("con_2", "Why do you ask?")
    breach = Breach(kind="counter_question", quote="Why do you ask?")
    p.scores(4, breach, breach)  # it costs once a speech
    p.names("pro_1", "pro_2")
    p.says("pro_2", words(10))
    p.scores(3)
    p.interrupts("pro_1")  # con has the floor
    p.names("con_1", "con_1")
    p.says("con_1", words(10))
    p.scores(2)
    p.names("pro_1", "pro_1")
    p.says("pro_1", words(12))  # 10 allowed: overtime
    p.scores(1)
    p.names("con_1", "con_2")
    p.says("con_2", words(10))
    p.scores(9)
    p.says("pro_1", words(5))
    p.scores(10, Breach(kind="scripted_summary"), Breach(kind="off_topic"))
    p.says("con_2", words(5))
    return p


def test_a_transcript_worked_out_by_hand() -> None:
    p = by_hand()
    p.scores(7)
    p.auto("judge")
    # pro_1: speeches 7.75 + 1 + 10 = 18.75; overtime twice -2 -2               = 14.75
    # pro_2: speeches 5 + 3 = 8; attacker answered -2                           =  6
    # con_1: speeches 6 + 2                                                     =  8
    # con_2: speeches 4 + 9 + 7 = 20; counter-question -2                       = 18
    assert p.outcome["individual_totals"] == {"pro_1": 14.75, "pro_2": 6, "con_1": 8, "con_2": 18}
    # pro: 14.75 + 6 = 20.75; overtime twice -3 -3, consecutive -3              = 11.75
    # con: 8 + 18                                                               = 26
    assert p.outcome["team_totals"] == {"pro": 11.75, "con": 26}
    assert p.outcome["winner"] == p.certificate["winner"] == "con" and p.outcome["best"] == ["con_2"]
    assert p.outcome["individual_totals"] == p.certificate["individual_totals"]
    assert [(x["rule"], x["seat"], x["individual_points"], x["team_points"]) for x in p.outcome["fines"]] == [
        ("overtime", "pro_1", -2, -3), ("attacker_answered", "pro_2", -2, 0), ("counter_question", "con_2", -2, 0),
        ("consecutive", "pro_1", 0, -3), ("overtime", "pro_1", -2, -3),
    ]  # fmt: skip
    assert p.outcome["violations"] == {
        "attacker_answered": 1, "counter_question": 2, "off_topic": 1, "scripted_summary": 1,
    }  # fmt: skip
    assert [s["score"] for s in p.result.rounds[0]["speeches"]] == [7.75, 6, 5, 4, 3, 2, 1, 9, 10, 7]


@pytest.mark.parametrize("kind", VIOLATIONS)
def test_a_violation_that_such_a_speech_cannot_be_of_is_a_fault(kind: Any) -> None:
    p = Play(small(speech("pro_1")))
    p.says("pro_1", "You are a fool.")
    p.scores(5, Breach(kind=kind, quote="You are a fool."))
    if kind in OF_ACT:
        assert p.ask("judge").attempt == 2 and kind in p.ask("judge").error
        assert possible("speech") == ("off_topic", "personal_attack")
    else:
        assert p.last("scored")["marks"]["violations"][0]["kind"] == kind


def test_a_violation_is_quoted_from_the_speech() -> None:
    p = Play(small(speech("pro_1")))
    p.says("pro_1", "You are   a\nfool.")
    p.scores(5, Breach(kind="personal_attack", quote="You are an idiot."))
    assert "quote the words" in p.ask("judge").error
    p.scores(5, Breach(kind="personal_attack"))
    assert p.asked() == [("judge", "review")], "two attempts were bad: unscored"
    assert p.last("scored")["marks"] is None
    q = Play(small(speech("pro_1")))
    q.says("pro_1", "You are   a\nfool.")
    q.scores(5, Breach(kind="personal_attack", quote="you are a"))
    assert q.ask("judge").attempt == 2
    q.scores(5, Breach(kind="personal_attack", quote="You are a fool."))
    assert q.last("scored")["marks"]["violations"]


def test_an_unscored_speech_counts_nothing_and_is_named() -> None:
    p = Play(small(speech("pro_1"), speech("con_1")))
    p.says("pro_1", words(11))
    p.fail("judge")
    p.says("con_1")
    p.scores(5)
    p.auto("judge")
    assert p.bodies("scored")[0]["marks"] is None
    assert p.outcome["individual_totals"]["pro_1"] == -2, "overtime is counted by the moderator, not by the judge"
    assert p.outcome["unscored"] == [p.posts("speech")[0].n] and p.outcome["team_totals"]["con"] == 5
    assert p.outcome["silent"] == ["judge: score in one"]


@pytest.mark.parametrize(("marked", "winner"), [(9, "con"), (5, "")])
def test_who_wins_is_open_where_a_speech_without_marks_might_turn_it(marked: float, winner: str) -> None:
    p = Play(small(speech("pro_1"), speech("con_1")))
    p.says("pro_1", words(11))
    p.fail("judge")
    p.says("con_1")
    p.scores(marked)
    p.auto("judge")
    assert p.outcome["winner"] == winner and p.outcome["to_score"] == 2, "at most 10 less 5 for overtime: 5"
    card = shown.card(p)
    assert any("1 of 2 speeches could not be scored" in text for text in (card.sure, *card.weak))
    assert bool(card.text) is bool(winner) and ("could not be scored" in card.sure) is not bool(winner)


def test_a_speech_that_is_not_to_be_scored_is_not_but_its_time_counts() -> None:
    p = Play(small(speech("pro_1", scored=False), speech("con_1", scored=False)))
    p.says("pro_1", words(11))
    assert p.asked() == [("con_1", "speak")] and p.last("fine")["rule"] == "overtime"
    p.says("con_1")
    assert len(p.posts("fine")) == 1
    p.auto("judge")
    assert p.outcome["team_totals"] == {"pro": -5, "con": 0} and p.outcome["unscored"] == []
    assert p.outcome["to_score"] == 0


# ---------------------------------------------------------------- the same record under other weights


def test_the_same_record_counted_under_other_weights() -> None:
    """Logic alone counts: the marks stay, the totals are those of the new weights."""
    p = Play(small(speech("pro_1"), speech("con_1")))
    p.says("pro_1")
    p.reply("judge", marks(5, logic=9))  # 0.25*9 + 0.75*5 = 6
    p.says("con_1")
    p.reply("judge", marks(8, logic=2))  # 0.25*2 + 0.75*8 = 6.5
    p.auto("judge")
    assert p.outcome["team_totals"] == {"pro": 6, "con": 6.5} and p.outcome["winner"] == "con"
    other = small(speech("pro_1"), speech("con_1"))
    other["weights"] = {"logic": 1, "persuasion": 0, "expression": 0, "teamwork": 0, "rule_compliance": 0}
    s = p.session
    settings = msgspec.convert({"format": other}, Settings)
    again, _ = outcome(s.inner, View(s.opened, settings, s.posts, len(s.posts), (), s.at_ns))
    assert again["team_totals"] == {"pro": 9, "con": 2} and again["winner"] == "pro"
    parting = what_if({"competition": COMPETITION}.get, "s1", p.log, {"format": other})
    assert parting.n == 1, "the judge is told the weights: from its first score on the record says no more"
    assert parting.result is None and "(score)" in parting.how
    assert what_if({"competition": COMPETITION}.get, "s1", p.log, {"max_output_tokens": 2_000}).n is None


# ---------------------------------------------------------------- words and clocks

SEED = Pace()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0), ("...", 0), (" — ", 0), ("!?", 0), ("one two  three\nfour", 4),
        ("don't well-known state-of-the-art", 7),
        ("it’s U.S. policy", 4), ("3.5 per cent of 1,000,000", 5), ("a,b;c", 3), ("either/or", 2), ("so—then", 2),
        ("snake_case", 2), ("**bold** words", 2), ("10% of $5", 3), ("Größe naïve", 2), ("e\u0301te\u0301", 1),
        ("हिन्दी में बोलो", 3), ("كِتَابٌ جديد", 2), ("한국어 문장입니다", 2), ("Привет, мир", 2), ("ὁ λόγος", 2),
        ("我们应当禁止", 6), ("我们，应当。禁止！", 6), ("在2024年禁止AI", 6), ("ひらがなとカタカナ", 9),
        ("コーヒー", 4),
        ("ภาษาไทย", 7), ("ພາສາລາວ", 7), ("ភាសាខ្មែរ", 5), ("မြန်မာ", 3), ("ㄅㄆㄇ", 3), ("\U00020000\U00020001", 2),
        ("x" * 30, 1), ("x" * 31, 2), ("two\u200bwords", 2), ("😀 👍", 0),
        # joined by whatever reads as a gap
        ("we.should-ban.ads", 4), ("we'should'ban'ads", 2), ("weʼshouldʼbanʼads", 2), ("we’should", 1),
        ("we\u2060should\u2060ban", 3), ("we\ufeffshould", 2), ("we\u00adshould", 2), ("we\u200dshould\u200cban", 3),
        ("we\u034fshould\ufe0fban", 3), ("we\u3164should\u115fban", 3), ("we\u2800should", 2), ("we⁄should·ban", 3),
        ("we・should‑ban﹘ads", 4), ("a_b\U000e0020c", 3), ("3,you.4", 3), ("1.5m", 1),
        # letters in other clothes
        ("ⓦⓔ ⓢⓗⓞⓤⓛⓓ", 2), ("🅆🄴 🅂🄷🄾🅄🄻🄳", 2), ("ｗｅ　ｓｈｏｕｌｄ", 2), ("𝐰𝐞 𝓼𝓱", 2), ("①②", 1), ("㍿", 4),
        # scripts without spaces
        ("ᦑᦺᦟᦹᧉ", 5), ("ᥖᥭᥰ", 3), ("ꆈꌠꁱꂷ", 4), ("ᨲᩫ᩠ᩅ", 2), ("၁၂၃", 1),
    ],
)  # fmt: skip
def test_words_by_hand(text: str, expected: float) -> None:
    """Scripts with spaces by words, others by letters: marks, punctuation and signs are neither."""
    assert count(text, SEED) == expected


def test_letters_that_count_as_a_word_are_the_formats_to_say() -> None:
    assert count("我们应当禁止", Pace(characters_per_word=1.5)) == 4
    assert count("我们 ban 广告", Pace(characters_per_word=2)) == 3


def test_words_stand_for_time() -> None:
    assert [seconds(n, SEED) for n in (750, 500, 125, 250)] == [180, 120, 30, 60]  # the seed's pairs
    assert words_in(180, SEED) == 750 and words_in(2.4, SEED) == 10 and words_in(2.39, SEED) == 9
    assert seconds(160, Pace(words_per_minute=160)) == 60


@pytest.mark.parametrize(("text", "over"), [("我们应当禁止对儿童广", False), ("我们应当禁止对儿童广告", True)])
def test_a_chinese_speech_is_counted_by_characters(text: str, over: bool) -> None:
    """Ten characters are allowed; there is not one space in it."""
    p = Play(small(speech("pro_1")))
    p.says("pro_1", text)
    assert p.last("speech")["words"] == len(text) and p.last("speech")["overtime"] is over
    assert p.last("speech")["seconds"] == len(text)


# ---------------------------------------------------------------- while a seat speaks


def ask(words: int, **more: Any) -> log.Ask:
    play = Play(small(speech("pro_1", words=words)))
    given = play.ask("pro_1")
    brief = {**msgspec.json.decode(given.brief), **more}
    return msgspec.structs.replace(given, brief=msgspec.Raw(encode(brief)))


def test_words_run_while_a_seat_speaks_and_overtime_is_called() -> None:
    show = CompetitionShow({"format": shipped("four_stage")})
    assert show.doing(ask(150, seconds_left=120.0), words(50)) == "speaks: 50 of 150 words"
    assert show.doing(ask(150), words(160)).endswith(" OVERTIME")
    assert show.doing(ask(150), "") == "speaks", "nothing was said yet"
    assert show.doing(ask(150), "言葉言葉").startswith("speaks: 4 of 150 words")
