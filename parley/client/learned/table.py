"""The table of records, from verdicts: Beta posteriors with decay.

Each answer counts 2^(-age / half-life). Members of one model in one session are copies: each counts its share of one
answer, since copies err together and three of them tell little more than one does. A seat has one member, which counts
whole. Over all kinds of questions a member begins with the prior, one right and one
wrong answer. On one kind it begins with `kind_prior` answers, shared out as its record over all kinds is: so a short
record of a kind is filled up with what is known of the member. Intervals hold 95 % of the posterior.
"""

import math
from collections import Counter
from collections.abc import Iterable
from typing import Literal

from parley.client.learned.verdicts import KnownOutcome, question_hash
from parley.schemas.past_sessions.learned import MOST_ROWS, Reliability, Standing

HALF_LIFE_DAYS = 180.0
PRIOR = (1.0, 1.0)
KIND_PRIOR = 4.0
LEVEL = 0.95
_DAY_NS = 86_400 * 10**9
Key = tuple[Literal["model", "seat"], str, str]


def table(
    verdicts: Iterable[KnownOutcome],
    *,
    now_ns: int,
    question: str = "",
    half_life_days: float = HALF_LIFE_DAYS,
    learned_from: str = "feedback",
) -> Reliability:
    """The records as they stand at a time.

    Parameters
    ----------
    verdicts
        What is known; later than `now_ns` counts nothing.
    question
        The one at hand: verdicts on the same words are left out. Empty: none.
    half_life_days
        Above 0.
    """
    at_hand = question_hash(question) if question else ""
    counts: dict[Key, list[float]] = {}
    used, left_out = 0, 0
    for said in verdicts:
        if said.at_ns > now_ns:
            continue
        if at_hand and said.question == at_hand:
            left_out += 1
            continue
        used += bool(said.members)
        weight = age_weight(now_ns - said.at_ns, half_life_days)
        copies = Counter(member.model for member in said.members)
        for member in said.members:
            for by, name in (("model", member.model), ("seat", member.seat)):
                for kind in dict.fromkeys(("", said.kind)):
                    if name:
                        pair = counts.setdefault((by, name, kind), [0.0, 0.0])  # type: ignore[arg-type]
                        pair[0 if member.right else 1] += weight / copies[member.model] if by == "model" else weight
    most = sorted(counts, key=lambda key: (-sum(counts[key]), key))[:MOST_ROWS]
    return Reliability(
        rows=tuple(_row(key, counts) for key in sorted(most)), sessions=used, left_out=left_out, as_of_ns=now_ns,
        half_life_days=half_life_days, prior=PRIOR, kind_prior=KIND_PRIOR, learned_from=learned_from,
    )  # fmt: skip


def _row(key: Key, counts: dict[Key, list[float]]) -> Standing:
    by, name, kind = key
    right, wrong = counts[key]
    a, b = PRIOR
    if kind:
        whole = counts[by, name, ""]
        share = posterior_mean(whole[0], whole[1], PRIOR)
        a, b = KIND_PRIOR * share, KIND_PRIOR * (1 - share)
    low, high = interval(right, wrong, (a, b))
    mean = posterior_mean(right, wrong, (a, b))
    return Standing(
        name=name, by=by, kind=kind, right=round(right, 6), wrong=round(wrong, 6), mean=round(mean, 6),
        low=round(low, 6), high=round(high, 6),
    )  # fmt: skip


def age_weight(age_ns: int, half_life_days: float) -> float:
    """What an outcome of this age counts: 1 when it is new, a half after the half-life."""
    return math.pow(0.5, age_ns / _DAY_NS / half_life_days)


def posterior_mean(right: float, wrong: float, prior: tuple[float, float]) -> float:
    """Mean of the Beta posterior.

    Examples
    --------
    >>> posterior_mean(7, 1, (1, 1))
    0.8
    """
    return (prior[0] + right) / (prior[0] + prior[1] + right + wrong)


def interval(right: float, wrong: float, prior: tuple[float, float], level: float = LEVEL) -> tuple[float, float]:
    """The equal-tailed interval of the Beta posterior that holds `level` of it."""
    from scipy.special import betaincinv  # takes a third of a second, and only those who have records pay it

    a, b, tail = prior[0] + right, prior[1] + wrong, (1 - level) / 2
    low, high = float(betaincinv(a, b, tail)), float(betaincinv(a, b, 1 - tail))
    return (0.0 if math.isnan(low) else low), (1.0 if math.isnan(high) else high)
