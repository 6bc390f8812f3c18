"""How near a place in a sentence is to the words of a question: what "about the asked subject" means here.

A rare word of the question counts more than one that stands in every sentence; a comma or an "and" between two words
puts them further apart; a word that only the heading above or the sentence before has counts a third, or two
thirds in a sentence about "it".
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from agents.retrieval.corpus import STOP, Sentence, refers, stem, word_set

KEPT = 20_000
IN_CONTEXT = 0.35
"""Closeness of a word that only the context has."""
MEANT = 0.7
"""The same in a sentence that begins with "it" or the like."""
REACH = 6.0
"""Words away at which closeness has lost half of what it can lose."""
FARTHEST = 0.3
"""Closeness of a word at the other end of a sentence."""
APART = {",": 2.0, ";": 5.0, ":": 2.0, "(": 2.0, ")": 2.0}
JOINING = word_set("and but while whereas than although unlike before after which")
RIVAL = 0.4
"""Weight of a place to which another thing of the subject's kind is nearer."""

_PART = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[,;:()]")
_NAME = re.compile(r"[A-Z][\w'’-]*(?:\s+[A-Z][\w'’-]*)+")
_KIN = (
    "build built construct erect dig dug builder", "found establish founder", "write wrote written author writer",
    "invent devise inventor", "lead led head chair direct leader director", "design draw drew drawn architect designer",
    "buy bought acquire purchase", "begin began begun start", "end finish", "open inaugurate", "own owner",
    "long length", "deep depth", "wide width", "high height tall", "heavy weigh weight", "cost price", "die death died",
    "born birth", "keep kept retain", "sell sold sale", "take took taken", "hold held", "make made", "win won winner",
    "pay paid", "lose lost loss", "break broke broken", "fall fell fallen", "grow grew", "rise rose risen", "fly flew",
    "sink sank sunk", "send sent", "spend spent", "meet met", "give gave given", "choose chose chosen",
    "run ran operate operator",
    "teach taught", "catch caught", "strike struck", "become became", "discover discoverer", "employ employee",
)  # fmt: skip
"""Forms that the stem misses, and words of one meaning; a list of English, to be added to."""
_FIRST: dict[str, str] = {}
for _group in _KIN:
    _stems = [stem(w) for w in _group.split()]
    _head = next((_FIRST[s] for s in _stems if s in _FIRST), _stems[0])
    _FIRST.update({s: _FIRST.get(s, _head) for s in _stems})


def kin(word: str) -> str:
    """The stem that stands for a stem and for others of one meaning: construct, erect and dig are build."""
    return _FIRST.get(word, word)


def weights(terms: Iterable[str], sentences: Sequence[Sentence]) -> dict[str, float]:
    """How much each word of a question counts, above 0: the rarer it is in the sentences, the more."""
    wanted = {kin(t) for t in terms}
    found = [{kin(s) for s in e.stems} for e in sentences]
    return {t: math.log(1 + (1 + len(found)) / (1 + sum(1 for f in found if t in f))) for t in sorted(wanted)}


def near(terms: Mapping[str, float], names: frozenset[str], sentence: Sentence, start: int, end: int) -> float:
    """0 to 1: how near the characters from `start` to `end` of a sentence stand to the words of a question.

    `names` are the stems of the names in the question.
    """
    if not terms:
        return 0.5
    laid = _laid(sentence.text)
    here = (
        [at for _, s, e, at in laid if s < end and e > start] or [at for _, s, _, at in laid if s >= start][:1] or [0]
    )
    around = {kin(s) for s in sentence.context}
    total = 0.0
    for term, weight in terms.items():
        away = [min(abs(at - here[0]), abs(at - here[-1])) for word, s, e, at in laid
                if word == term and not (s < end and e > start)]  # fmt: skip
        if away:
            total += weight * (FARTHEST + (1 - FARTHEST) / (1 + max(0.0, min(away) - 1) / REACH))
        elif term in around:
            total += weight * (MEANT if refers(sentence) else IN_CONTEXT)
    value = total / sum(terms.values())
    return value * RIVAL if _rivalled(names, sentence.text, start) else value


def covered(terms: Iterable[str], sentence: Sentence, context: float = 0.5) -> float:
    """Share of the words of a question that stand in a sentence; those that its context has count `context`."""
    wanted = {kin(t) for t in terms}
    inside = wanted & {kin(s) for s in sentence.stems}
    around = (wanted & {kin(s) for s in sentence.context}) - inside
    return (len(inside) + context * len(around)) / max(1, len(wanted))


def _rivalled(names: frozenset[str], text: str, at: int) -> bool:
    """Whether another name that ends like the one asked about is nearer: Kiel Canal, where Suez Canal is asked."""
    mine: list[int] = []
    others: list[int] = []
    for m in _NAME.finditer(text):
        parts = [w.lower().removesuffix("'s") for w in m[0].replace("’", "'").split()]
        parts = [stem(p) for p in parts if p not in STOP]
        if not parts or parts[-1] not in names:
            continue
        (mine if all(p in names for p in parts) else others).append(abs(m.start() - at))
    return bool(others) and min(others) < min(mine, default=10_000)


@lru_cache(maxsize=KEPT)
def _laid(text: str) -> tuple[tuple[str, int, int, float], ...]:
    """(stem, start, end, place) of each word; signs and joining words lengthen the way."""
    found = []
    at = 0.0
    for m in _PART.finditer(text):
        if m[0] in APART:
            at += APART[m[0]]
            continue
        word = m[0].lower().replace("’", "'").removesuffix("'s")
        at += 4.0 if word in JOINING else 1.0
        found.append((kin(stem(word)), m.start(), m.end(), at))
    return tuple(found)
