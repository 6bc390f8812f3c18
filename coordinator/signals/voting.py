"""Rules that choose one of several options: a pure function each, over weighed votes. None breaks a tie.

    share            an option's weight against a part of all weight
    approval         the weight of those who approve of it
    borda            on each ballot an option has a point for each option below it
    instant_runoff   the option that fewest put first goes, until one has more than half
    condorcet        the option that beats each other one, two by two
    score            the weighted mean of its scores
    ranking          the part of the others above which it stands, on the ballots that rank it

Weights are exact: 0.1 and 0.2 together tie with 0.3. Sources of the rules, with worked examples: docs/voting.md.
"""

import itertools
from collections import deque
from collections.abc import Mapping, Sequence
from fractions import Fraction

import msgspec

Weight = Fraction
Orders = Sequence[tuple[Weight, Sequence[str]]]
"""(weight, options, the best first)"""
_MOST_WAYS = 8
"""Options that are last together and each of which is tried out."""


class Count(msgspec.Struct, frozen=True):
    """What a rule counted."""

    first: tuple[str, ...]
    """One option: it is chosen. Several: they are tied. None: the rule chooses nothing."""
    figures: dict[str, float]
    """Option -> its figure, the best first."""
    cycle: tuple[str, ...] = ()
    """Options of which each beats the next, and the last the first."""
    steps: tuple[str, ...] = ()


def exact(weight: float) -> Weight:
    """A weight as it is written."""
    return Fraction(repr(float(weight)))


def share(votes: Mapping[str, Weight], of: Weight, part: Fraction, *, above: bool) -> Count:
    """The option with this part of all weight, or with more than it if `above`. Without one: those in front."""
    figures = _ranked(votes)
    front = _front(votes)
    best = votes[front[0]] if front else Fraction(0)
    reached = best > part * of if above else best >= part * of > 0
    return Count(front if reached else (), figures)


def approval(options: Sequence[str], ballots: Orders) -> Count:
    """The option of which most weight approves; what nobody approves of is not chosen."""
    votes = {o: sum((w for w, approved in ballots if o in approved), Fraction(0)) for o in options}
    return Count(_front(votes) if any(votes.values()) else (), _ranked(votes))


def borda(options: Sequence[str], ballots: Orders) -> Count:
    """A point for each option below, on ballots that rank all options."""
    points = {o: sum((w * (len(order) - 1 - order.index(o)) for w, order in ballots), Fraction(0)) for o in options}
    return Count(_front(points), _ranked(points))


def score(options: Sequence[str], ballots: Sequence[tuple[Weight, Mapping[str, float]]]) -> Count:
    """The weighted mean of the scores that an option was given."""
    of = sum((w for w, _ in ballots), Fraction(0))
    means = {o: sum((w * exact(given[o]) for w, given in ballots), Fraction(0)) / of for o in options}
    return Count(_front(means), _ranked(means))


def ranking(options: Sequence[str], ballots: Orders) -> Count:
    """The mean part of the other options above which it stands, on the ballots that rank it among others. A ballot of
    one option says nothing; an option on no other ballot has no figure."""
    places: dict[str, Fraction] = {}
    for o in options:
        on = [
            (w, Fraction(len(order) - 1 - order.index(o), len(order) - 1))
            for w, order in ballots
            if o in order and len(order) > 1
        ]
        if on:
            places[o] = sum((w * part for w, part in on), Fraction(0)) / sum(w for w, _ in on)
    return Count(_front(places), _ranked(places))


def instant_runoff(options: Sequence[str], ballots: Orders) -> Count:
    """The option that fewest put first goes, until one has more than half of the weight. Where several are last, each
    way is followed: the option that wins on all of them is chosen, and else those that win on some are tied. Where more
    are last together than can be followed, all that are left are tied."""
    won: dict[frozenset[str], frozenset[str]] = {}

    def winners(left: frozenset[str]) -> frozenset[str]:
        if left not in won:
            votes = _firsts([o for o in options if o in left], ballots)
            last = [o for o, w in votes.items() if w == min(votes.values())]
            if top := _majority(votes):
                won[left] = frozenset(top)
            elif len(last) > _MOST_WAYS:
                won[left] = left
            elif not votes[last[0]]:  # in whatever order they go, nobody's first changes
                won[left] = winners(left - set(last))
            else:
                won[left] = frozenset().union(*(winners(left - {o}) for o in last))
        return won[left]

    if not ballots:
        return Count((), {})
    first = winners(frozenset(options))
    votes, steps = _steps(options, ballots)
    return Count(tuple(o for o in options if o in first), _ranked(votes), (), steps)


