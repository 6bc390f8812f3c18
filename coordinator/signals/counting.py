"""What a poll comes to by a rule: also by another than the one for which its ballots were cast."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from parley.coordinator.signals import voting
from parley.coordinator.signals.voting import Count, Orders, exact
from parley.schemas.voting import BALLOTS, POSITIONS, RANKED, Cast, Decision, Poll, Rule, Why

_HALF = Fraction(1, 2)


class CannotCount(Exception):
    """The poll has no ballots by which this rule could be counted. Says why."""


def count(poll: Poll, rule: Rule) -> Decision:
    """The decision. Raises CannotCount."""
    found, why = _found(poll, rule)
    chosen = found.first[0] if len(found.first) == 1 and not why else ""
    tied = found.first if not chosen and len(found.first) > 1 else ()
    return Decision(rule=rule.name, winner=chosen, tied=tied, cycle=found.cycle, figures=found.figures, why=why)


def steps(poll: Poll, rule: Rule) -> tuple[str, ...]:
    """How it is counted, in words, where that takes several steps. Raises CannotCount."""
    return _found(poll, rule)[0].steps


def _found(poll: Poll, rule: Rule) -> tuple[Count, Why]:
    if rule.name in POSITIONS:
        return _held(poll, rule)
    if len(poll.candidates) == 1:
        return Count((poll.candidates[0].name,), {}), ""
    casts = _ballots(poll, rule)
    if rule.name == "judge":
        return (Count(casts[0].chosen, {}), "") if casts else (Count((), {}), "ruling")
    if len(casts) < poll.least:
        return Count((), {}), "ballots"
    found = _counted(poll, rule, casts)
    if found.cycle:
        return found, "cycle"
    if found.first:
        return found, "tie" if len(found.first) > 1 else ""
    return found, "disapproved" if rule.name == "approval" else "unranked"


def _held(poll: Poll, rule: Rule) -> tuple[Count, Why]:
    """By the answers that seats hold. Whoever is heard and holds none counts against all."""
    votes = {c.name: sum((exact(poll.weights[s]) for s in c.seats), Fraction(0)) for c in poll.candidates}
    of = sum((exact(poll.weights[s]) for s in poll.heard), Fraction(0))
    part = {"majority": _HALF, "supermajority": rule.share, "unanimity": Fraction(1)}[rule.name]
    found = voting.share(votes, of, part, above=rule.name == "majority")
    if found.first:
        return found, ""
    front = tuple(name for name, weight in votes.items() if weight == max(votes.values()))
    return Count(front if len(front) > 1 else (), found.figures), "tie" if len(front) > 1 else "share"


def _ballots(poll: Poll, rule: Rule) -> Sequence[Cast]:
    """The ballots that this rule counts. Raises CannotCount."""
    wanted, asked = BALLOTS[rule.name], BALLOTS.get(poll.rule, "")
    if asked != wanted:
        had = f"ballots of {poll.rule}" if asked else "no ballots"
        raise CannotCount(f"{rule.name} counts ballots that {_SAY[wanted]}, and the session had {had}")
    if poll.rule == "ranking" and rule.name in RANKED:
        raise CannotCount(
            f"{rule.name} counts ballots that rank all answers; those of ranking leave out the seat's own"
        )
    return [cast for cast in poll.casts if not cast.why]


_SAY = {
    "rank": "rank answers",
    "approve": "approve of answers",
    "score": "score answers",
    "judge": "a judge fills",
}


def _counted(poll: Poll, rule: Rule, casts: Sequence[Cast]) -> Count:
    names = [c.name for c in poll.candidates]
    orders: Orders = [(exact(poll.weights.get(cast.seat, 1.0)), cast.chosen) for cast in casts]
    match rule.name:
        case "approval":
            return voting.approval(names, orders)
        case "borda":
            return voting.borda(names, orders)
        case "instant-runoff":
            return voting.instant_runoff(names, orders)
        case "condorcet":
            return voting.condorcet(names, orders)
        case "score":
            scored = [(w, dict(zip(c.shown, c.scores, strict=True))) for (w, _), c in zip(orders, casts, strict=True)]
            return voting.score(names, scored)
        case "ranking":
            return (
                _by_seats(poll, casts) if poll.rule == "ranking" else voting.ranking(names, list(_others(poll, casts)))
            )
    raise AssertionError(f"no rule of ballots: {rule.name}")


def _others(poll: Poll, casts: Sequence[Cast]) -> Iterator[tuple[Fraction, Sequence[str]]]:
    """Ballots without the seats' own answers."""
    own = {seat: c.name for c in poll.candidates for seat in c.seats}
    for cast in casts:
        yield exact(poll.weights[cast.seat]), [name for name in cast.chosen if name != own.get(cast.seat)]


def _by_seats(poll: Poll, casts: Sequence[Cast]) -> Count:
    """Of ballots that rank the answers of the other seats, each by itself: an answer stands where the best of those who
    hold it stands."""
    holds = {seat: c.name for c in poll.candidates for seat in c.seats}
    found = voting.ranking(list(holds), [(exact(poll.weights[cast.seat]), cast.chosen) for cast in casts])
    best: dict[str, float] = {}
    for seat, figure in found.figures.items():
        best.setdefault(holds[seat], figure)
    steps = tuple(f"{holds[seat]}, as {seat} has it: {figure:.2f}" for seat, figure in found.figures.items())
    return Count(tuple(dict.fromkeys(holds[seat] for seat in found.first)), best, (), steps)
