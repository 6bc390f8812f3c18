"""The better matcher: features of every expert, weighed; how sure it is, said as a probability; and when it abstains.

    score of an expert        weighed sum of its features (agents/matching/features.py)
    chance p of an expert     softmax of the scores
    confidence                logistic of log p, of the lead over the best other score, and of how much of the task
                              anybody's specification speaks to: that this expert is a right lead
    relevance                 the same with other weights, for whoever is not the likeliest lead: that it has a part
    named                     where the models know nothing of the field of whom a task names by a primary trigger, and
                              it names no other: he has 0.6 at least, and all others 0.4 at most; where subjects do
                              not tell experts apart, only the likeliest has it
    abstention                by a logistic of how much of the task anybody's specification speaks to, however many they
                              are and however like each other; where experts are for something else than software,
                              which that was not fitted for, by 2.1's `low` ("observe only") and what they say of it;
                              where subjects do not tell them apart, by both; where nothing is left of the prompt

Words alone decide first: where they are sure enough, the reader is not asked, which takes most of a match's time.

Weights stand in weights.json, fitted on the golden set's half to develop on, and on training tasks held back, by
`python -m parley_research.fit_routing`: for the reader and for words alone, and each with subjects and without. They
are of features, not of experts. Confidence and abstention are fitted among all shipped experts, and among one to ten
of them, where most tasks are nobody's.
"""

from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from parley.agents.encoders.base import Vectors
from parley.agents.matching import ranking, several, verbs, words
from parley.agents.matching.features import BY_SUBJECT, FOREIGN, NAMED, PARTS, Feature, Prepared, ReadTask, Scope
from parley.agents.matching.fitted import Fitted, Weights, chance, standing
from parley.agents.matching.fitted import weights as read_weights
from parley.agents.matching.subjects import NONE, Floats
from parley.agents.matching.word_roots import root, roots, stands_in
from parley.schemas.expert import ExpertSpec
from parley.schemas.routing import Candidate, Factors, Matched

FILE = Path(__file__).parent / "weights.json"
CANDIDATE = 0.4
"""Relevance from which on an expert is a candidate. Few experts have a part in a task, so the chance of it is small
where it matters; relevance is that chance on a scale on which it can be held against the thresholds of 2.1: from 0.5 on
an expert claims."""
_OF_SUBJECTS = np.isin(list(Scope), [Scope.NONE_BY_WORDS, Scope.NONE, Scope.THEIRS, Scope.THEIRS_BY_WORDS])
_HARDLY_LEADS = 0.15
"""Confidence below which an expert's domain is not held against those of others: that two hardly lead says nothing."""
_LIKE = 0.5
"""Cosine from which on an example is like a task."""
LEAST_OF_NAMED = 0.6
"""Confidence, at least, of whom a task names by a primary trigger and the models were not fitted for: they know no word
of his field, and take his tasks for others'."""
_SILENT = 100.0
"""Taken off the score of who says nothing of a task."""
_VAGUE = frozenset(root(v) for v in words.VAGUE_VERBS if " " not in v)


def weights() -> Weights:
    """The shipped ones."""
    return read_weights(FILE)


def described(scores: Floats, features: Floats, scope: Floats) -> Floats:
    """What confidence and relevance are computed from: (experts, 3 + BY_SUBJECT + PARTS + Scope)."""
    scopes = np.broadcast_to(scope, (len(scores), len(scope)))
    return np.hstack([standing(scores), features[:, [*BY_SUBJECT, *PARTS]], scopes])


