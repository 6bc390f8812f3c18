"""Finds answers that read the same, without a language model: what the extractive model goes by when it compares.

An analyst with a language model goes by the sentences of agents/prompts/same_answer.md. Either way it is a judgement,
and the seats sign.
"""

from collections.abc import Sequence

from parley.agents.extractive.question import NEGATORS
from parley.agents.retrieval.corpus import sentence, stem
from parley.schemas.text import answer_key

_AROUND = ".,;:!?\"'“”‘’„«»()[]"
"""Punctuation at the ends of a word; other signs (`C++`, `< 5`) belong to it."""
_ARTICLES = frozenset({"a", "an", "the"})


def grouped(answers: Sequence[str]) -> list[list[int]]:
    """Places of the answers that are the same but for the case and endings of words, punctuation and articles.

    Groups stand in the order of their first answers. Every other word and sign counts, and so does their order: "no"
    and "over" make another answer. Answers that would be one outcome are in one group whatever their words are.

    Examples
    --------
    >>> grouped(["the worn impellers", "air", "Worn impeller", "no worn impeller", "C++", "C#"])
    [[0, 2], [1], [3], [4], [5]]
    """
    groups: dict[object, list[int]] = {}
    keys: dict[str, object] = {}
    for place, answer in enumerate(answers):
        groups.setdefault(keys.setdefault(answer_key(answer), _key(answer)), []).append(place)
    return list(groups.values())


def alike(one: str, other: str) -> bool:
    """Whether two answers read the same.

    Examples
    --------
    >>> alike("The worn impellers.", "worn impeller"), alike("C++", "C#"), alike("> 5 ms", "< 5 ms")
    (True, False, False)
    """
    return _key(one) == _key(other)


def agreement(a: str, b: str) -> float:
    """How near two answers are, 0 to 1: 1 the same; up to 0.5 texts that share less than most of their words."""
    if alike(a, b):
        return 1.0
    first, second = sentence(a), sentence(b)
    if NEGATORS.isdisjoint(first.words) != NEGATORS.isdisjoint(second.words):
        return 0.0
    figures = [{w for w in s.words if w[0].isdigit()} for s in (first, second)]
    if figures[0] != figures[1]:
        return 0.0
    left, right = set(first.stems or first.words), set(second.stems or second.words)
    shared = len(left & right) / max(1, len(left | right))
    return 0.5 * shared if shared < 0.6 else shared


def _small(word: str) -> str:
    """A word without its case, unless case may be all that it says: `mW`, `MW`, `kHz`, `US`."""
    usual = len(word) > 2 and (word.isupper() or word[1:] == word[1:].lower())
    small = word.casefold()
    return small if usual or small in _ARTICLES or small == "no" else word


def _key(answer: str) -> tuple[str, ...]:
    words = [_small(w.strip(_AROUND)) for w in answer.split()]
    return tuple(stem(w) if w.isalpha() else w for w in words if w and w not in _ARTICLES) or (answer_key(answer),)
