"""competition: the result as it was counted, in figures and in a sentence, and what a review says otherwise."""

from parley.coordinator.protocols.competition.rules import (
    best,
    fines,
    of_substance,
    points,
    score,
    swing,
    votes,
    winner,
)
from parley.coordinator.protocols.competition.state import Says, State, format_of, marks
from parley.coordinator.signals.count_contradictions import Contender, CountedResult, contradiction
from parley.coordinator.table import View
from parley.schemas.protocols.competition.format import DIMENSIONS, Format, Team, other
from parley.schemas.protocols.competition.messages import Account
from parley.schemas.wire import figure

_USUAL: dict[str, tuple[str, ...]] = {
    "pro": (
        "Proposition",
        "Pro",
        "Affirmative",
        "Befürworter",
        "Team Pro",
        "team for the motion",
        "side for the motion",
    ),
    "con": (
        "Opposition",
        "Con",
        "the Negative",
        "Gegner",
        "Contra",
        "Team Con",
        "team against the motion",
        "side against the motion",
    ),
}
"""What a text may call a team, whatever its name is."""
_VOTERS = ("audience", "voter", "publikum", "le public")


def account(s: State, v: View, team: str, says: Says = ()) -> Account:
    """What a team's total is made of."""
    f = format_of(v)
    marked = [m for x in s.lines if x.team == team and (m := marks(v, says, x)) is not None]
    taken: dict[str, float] = {}
    for fine in fines(s, v, says):
        if fine.team == team:
            taken[fine.rule] = round(taken.get(fine.rule, 0.0) + fine.team_points + fine.individual_points, 4)
    return Account(
        scored=len(marked),
        mean=_mean([score(m, f) for m in marked]),
        marks={name: _mean([float(getattr(m, name)) for m in marked]) for name in DIMENSIONS} if marked else {},
        fines=taken,
        without_fines=round(points(s, v, says).team[team] - sum(taken.values()), 4),
    )


def _mean(values: list[float]) -> float:
    return round(sum(values) / len(values), 2) if values else 0.0


def counted(s: State, v: View, says: Says = ()) -> str:
    """The result in a sentence."""
    f, won = format_of(v), winner(s, v, says)
    totals = points(s, v, says).team
    if not won and s.complete and not any(of_substance(s, v, says).values()):
        return "nobody won: neither side said anything of substance"
    if not won:
        return "nobody won; points so far " + ", ".join(f"{x.name} {figure(totals[t], 2)}" for t, x in f.teams.items())
    by_votes = f.decided_by == "votes"
    figures = swing(votes(s, v, says)) if by_votes else totals
    first: Team = "con" if won == "con" else "pro"
    unit = "votes won over" if by_votes else "points"
    told = f"{figure(figures[first], 2)} to {figure(figures[other(first)], 2)} {unit}"
    return f"a draw, {told}" if won == "draw" else f"{f.teams[first].name} won, {told}"


def departs(text: str, s: State, v: View) -> str:
    """What a review says otherwise than it was counted, with what was counted; empty: nothing that is plain."""
    otherwise = contradiction(text, _count(s, v))
    return f"{otherwise}; counted was: {counted(s, v)}" if otherwise else ""


def _count(s: State, v: View) -> CountedResult:
    f, tallies = format_of(v), votes(s, v)
    accounts: dict[Team, Account] = {team: account(s, v, team) for team in f.teams}
    scored = points(s, v)
    won_over = swing(tallies)
    sides: dict[str, Contender] = {}
    for team in accounts:
        of_team = accounts[team]
        seats = (x for seat, x in scored.individual.items() if seat.startswith(f"{team}_"))
        sides[team] = Contender(
            names=_names(f, team),
            figures=(
                scored.team[team],
                of_team.without_fines,
                of_team.mean,
                of_team.scored,
                sum(of_team.fines.values()),
                *of_team.fines.values(),
                *of_team.marks.values(),
                *seats,
                *(t.votes.get(team, 0) for t in tallies),
                won_over.get(team, 0),
            ),
        )
    beside: list[float] = [len(fines(s, v)), *(t.votes.get("undecided", 0) for t in tallies)]
    beside += (
        abs(a - b)
        for a, b in (
            (scored.team["pro"], scored.team["con"]),
            (accounts["pro"].without_fines, accounts["con"].without_fines),
            (accounts["pro"].mean, accounts["con"].mean),
            (won_over.get("pro", 0), won_over.get("con", 0)),
            *((t.votes.get("pro", 0), t.votes.get("con", 0)) for t in tallies),
        )
    )
    last = set(tallies[-1].ballots.values()) if tallies else set()
    return CountedResult(
        sides=sides,
        winner=winner(s, v),
        figures=tuple(beside),
        best=best(s, v),
        voters=_VOTERS,
        unanimous=len(last) == 1 if tallies else None,
    )


def _names(f: Format, team: Team) -> tuple[str, ...]:
    """Its own first; what the other team is called as well is left out."""
    theirs = f.teams[other(team)].name.casefold()
    return (f.teams[team].name, *(x for x in _USUAL[team] if x.casefold() != theirs))
