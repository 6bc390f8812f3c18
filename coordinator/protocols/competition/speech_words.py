"""competition: words, and the time that they stand for.

A text is counted as it reads (Unicode NFKC: squared, circled and wide letters are letters). What is neither letter,
mark nor digit parts words, whether it shows or not. Scripts with spaces are counted by words, scripts without by
letters.
"""

import math
import re
import unicodedata

from parley.schemas.protocols.competition.format import Pace

LONGEST_WORD = 30
"""Letters; more of them in one run count as another word for each begun 30, so that leaving out spaces wins nothing."""
_UNSPACED = re.compile(
    "[\u3005-\u3007\u3041-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U000323af\ua000-\ua4cf\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19ff\u1a20-\u1aaf]"
)
"""Scripts without spaces between words: ideographs and what is set among them, Yi, Thai, Lao, Burmese, Khmer, Tai."""
_SHOW_NOTHING = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\ufe00-\ufe0f\U000e0100-\U000e01ef]")
"""Marks and letters that leave a gap or nothing where they stand."""
_APOSTROPHES = frozenset("'’\u02b9\u02bb\u02bc\u02bd\u02be\u02bf\u02c8\u02ca\u02cb\u02ee\ua78b\ua78c")
_WORD = re.compile(r"\d+(?:[.,]\d+)+[^\W_]*|[^\W_]+(?:'[^\W_]+)?")


def count(text: str, pace: Pace) -> float:
    """Words of a text as the rules count them. One apostrophe inside a word belongs to it (don't), and so do points and
    commas between digits (3.5); hyphens and whatever else is neither letter, mark nor digit part words."""
    letters = 0
    out = []
    for c in unicodedata.normalize("NFKC", text):
        kind = unicodedata.category(c)[0]
        if c in _APOSTROPHES:
            out.append("'")
        elif c in ".,":
            out.append(c)
        elif _SHOW_NOTHING.match(c) or kind not in "LNM":
            out.append(" ")
        elif kind != "M" and not c.isdecimal() and _UNSPACED.match(c):
            letters += 1
            out.append(" ")
        elif kind != "M":  # a mark stands on its letter, and is none
            out.append(c)
    words = sum(math.ceil(len(word) / LONGEST_WORD) for word in _WORD.findall("".join(out)))
    return round(words + letters / pace.characters_per_word, 2)


def spelt(text: str) -> tuple[str, ...]:
    """The words of a text, in small letters and without what is between them; scripts without spaces in runs."""
    return tuple(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def seconds(words: float, pace: Pace) -> float:
    """The time that so many words stand for."""
    return round(words / pace.words_per_minute * 60, 2)


def words_in(seconds_: float, pace: Pace) -> int:
    """Whole words that fit in a time."""
    return int(seconds_ * pace.words_per_minute / 60 + 1e-9)
