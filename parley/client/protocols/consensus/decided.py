"""What a rule decided, in words: the rule, the count, the ballots, and who is not in it."""

from collections.abc import Iterator, Mapping, Sequence

from parley.client.protocols.consensus.stands import Held
from parley.client.show.card import Card
from parley.client.show.palette import seat_name, seat_names
from parley.client.text import line
from parley.coordinator.signals.counting import steps
from parley.schemas.voting import BALLOTS, Cast, Decision, Poll, rule_of
from parley.schemas.wire import figure

_BRIEF = 70
_QUOTED = 200
_MOST = 4
"""Answers that one line tells of."""
_UNITS = {
    "approval": "approvals",
    "borda": "points",
    "instant-runoff": "first places at last",
    "condorcet": "others that it beats",
    "score": "of 10",
    "ranking": "part of the others below it",
}
"""Rule -> what its figures are; of other rules: a weight."""
_WHY: Mapping[str, str] = {
    "tie": "a tie",
    "cycle": "a cycle",
    "share": "no answer has the share",
    "ballots": "too few ballots",
    "disapproved": "nobody approves of an answer",
    "unranked": "no ballot ranks two",
    "ruling": "there is no ruling",
}
"""Why a rule decides nothing, in words."""


def ballot(cast: Cast, held: Mapping[str, tuple[str, int]]) -> Card:
    """What a seat has cast, or why it has not. `held`: of a ballot that ranks seats, what each holds."""
    names = {seat: _whose(seat, answer) for seat, (answer, _) in held.items()}
    return Card(place="line", text=_cast_words(cast, names), reply=not cast.why)


def _whose(seat: str, answer: str) -> str:
    return f"{seat_name(seat)}'s “{line(answer, _BRIEF)}”"


def decision_line(poll: Poll, found: Decision, asked: str) -> str:
    """`decided by borda: “A” 4, “B” 2 (points); 3 of 3 cast a ballot`. `asked`: the rule as it was asked for."""
    by = "the judge" if found.rule == "judge" else asked
    if found.winner:
        said = f"decided by {by}"
    elif found.cycle:
        beats = " beats ".join(f"“{_answer(poll, name)}”" for name in (*found.cycle, found.cycle[0]))
        said = f"a cycle, {beats} under {by}"
    else:
        tied = ", ".join(f"“{_answer(poll, name)}”" for name in found.tied)
        said = f"{_WHY.get(found.why, found.why)}{f' of {tied}' if tied else ''} under {by}"
    told = "; ".join(filter(None, (_count(poll, found), _turnout(poll, found.rule))))
    return f"{said}: {told}" if told else said


def _count(poll: Poll, found: Decision) -> str:
    ranked = _ranked(found)
    told = [f"“{_answer(poll, name)}” {figure(value, 2)}" for name, value in ranked[:_MOST]]
    rest = len(ranked) - len(told)
    unit = f" ({_unit(poll, found)})" if told else ""
    only = "it is the only answer" if len(poll.candidates) == 1 else ""
    return ", ".join((*told, *([f"{rest} more"] if rest else []))) + unit or only


def _unit(poll: Poll, found: Decision) -> str:
    """What the figures are."""
    return _UNITS.get(found.rule) or f"of {figure(sum(poll.weights[seat] for seat in poll.heard), 2)}"


def _ranked(found: Decision) -> list[tuple[str, float]]:
    return sorted(found.figures.items(), key=lambda one: -one[1])


def _turnout(poll: Poll, rule: str) -> str:
    """How many of those who could cast a ballot did."""
    if not poll.casts or BALLOTS.get(rule) in (None, "judge"):
        return ""
    return f"{sum(not cast.why for cast in poll.casts)} of {len(poll.casts)} cast a ballot"


def ruling(poll: Poll) -> str:
    """The argument that the judge named; empty: there was no judge, or no ruling."""
    said = next((cast for cast in poll.casts if cast.form == "judge" and not cast.why), None)
    return "" if said is None else f"{_argument(said)}; {seat_name(said.seat)}: {said.reason}"


def _argument(cast: Cast) -> str:
    """Whose argument a judge went by, in its own words."""
    return f"{seat_name(cast.by)}'s argument decides: “{line(cast.quote, _QUOTED)}”"


def weak(poll: Poll, held: Mapping[str, Held]) -> Iterator[str]:
    """Who is not in the count."""
    if never := [seat for seat in poll.weights if seat not in held]:
        yield f"{seat_names(never)} never answered"
    for cast in poll.casts:
        if cast.why:
            what = "gave no ruling" if cast.form == "judge" else "cast no ballot"
            yield f"{seat_name(cast.seat)} {what}: {line(cast.why, _BRIEF)}"
    if none := [seat for seat, said in held.items() if said.abstains]:
        yield f"{seat_names(none)} {'has' if len(none) == 1 else 'have'} no answer"
    if len(set(poll.weights.values())) > 1:
        yield "weights are " + ", ".join(f"{seat_name(s)} {figure(w, 2)}" for s, w in poll.weights.items())


def rows(poll: Poll, found: Decision, asked: str) -> Iterator[str]:
    """The count in full: answers, steps, ballots. `asked`: the rule as it was asked for."""
    answers = {c.name: c for c in poll.candidates}
    yield f"Rule: {asked}" + (f"; {_WHY.get(found.why, found.why)}" if found.why else "")
    for name in dict.fromkeys((*(name for name, _ in _ranked(found)), *answers)):
        told = f": {figure(found.figures[name], 4)} ({_unit(poll, found)})" if name in found.figures else ""
        held = seat_names(answers[name].seats) if name in answers else "nobody"
        yield f"“{_answer(poll, name, 300)}”{told}, held by {held}"
    yield from map(line, steps(poll, rule_of(asked)))
    names = {name: f"“{line(c.answer, _BRIEF)}”" for name, c in answers.items()}
    if poll.rule == "ranking":
        names = {seat: _whose(seat, c.answer) for c in poll.candidates for seat in c.seats}
    yield from (f"{seat_name(cast.seat)}: {_cast_words(cast, names)}" for cast in poll.casts)


def _cast_words(cast: Cast, told: Mapping[str, str]) -> str:
    """A ballot in a line. `told`: the name of an answer -> how it is shown."""
    if cast.why:
        return f"{'no ruling' if cast.form == 'judge' else 'no ballot'}: {line(cast.why)}"
    names = {name: told.get(name) or f"“{line(name, _BRIEF)}”" for name in cast.shown}
    why = f" ({line(cast.reason)})" if cast.reason else ""
    match cast.form:
        case "score":
            given: Sequence[str] = [f"{names[n]} {figure(x)}" for n, x in zip(cast.shown, cast.scores, strict=True)]
            return f"scores {', '.join(given)}{why}"
        case "approve":
            return f"approves of {', '.join(names[n] for n in cast.chosen) or 'none'}{why}"
        case "judge":
            return f"chooses {names[cast.chosen[0]]}; {_argument(cast)}{why}"
    return f"ranks {', then '.join(names[n] for n in cast.chosen)}{why}"


def _answer(poll: Poll, name: str, width: int = _BRIEF) -> str:
    return line(next((c.answer for c in poll.candidates if c.name == name), name), width)


def recounted(poll: Poll, found: Decision, asked: str) -> Iterator[str]:
    """A count by another rule, in words."""
    yield f"counted by {asked}, the session was to be decided by {poll.rule}; no model was asked"
    yield f"Answer: {_answer(poll, found.winner, 300)}" if found.winner else "No answer."
    yield decision_line(poll, found, asked)
    yield from (f"  {row}" for row in rows(poll, found, asked))
