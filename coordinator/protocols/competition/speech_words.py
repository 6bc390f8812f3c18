"""competition: words, and the time that they stand for.

A text is counted as it reads (Unicode NFKC: squared, circled and wide letters are letters). What is neither letter,
mark nor digit parts words, whether it shows or not. Scripts with spaces are counted by words, scripts without by
letters.
"""

import math
import re
import unicodedata
from bisect import bisect_right

from parley.schemas.protocols.competition.format import Pace

LONGEST_WORD = 30
"""Letters; more of them in one run count as another word for each begun 30, so that leaving out spaces wins nothing."""

_UNSPACED = (
    # Ideographs and the scripts set among them: line-breaking classes ID, NS, CJ (Unicode annex 14).
    (0x3005, 0x3007), (0x3021, 0x3029), (0x3031, 0x3035), (0x303B, 0x303C), (0x3041, 0x312F), (0x31A0, 0x31BF),
    (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x1AFF0, 0x1B16F), (0x20000, 0x323AF),
    (0xA000, 0xA4CF),  # Yi
    (0x16FE0, 0x18D8F), (0x1B170, 0x1B2FF),  # Tangut, Khitan, Nushu
    # Complex context: class SA.
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x1950, 0x19FF), (0x1A20, 0x1AAF), (0xA9E0, 0xA9FF),
    (0xAA60, 0xAADF), (0x11700, 0x1174F),  # Thai, Lao, Burmese, Khmer, Tai Le, New Tai Lue, Tai Tham, Tai Viet, Ahom
    # Written without spaces by syllables: classes AK and AS, and Vai.
    (0x1A00, 0x1A1F), (0x1B00, 0x1B7F), (0x1BC0, 0x1BFF), (0xA500, 0xA63F), (0xA930, 0xA95F), (0xA980, 0xA9DF),
    (0xAA00, 0xAA5F), (0x11000, 0x1107F), (0x11300, 0x1137F), (0x11EE0, 0x11F5F),
)  # fmt: skip
"""Blocks of scripts that put no spaces between words: first and last code point."""
_BLOCKS = sorted(_UNSPACED)
_FIRST = [first for first, _ in _BLOCKS]
_SHOWN_AS_LETTERS = ((0x1F150, 0x1F169), (0x1F170, 0x1F189), (0x1F1E6, 0x1F1FF))
"""Letters on dark discs and squares, and those of flags: NFKC leaves them."""
_SHOW_NOTHING = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\ufe00-\ufe0f\U000e0100-\U000e01ef]")
"""Marks and letters that leave a gap or nothing where they stand."""
_APOSTROPHES = frozenset("'’\u02b9\u02bb\u02bc\u02bd\u02be\u02bf\u02c8\u02ca\u02cb\u02ee\ua78b\ua78c")
_JOINERS = frozenset("\u200c\u200d")
_WITH_JOINERS = re.compile("[\u0600-\u0dff\u1800-\u18af]")
"""Scripts that shape letters by joiners: Arabic to Sinhala, Mongolian."""
_VIRAMA = 9  # canonical combining class
_WORD = re.compile(r"\d+(?:[.,]\d+)+[^\W_]*|[^\W_]+(?:'[^\W_]+)?")


def count(text: str, pace: Pace) -> float:
    """Words of a text as the rules count them. One apostrophe inside a word belongs to it (don't), and so do points and
    commas between digits (3.5); hyphens and whatever else is neither letter, mark nor digit part words."""
    read = unicodedata.normalize("NFKC", text)
    letters = 0
    out = []
    for i, c in enumerate(read):
        kind = unicodedata.category(c)[0]
        if c in _APOSTROPHES:
            out.append("'")
        elif c in _JOINERS:
            out.append(_joiner(read, i))
        elif c in ".,":
            out.append(c)
        elif _SHOW_NOTHING.match(c):
            out.append(" ")
        elif kind in "LN" and _unspaced(c):
            letters += 1
            out.append(" ")
        elif kind in "LN":
            out.append(c)
        elif any(first <= ord(c) <= last for first, last in _SHOWN_AS_LETTERS):
            out.append("x")
        elif kind != "M":  # a mark stands on its letter, and is none
            out.append(" ")
    words = sum(math.ceil(len(word) / LONGEST_WORD) for word in _WORD.findall("".join(out)))
    return round(words + letters / pace.characters_per_word, 2)


def spelt(text: str) -> tuple[str, ...]:
    """The words of a text, in small letters and without what is between them; scripts without spaces in runs."""
    return tuple(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def _unspaced(c: str) -> bool:
    """Whether a letter or number is of a script without spaces; digits are counted as words everywhere."""
    if c.isdecimal():
        return False
    at = bisect_right(_FIRST, ord(c)) - 1
    return at >= 0 and ord(c) <= _BLOCKS[at][1]


def _joiner(text: str, i: int) -> str:
    """Inside a word of a script that is shaped by joiners it stands for nothing after a virama, and for an apostrophe
    elsewhere; in any other place it parts words."""
    around = text[i - 1 : i] + text[i + 1 : i + 2]
    if len(around) < 2 or not all(map(_WITH_JOINERS.match, around)):
        return " "
    return "" if unicodedata.combining(around[0]) == _VIRAMA else "'"


def seconds(words: float, pace: Pace) -> float:
    """The time that so many words stand for."""
    return round(words / pace.words_per_minute * 60, 2)


def words_in(seconds_: float, pace: Pace) -> int:
    """Whole words that fit in a time."""
    return int(seconds_ * pace.words_per_minute / 60 + 1e-9)
