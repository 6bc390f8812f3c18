"""maci: the retrieval plan: which findings would separate the outcomes in contention, and how well."""

import math
from collections.abc import Iterable

from parley.coordinator.schedulers import controller
from parley.coordinator.signals.beliefs import entropy
from parley.schemas.belief import Belief, Share, printed
from parley.schemas.control import Verdict
from parley.schemas.protocols.maci.messages import Ranked, RetrievalPlan, Test
from parley.schemas.protocols.maci.settings import Settings
from parley.schemas.text import ClosedList

LEAST_SHARE = 0.1
"""Share of the uniform probability 1/|Y| below which an outcome is no longer in contention."""


STOOD, CERTAIN = 0.9, 0.99
"""Probability from which on an outcome leaves nothing to tell apart: after an agreement that stood its test, and after
any other convergence."""


def settled(dials: controller.State, verdict: Verdict) -> bool:
    """Whether nothing is left to tell apart."""
    least = STOOD if verdict.reason == "agreement" else CERTAIN
    return verdict.converged and printed(max(dials.mixture.values())) >= least


def contention(dials: controller.State, settings: Settings) -> Belief:
    """The most probable outcomes of the mixture, renormalised: at most `top_k`, without those that are next to nothing,
    but at least two."""
    ranked = top(dials, max(2, settings.constants.top_k))
    floor = LEAST_SHARE / len(dials.outcomes)
    kept = [share for i, share in enumerate(ranked) if i < 2 or share.p > floor]
    total = math.fsum(share.p for share in kept)
    return tuple(Share(outcome=share.outcome, p=round(share.p / total, 6)) for share in kept)


def top(dials: controller.State, k: int) -> Belief:
    """The k most probable outcomes of the mixture; among equals the one that is listed first."""
    mixture = dials.rounds[-1].mixture
    ranked = sorted(dials.outcomes, key=lambda name: -mixture[name])[:k]
    return tuple(Share(outcome=name, p=mixture[name]) for name in ranked)


def rank(tests: Iterable[Test], mixture: Belief) -> RetrievalPlan:
    """The plan, the most telling test first; among equals the one that was named first."""
    ranked = []
    for t in tests:
        bits = round(gain(mixture, likelihoods(t, mixture)), 6)
        ranked.append(Ranked(what=t.what, kind=t.kind, query=t.query, positive=t.positive, gain=bits))
    return RetrievalPlan(
        outcomes=tuple(share.outcome for share in mixture), tests=tuple(sorted(ranked, key=lambda test: -test.gain))
    )


def likelihoods(test: Test, mixture: Belief) -> tuple[float, ...]:
    """P(positive | outcome) in the order of the mixture."""
    known = ClosedList(share.outcome for share in mixture)
    by_outcome = {known.find(share.outcome): share.p for share in test.positive}
    return tuple(by_outcome[share.outcome] for share in mixture)


def gain(mixture: Belief, positive: tuple[float, ...]) -> float:
    """Expected information gain of a finding that is positive or negative.

    Parameters
    ----------
    mixture
        Probabilities of the outcomes in contention; renormalised here.
    positive
        P(positive | outcome), one an outcome, 0 to 1.

    Returns
    -------
    float
        H(p) - sum over both findings f of P(f) H(p | f): bits, 0 to 1, since a binary finding tells one bit at most.
        0.0 where every outcome makes it as likely as every other.
    """
    total = math.fsum(share.p for share in mixture)
    prior = [share.p / total for share in mixture]
    remaining = 0.0
    for finding in (positive, tuple(1 - x for x in positive)):
        joint = [p * x for p, x in zip(prior, finding, strict=True)]
        probability = math.fsum(joint)
        if probability > 0:
            remaining += probability * entropy([p / probability for p in joint])
    return max(0.0, entropy(prior) - remaining)