def condorcet(options: Sequence[str], ballots: Orders) -> Count:
    """The option that beats each other one. Without one: the smallest set that beats all outside of it, and a cycle in
    it if there is one. The figure is the number of options that it beats."""
    for_it = {
        (a, b): sum((w for w, order in ballots if order.index(a) < order.index(b)), Fraction(0))
        for a, b in itertools.permutations(options, 2)
    }
    beats = {a: [b for b in options if a != b and for_it[a, b] > for_it[b, a]] for a in options}
    wins = {o: Fraction(len(beats[o])) for o in options}
    steps = tuple(
        f"{a} {_words(for_it[a, b])}, {b} {_words(for_it[b, a])}" for a, b in itertools.combinations(options, 2)
    )
    alone = [o for o in options if len(beats[o]) == len(options) - 1]
    if alone:
        return Count((alone[0],), _ranked(wins), (), steps)
    top = _smith(options, beats)
    return Count(top, _ranked(wins), _cycle(top, beats), steps)


def _smith(options: Sequence[str], beats: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The smallest set of options each of which beats all outside of it."""
    inside = {max(options, key=lambda o: len(beats[o]))}
    while True:
        more = {o for o in options if o not in inside and any(o not in beats[i] for i in inside)}
        if not more:
            return tuple(o for o in options if o in inside)
        inside |= more


def _cycle(top: Sequence[str], beats: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """A shortest cycle: each beats the next, and the last the first; empty: there is none."""
    found: list[tuple[str, ...]] = []
    for start in top:
        paths, seen = deque[tuple[str, ...]]([(start,)]), set[str]()
        while paths:
            path = paths.popleft()
            if start in beats[path[-1]]:
                found.append(path)
                break
            onward = [o for o in beats[path[-1]] if o in top and o not in seen]
            seen.update(onward)
            paths.extend((*path, o) for o in onward)
    return min(found, key=len, default=())


def _firsts(left: Sequence[str], ballots: Orders) -> dict[str, Weight]:
    """Option -> the weight that puts it before all others that are left."""
    votes = dict.fromkeys(left, Fraction(0))
    for w, order in ballots:
        votes[min(left, key=order.index)] += w
    return votes


def _majority(votes: Mapping[str, Weight]) -> tuple[str, ...]:
    """The option with more than half of the weight; empty: there is none."""
    return tuple(o for o, w in votes.items() if 2 * w > sum(votes.values()))


def _steps(options: Sequence[str], ballots: Orders) -> tuple[dict[str, Weight], tuple[str, ...]]:
    """The rounds of a runoff, up to the first in which several are last: the votes of the last one, and all in
    words."""
    left, steps = list(options), list[str]()
    while True:
        votes = _firsts(left, ballots)
        told = ", ".join(f"{o} {_words(votes[o])}" for o in sorted(left, key=lambda o: -votes[o]))
        last = [o for o, w in votes.items() if w == min(votes.values())]
        if _majority(votes):
            return votes, (*steps, told)
        if len(last) > 1 and votes[last[0]]:
            return votes, (*steps, f"{told}: {' and '.join(last)} are last together")
        steps.append(f"{told}: {' and '.join(last)} out")
        left = [o for o in left if o not in last]


def _front(figures: Mapping[str, Fraction]) -> tuple[str, ...]:
    """The options with the highest figure."""
    best = max(figures.values(), default=Fraction(0))
    return tuple(o for o, figure in figures.items() if figure == best)


def _ranked(figures: Mapping[str, Fraction]) -> dict[str, float]:
    return {o: round(float(figures[o]), 6) for o in sorted(figures, key=lambda o: -figures[o])}


def _words(weight: Weight) -> str:
    return f"{float(weight):g}"
