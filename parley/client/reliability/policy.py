"""What a controller learns across sessions: settings by outcome less cost, and what a bandit carries over. Pure.

Settings. Every row of a small grid is compared with the published settings, session by session: 1 where it turned a
wrong answer into a right one, -1 where it was the other way round, less the price of the tokens that it spent more.
Beside these figures stand two sessions that nobody played, one turned right and one turned wrong. So the mean gain is
shrunk towards 0, which is the published settings, and its interval is wide where there is little data. The interval
holds 95 % for all rows of the grid together (Bonferroni). A row is chosen only where its whole interval is above 0; of
several, the one with the greatest lower end. With fewer than `LEAST` sessions nothing is compared.

Bandit. Rewards are those of the sessions themselves (L.1), but an action of a session whose result was wrong earned
nothing: what moved a debate to a wrong answer is no gain. All actions together count for `MOST_PULLS` pulls at most, so
a session of its own can still move them.

Each session counts 2^(-age / half-life), as in the records of members.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import NormalDist

import msgspec

from parley.client.faces.course import Course, Pull
from parley.client.reliability.table import HALF_LIFE_DAYS, LEVEL, PRIOR, age_weight, posterior_mean
from parley.client.reliability.verdicts import Verdict, question_hash
from parley.coordinator.schedulers import bandit
from parley.coordinator.schedulers.dials import percentile
from parley.schemas.afterwards.policy import Arm, Choice, Policy, Setting

LEAST = 30
"""Past sessions below which no setting is chosen."""
MOST_PULLS = 1_000.0
_MARGINS = (1.0, -1.0)
"""Gains of the two sessions that nobody played."""
Grid = Mapping[str, Mapping[str, Setting]]


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One past session."""

    course: Course
    right: float
    """Whether its result was right: 0 to 1."""
    weight: float = 1.0
    """Above 0, at most 1: less for an older one."""


def policy(
    verdicts: Iterable[Verdict],
    grid: Grid,
    *,
    protocol: str,
    now_ns: int,
    price: float,
    question: str = "",
    kind: str = "",
    given: Collection[str] = (),
    half_life_days: float = HALF_LIFE_DAYS,
) -> Policy:
    """What past sessions of a protocol say at a time.

    Parameters
    ----------
    verdicts, now_ns, question, half_life_days
        As parley.client.reliability.table.table takes them.
    grid
        The settings that are compared, the published ones first.
    price
        Share of right answers that 1,000 tokens may cost, 0 or more.
    kind
        Sessions of this kind decide, where there are `LEAST` of them; else those of all kinds.
    given
        Settings that the session sets itself: no row with one of them is chosen.
    """
    at_hand = question_hash(question) if question else ""
    known = [v for v in verdicts if v.course is not None and v.protocol == protocol and v.at_ns <= now_ns]
    others = [v for v in known if not at_hand or v.question != at_hand]
    mine = [v for v in others if v.kind == kind] if kind else []
    used, of_kind = (mine, kind) if len(mine) >= LEAST else (others, "")
    cases = [
        Case(course=v.course, right=float(bool(v.right)), weight=age_weight(now_ns - v.at_ns, half_life_days))
        for v in used
        if v.course is not None
    ]
    compared = choices(cases, grid, price)
    arms, c_max = carried(cases)
    best = chosen(compared, given)
    settings = {} if best is None else dict(best.settings)
    if c_max is not None and "c_max" not in given:
        settings["c_max"] = c_max
    return Policy(
        kind=of_kind, sessions=len(used), left_out=len(known) - len(others), as_of_ns=now_ns,
        half_life_days=half_life_days, price=price, choices=compared, arms=arms,
        settings=settings, most_pulls=MOST_PULLS,
    )  # fmt: skip


# ---------------------------------------------------------------- settings


def choices(cases: Sequence[Case], grid: Grid, price: float) -> tuple[Choice, ...]:
    """The rows of the grid, the published settings first; none where too few sessions say what these come to."""
    published = next(iter(grid), "")
    known = [case for case in cases if published in case.course.ends]
    if len(known) < LEAST:
        return ()
    z = NormalDist().inv_cdf(1 - (1 - LEVEL) / 2 / max(1, len(grid) - 1))
    return tuple(_choice(name, grid[name], published, known, price, z) for name in grid)


