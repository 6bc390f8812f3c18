"""competition: the rule engine. Points are computed from what was said, from the judge's marks and from the format; so
the same record can be counted under other weights.

Source: seed, "Scoring System": speech = sum of weight x mark; individual = its speeches + its fines; team = its
individuals + the team's fines. There is no lower limit.
"""

from typing import cast

import msgspec

from parley.coordinator.protocols.competition.speech_words import spelt
from parley.coordinator.protocols.competition.state import (
    Says,
    State,
    Utterance,
    body_of,
    debaters,
    format_of,
    item_of,
    marks,
    speech_of,
    team_of,
)
from parley.coordinator.table import View
from parley.schemas.protocols.competition.format import (
    DIMENSIONS,
    TEAMS,
    Act,
    Format,
    Penalty,
    Speech,
    Team,
    Violation,
    other,
    seats_of,
)
from parley.schemas.protocols.competition.messages import AudienceVotes, Fine, Marks, SpeechPost
from parley.schemas.wire import figure

LOWEST, HIGHEST = 1.0, 10.0
"""Of a mark, and so of a speech's score: weights add up to 1."""
OVERTIME, CONSECUTIVE = "overtime", "consecutive"
OF_ACT: dict[str, tuple[Act, ...]] = {
    "counter_question": ("answer",),
    "not_direct_answer": ("answer",),
    "attacker_answered": ("question",),
    "scripted_summary": ("summary",),
}
"""What only a speech of this kind can be; every other violation any speech can be."""
_VIOLATIONS: tuple[Violation, ...] = Violation.__args__  # type: ignore[attr-defined]


def possible(act: Act) -> tuple[Violation, ...]:
    """The violations that a speech of this kind can be of."""
    return tuple(kind for kind in _VIOLATIONS if act in OF_ACT.get(kind, (act,)))


def score(judge_marks: Marks | None, f: Format) -> float:
    """Points of one speech: the weighted sum of its marks, 1 to 10; 0 without marks."""
    if judge_marks is None:
        return 0.0
    return round(sum(f.weights[name] * float(getattr(judge_marks, name)) for name in DIMENSIONS), 4)


def fines_for(seat: str, speech: SpeechPost, judge_marks: Marks | None, f: Format) -> tuple[Fine, ...]:
    """What one speech costs: overtime, and each kind of violation found in it once."""
    costs = []
    if speech.overtime:
        note = f"{figure(speech.words)} words, {speech.limit:,} allowed"
        costs.append(_fine(OVERTIME, seat, f, note))
    if judge_marks is not None:
        for kind in dict.fromkeys(b.kind for b in judge_marks.violations):
            quote = next(b.quote for b in judge_marks.violations if b.kind == kind)
            costs.append(_fine(kind, seat, f, quote[:300]))
    return tuple(x for x in costs if x.team_points or x.individual_points)


def interrupting(seat: str, f: Format) -> Fine:
    """What it costs to take a floor that is the other team's; recorded where it costs nothing too."""
    return _fine(CONSECUTIVE, seat, f, f"{seat} spoke while {other(team_of(seat))} had the floor")


def _fine(rule: str, seat: str, f: Format, note: str) -> Fine:
    price = f.penalties.get(rule, Penalty())
    return Fine(
        rule=rule, seat=seat, team=team_of(seat), individual_points=price.individual, team_points=price.team, note=note
    )


def fines(s: State, v: View, says: Says = ()) -> tuple[Fine, ...]:
    """All fines so far, in the order of what they are for."""
    f = format_of(v)
    costs: list[Fine] = []
    for i, line in enumerate(s.lines):
        costs += (interrupting(x.seat, f) for x in s.interruptions if x.after == i)
        costs += _of_line(v, says, line, f)
    costs += (interrupting(x.seat, f) for x in s.interruptions if x.after == len(s.lines))
    return tuple(costs)


def _of_line(v: View, says: Says, line: Utterance, f: Format) -> tuple[Fine, ...]:
    speech = speech_of(v, says, line)
    return () if speech is None else fines_for(line.seat, speech, marks(v, says, line), f)


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """Totals so far."""

    individual: dict[str, float]
    team: dict[str, float]

    def all(self) -> dict[str, float]:
        """By seat and by team."""
        return {**self.individual, **self.team}


