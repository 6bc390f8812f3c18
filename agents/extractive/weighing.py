"""From sentences to beliefs: which answers the evidence offers, and how much of it speaks for and against each.

A seat's own documents count in full. What others quote counts with a discount: it is one sentence picked by somebody
who argues for it. Sums are damped, so that ten sentences saying the same are not ten times one.
"""

import math
from collections.abc import Sequence

from agents.extractive import facts, stance
from agents.extractive.evidence import Evidence, PossibleAnswer, ReadSentence, Weighed, candidate
from agents.extractive.nearness import covered
from agents.extractive.question import FIGURE, NAME, OPTIONS, YES_NO, Question
from agents.retrieval.bm25 import relevance
from agents.retrieval.corpus import Sentence

HEARD = 0.7
"""Weight of a sentence that another quotes, against one in the seat's own documents."""
INHERITED = 0.5
"""Weight of a sentence whose subject only the heading above it, or the sentence before, names."""
NEUTRAL = 0.15
"""What naming an option without praise or blame says for it."""
TEMPERATURE = 1.0
SHARP = 0.5
"""Temperature for figures and names: one sentence that states the fact settles it."""
THIN = 0.2
"""What one sentence alone takes off the belief in an answer; a second leaves a quarter of that."""


def candidates(question: Question, evidence: Sequence[Evidence]) -> list[PossibleAnswer]:
    """Possible answers, by what speaks for them; empty where the evidence says nothing to the question."""
    reads = [
        ReadSentence(e, rel, (1.0 if e.own else HEARD) * stance.firmness(e.sentence) * stance.source_weight(e.document))
        for e, rel in zip(evidence, _relevances(question, evidence), strict=True)
    ]
    if question.kind == OPTIONS:
        found = _options(question, reads)
    elif question.kind == YES_NO:
        found = facts.yes_no(question, reads)
    elif question.kind in (FIGURE, NAME):
        found = facts.find(question, reads)
    else:
        found = _open(question, reads)
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


def beliefs(question: Question, found: Sequence[PossibleAnswer]) -> dict[str, float]:
    """Share of belief of each candidate; some is kept for none of them where little speaks for it."""
    temperature = SHARP if question.kind in (FIGURE, NAME) else TEMPERATURE
    most = max(c.score for c in found)
    raised = [math.exp((c.score - most) / temperature) for c in found]
    whole = sum(raised) + (0.0 if question.kind in (OPTIONS, YES_NO) else math.exp(-most / temperature))
    return {c.text: r / whole * (1 - THIN * 0.25 ** (_speaking(c) - 1)) for c, r in zip(found, raised, strict=True)}


def _speaking(c: PossibleAnswer) -> int:
    """Sentences that speak for an answer, those left out that weigh next to nothing beside the best; at least 1."""
    values = [w.value for w in c.weighed if w.value > 0]
    return max(1, sum(1 for v in values if v >= 0.25 * max(values)))


def _options(question: Question, reads: Sequence[ReadSentence]) -> list[PossibleAnswer]:
    found = []
    turned = -1.0 if question.negated else 1.0
    for i, (text, marks) in enumerate(zip(question.options, question.marks, strict=True)):
        rivals = frozenset().union(*(m for j, m in enumerate(question.marks) if j != i)) - marks
        weighed = []
        for r in reads:
            e = r.evidence
            named, value = stance.about(e.sentence.text, marks, rivals)
            if not named and e.own and not rivals & set(e.sentence.stems):
                named = INHERITED * (len(marks & set(e.sentence.context)) == len(marks))
                value = stance.polarity(e.sentence.text) if not rivals & set(e.sentence.context) else 0.0
                if not value:
                    continue
            if named:
                value = turned * (value or NEUTRAL)
                weighed.append(Weighed(r.weight * named * (0.4 + 0.6 * r.relevance) * value, e))
        found.append(candidate(text, weighed))
    return found if any(c.weighed for c in found) else []


def _open(question: Question, reads: Sequence[ReadSentence]) -> list[PossibleAnswer]:
    ranked = sorted(
        (
            Weighed(r.weight * r.relevance, r.evidence)
            for r in reads
            if r.relevance > 0.2 and covered(question.terms, r.evidence.sentence, 1.0) >= _least(question)
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
    return [candidate(clean(c[0].evidence.sentence.text), c) for c in clusters]


def _least(question: Question) -> float:
    """Share of the question's words that is two of them, or the one that there is."""
    return min(2, len(question.terms)) / max(1, len(question.terms)) - 1e-9


def _alike(a: Sentence, b: Sentence) -> float:
    one, two = set(a.stems), set(b.stems)
    return len(one & two) / max(1, len(one | two))


def clean(text: str) -> str:
    """A sentence as an answer: without control characters, in one line."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
