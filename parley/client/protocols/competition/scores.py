"""Points of a competition in words: marks, fines, totals, and what decided where the totals alone mislead.

Points are sums (docs/competition.md). A side that spoke more often may lead by the sum and not by the mean.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from parley.client.show.palette import seat_name
from parley.client.text import count, line
from parley.schemas.protocols.competition.format import DIMENSIONS, TEAMS, other
from parley.schemas.protocols.competition.messages import AudienceVotes, Fine, Outcome, Scored, SpeechPost
from parley.schemas.wire import figure

_WIDE = 300
_NARROW = 0.05
"""A share of the points below which a lead is called little."""
_SENTENCE, _COUNTS = re.compile(r"(?<=[.!?])\s+"), re.compile(r"(?<!_)\b\d|\bpoints?\b")
_BETTER = re.compile(r"\b(better|stronger|clearer|convinced|convincing|carried|prevailed)\b")
_SHORT = {"rule_compliance": "rules"}


class Speaking(msgspec.Struct):
    """A speech, and what became of it."""

    post: int
    round: int
    seat: str
    said: SpeechPost
    scored: Scored | None = None
    """None: it is not scored, or not yet."""


def points(value: float) -> str:
    """`7.25`, `-3`, `0`."""
    return figure(value, 2)


def clock(seconds: float) -> str:
    """`2:05`."""
    whole = max(0, round(seconds))
    return f"{whole // 60}:{whole % 60:02}"


def team_of(seat: str) -> str:
    """pro | con | judge | audience: the first word of a seat's name, or the name."""
    return seat.rpartition("_")[0] or seat


def words_of(rule: str) -> str:
    """A rule's name in words."""
    return line({"consecutive": "same team twice in a row"}.get(rule, rule.replace("_", " ")))


def measured(body: SpeechPost) -> str:
    """`612 of 750 words, 2:27 of 3:00`."""
    limit = body.seconds * body.limit / body.words if body.words else 0.0
    time = f", {clock(body.seconds)} of {clock(limit)}" if limit else ""
    return f"{figure(body.words, 2, ',')} of {count(body.limit, 'word')}{time}"


def marks_words(body: Scored) -> str:
    """`logic 8, persuasion 7, ...`; empty without marks."""
    if body.marks is None:
        return ""
    return ", ".join(f"{_SHORT.get(name, name)} {points(getattr(body.marks, name))}" for name in DIMENSIONS)


def fine_words(fine: Fine) -> str:
    """What went against the rules, and what it costs."""
    costs = [f"the speaker {points(fine.individual_points)}"] if fine.individual_points else []
    costs += [f"the team {points(fine.team_points)}"] if fine.team_points else []
    note = f" ({line(fine.note, _WIDE)})" if fine.note else ""
    return f"{words_of(fine.rule)}: {', '.join(costs) or 'costs nothing'}{note}"


def violations(body: Scored) -> Iterator[str]:
    """What went against the rules in a speech: what it costs, and what costs nothing, each once."""
    priced = {fine.rule for fine in body.fines}
    yield from (fine_words(fine) for fine in body.fines)
    free: dict[str, str] = {}
    for breach in body.marks.violations if body.marks is not None else ():
        if breach.kind not in priced:
            free.setdefault(breach.kind, line(breach.quote or breach.note, _WIDE))
    yield from (f"{words_of(kind)}, costs nothing" + (f": “{why}”" if why else "") for kind, why in free.items())


def tally_words(body: AudienceVotes, names: Mapping[str, str]) -> str:
    """`Proposition 2, Opposition 1, undecided 2`."""
    teams = [f"{names[t]} {body.votes.get(t, 0)}" for t in TEAMS]
    return ", ".join((*teams, f"undecided {body.votes.get('undecided', 0)}"))


def verdict(outcome: Outcome, names: Mapping[str, str]) -> str:
    """Who won, and by what; empty: there is no verdict."""
    if outcome.winner not in (*TEAMS, "draw"):
        return ""
    first = outcome.winner if outcome.winner in TEAMS else TEAMS[0]
    by = f"points {_pair(outcome.team_totals, first, points)}"
    if outcome.decided_by == "votes":
        by = f"votes won over {_pair(outcome.swing, first, lambda n: f'{n:+g}')} (not by {by})"
    return f"{'A draw' if outcome.winner == 'draw' else f'{names[first]} wins'}: {by}"


def _pair(values: Mapping[Any, float], first: str, shown: Any) -> str:
    """`61.25 to 58.1`, the winner's first."""
    return f"{shown(values.get(first, 0))} to {shown(values.get(other(first), 0))}"