def _choice(
    name: str, settings: Mapping[str, Setting], published: str, known: Sequence[Case], price: float, z: float
) -> Choice:
    both = [(case.weight, _at(case.course, name), _at(case.course, published))
            for case in known if name in case.course.ends]  # fmt: skip
    total = math.fsum(weight for weight, _, _ in both)
    right = math.fsum(weight * mine[0] for weight, mine, _ in both)
    gains = [(weight, mine[0] - other[0] - price * (mine[1] - other[1]) / 1_000) for weight, mine, other in both]
    gain, low, high = (0.0, 0.0, 0.0) if name == published else shrunk(gains, z)
    return Choice(
        name=name, settings=dict(settings), sessions=round(total, 6),
        right=round(posterior_mean(right, total - right, PRIOR), 6),
        tokens=round(math.fsum(weight * mine[1] for weight, mine, _ in both) / total, 3) if total else 0.0,
        rounds=round(math.fsum(weight * mine[2] for weight, mine, _ in both) / total, 3) if total else 0.0,
        gain=round(gain, 6), low=round(low, 6), high=round(high, 6),
    )  # fmt: skip


def _at(course: Course, name: str) -> tuple[float, int, int]:
    """(right, tokens, rounds) where a row of the grid ends it."""
    end = course.ends[name]
    return course.right[end], course.tokens[end], end


def shrunk(gains: Sequence[tuple[float, float]], z: float) -> tuple[float, float, float]:
    """Mean gain and its interval, with the two sessions that nobody played.

    Parameters
    ----------
    gains
        (weight, gain) of each session.
    z
        Standard errors on each side.

    Examples
    --------
    >>> [round(figure, 3) for figure in shrunk([(1.0, 0.1)] * 98, 2.0)]
    [0.098, 0.07, 0.126]
    """
    all_ = [*gains, *((1.0, margin) for margin in _MARGINS)]
    total = math.fsum(weight for weight, _ in all_)
    mean = math.fsum(weight * gain for weight, gain in all_) / total
    variance = math.fsum(weight * (gain - mean) ** 2 for weight, gain in all_) / total
    error = math.sqrt(variance / total)
    return mean, mean - z * error, mean + z * error


def chosen(compared: Sequence[Choice], given: Collection[str] = ()) -> Choice | None:
    """The row that is surely better than the published settings, of those that change nothing that is given; None: no
    row is."""
    open_ = [choice for choice in compared if choice.settings and choice.settings.keys().isdisjoint(given)]
    better = [choice for choice in open_ if choice.low > 0]
    return max(better, key=lambda choice: choice.low, default=None)


# ---------------------------------------------------------------- bandit


def carried(cases: Sequence[Case]) -> tuple[tuple[Arm, ...], float | None]:
    """(What each action carries over; C_max, the 95th percentile of what rounds took (L.6), None: too few sessions).

    No arms where no session had a bandit. The matrices are those of `bandit.LinUcb`, the counts and means those of
    `bandit.Ucb`: both are learned by these.
    """
    pulls = [(case, pull) for case in cases for pull in case.course.pulls]
    if not pulls:
        return (), None
    scale = min(1.0, MOST_PULLS / math.fsum(case.weight for case, _ in pulls))
    ucb, lin = bandit.Ucb(), bandit.LinUcb()
    for case, pull in pulls:
        weight, reward = scale * case.weight, pull.reward * case.right
        ucb = ucb.learn(pull.action, reward, weight=weight)
        lin = lin.learn(pull.action, reward, pull.context, weight)
    arms = tuple(
        Arm(
            pulls=round(ucb.counts[k], 6), mean=round(ucb.means[k], 9),
            tokens=round(_cost([(case.weight, p) for case, p in pulls if p.action == k]), 3),
            inverse=tuple(round(figure, 9) for figure in lin.inverse[k]),
            earned=tuple(round(figure, 9) for figure in lin.earned[k]),
        )
        for k in range(len(bandit.ACTIONS))
    )  # fmt: skip
    sessions = sum(bool(case.course.pulls) for case in cases)
    most = percentile([pull.tokens for _, pull in pulls], 95)
    return arms, most if sessions >= LEAST and most >= 1 else None


def _cost(pulls: Sequence[tuple[float, Pull]]) -> float:
    """Mean tokens of the round that followed; 0: it was never taken."""
    total = math.fsum(weight for weight, _ in pulls)
    return math.fsum(weight * pull.tokens for weight, pull in pulls) / total if total else 0.0
