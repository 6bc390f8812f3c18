"""Whether two texts say the same in other words, by their words alone: what the moderator falls back on when the
helper fails.

Words are cut to their first letters, so that `delays` and `delayed` are one; words that say nothing are left out. What
shares no word of meaning is not found: that takes an encoder.
"""

from parley.schemas.text import tokens

PREFIX = 5
"""Letters of a word that count."""
DIFFERS = 0.5
"""Factor where one text denies and the other does not, and where both name figures and share none."""

_NEGATIONS = frozenset({"no", "not", "never", "without", "cannot", "nor", "neither"})
_EMPTY = frozenset(
    tokens(
        """about also and any are as at be been but by can could did do does for from had has have if in into is it its
        may might must of on or should so such than that their them then there these they this those to too was were
        what when which while who will with would answer objection question"""
    )
)


def similarity(one: str, other: str) -> float:
    """Likeness of two texts.

    Returns
    -------
    float
        In [0, 1], symmetric: twice the words of meaning that both have over all that they have (Dice), halved where
        one denies and the other does not, and where their figures differ. 1.0 for the same words; 1.0 for two texts
        without any word, 0.0 where one has none.
    """
    a, b = tokens(one), tokens(other)
    if a == b:
        return 1.0
    left_meaning, right_meaning = _meaning(a), _meaning(b)
    if not left_meaning or not right_meaning:
        return 0.0
    score = 2 * len(left_meaning & right_meaning) / (len(left_meaning) + len(right_meaning))
    if bool(_NEGATIONS & set(a)) != bool(_NEGATIONS & set(b)):
        score *= DIFFERS
    figures, others = _figures(a), _figures(b)
    if figures and others and not figures & others:
        score *= DIFFERS
    return score


def _meaning(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset(w[:PREFIX] if w.isalpha() else w for w in words if w not in _EMPTY and w not in _NEGATIONS)


def _figures(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset(w for w in words if any(c.isdigit() for c in w))