def no_verdict(outcome: Outcome) -> str:
    """Why nobody won."""
    if not outcome.complete:
        return "not every stage was played"
    return f"{unscored_words(outcome)}, and their marks might turn it" if outcome.unscored else ""


def unscored_words(outcome: Outcome) -> str:
    """`2 of 16 speeches could not be scored`."""
    speeches = "speech" if outcome.to_score == 1 else "speeches"
    return f"{len(outcome.unscored)} of {outcome.to_score} {speeches} could not be scored"


def means(speeches: Sequence[Speaking]) -> dict[str, tuple[float, int]]:
    """Seat or team -> the mean of its speeches that have marks, and how many those are."""
    scores: dict[str, list[float]] = {}
    for speech in speeches:
        if speech.scored is not None and speech.scored.marks is not None:
            for name in (speech.seat, team_of(speech.seat)):
                scores.setdefault(name, []).append(speech.scored.score)
    return {name: (sum(given) / len(given), len(given)) for name, given in scores.items()}


def told_for(team: str, names: Mapping[str, str], review: str, speeches: Sequence[Speaking]) -> tuple[int | None, str]:
    """What speaks for a team: the first sentence of the review that finds it better and counts no points, with
    the question that it answers; else how its
    speech with the highest marks begins, and the post of that."""
    asked = ""
    for said in _SENTENCE.split(review):
        at = {t: where for t in TEAMS if (where := _named(t, names, said)) is not None}
        if at and min(at, key=at.__getitem__) == team and _BETTER.search(said) and not _COUNTS.search(said):
            return None, f"{asked} {said}".strip()
        asked = said if said.endswith("?") else ""
    mine = [(s.scored.score, -s.post, s) for s in speeches if team_of(s.seat) == team and s.scored and s.scored.marks]
    if not mine:
        return None, ""
    score, _, best = max(mine)
    first = _SENTENCE.split(best.said.text or " ".join(best.said.questions))[0]
    return best.post, f"{seat_name(best.seat)}, best marked for {names[team]} ({points(score)}): {first}"


def _named(team: str, names: Mapping[str, str], said: str) -> int | None:
    """Where a sentence names a team first; None: nowhere."""
    found = re.search(rf"\b({re.escape(names[team])}\b|{team}_\d)", said)
    return found.start() if found else None


def lead_words(outcome: Outcome) -> str:
    """`by the judge's marks, 11.75 points ahead`, and whether that is little; empty: nobody leads."""
    if outcome.winner not in TEAMS:
        return ""
    if outcome.decided_by == "votes":
        return "the audience's votes were counted"
    first, second = (outcome.team_totals.get(t, 0.0) for t in (outcome.winner, other(outcome.winner)))
    by = abs(first - second)
    little = by < _NARROW * max(abs(first), abs(second))
    told = f"by the judge's marks, {points(by)} points ahead"
    return f"{told}, so few that another judge may see it otherwise" if little else told


def decided(outcome: Outcome, speeches: Sequence[Speaking], names: Mapping[str, str]) -> Iterator[str]:
    """A sentence each: that penalties decided, that one side spoke more often, that the means are in another order.
    Nothing where the audience decided, or nobody has won."""
    if outcome.winner not in TEAMS or outcome.decided_by == "votes":
        return
    first, second = outcome.winner, other(outcome.winner)
    taken = {t: sum(f.individual_points + f.team_points for f in outcome.fines if f.team == t) for t in TEAMS}
    before = {t: outcome.team_totals.get(t, 0.0) - taken[t] for t in TEAMS}
    if before[first] <= before[second]:
        lost = ", ".join(f"{names[t]} {points(taken[t])}" for t in TEAMS if taken[t])
        without = f"{points(before[first])} to {points(before[second])}"
        yield f"penalties decided ({lost}): without them {names[first]} had {without}"
    mean = means(speeches)
    if not (first in mean and second in mean) or mean[first][1] == mean[second][1]:
        return
    times = f"{names[first]} was scored {count(mean[first][1], 'time')}, {names[second]} {mean[second][1]}"
    yield f"points are sums, and {times}"
    if mean[first][1] > mean[second][1] and mean[first][0] < mean[second][0]:
        yield f"{names[second]} led by mean speech, {mean[second][0]:.2f} to {mean[first][0]:.2f}"


def fines_words(fines: Sequence[Fine]) -> str:
    """`overtime -10, off topic -3`."""
    rules = dict.fromkeys(f.rule for f in fines)
    sums = {rule: sum(f.individual_points + f.team_points for f in fines if f.rule == rule) for rule in rules}
    return ", ".join(f"{words_of(rule)} {points(total)}" for rule, total in sums.items())