def judged(fitted: Fitted, prepared: Prepared, features: Floats, scope: Floats) -> tuple[Floats, Floats]:
    """(confidence, relevance) of each expert, 0 to 1; relevance is not below confidence."""
    # Hundreds may be of something else: who says nothing of a task takes no part of its chances.
    silent = prepared.foreign & ~says_of_it(features)
    rows = described(features @ np.array(fitted.score) - _SILENT * silent, features, scope)
    # To whom no subject of software is home, it is no objection that a task is of none.
    of_subjects = np.where(_OF_SUBJECTS, scope, 0.0)

    def odds(of: tuple[float, ...]) -> Floats:
        w = np.array(of)
        return np.asarray(np.exp(rows @ w - prepared.foreign * (of_subjects @ w[-len(scope) :])))

    lead, part = odds(fitted.lead), odds(fitted.part) * (1 - fitted.takes_part) / fitted.takes_part
    lead, part = lead / (1 + lead), part / (part + 1 / CANDIDATE - 1)
    named = features[:, Feature.PRIMARY] > 0
    if named.any() and not (named & ~prepared.foreign).any():
        lead = np.where(named, np.maximum(lead, LEAST_OF_NAMED), np.minimum(lead, 1 - LEAST_OF_NAMED))
    return lead, np.maximum(lead, part)


def is_inside(fitted: Fitted, scope: Floats) -> bool:
    """Whether a task is anybody's."""
    w = np.array(fitted.inside)
    return bool(1 / (1 + np.exp(-(w[0] + scope @ w[1:]))) >= fitted.abstain)


def says_of_it(features: Floats) -> NDArray[np.bool_]:
    """(experts,): whether the specification names something of a task, or has an example like it."""
    return np.asarray((features[:, NAMED].max(axis=1) > 0) | (features[:, Feature.EXAMPLE] >= _LIKE))


def enough(prepared: Prepared, task_read: ReadTask) -> tuple[tuple[Floats, Floats] | None, bool]:
    """(the features by words alone, None where they say nothing; whether they are so sure of who leads that the reader
    need not be asked)."""
    if not prepared.specs or not task_read.reading.words or task_read.foreign:
        return None, False
    if not prepared.apart:
        ranks = prepared.ranks(task_read, None)
        lead, inside = leading(ranking.weights().words, *ranks)
        return ranks, inside and float(lead.max()) >= ranking.weights().enough
    if task_read.chances[NONE] > FOREIGN:
        return None, False
    fitted = weights().words
    features, scope = prepared.features(task_read, None)
    lead, _ = judged(fitted, prepared, features, scope)
    alone = several.chance_of(_by_words(task_read), None) < several.weights().ask
    return (features, scope), alone and is_inside(fitted, scope) and float(lead.max()) >= weights().enough


def _by_words(task_read: ReadTask) -> Floats:
    return several.by_words(task_read.reading.wanted_text, task_read.reading.wanted, len(task_read.parts))


def decide(
    prepared: Prepared, task_read: ReadTask, read_as: Vectors | None, measured: tuple[Floats, Floats] | None = None
) -> Matched:
    """The reply for one task that has been heard.

    Parameters
    ----------
    read_as : shape (subject_model.WIDTH,)
        What the reader makes of it; None: words alone decide.
    found
        Its features by words alone, where they are known already.
    """
    candidates: list[tuple[ExpertSpec, Candidate]] = []
    clear = True
    speaks = bool(task_read.reading.words) or bool(task_read.task.files_mentioned) or bool(task_read.parts)
    if prepared.specs and speaks and not task_read.foreign:
        if prepared.apart:
            fitted = weights().words if read_as is None else weights().read
            features, scope = measured if measured and read_as is None else prepared.features(task_read, read_as)
            lead, part = judged(fitted, prepared, features, scope)
            first = int(lead.argmax())
            watches = lead[first] >= prepared.specs[first].deliberation.confidence.low
            # who is of no subject of software takes what it says something of
            is_taken = (
                watches and bool(says_of_it(features)[first]) if prepared.foreign[first] else is_inside(fitted, scope)
            )
        else:
            rank = ranking.weights().words if read_as is None else ranking.weights().read
            ranks = prepared.ranks(task_read, read_as, measured[0] if measured else None)
            lead, part, is_taken = ranked(rank, *ranks)
            is_taken = is_taken and (read_as is None or not prepared.is_far(ranks[0]))
        lead, part, clear = verbs.adjusted(prepared.specs, task_read.reading.wanted, lead, part)
        sized = part
        if prepared.apart and clear:
            sized = several.sized(several.chance_of(_by_words(task_read), read_as), int(lead.argmax()), part, CANDIDATE)
        sized = verbs.sized(task_read.reading.wanted_text, task_read.reading.wanted, lead, sized, CANDIDATE)
        part = np.where(sized < CANDIDATE, sized, np.maximum(sized, part))  # who takes part is as relevant as before
        first = int(lead.argmax())
        if is_taken:
            candidates = words.by_rank(
                [
                    (spec, _candidate(spec, lead[i], part[i]))
                    for i, spec in enumerate(prepared.specs)
                    if i == first or part[i] >= CANDIDATE
                ]
            )
    wanted = task_read.reading.wanted
    candidates = [(spec, msgspec.structs.replace(c, why=_why(spec, task_read))) for spec, c in candidates]
    factors = Factors(
        candidate_count=len(candidates),
        confidence_variance=words.variance([c.confidence for _, c in candidates]),
        domain_overlap=not clear
        or words.has_overlapping_domains(
            [(s, c.confidence) for s, c in candidates if c.confidence >= _HARDLY_LEADS], task_read.reading.wanted_text
        ),
        action_clarity=clear and not (set(wanted) & _VAGUE) and "make better" not in task_read.task.prompt.lower(),
        scope_definition=bool(candidates) and (not prepared.apart or bool(task_read.chances[NONE] < 0.5)),
    )
    return words.assembled(
        task_read.task, prepared.beside, candidates, factors, "better" if prepared.encoded else "better, by words"
    )


