"""Misspelt words, put right by the words that specifications and people use.

A word is misspelt if nobody knows it: no specification, not several people, not the encoder's vocabulary. It becomes
the nearest one that a specification or several people use, by edits with neighbours changing places (Damerau): one
edit, two from eight letters on; the first letter stays, or changes places; of four letters none is replaced by another.
Names are left as they are: whatever looks like one in code, and what begins with a capital inside a sentence. To become
a word that is merely in the vocabulary would be wrong six times of seven on the tasks to train on: what is unknown is
then a rare word, or the name of a product.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from parley.agents.encoders.embedded import FOLDER

_WORD = re.compile(r"(?<![\w./\\@#$'’-])[A-Za-z]?[a-z]{3,}(?![\w\\@/'’]|\.\w|-\w)")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_BEGINNINGS = ("re", "un", "pre", "de", "non", "mis", "over", "under", "sub", "multi", "micro", "auto", "out", "back")
_ENDINGS = ("s", "d", "ed", "ing", "er", "ers", "r", "able", "ly", "ness", "y", "less")
_LONGEST = 24
"""Letters of a word that is looked at."""
_SHORT = 4
"""Letters of a word of which another with one letter replaced is another word."""
_TWO_EDITS = 8
"""Letters from which on a word may be two edits away."""
_OPENING = " \t\"'“‘(*[-"
"""What may stand between the end of a sentence and the first word of the next one."""
_ENDS = ".!?:\r\n"


@lru_cache(maxsize=1)
def vocabulary() -> frozenset[str]:
    """Whole words of the encoder's; none where its file is missing."""
    file = FOLDER / "vocab.txt"
    lines = file.read_text(encoding="utf-8").split("\n") if file.is_file() else []
    return frozenset(w for w in lines if w.isascii() and w.isalpha() and w.islower() and len(w) > 2)


class Speller:
    """Puts words right.

    Parameters
    ----------
    own
        Words of the specifications and of people, in lower case; of words as near, the first is taken.
    """

    def __init__(self, own: Iterable[str]) -> None:
        every = tuple(dict.fromkeys(own))
        self._words = [w for w in every if w.isascii() and w.isalpha() and 3 < len(w) <= _LONGEST + 2]
        self._known = vocabulary() | set(every)
        self._bags = np.array([_bag(w) for w in self._words], np.int8).reshape(len(self._words), len(_LETTERS))
        firsts = np.array([ord(w[0]) for w in self._words])
        self._by_first = {c: np.flatnonzero(firsts == ord(c)) for c in _LETTERS}
        self._right = lru_cache(maxsize=20_000)(self._nearest)

    def right(self, text: str) -> str:
        """The text with its misspelt words put right."""
        return _WORD.sub(lambda m: m.group() if _is_name(text, m.start()) else self._put(m.group()), text)

    def _put(self, word: str) -> str:
        low = word.lower()
        return word if len(low) > _LONGEST or self._knows(low) else self._right(low) or word

    def _knows(self, word: str) -> bool:
        """Whether it is a known word, or one with a beginning or an ending that words are made with."""
        if word in self._known:
            return True
        bare = [word, *(word[len(b) :] for b in _BEGINNINGS if word.startswith(b))]
        ends = [b[: -len(e)] for b in bare for e in _ENDINGS if b.endswith(e)]
        stems = [*bare[1:], *ends, *(e + "e" for e in ends)]
        return any(len(w) > 2 and w in self._known for w in stems)

    def _nearest(self, word: str) -> str:
        """The nearest word; empty: none is near."""
        most = 1 if len(word) < _TWO_EDITS else 2
        begin = np.concatenate([self._by_first[c] for c in dict.fromkeys(word[:2])])
        apart = np.abs(self._bags[begin] - np.array(_bag(word), np.int8)).sum(axis=1)
        nearest = []
        for place in begin[apart <= 2 * most]:
            other = self._words[place]
            if abs(len(other) - len(word)) > most or (word[0] != other[0] and word[:2] != other[1::-1]):
                continue
            if (edits := distance(word, other, most)) <= most:
                replaced = sorted(word) != sorted(other)
                if replaced and len(word) == len(other) <= _SHORT:
                    continue
                nearest.append((edits, replaced, int(place), other))
        return min(nearest)[-1] if nearest else ""


def _is_name(text: str, start: int) -> bool:
    """Whether the word that begins there begins with a capital, and no sentence with it."""
    before = text[:start].rstrip(_OPENING) if text[start].isupper() else ""
    return bool(before) and before[-1] not in _ENDS


@lru_cache(maxsize=50_000)
def _bag(word: str) -> list[int]:
    return [word.count(c) for c in _LETTERS]


def distance(one: str, other: str, most: int) -> int:
    """Edits from one word to another, two neighbours changing places being one; `most + 1` where it is more."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        now = [i]
        for j, b in enumerate(other, 1):
            best = min(row[j] + 1, now[j - 1] + 1, row[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                best = min(best, before[j - 2] + 1)
            now.append(best)
        if min(now) > most:
            return most + 1
        before, row = row, now
    return min(row[-1], most + 1)
