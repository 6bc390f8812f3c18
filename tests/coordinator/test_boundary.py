"""The boundary of a seat's prompts: one a session and seat, in every turn and copy."""

from parley.coordinator.briefing import build
from parley.coordinator.machine import Session
from parley.schemas import log
from tests.protocols.consensus.play import Play

KEY = b"k" * 32


def boundaries(session: Session, entry: log.Entry, lane: str = "m1") -> dict[str, str]:
    """Seat -> the boundary of the turn that this entry asks it."""
    sent = build(session, entry.n, entry.commands, key=KEY, lane=lane, decided_ns=1)
    return {turn.seat: turn.boundary for sending in sent for turn in sending.work.turns}


def test_turns_and_copies_of_a_seat_have_the_same_and_other_seats_another() -> None:
    play = Play()
    first = boundaries(play.session, play.entries[0])
    assert boundaries(play.session, play.entries[0], lane="m2") == first
    play.answers("A", "B", "C")
    play.score(40.0, "the answer")
    later = boundaries(play.session, play.entries[-1])
    assert len(first) == 3 == len(set(first.values())) and later == first
