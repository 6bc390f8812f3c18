"""consensus: counts a closed session by another rule than its own."""

from parley.coordinator.machine import Protocol, Session
from parley.coordinator.protocols.consensus.deciding import poll_of
from parley.coordinator.signals.counting import CannotCount, count
from parley.coordinator.transition_builder import TransitionBuilder
from parley.schemas.voting import AGREEMENT, Decision, Poll, rule_of


def recount(protocol: Protocol, session: Session, text: str) -> tuple[Poll, Decision]:
    """What was counted, and what it comes to. Raises InvalidValue for a rule that there is not, CannotCount where the
    session has not what the rule counts."""
    rule = rule_of(text, "--decide")
    if rule.name == AGREEMENT:
        raise CannotCount("agreement is signed, and not counted: leave --decide out")
    poll = poll_of(session.inner, TransitionBuilder(protocol, session, session.at_ns).view())
    if not poll.candidates:
        raise CannotCount("nobody held an answer")
    return poll, count(poll, rule)
