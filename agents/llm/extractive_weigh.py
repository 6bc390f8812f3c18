"""From sentences to beliefs: which answers the evidence offers, and how much of it speaks for and against each.

A seat's own documents count in full. What others quote counts with a discount: it is one sentence picked by somebody
who argues for it. Sums are damped, so that ten sentences saying the same are not ten times one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from agents.llm import extractive_figures as figures
from agents.llm import extractive_stance as stance
from agents.llm.extractive_question import FIGURE, NAME, OPTIONS, YES_NO, Question
from agents.retrieval.bm25 import relevance
from agents.retrieval.corpus import Sentence

HEARD = 0.7
"""Weight of a sentence that another quotes, against one in the seat's own documents."""
DAMPING = 0.8
"""Each further sentence for the same answer counts this much of the one before."""
INHERITED = 0.5
"""Weight of a sentence whose subject only the heading above it, or the sentence before, names."""
NEUTRAL = 0.15
"""What naming an option without praise or blame says for it."""
TEMPERATURE = 1.0
SHARP = 0.5
"""Temperature for figures and names: one sentence that states the fact settles it."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A sentence that may speak for an answer."""

    sentence: Sentence
    document: str
    own: bool
    """It stands in a document that this seat holds."""
    new: bool = False
    """Another quoted it, and this seat neither holds it nor quoted it in its last position."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """What one sentence says about one answer: above 0 for it, below 0 against it."""

    value: float
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible answer and what speaks for and against it."""

    text: str
    weighed: tuple[Weighed, ...]
    score: float


def candidates(question: Question, evidence: Sequence[Evidence]) -> list[Candidate]:
    """Possible answers, by what speaks for them; empty where the evidence says nothing to the question."""
    relevances = _relevances(question, evidence)
    weights = [
        (HEARD if not e.own else 1.0) * stance.firmness(e.sentence) * stance.source_weight(e.document) for e in evidence
    ]
    if question.kind == OPTIONS:
        found = _options(question, evidence, relevances, weights)
    elif question.kind == YES_NO:
        found = _yes_no(question, evidence, relevances, weights)
    else:
        found = []
        if question.kind in (FIGURE, NAME):
            found = _figures(question, evidence, relevances, weights)
        if not found:
            found = _open(question, evidence, relevances, weights)
    return sorted(found, key=lambda c: (-c.score, c.text))


def _relevances(question: Question, evidence: Sequence[Evidence]) -> list[float]:
    """0 to 1: BM25, and how many of the question's words stand in the sentence (in its context they count half)."""
    terms = set(question.terms)
    found = relevance(question.terms, [e.sentence.stems + e.sentence.context for e in evidence])
    covered = []
    for e in evidence:
        inside = terms & set(e.sentence.stems)
        around = (terms & set(e.sentence.context)) - inside
        covered.append((len(inside) + 0.5 * len(around)) / max(1, len(terms)))
    return [r * (0.3 + 0.7 * c) for r, c in zip(found, covered, strict=True)]


def beliefs(question: Question, found: Sequence[Candidate]) -> dict[str, float]:
    """Share of belief of each candidate; where the question lists no answers, some is kept for none of them."""
    temperature = SHARP if question.kind in (FIGURE, NAME) else TEMPERATURE
    most = max(c.score for c in found)
    raised = [math.exp((c.score - most) / temperature) for c in found]
    whole = sum(raised) + (0.0 if question.kind in (OPTIONS, YES_NO) else math.exp(-most / temperature))
    return {c.text: r / whole for c, r in zip(found, raised, strict=True)}


def _candidate(text: str, weighed: list[Weighed]) -> Candidate:
    ordered = sorted(weighed, key=lambda w: (-abs(w.value), not w.evidence.own, w.evidence.sentence.text))
    return Candidate(text, tuple(ordered), sum(w.value * DAMPING**i for i, w in enumerate(ordered)))


