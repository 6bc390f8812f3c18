"""competition: words, and the time that they stand for.

Scripts with spaces are counted by words, scripts without (Han, Kana, Thai, ...) by letters. Hangul has spaces.
"""

import math
import re
import unicodedata

from schemas.competition import Pace

LONGEST_WORD = 30
"""Letters; more of them in one run count as another word for each begun 30, so that leaving out spaces wins nothing."""

_UNSPACED = re.compile(
    "["
    "\u3005-\u3007\u3021-\u3029\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Han
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9d"  # Hiragana, Katakana
    "\u3105-\u312f\u31a0-\u31bf"  # Bopomofo
    "\u0e01-\u0e2e\u0e2f\u0e30\u0e32\u0e33\u0e40-\u0e46"  # Thai
    "\u0e81-\u0eb0\u0eb2\u0eb3\u0ebd\u0ec0-\u0ec6\u0edc-\u0edf"  # Lao
    "\u1780-\u17b3\u17d7\u17dc"  # Khmer
    "\u1000-\u102a\u103f\u1050-\u1055\u105a-\u105d\u1061\u1065\u1066\u106e-\u1070\u1075-\u1081\u108e"  # Burmese
    "]"
)
_WORD = re.compile(r"[^\W_]+(?:(?:['’ʼ.‐‑-]|(?<=\d),(?=\d))[^\W_]+)*")
_IN_WORDS = frozenset({"Mn", "Mc", "Me", "Cf"})
"""Marks that stand on letters, joiners, direction signs: neither letters nor gaps."""
_BREAKS = re.compile("[\u200b\u2028\u2029\u0085]")


def count(text: str, pace: Pace) -> float:
    """Words of a text as the rules count them. Apostrophes, hyphens and points inside a word belong to it (don't,
    well-known, 3.5); dashes, slashes and other punctuation part words."""
    plain = "".join(c for c in _BREAKS.sub(" ", text) if unicodedata.category(c) not in _IN_WORDS)
    spaced, letters = _UNSPACED.subn(" ", plain)
    words = sum(math.ceil(len(word) / LONGEST_WORD) for word in _WORD.findall(spaced))
    return round(words + letters / pace.characters_per_word, 2)


def seconds(words: float, pace: Pace) -> float:
    """The time that so many words stand for."""
    return round(words / pace.words_per_minute * 60, 2)


def words_in(seconds_: float, pace: Pace) -> int:
    """Whole words that fit in a time."""
    return int(seconds_ * pace.words_per_minute / 60 + 1e-9)