def ranked(fitted: Fitted, features: Floats, task_features: Floats) -> tuple[Floats, Floats, bool]:
    """(confidence, relevance) of each expert where subjects do not tell them apart, and whether anybody takes it."""
    rows = ranking.described(features @ np.array(fitted.score), features, task_features)
    lead, inside = leading(fitted, features, task_features, rows)
    part = chance(fitted.part, rows)
    odds = part / np.maximum(1 - part, 1e-9) * (1 - fitted.takes_part) / fitted.takes_part
    part = odds / (odds + 1 / CANDIDATE - 1)
    return lead, np.maximum(lead, part), inside


def leading(fitted: Fitted, features: Floats, task_features: Floats, rows: Floats | None = None) -> tuple[Floats, bool]:
    """(confidence of each expert, whether anybody takes it).

    Parameters
    ----------
    rows
        What ranking.described says, where it is known already.
    """
    if rows is None:
        rows = ranking.described(features @ np.array(fitted.score), features, task_features)
    return chance(fitted.lead, rows), bool(chance(fitted.inside, task_features) >= fitted.abstain)


def _candidate(spec: ExpertSpec, lead: float, part: float) -> Candidate:
    return Candidate(expert=spec.id, relevance=round(float(part), 4), confidence=round(float(lead), 4))


def everybody(prepared: Prepared, task_read: ReadTask, read_as: Vectors | None) -> list[tuple[ExpertSpec, Candidate]]:
    """Every expert, the most confident first, however unsure; none: nothing is left of the prompt."""
    if not prepared.specs or not (task_read.reading.words or task_read.task.files_mentioned):
        return []
    if prepared.apart:
        fitted = weights().words if read_as is None else weights().read
        lead, part = judged(fitted, prepared, *prepared.features(task_read, read_as))
    else:
        rank = ranking.weights().words if read_as is None else ranking.weights().read
        lead, part, _ = ranked(rank, *prepared.ranks(task_read, read_as))
    candidates = [(spec, _candidate(spec, lead[i], part[i])) for i, spec in enumerate(prepared.specs)]
    return sorted(candidates, key=lambda c: (-c[1].confidence, -c[1].relevance, c[0].priority, c[0].id))


def _why(spec: ExpertSpec, task_read: ReadTask) -> str:
    wanted = task_read.reading.wanted
    among = set(wanted)
    triggers = [t for t in (*spec.triggers.primary, *spec.triggers.secondary) if stands_in(roots(t), wanted)]
    near = [p for p in (*spec.domain.owns, *spec.triggers.examples) if len(among.intersection(roots(p))) > 1]
    count = words.files(spec, task_read.task)
    why = ", ".join([*triggers, *([f"{count} files"] if count else []), *near[:2]])
    return why[:200] or "its meaning"
