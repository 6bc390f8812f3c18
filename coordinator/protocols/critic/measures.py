"""critic: the figures that are counted when a session is closed."""

from parley.coordinator.protocols.critic.state import State
from parley.coordinator.table import Measured, Sample, Session, SessionCounts, View


def measured(session: Session, view: View) -> Measured:
    """Agreement is the judge's confidence in the answer; disagreement the share of objections that the last answer
    judged does not meet."""
    s: State = session.inner
    trend, raised = s.trend(), len(s.profile)
    return Measured(
        agreement=trend[-1] / 100 if trend else None,
        disagreement=len(s.open_objections()) / raised if raised and trend else None,
        samples=(Sample("objections_repeated_total", value=sum(r.repeats is not None for r in s.rounds)),),
    )


COUNTED = SessionCounts(measured=measured)
