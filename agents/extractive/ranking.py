"""Which sentence answers a question, and how sure that is.

Of all sentences, rows, items and lines of code those are looked at that have most of the question's words, rare ones
counting more. How sure it is that one answers comes from a logistic regression over a few figures, all 0 to 1; its
weights are fitted by `python -m evaluation extractive --fit` on questions that are not those that it is reported on.

    covered   weight of the question's words in the sentence, by how rare they are in English
    local     the same, by how rare they are in the documents
    around    the same as `covered`, with the headings above and the sentence before
    names     share of the question's names and figures in the sentence
    known     the same in all documents
    fits      it has something of the kind asked for that is not in the question
    margin    how far it is ahead of the next one that says something else
    near      cosine of the encoder's vectors of question and sentence; without an encoder: absent
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from agents.encoders.embedded import FOLDER
from agents.extractive.evidence import Evidence
from agents.extractive.question import DATE, NAME, NUMBER, WHY, YEAR, Question
from agents.retrieval.corpus import stem, words

LOOKED_AT = 8
"""Sentences that go through the encoder."""
ALIKE = 0.6
"""Share of common words from which two sentences say the same."""
FIGURES = ("covered", "local", "around", "names", "known", "fits", "margin")
NEAR = 1.0
"""Weight of the cosine in the order."""
BY_ENCODER: tuple[float, ...] = (1.0,) * 9
BY_WORDS: tuple[float, ...] = (1.0,) * 8

_SMALL = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|"
    "eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|billion|half|"
    "third|quarter|both|none|once|twice|single|dozen|double|no|every|daily|weekly|monthly|yearly"
)
_NUMBER = re.compile(rf"\d[\d.,:]*|\b(?:{_SMALL})\b", re.I)
_YEAR = re.compile(r"\b1\d{3}\b|\b20\d\d\b")
_DATE = re.compile(
    r"\b\d{4}s?\b|\b\d{1,2}(?:st|nd|rd|th)\b|\bcentur(?:y|ies)\b|\b(?:January|February|March|April|May|June|July|August|"
    r"September|October|November|December|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)\b|\b\d{1,2}:\d\d\b|"
    r"\b\d+ ?(?:am|pm|BC|AD)\b|\b(?:when|after|before|during|until|since|every|daily|weekly|monthly|ago|night)\b"
)
_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[A-Z][\w’'-]*")
_REASON = re.compile(
    r"\b(?:because|due|since|so|therefore|reason\w*|caus\w+|to|as|for|result\w*|led|otherwise|would|would|which)\b", re.I
)
_KINDS = {NUMBER: _NUMBER, YEAR: _YEAR, DATE: _DATE, NAME: _NAME, WHY: _REASON}


@dataclass(frozen=True, slots=True)
class Looked:
    """A sentence that was looked at."""

    evidence: Evidence
    figures: tuple[float, ...]
    """The first six of FIGURES."""
    order: float
    """What it is ranked by."""

    @property
    def covered(self) -> float:
        """Share of the question's weight that it has."""
        return self.figures[0]


@lru_cache(maxsize=1)
def _ranks() -> dict[str, int]:
    lines = (FOLDER / "vocab.txt").read_text(encoding="utf-8").split("\n")
    return {word: rank for rank, word in enumerate(lines)}


@lru_cache(maxsize=20_000)
def rarity(word: str) -> float:
    """How rare a word is in English, 4.6 to 10.5: the encoder's vocabulary is in the order of frequency."""
    if word[0].isdigit():
        return 9.0
    rank = _ranks().get(word)
    return 10.5 if rank is None else math.log(max(100, rank - 1_900))


def stems_of(evidence: Evidence) -> frozenset[str]:
    """The stems of a sentence, those of a row's headers among them."""
    s = evidence.sentence
    return frozenset(stem(w.removesuffix("'s")) for w in (*s.words, *(w for h in s.header for w in words(h))))


def looked_at(question: Question, evidence: Sequence[Evidence]) -> list[Looked]:
    """The sentences that have most of the question's words, the best first."""
    plain = _plain(question)
    if not plain or not evidence:
        return []
    has = [stems_of(e) for e in evidence]
    count = {t: sum(t in h for h in has) for t in plain}
    local = {t: math.log(1 + (1 + len(has)) / (1 + n)) for t, n in count.items()}
    known = _share(plain, {t for t, n in count.items() if n}, question.names)
    found = []
    for i, (e, h) in enumerate(zip(evidence, has, strict=True)):
        if h.isdisjoint(plain):
            continue
        near = has[i - 1] if i and evidence[i - 1].document == e.document else frozenset()
        figures = (
            _share(plain, h), _share(local, h), _share(plain, h | near | set(e.sentence.context)),
            _share(plain, h, question.names), known, float(fits(question, e.sentence.text)),
        )  # fmt: skip
        order = figures[0] + figures[1] + 0.6 * figures[2] + 0.4 * figures[5]
        found.append(Looked(e, figures, order))
    return sorted(found, key=lambda x: (-round(x.order, 6), x.evidence.sentence.text))[:LOOKED_AT]


def _plain(question: Question) -> dict[str, float]:
    """Stem -> rarity of the commonest word with it in the question."""
    wanted = set(question.terms)
    found: dict[str, float] = {}
    for w in words(question.text):
        s = stem(w.removesuffix("'s"))
        if s in wanted:
            found[s] = max(found.get(s, 0.0), rarity(w.removesuffix("'s")))
    return found | {t: rarity(t) for t in wanted - set(found)}


def _share(weight: dict[str, float], there: frozenset[str] | set[str], of: frozenset[str] | None = None) -> float:
    """Share of the weight of words (of some of them) that stands there; 1 where there are none."""
    wanted = weight if of is None else {t: w for t, w in weight.items() if t in of}
    return sum(w for t, w in wanted.items() if t in there) / sum(wanted.values()) if wanted else 1.0


def fits(question: Question, text: str) -> bool:
    """Whether a text has something of the kind that a question asks for, and that is not in the question."""
    pattern = _KINDS.get(question.kind)
    if pattern is None:
        return True
    asked = set(words(question.text))
    return any(not asked.issuperset(words(m[0])) for m in pattern.finditer(text))


def with_vectors(looked: Sequence[Looked], cosines: Sequence[float]) -> list[Looked]:
    """In the order that the encoder's cosines change; the cosine is the last of the figures."""
    found = [
        Looked(x.evidence, (*x.figures, round(c, 4)), x.order + NEAR * c) for x, c in zip(looked, cosines, strict=True)
    ]
    return sorted(found, key=lambda x: (-round(x.order, 6), x.evidence.sentence.text))


def sureness(looked: Sequence[Looked]) -> float:
    """0 to 1: how likely the first answers the question."""
    x = figures_of(looked)
    weights = BY_ENCODER if len(x) == len(BY_ENCODER) - 1 else BY_WORDS
    return 1 / (1 + math.exp(-sum(w * v for w, v in zip(weights, (*x, 1.0), strict=True))))


def figures_of(looked: Sequence[Looked]) -> tuple[float, ...]:
    """What the regression goes by: the first sentence's figures, with the margin over the next that says another."""
    first, *rest = looked
    margin = next((first.order - x.order for x in rest if not alike(first.evidence, x.evidence)), 1.5)
    return (*first.figures[:6], min(1.5, margin), *first.figures[6:])


def alike(one: Evidence, other: Evidence) -> bool:
    """Whether two sentences say about the same in the same words."""
    a, b = stems_of(one), stems_of(other)
    return len(a & b) >= ALIKE * len(a | b)
