"""What the kill tests make of a turn that nobody answered: its worker was away, or else something is lost."""

import msgspec
import pytest

from parley.schemas import log
from parley.schemas.wire import encode
from tests.chaos.verify import LIVES_NS, NEAR_NS, Evidence, Findings, Stored, Unanswered, check, missed, neglected
from tests.protocols.competition.play import Play, free, small
from tests.support.model import Call

S = 1_000_000_000


@pytest.fixture
def play() -> Play:
    """Two are asked for bids within 20 s; one of them has bid."""
    found = Play(small(free(mode="concurrent", bid_seconds=20)))
    found.bids("pro_1")
    return found


def evidence(play: Play) -> Evidence:
    stored = tuple(Stored(encode(entry), entry.at_ns) for entry in play.entries)
    return Evidence(sid=play.session.sid, stored=stored, asked=(), history={}, followed=())


def calls(turn: Unanswered, *at_s: float, pid: int = 1, own: bool = False) -> list[Call]:
    """Begun so long after the asking, for this turn (`own`) or another one of its seat."""
    name = turn.key[0] if own else f"{turn.seat}/speak/9/9"
    return [Call(turn.asked_ns + int(s * S), pid, "another", name, 1) for s in at_s]


def test_a_window_that_ran_out_is_a_missed_turn(play: Play) -> None:
    assert missed(evidence(play)) == []
    play.expire()
    (turn,) = missed(evidence(play))
    assert (turn.seat, turn.key[1], turn.gone) == ("pro_2", 1, False) and turn.key[0].startswith("pro_2/bid/")
    assert turn.over_ns >= turn.deadline_ns == turn.asked_ns + 20 * S


def test_a_turn_that_was_withdrawn_or_answered_is_none(play: Play) -> None:
    play.bids("pro_2")
    play.event(log.Cancelled(author="client"), "in:3")
    assert play.session.closed and missed(evidence(play)) == []


def test_a_worker_that_was_there_had_to_answer(play: Play) -> None:
    play.expire()
    (turn,) = missed(evidence(play))
    long = LIVES_NS / S + 1
    assert neglected(turn, []) == ""
    assert neglected(turn, calls(turn, 1, long)) == "", "not for long enough behind the asking"
    assert neglected(turn, [*calls(turn, 1), *calls(turn, long + 1, pid=2)]) == "", "one was killed, another one came"
    assert "never began it" in neglected(turn, calls(turn, 1, long + 1))
    lost = [*calls(turn, 1, own=True), *calls(turn, 2)]
    assert neglected(turn, lost) == "", "killed with the call"
    assert "called a model for it" in neglected(turn, [*lost, *calls(turn, long + 1)])


def test_a_worker_that_calls_a_model_is_not_gone(play: Play) -> None:
    play.expire()
    (late,) = missed(evidence(play))
    turn = msgspec.structs.replace(late, gone=True, over_ns=late.deadline_ns - 1)
    over_s = (turn.over_ns - turn.asked_ns) / S
    assert "was there" in neglected(turn, calls(turn, over_s - NEAR_NS / S + 1))
    assert neglected(turn, calls(turn, over_s - NEAR_NS / S - 1)) == ""


@pytest.mark.parametrize("known", [True, False])
def test_a_call_that_was_never_answered_is_lost_unless_its_turn_was_missed(play: Play, known: bool) -> None:
    play.expire()
    about = evidence(play)
    without, found = missed(about), Findings()
    begun = [Call(without[0].asked_ns + S, 1, about.sid, *without[0].key)]
    check(found, about, begun, None, None, without if known else ())
    assert any("never answered" in text for text in found.lost) is not known
