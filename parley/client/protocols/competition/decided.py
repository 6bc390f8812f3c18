"""What decided a competition, where the totals alone mislead: penalties, or more speeches on one side.

Points are sums (docs/competition.md). A side that spoke more often may lead by the sum and not by the mean.
"""

from collections.abc import Iterator

from parley.client.protocols.competition.story import Story, team_of
from parley.client.text import line
from parley.schemas.protocols.competition.format import TEAMS, other
from parley.schemas.protocols.competition.messages import Outcome
from parley.schemas.wire import figure


def decided(outcome: Outcome, story: Story) -> Iterator[str]:
    """A sentence each: that penalties decided, that the order by mean differs from that by sum. Nothing where the
    audience decided, or nobody has won."""
    if outcome.winner not in TEAMS or outcome.decided_by == "votes":
        return
    first, second = outcome.winner, other(outcome.winner)
    name = {team: line(story.team_name(team)) for team in TEAMS}
    taken = {t: sum(f.individual_points + f.team_points for f in outcome.fines if f.team == t) for t in TEAMS}
    before = {t: outcome.team_totals.get(t, 0.0) - taken[t] for t in TEAMS}
    if before[first] <= before[second]:
        lost = ", ".join(f"{name[t]} {figure(taken[t], 2)}" for t in TEAMS if taken[t])
        without = f"{figure(before[first], 2)} to {figure(before[second], 2)}"
        yield f"penalties decided ({lost}): without them {name[first]} had {without}"
    scores: dict[str, list[float]] = {t: [] for t in TEAMS}
    for speech in story.speeches:
        if speech.scored is not None and speech.scored.marks is not None and (team := team_of(speech.seat)) in scores:
            scores[team].append(speech.scored.score)
    if not all(scores.values()):
        return
    mean = {t: sum(scores[t]) / len(scores[t]) for t in TEAMS}
    if len(scores[first]) > len(scores[second]) and mean[first] < mean[second]:
        told = " against ".join(
            f"{mean[t]:.2f} of {len(scores[t])} speech{'' if len(scores[t]) == 1 else 'es'} for {name[t]}"
            for t in (second, first)
        )
        yield f"by the mean of its speeches the other side leads: {told}; points are sums"
