"""The better matcher: how sure it is of each expert, said as a probability; and when it abstains.

    score of an expert        weighed sum of its features (agents/matching/prepared.py)
    confidence                logistic of the score, and of how far it is above the best other one: that this expert is
                              a right lead
    relevance                 logistic of the score, and of how far it is below the best one: that it has a part
    abstention                where the best score is below a bound; where the only expert is no likely lead; where
                              nothing is left of the prompt; where it is in a language that is not read

The figures below were chosen on the golden set's half to develop on and on the invented registries to develop on
(research/parley_research/golden, research/parley_research/registries/dev.jsonl), for the encoder and for words alone.
They are of features, not of experts.
"""

from typing import NamedTuple

import numpy as np

from parley.agents.encoders.base import Vectors
from parley.agents.matching import words
from parley.agents.matching.prepared import Floats, Prepared, ReadTask
from parley.agents.matching.word_roots import root, roots, stands_in
from parley.schemas.expert import ExpertSpec
from parley.schemas.routing import Candidate, Factors, Matched

CANDIDATE = 0.4
"""Relevance from which on an expert is a candidate; from 0.5 on it claims (seeds/madp.md 2.1)."""
_TAKES_PART = 0.3
"""Chance of a part in the task that counts as CANDIDATE: few experts have one, so the chance is small where it
matters."""
_HARDLY_LEADS = 0.15
"""Confidence below which an expert's domain is not held against those of others: that two hardly lead says nothing."""
_ALONE = 0.5
"""Confidence from which on an expert without others takes a task: nothing but its own score speaks for it."""
_VAGUE = frozenset(root(v) for v in words.VAGUE_VERBS if " " not in v)


class Scale(NamedTuple):
    """How a score is read."""

    weights: tuple[float, ...]
    """Of each Feature."""
    least: float
    """Score of the best below which a task is nobody's."""
    lead: tuple[float, float, float]
    """Of 1, the score, and how far it is above the best other: the logit of confidence."""
    part: tuple[float, float, float]
    """Of 1, the score, and how far it is below the best: the logit of having a part."""


BY_ENCODER = Scale(
    weights=(0.05, 0.025, 2.0, 0.25, -0.75, 0.2, 0.3, 0.5),
    least=0.23, lead=(-2.6, 7.7, 5.9), part=(-4.2, 13.2, -9.4),
)  # fmt: skip
BY_WORDS = Scale(
    weights=(0.05, 0.025, 2.0, 1.0, -0.5, 0.0, 0.0, 0.0),
    least=0.08, lead=(-1.7, 8.0, 0.0), part=(-2.2, 9.4, -3.5),
)  # fmt: skip


def judged(scale: Scale, features: Floats) -> tuple[Floats, Floats, bool]:
    """(confidence, relevance) of each expert, 0 to 1, and whether the task is anybody's; relevance is not below
    confidence. At least one expert."""
    scores = features @ np.array(scale.weights)
    best = scores.max()
    others = np.where(scores == best, np.partition(scores, -2)[-2] if len(scores) > 1 else best, best)
    one = np.ones_like(scores)
    lead = _chance(np.column_stack([one, scores, scores - others]) @ np.array(scale.lead))
    part = _chance(np.column_stack([one, scores, best - scores]) @ np.array(scale.part))
    odds = part / (1 - part) * (1 - _TAKES_PART) / _TAKES_PART
    part = odds / (odds + 1 / CANDIDATE - 1)
    is_taken = best >= scale.least and (len(scores) > 1 or lead[0] >= _ALONE)
    return lead, np.maximum(lead, part), bool(is_taken)


def _chance(logits: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -30, 30))))


def _scale(vector: Vectors | None) -> Scale:
    return BY_WORDS if vector is None else BY_ENCODER


def decide(prepared: Prepared, task_read: ReadTask, vector: Vectors | None) -> Matched:
    """The reply for one task that has been read.

    Parameters
    ----------
    vector
        What the encoder makes of it; None: words alone decide.
    """
    candidates: list[tuple[ExpertSpec, Candidate]] = []
    if prepared.specs and task_read.speaks:
        lead, part, is_taken = judged(_scale(vector), prepared.features(task_read, vector))
        first = int(lead.argmax())
        if is_taken:
            candidates = words.by_rank(
                [
                    (spec, _candidate(spec, lead[i], part[i], _why(spec, task_read)))
                    for i, spec in enumerate(prepared.specs)
                    if i == first or part[i] >= CANDIDATE
                ]
            )
    factors = Factors(
        candidate_count=len(candidates),
        confidence_variance=words.variance([c.confidence for _, c in candidates]),
        domain_overlap=words.has_overlapping_domains(
            [(s, c.confidence) for s, c in candidates if c.confidence >= _HARDLY_LEADS], task_read.reading.wanted_text
        ),
        action_clarity=not (set(task_read.reading.wanted) & _VAGUE)
        and "make better" not in task_read.task.prompt.lower(),
        scope_definition=bool(candidates),
    )
    name = "better" if prepared.encoded else "better, by words"
    return words.assembled(task_read.task, prepared.beside, candidates, factors, name)


def everybody(prepared: Prepared, task_read: ReadTask, vector: Vectors | None) -> list[tuple[ExpertSpec, Candidate]]:
    """Every expert, the most confident first, however unsure; none: nothing is left of the prompt."""
    if not prepared.specs or not (task_read.reading.words or task_read.task.files_mentioned):
        return []
    lead, part, _ = judged(_scale(vector), prepared.features(task_read, vector))
    candidates = [(spec, _candidate(spec, lead[i], part[i])) for i, spec in enumerate(prepared.specs)]
    return sorted(candidates, key=lambda c: (-c[1].confidence, -c[1].relevance, c[0].priority, c[0].id))


def _candidate(spec: ExpertSpec, lead: float, part: float, why: str = "") -> Candidate:
    return Candidate(expert=spec.id, relevance=round(float(part), 4), confidence=round(float(lead), 4), why=why)


def _why(spec: ExpertSpec, task_read: ReadTask) -> str:
    wanted = task_read.reading.wanted
    among = set(wanted)
    triggers = [t for t in (*spec.triggers.primary, *spec.triggers.secondary) if stands_in(roots(t), wanted)]
    near = [p for p in (*spec.domain.owns, *spec.triggers.examples) if len(among.intersection(roots(p))) > 1]
    count = words.files(spec, task_read.task)
    why = ", ".join([*triggers, *([f"{count} files"] if count else []), *near[:2]])
    return why[:200] or "its meaning"