def points(s: State, v: View, says: Says = ()) -> Totals:
    """Totals of seats and teams, from the posts (seed, "Score Formula")."""
    f = format_of(v)
    individual = dict.fromkeys(debaters(f), 0.0)
    extra = dict.fromkeys(TEAMS, 0.0)
    for line in s.lines:
        individual[line.seat] += score(marks(v, says, line), f)
    for fine in fines(s, v, says):
        individual[fine.seat] += fine.individual_points
        extra[fine.team] += fine.team_points
    team = {t: round(sum(individual[seat] for seat in seats_of(f, t)) + extra[t], 4) for t in TEAMS}
    return Totals(individual={seat: round(x, 4) for seat, x in individual.items()}, team=team)


def best(s: State, v: View, says: Says = ()) -> tuple[str, ...]:
    """Who has the highest total of those with a speech that was scored; several where they tie."""
    scored = {x.seat for x in s.lines if marks(v, says, x)}
    totals = {seat: x for seat, x in points(s, v, says).individual.items() if seat in scored}
    return tuple(seat for seat, x in totals.items() if x == max(totals.values()))


def votes(s: State, v: View, says: Says = ()) -> tuple[AudienceVotes, ...]:
    """The votes taken so far."""
    return tuple(body_of(v, says, n, AudienceVotes) for n in s.tallies)


def swing(tallies: tuple[AudienceVotes, ...]) -> dict[str, int]:
    """Votes that each team won between the first and the last vote, of those who voted both times; empty before."""
    named = {t.name: t.ballots for t in tallies}
    if set(named) != {"before", "after"}:
        return {}
    voted_twice = named["before"].keys() & named["after"].keys()
    return {
        team: sum((named["after"][x] == team) - (named["before"][x] == team) for x in voted_twice) for team in TEAMS
    }


def due(s: State, v: View) -> tuple[Utterance, ...]:
    """What was said and is to be scored."""
    return tuple(x for x in s.lines if x.post is not None and _to_score(s, v, x))


def awaited(s: State, v: View) -> tuple[Utterance, ...]:
    """What was said and is to be scored, and is not scored yet."""
    return tuple(x for x in due(s, v) if x.scored is None)


def _to_score(s: State, v: View, line: Utterance) -> bool:
    item = item_of(msgspec.structs.replace(s, stage=line.stage, item=line.item), v)
    return not isinstance(item, Speech) or item.scored


def _open(s: State, v: View, says: Says) -> bool:
    """Whether marks for the speeches that could not be scored might make the leading team another, or none. What the
    judge could have found against such a speech is left aside."""
    least, most = (dict(points(s, v, says).team) for _ in range(2))
    for line in due(s, v):
        if marks(v, says, line) is None:
            least[team_of(line.seat)] += LOWEST
            most[team_of(line.seat)] += HIGHEST
    known = least == most
    return not known and not any(least[team] > most[other(team)] for team in TEAMS)


def of_substance(s: State, v: View, says: Says = ()) -> dict[str, int]:
    """Speeches of each team that say something: its words are not all the motion's, are not word for word what the
    other team says too, and the judge found it neither off topic nor of the lowest mark in logic and persuasion alike.
    A question says nothing by itself."""
    motion = set(spelt(v.opened.question))
    texts = {x: spelt(speech.text) for x in s.lines if (speech := speech_of(v, says, x)) is not None}
    told = {team: {text for x, text in texts.items() if x.team == team} for team in TEAMS}
    counts = dict.fromkeys(TEAMS, 0)
    for line, text in texts.items():
        own = text not in told[other(line.team)] and not motion.issuperset(text)
        counts[line.team] += line.act != "question" and own and not _worthless(marks(v, says, line))
    return counts


def _worthless(judge_marks: Marks | None) -> bool:
    if judge_marks is None:
        return False
    lowest = judge_marks.logic == judge_marks.persuasion == LOWEST
    return lowest or any(b.kind == "off_topic" for b in judge_marks.violations)


def winner(s: State, v: View, says: Says = ()) -> str:
    """pro | con | draw, by points or by votes; empty where not every stage was played, neither team said anything of
    substance, nothing was scored or voted on both times, or the speeches that could not be scored might turn it."""
    if not s.complete or not any(of_substance(s, v, says).values()):
        return ""
    if format_of(v).decided_by == "votes":
        tallies = votes(s, v, says)
        totals: dict[str, float] = dict(swing(tallies)) if all(t.ballots for t in tallies) else {}
    else:
        totals = points(s, v, says).team if any(marks(v, says, x) for x in s.lines) else {}
        if _open(s, v, says):
            return ""
    if not totals:
        return ""
    return "draw" if totals["pro"] == totals["con"] else max(TEAMS, key=lambda team: totals[cast(Team, team)])
