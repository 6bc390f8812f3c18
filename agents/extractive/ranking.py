"""Finds the sentence that answers a question, and how sure that is.

Of all sentences, rows, items and lines of code those are looked at that have most of the question's words, words that
are rare in the documents counting more. How sure it is that the first one answers comes from a logistic regression over
four figures; research/parley_research/fit_extractive.py fits it on questions that it is not reported on.

    covered   share of the question's words, by their rarity
    around    the same with the headings above and the sentence before
    margin    how far it is ahead of the next one that says something else
    near      cosine of the encoder's vectors of question and sentence; absent without an encoder
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from parley.agents.extractive.evidence import EvidenceSentence
from parley.agents.extractive.question import DATE, NAME, NUMBER, NUMERAL, WHY, YEAR, ParsedQuestion
from parley.agents.retrieval.corpus import stems
from parley.agents.text.words import words

LOOKED_AT = 8
"""Sentences that go through the encoder."""
FARTHEST = 1.5
"""Margin of the only one."""
ALIKE = 0.6
"""Share of common words from which two sentences say the same."""
BY_ENCODER = (2.4, 3.4, 0.4, 3.0, -4.5)
"""Weights of the figures, and the constant."""
BY_WORDS = (3.0, 3.1, 0.4, -3.0)

_SMALL_ELSEWHERE = (
    "zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|zwanzig|dreißig|hundert|tausend|einmal|zweimal|dreimal|"
    "jährlich|monatlich|wöchentlich|täglich|deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze|douze|vingt|trente|cent|"
    "mille|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|veinte|treinta|cien|mil|dois|duas|três|quatro|sete|oito|"
    "nove|dez|vinte|cada \\w+|chaque \\w+|tou(?:te)?s les \\w+|jede[nrs]? \\w+|"
    "два|две|три|четыре|пять|шесть|семь|восемь|девять|десять"
)
_CHINESE = "[一二两三四五六七八九十百千万半每]"
_NUMBER = re.compile(rf"{NUMERAL}|\b(?:{_SMALL_ELSEWHERE})\b|{_CHINESE}+[^\W\d_]", re.I)
_YEAR = re.compile(r"\b1\d{3}\b|\b20\d\d\b")
_DATE = re.compile(
    r"\b\d{4}s?\b|\b\d{1,2}(?:st|nd|rd|th)\b|\bcentur(?:y|ies)\b|\b(?:January|February|March|April|May|June|July|August|"
    r"September|October|November|December|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)\b|\b\d{1,2}:\d\d\b|"
    r"\b(?:Jan|Febr)uar\b|\bMärz\b|\bMai\b|\bJu[nl]i\b|\bOktober\b|\bDezember\b|\w+tags?\b|\b\d+ (?:Uhr|h)\b|"
    r"\b(?:janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre|lundi|mardi|mercredi|"
    r"jeudi|vendredi|samedi|dimanche|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|"
    r"diciembre|lunes|martes|miércoles|jueves|viernes|sábado|domingo|hasta|bis|seit|jusqu|depuis|desde)\b|"
    rf"(?:\d|{_CHINESE})[年月日号点]|"
    r"\b\d+ ?(?:am|pm|BC|AD)\b|\b(?:when|after|before|during|until|since|every|daily|weekly|monthly|ago|night)\b"
)
_NAME = re.compile(
    r"(?<![.!?]\s)(?<!^)\b(?!(?:Jan|Febr)uary|March|April|May|June|July|August|(?:Sept|Nov|Dec)ember|October|"
    r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)[A-ZÀ-ÝА-Я][\w’'-]*"
    r"|[\u4e00-\u9fff]{2}"
)
_REASON = re.compile(
    r"\b(?:because|due|since|so|therefore|reason\w*|caus\w+|to|as|for|result\w*|led|otherwise|would|would|which|weil|"
    r"da|denn|damit|wegen|sonst|deshalb|um|car|parce|puisque|afin|pour|sinon|porque|pues|debido|para|pois|потому|чтобы)\b|"
    r"因为|由于|以便|否则|为了",
    re.I,
)
_KINDS = {NUMBER: _NUMBER, YEAR: _YEAR, DATE: _DATE, NAME: _NAME, WHY: _REASON}


@dataclass(frozen=True, slots=True)
class ScoredSentence:
    """A sentence that was looked at."""

    evidence: EvidenceSentence
    covered: float
    around: float
    order: float
    """What it is ranked by."""
    near: float | None = None
    context: frozenset[str] = frozenset()
    """Stems of what stands around it."""


def looked_at(question: ParsedQuestion, evidence: Sequence[EvidenceSentence]) -> list[ScoredSentence]:
    """The sentences that have most of the question's words, the best first."""
    has = [frozenset(e.sentence.stems) for e in evidence]
    count = {t: sum(t in h for h in has) for t in question.terms}
    weight = {t: math.log(1 + (1 + len(has)) / (1 + n)) for t, n in count.items()}
    about = {e.document: frozenset(stems(re.sub(r"\.\w+$", "", e.document), question.language)) for e in evidence}
    ranked = []
    for i, (e, own) in enumerate(zip(evidence, has, strict=True)):
        if own.isdisjoint(weight):
            continue
        before = has[i - 1] if i and evidence[i - 1].document == e.document else frozenset()
        covered = _share(weight, own)
        context = before | about[e.document] | set(e.sentence.context)
        around = _share(weight, own | context)
        order = 2 * covered + 0.6 * around + 0.4 * fits(question, e.sentence.text)
        ranked.append(ScoredSentence(e, covered, around, order, context=context))
    return _ordered(ranked)[:LOOKED_AT]


