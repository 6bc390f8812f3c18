"""Weighs what speaks for and against each possible answer, by praise and blame, for protocols that argue.

A seat that argues takes a side on little; whether that answers the question is another matter (deciding.py). A seat's
own documents count in full, what others quote at a discount, and sums are damped, so that ten sentences that say the
same are not ten times one.
"""

import math
from collections.abc import Sequence

from parley.agents.extractive import stance
from parley.agents.extractive.deciding import as_answer
from parley.agents.extractive.evidence import EvidenceSentence, PossibleAnswer, Weighed, candidate
from parley.agents.extractive.question import OPTIONS, YES_NO, ParsedQuestion
from parley.agents.extractive.ranking import alike, looked_at
from parley.agents.retrieval.bm25 import relevance
from parley.agents.retrieval.corpus import STOP, stem
from parley.agents.text.words import words

HEARD = 0.7
"""Weight of a sentence that another quotes, against one in the seat's own documents."""
INHERITED = 0.5
"""Weight of a sentence whose subject only the heading above it, or the sentence before, names."""
NEUTRAL = 0.15
"""What naming an option without praise or blame says for it."""
LEAST_COVERED = 0.3
"""Share of the question's words that a sentence has, with its context, which counts for yes or no."""
THIN = 0.2
"""What one sentence alone takes off the belief in an answer; a second leaves a quarter of that."""


def candidates(question: ParsedQuestion, evidence: Sequence[EvidenceSentence]) -> list[PossibleAnswer]:
    """Possible answers, by what speaks for them; empty where the evidence says nothing to the question."""
    if question.kind not in (OPTIONS, YES_NO):
        answers = _sentences(question, evidence)
    else:
        near = relevance(question.terms, [e.sentence.stems + e.sentence.context for e in evidence])
        reads = [(e, r, _weight(e)) for e, r in zip(evidence, near, strict=True) if r > 0 and not e.heading]
        answers = _options(question, reads) if question.kind == OPTIONS else _yes_no(question, reads)
    return sorted(answers, key=lambda c: (-c.score, c.text))


def beliefs(answers: Sequence[PossibleAnswer]) -> dict[str, float]:
    """Share of belief of each candidate."""
    most = max(c.score for c in answers)
    raised = [math.exp(c.score - most) for c in answers]
    return {
        c.text: r / sum(raised) * (1 - THIN * 0.25 ** (_speaking(c) - 1)) for c, r in zip(answers, raised, strict=True)
    }


def _weight(e: EvidenceSentence) -> float:
    return (1.0 if e.own else HEARD) * stance.firmness(e.sentence) * stance.source_weight(e.document)


def _speaking(c: PossibleAnswer) -> int:
    """Sentences that speak for an answer, those left out that weigh next to nothing beside the best; at least 1."""
    values = [w.value for w in c.weighed if w.value > 0]
    return max(1, sum(1 for v in values if v >= 0.25 * max(values)))


def marks(options: Sequence[str]) -> tuple[frozenset[str], ...]:
    """For each option the stems that only it has."""
    sets = [frozenset(stem(w) for w in words(o) if w not in STOP or len(words(o)) == 1) for o in options]
    common = frozenset.intersection(*sets)
    return tuple(s - common for s in sets)


def _options(question: ParsedQuestion, reads: Sequence[tuple[EvidenceSentence, float, float]]) -> list[PossibleAnswer]:
    answers = []
    turned = -1.0 if question.negated else 1.0
    every = marks(question.options)
    for i, (text, mine) in enumerate(zip(question.options, every, strict=True)):
        rivals = frozenset().union(*(m for j, m in enumerate(every) if j != i)) - mine
        weighed = []
        for e, near, weight in reads:
            named, value = stance.about(e.sentence.text, mine, rivals)
            if (
                not named
                and e.own
                and mine <= set(e.sentence.context)
                and not rivals & {*e.sentence.stems, *e.sentence.context}
            ):
                named, value = INHERITED, stance.polarity(e.sentence.text)
                if not value:
                    continue
            if named:
                weighed.append(Weighed(weight * named * (0.4 + 0.6 * near) * turned * (value or NEUTRAL), e))
        answers.append(candidate(text, weighed))
    return answers if any(c.weighed for c in answers) else []


def _yes_no(question: ParsedQuestion, reads: Sequence[tuple[EvidenceSentence, float, float]]) -> list[PossibleAnswer]:
    sides: tuple[list[Weighed], list[Weighed]] = ([], [])
    turned = -1.0 if stance.is_reversed(question.text) else 1.0
    for e, near, weight in reads:
        s = e.sentence
        stems = {*s.stems, *s.context}
        value = turned * stance.polarity(s.text)
        if value and len(stems & set(question.terms)) >= LEAST_COVERED * len(question.terms):
            sides[(value < 0) != question.negated].append(Weighed(weight * near * abs(value), e))
    pairs = zip(question.options, sides, strict=True)
    return [candidate(text, weighed) for text, weighed in pairs] if any(sides) else []


def _sentences(question: ParsedQuestion, evidence: Sequence[EvidenceSentence]) -> list[PossibleAnswer]:
    """The sentences that have most of the question's words, those together that say the same."""
    clusters: list[list[Weighed]] = []
    for x in looked_at(question, [e for e in evidence if not e.heading]):
        w = Weighed(_weight(x.evidence) * x.covered, x.evidence)
        cluster = next((c for c in clusters if alike(c[0].evidence, x.evidence)), None)
        if cluster is None:
            clusters.append([w])
        else:
            cluster.append(w)
    return [candidate(as_answer(c[0].evidence), c) for c in clusters]
