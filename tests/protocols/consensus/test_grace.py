"""A seat that fails is given a grace once the others have answered: one test a sentence (signals/grace.py)."""

from typing import Any

import msgspec
import pytest

from parley.coordinator.machine import Illegal
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.replay import what_if
from parley.coordinator.sessions.group import PendingSubmission, cut
from parley.coordinator.signals.grace import Grace
from parley.schemas import log
from parley.schemas.wire import raw
from tests.protocols.consensus.play import Play, says, workers
from tests.support.play import SECOND, START_NS

TWO = ("panelist_1", "panelist_2")
LOST = "panelist_3"
RATE = "HTTP 429, slow down"


def play(m: float | None = None, timeout_s: float = 300.0, panel: int = 3, **settings: Any) -> Play:
    """A panel whose models usually take `m` seconds."""
    there = workers(panel, **({} if m is None else {"turn_s": m}))
    return Play({"threshold": 60, **settings}, panel=panel, there=there, timeout_s=timeout_s)


def fails(p: Play, seat: str = LOST, after_s: float = 0.1, why: str = RATE) -> None:
    p.event(log.Retrying(turn=p.turn(seat).id, why=why), after_s=after_s)


def both(p: Play, *answers: str, after_s: float = 0.9) -> None:
    """The two others answer, each so long after what was before."""
    for seat, answer in zip(TWO, answers or ("Vilnius", "Kaunas"), strict=True):
        turn = p.turn(seat)
        p.event(log.Replied(turn=turn.id, body=raw(says(answer))), turn.id, after_s)


def seconds(p: Play) -> float:
    return (p.now_ns - START_NS) / SECOND


def over(p: Play) -> float:
    """Lets the armed timer fire, and says when that was."""
    p.expire()
    return seconds(p)


def why(p: Play) -> str:
    """Why the failing seat is missing in the last round."""
    return str(p.session.inner.rounds[-1].why[LOST])


def late(p: Play, answer: str = "Vilnius", after_s: float = 0.1) -> log.Entry:
    """The turn that is aside is answered."""
    turn = next(t for t in p.session.turns.values() if t.aside)
    return p.event(log.Replied(turn=turn.id, body=raw(says(answer))), turn.id, after_s)


def test_a_round_whose_quorum_has_answered_does_not_wait_for_a_seat_that_fails() -> None:
    p = play()
    fails(p)
    both(p)
    assert p.phase == "answering" and over(p) == pytest.approx(1.9 + 10)
    assert p.phase == "scoring" and why(p) == "failing for 12 s: HTTP 429, slow down"


@pytest.mark.parametrize(("m", "ends"), [(1.0, 70.0), (20.0, 160.0), (None, 120.0)], ids=["fast", "slow", "unknown"])
def test_a_silent_turn_fails_when_it_is_older_than_a_minute_and_five_times_the_usual(
    m: float | None, ends: float
) -> None:
    p = play(m)
    both(p)
    while p.phase == "answering":
        over(p)
    assert seconds(p) == pytest.approx(ends) and why(p) == f"no reply for {ends:.0f} s"


def test_who_is_gone_fails_since_it_was_last_heard() -> None:
    p = play()
    both(p)
    p.event(log.TimerFired(gone=(LOST,)), after_s=14.0)
    assert p.phase == "answering" and over(p) == pytest.approx(17.8)
    assert p.phase == "scoring" and why(p) == "its worker is gone for 10 s"


def test_the_turn_stays_open_and_reserved_and_its_seat_is_not_asked_again() -> None:
    p = play()
    p.begin(LOST)
    fails(p)
    both(p)
    over(p)
    p.compare({"Vilnius": "1", "Kaunas": "2"})
    assert p.phase == "revising" and p.asked() == [(LOST, "answer"), *((seat, "revise") for seat in TWO)]
    assert p.session.ledger.lost.calls == 0
    both(p, "Vilnius", "Vilnius")
    assert why(p) == "failing for 12 s: HTTP 429, slow down; still at its turn of round 1"
    assert p.stop["reason"] == "threshold" and p.session.ledger.lost.calls == 2


def test_a_late_answer_is_blind_and_counts_from_the_next_round_on() -> None:
    p = play()
    fails(p)
    both(p)
    over(p)
    late(p)
    assert {x.seat for x in p.posts("position")} == set(TWO)
    p.compare({"Vilnius": "1", "Kaunas": "2"})
    assert p.asked() == [(seat, "revise") for seat in TWO], "its answer is there"
    both(p)
    assert sorted(x.seat for x in p.posts("position") if x.round == 2) == [*TWO, LOST]
    assert p.session.inner.rounds[-1].missing == ()


@pytest.mark.parametrize("of", ["the sentence", "the one before"])
def test_a_late_signature_counts_while_its_sentence_is_out(of: str) -> None:
    p = play(panel=5, threshold=100)
    p.answers("Vilnius", "Vilnius it is", "It is Vilnius", "Vilnius!", "Vilnius!")
    p.compare({"Vilnius": "12345"})
    turn = p.turn(LOST)
    fails(p)
    asked = [s for s in p.put.asked if s != LOST]
    for seat in asked[:-1]:
        p.sign(seat)
    if of == "the sentence":
        over(p)
        assert p.turn(LOST).aside and p.phase == "signing"
    else:
        p.sign(asked[-1], "neither")
        over(p)
        p.synthesize("The capital is Vilnius")
    brief = msgspec.json.decode(turn.ask.brief)
    first = "first" if brief["first"]["sentence"].startswith("Vilnius") else "second"
    p.event(log.Replied(turn=turn.id, body=raw({"states": first, "differs": "", "reservation": ""})), "late")
    assert (LOST in p.session.inner.pending) == (of == "the sentence")


def test_only_the_first_failure_of_an_open_turn_counts() -> None:
    p = play()
    fails(p)
    with pytest.raises(Illegal, match="changes nothing"):
        fails(p)
    with pytest.raises(Illegal, match="nobody waits"):
        p.event(log.Retrying(turn="0-9", why=RATE))


@pytest.mark.parametrize("least_s", [5.0, 10.0, 30.0])
def test_with_another_grace_the_record_says_from_where_it_carries_no_further(least_s: float) -> None:
    p = play()
    fails(p)
    both(p)
    over(p)
    p.compare({"Vilnius": "1", "Kaunas": "2"})
    parting = what_if(PROTOCOLS.get, "s1", p.log, {}, grace=Grace(least_s=least_s))
    assert parting.n == (None if least_s == 10.0 else 4), "the timer of transition 4 ends the grace of the record"
    assert ("the grace of panelist_3 is over before it" in parting.how) == (least_s == 5.0)


def test_of_what_waits_for_a_session_replies_come_before_the_timer() -> None:
    timer = PendingSubmission("in:7", log.TimerFired(), lambda outcome: None)
    reply = PendingSubmission("turn:0-2", log.Replied(turn="0-2", body=raw(None)), lambda outcome: None)
    assert cut([timer, reply]) == ([reply, timer], [])