def _options(
    question: Question, evidence: Sequence[Evidence], relevances: Sequence[float], weights: Sequence[float]
) -> list[Candidate]:
    found = []
    for i, (text, marks) in enumerate(zip(question.options, question.marks, strict=True)):
        rivals = frozenset().union(*(m for j, m in enumerate(question.marks) if j != i)) - marks
        weighed = []
        for e, rel, weight in zip(evidence, relevances, weights, strict=True):
            named, value = stance.about(e.sentence.text, marks, rivals)
            if not named and e.own and not rivals & set(e.sentence.stems):
                named = INHERITED * (len(marks & set(e.sentence.context)) == len(marks))
                value = stance.polarity(e.sentence.text) if not rivals & set(e.sentence.context) else 0.0
                if not value:
                    continue
            if named:
                weighed.append(Weighed(weight * named * (0.4 + 0.6 * rel) * (value or NEUTRAL), e))
        found.append(_candidate(text, weighed))
    return found if any(c.weighed for c in found) else []


def _yes_no(
    question: Question, evidence: Sequence[Evidence], relevances: Sequence[float], weights: Sequence[float]
) -> list[Candidate]:
    sides: dict[str, list[Weighed]] = {"Yes": [], "No": []}
    turned = -1.0 if stance.is_reversed(question.text) else 1.0
    terms = set(question.terms)
    for e, rel, weight in zip(evidence, relevances, weights, strict=True):
        covered = len(terms & set(e.sentence.stems)) / max(1, len(terms))
        value = turned * stance.polarity(e.sentence.text)
        if covered >= 0.6 and (not question.evaluative or not value):
            value = covered * (-1.0 if stance.is_negated(e.sentence) else 1.0)
            value *= 1.0 if not question.evaluative else 0.5
        elif rel < 0.15:
            continue
        if value:
            side = "Yes" if value > 0 else "No"
            sides[side].append(Weighed(weight * rel * abs(value), e))
    return [_candidate(text, weighed) for text, weighed in sides.items()] if any(sides.values()) else []


def _figures(
    question: Question, evidence: Sequence[Evidence], relevances: Sequence[float], weights: Sequence[float]
) -> list[Candidate]:
    found: dict[str, tuple[str, list[Weighed]]] = {}
    for e, rel, weight in zip(evidence, relevances, weights, strict=True):
        offered = dict(figures.find(question, e.sentence))
        if rel <= 0 or not offered:
            continue
        value = stance.polarity(e.sentence.text, frozenset(question.terms))
        if stance.is_norm(e.sentence):
            value = max(value, 0.0) + 0.6
        value = value if value < 0 else 1.0 + 0.5 * min(value, 1.0)
        for key, text in offered.items():
            found.setdefault(key, (text, []))[1].append(Weighed(weight * rel * value / math.sqrt(len(offered)), e))
    return [_candidate(text, weighed) for text, weighed in found.values()]


def _open(
    question: Question, evidence: Sequence[Evidence], relevances: Sequence[float], weights: Sequence[float]
) -> list[Candidate]:
    terms = set(question.terms)
    ranked = sorted(
        (
            Weighed(weight * rel, e)
            for e, rel, weight in zip(evidence, relevances, weights, strict=True)
            if rel > 0.2 and len(terms & set(e.sentence.stems + e.sentence.context)) >= min(2, len(terms))
        ),
        key=lambda w: (-w.value, w.evidence.sentence.text),
    )
    clusters: list[list[Weighed]] = []
    for w in ranked[:12]:
        for cluster in clusters:
            if _alike(cluster[0].evidence.sentence, w.evidence.sentence) >= 0.4:
                cluster.append(w)
                break
        else:
            clusters.append([w])
    return [_candidate(clean(c[0].evidence.sentence.text), c) for c in clusters]


def _alike(a: Sentence, b: Sentence) -> float:
    one, two = set(a.stems), set(b.stems)
    return len(one & two) / max(1, len(one | two))


def clean(text: str) -> str:
    """A sentence as an answer: without control characters, in one line."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
