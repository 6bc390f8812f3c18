"""What a poll comes to by a rule: also by another than the one for which its ballots were cast."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from parley.coordinator.signals import voting
from parley.coordinator.signals.voting import Count, Orders, exact
from parley.schemas.voting import BALLOTS, POSITIONS, RANKED, Cast, Decision, Poll, Rule

_UNITS = {
    "approval": "approvals", "borda": "points", "instant-runoff": "first places at last", "condorcet": "others beaten",
    "score": "of 10", "ranking": "of 1", "judge": "",
}  # fmt: skip
_HALF = Fraction(1, 2)


class CannotCount(Exception):
    """The poll has no ballots by which this rule could be counted. Says why."""


def count(poll: Poll, rule: Rule) -> Decision:
    """The decision. Raises CannotCount."""
    if rule.name in POSITIONS:
        return _held(poll, rule)
    unit = _UNITS[rule.name]
    if len(poll.candidates) == 1:
        only = poll.candidates[0].name
        return Decision(rule=rule.name, winner=only, unit=unit, steps=("it is the only answer: no ballots",))
    casts = _ballots(poll, rule)
    least = 1 if rule.name == "judge" else poll.least
    if len(casts) < least:
        few = f"{len(casts)} cast a ballot, {least} are needed" if casts else "nobody cast a ballot"
        few = "there is no ruling" if rule.name == "judge" else few
        return Decision(rule=rule.name, unit=unit, why=few)
    found = _counted(poll, rule, casts)
    if found.cycle:
        why = f"a cycle: {' beats '.join((*found.cycle, found.cycle[0]))}"
    elif len(found.first) > 1:
        why = "a tie"
    else:
        why = (
            "" if found.first else "nobody approves of an answer" if rule.name == "approval" else "no ballot ranks two"
        )
    return _decision(rule, found, unit, why)


def _decision(rule: Rule, found: Count, unit: str, why: str) -> Decision:
    chosen = found.first[0] if len(found.first) == 1 and not why else ""
    return Decision(
        rule=rule.name, winner=chosen, tied=() if chosen else found.first, cycle=found.cycle, figures=found.figures,
        unit=unit, steps=found.steps, why=why,
    )  # fmt: skip


def _held(poll: Poll, rule: Rule) -> Decision:
    """By the answers that seats hold. Whoever is heard and holds none counts against all."""
    votes = {c.name: sum((exact(poll.weights[s]) for s in c.seats), Fraction(0)) for c in poll.candidates}
    of = sum((exact(poll.weights[s]) for s in poll.heard), Fraction(0))
    part = {"majority": _HALF, "supermajority": rule.share, "unanimity": Fraction(1)}[rule.name]
    found = voting.share(votes, of, part, above=rule.name == "majority")
    unit = f"of {float(of):g}"
    if found.first:
        return _decision(rule, found, unit, "")
    front = tuple(name for name, weight in votes.items() if weight == max(votes.values()))
    lacks = {
        "majority": "no answer has more than half", "supermajority": f"no answer has {part} of the weight",
        "unanimity": "not all hold one answer",
    }  # fmt: skip
    why = "a tie" if len(front) > 1 else lacks[rule.name]
    return Decision(
        rule=rule.name, tied=front if len(front) > 1 else (), figures=found.figures, unit=unit, why=why,
    )  # fmt: skip


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
    "rank": "rank answers", "approve": "approve of answers", "score": "score answers", "judge": "a judge fills",
}  # fmt: skip


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
    return Count(casts[0].chosen, {})  # the judge's


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
