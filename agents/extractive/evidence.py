"""Sentences that speak for or against an answer, and how much each of them counts."""

from collections.abc import Iterable
from dataclasses import dataclass

from parley.agents.retrieval.corpus import Sentence

DAMPING = 0.8
"""Each further sentence for the same answer counts this much of the one before."""


@dataclass(frozen=True, slots=True)
class EvidenceSentence:
    """A sentence that may speak for an answer."""

    sentence: Sentence
    document: str
    own: bool
    """It stands in a document that this seat holds."""
    new: bool = False
    """Another quoted it, and this seat neither holds it nor quoted it in its last position."""
    heading: bool = False


@dataclass(frozen=True, slots=True)
class Weighed:
    """What one sentence says about one answer: above 0 for it, below 0 against it."""

    value: float
    evidence: EvidenceSentence


@dataclass(frozen=True, slots=True)
class PossibleAnswer:
    """A possible answer and what speaks for and against it."""

    text: str
    weighed: tuple[Weighed, ...]
    score: float


def candidate(text: str, weighed: Iterable[Weighed]) -> PossibleAnswer:
    """A candidate from what is said about it; further sentences count less and less."""
    ordered = sorted(weighed, key=lambda w: (-abs(w.value), not w.evidence.own, w.evidence.sentence.text))
    return PossibleAnswer(text, tuple(ordered), sum(w.value * DAMPING**i for i, w in enumerate(ordered)))
