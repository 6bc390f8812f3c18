"""Words and clocks: by hand, in many scripts."""

from typing import Any

import msgspec
import pytest

from parley.client.protocols.competition.show import CompetitionShow
from parley.coordinator.protocols.competition.speech_words import count, seconds, words_in
from parley.schemas import log
from parley.schemas.protocols.competition.format import Pace
from parley.schemas.wire import encode
from tests.protocols.competition.play import Play, shipped, small, speech, words

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