def _share(weight: Mapping[str, float], text_stems: Set[str]) -> float:
    """Share of the weight of words that stands there."""
    return sum(w for t, w in weight.items() if t in text_stems) / sum(weight.values())


def _ordered(looked: Iterable[ScoredSentence]) -> list[ScoredSentence]:
    return sorted(looked, key=lambda x: (-round(x.order, 6), x.evidence.sentence.text, x.evidence.document))


def fits(question: ParsedQuestion, text: str) -> float:
    """1 if a text has something of the kind that a question asks for and that is not in the question; 0.5 if what
    stands beside a figure there is not what is asked for."""
    pattern = _KINDS.get(question.kind)
    if pattern is None:
        return 1.0
    question_words = set(words(question.text))
    if not any(not question_words.issuperset(words(m[0])) for m in pattern.finditer(text)):
        return 0.0
    return 1.0 if not question.unit or re.search(question.unit, text, re.I) else 0.5


def rank_by_cosine(looked: Sequence[ScoredSentence], cosines: Sequence[float]) -> list[ScoredSentence]:
    """In the order that the encoder's cosines make."""
    return _ordered(replace(x, near=c, order=x.order + c) for x, c in zip(looked, cosines, strict=True))


def sureness(looked: Sequence[ScoredSentence]) -> float:
    """0 to 1: how likely the first answers the question."""
    figures = figures_of(looked)
    weights = BY_ENCODER if len(figures) == len(BY_ENCODER) - 1 else BY_WORDS
    return 1 / (1 + math.exp(-sum(w * x for w, x in zip(weights, (*figures, 1.0), strict=True))))


def figures_of(looked: Sequence[ScoredSentence]) -> tuple[float, ...]:
    """What the regression goes by."""
    first, *rest = looked
    margin = next((first.order - x.order for x in rest if not alike(first.evidence, x.evidence)), FARTHEST)
    near = () if first.near is None else (first.near,)
    return (first.covered, first.around, min(FARTHEST, margin), *near)


def alike(one: EvidenceSentence, other: EvidenceSentence) -> bool:
    """Whether two sentences say about the same in the same words."""
    a, b = set(one.sentence.stems), set(other.sentence.stems)
    return len(a & b) >= ALIKE * len(a | b)
