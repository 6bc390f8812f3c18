"""competition: the figures that are counted when a session is closed. Its course is fixed, so no stop rule could save
calls."""

from parley.coordinator.protocols.competition.rules import votes
from parley.coordinator.protocols.competition.state import State
from parley.coordinator.table import Measured, Session, SessionCounts, View


def measured(session: Session, view: View) -> Measured:
    """Agreement is the share of the last ballots that the side with the most of them has; disagreement the rest."""
    s: State = session.inner
    tallies = votes(s, view)
    cast = list(tallies[-1].votes.values()) if tallies else []
    share = max(cast) / sum(cast) if any(cast) else None
    return Measured(agreement=share, disagreement=None if share is None else 1 - share)


COUNTED = SessionCounts(measured=measured)
