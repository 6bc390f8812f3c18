"""A person in a seat, without a bus: whose turns they are, what they may cost, and what becomes of them."""

from typing import Any

import msgspec
import pytest

from parley.coordinator.admission import admit
from parley.coordinator.briefing import build
from parley.coordinator.budget import reservation, total
from parley.coordinator.machine import Illegal, Inadmissible, OpenTurn, record_opening
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.replay import replay
from parley.coordinator.table import Sitter, View
from parley.schemas import log
from parley.schemas.session import Budget, OpenSession, Seat, human_queue
from parley.schemas.turn import Usage
from parley.schemas.wire import encode
from tests.protocols.consensus.play import CONSENSUS, Play, says, worker, workers
from tests.support.play import SECOND

HUMAN = human_queue("panelist_1")
METERED = workers(metered=True, usd_per_million_input=1.0, usd_per_million_output=1.0)


def sat(seat: str = "panelist_1", **more: Any) -> log.Sat:
    return log.Sat(**{"seat": seat, "queue": human_queue(seat), "seconds": 30.0, **more})


def asked(entry: log.Entry) -> list[log.Ask]:
    return [c for c in entry.commands if isinstance(c, log.Ask)]


def told(entry: log.Entry) -> list[Any]:
    return [msgspec.json.decode(c.body) for c in entry.commands if isinstance(c, log.Say) and c.kind == "seat"]


def second_round(then: str = "agent", **given: Any) -> Play:
    """A person took panelist_1 in the first round, and is asked in the second."""
    play = Play(**given)
    play.event(sat(then=then))
    play.round(50, "Vilnius", "Kaunas", "Riga")
    assert play.turn("panelist_1").ask.queue == HUMAN
    return play


def seat_of(play: Play, name: str) -> Seat:
    return next(s for s in play.session.opened.seats if s.seat == name)


def view_of(play: Play) -> View:
    s = play.session
    return View(s.opened, s.settings, s.posts, len(s.posts), tuple(s.turns.values()), s.at_ns)


def late(play: Play, turn: OpenTurn) -> log.Entry:
    """Lets timers fire until the turn is out no more."""
    while True:
        entry = play.expire()
        if turn.id not in play.session.turns:
            return entry


def recomputes(play: Play) -> None:
    """Every entry is what its event leads to, byte for byte."""
    found = replay(PROTOCOLS.get, "s1", [encode(e) for e in play.entries])
    assert found.session.sitters == play.session.sitters


def waiting(**waits: float) -> Play:
    """A session whose seats wait for people from the start."""
    play = Play(timeout_s=120.0, budget=Budget(tokens=10**6))
    opened = msgspec.structs.replace(play.session.opened, waits=waits)
    play.session, entry = record_opening(CONSENSUS, "s1", opened, play.now_ns, "in:1")
    play.entries = [entry]
    return play


def test_a_seat_may_wait_for_its_person_from_the_first_turn_on() -> None:
    play = waiting(panelist_1=30.0)
    first = play.turn("panelist_1")
    assert first.ask.queue == HUMAN and first.ask.deadline_ns == play.now_ns + 30 * SECOND
    assert told(play.entries[0]) == [{"seat": "panelist_1", "human": True, "waits": 30.0}]
    assert play.turn("panelist_2").ask.queue == ""
    play.event(sat(seconds=60.0))
    assert play.turn("panelist_1").id == first.id, "the person finds it waiting"
    play.reply("panelist_1", says("Vilnius"))
    recomputes(play)


def test_only_turns_asked_afterwards_are_the_persons() -> None:
    play = Play(timeout_s=120.0)
    entry = play.event(sat())
    assert told(entry) == [{"seat": "panelist_1", "human": True}] and not asked(entry)
    assert play.session.sitters == {"panelist_1": Sitter(queue=HUMAN, seconds=30.0, then="agent")}
    assert play.turn("panelist_1").ask.queue == ""
    play.round(50, "Vilnius", "Kaunas", "Riga")
    theirs = {s: play.turn(s).ask for s in play.panel}
    assert {s: a.queue for s, a in theirs.items()} == {"panelist_1": HUMAN, "panelist_2": "", "panelist_3": ""}
    assert theirs["panelist_1"].deadline_ns == play.now_ns + 30 * SECOND
    assert theirs["panelist_2"].deadline_ns == play.now_ns + 120 * SECOND
    assert play.session.timer_ns is not None and play.session.timer_ns <= play.now_ns + 30 * SECOND
    recomputes(play)


def test_a_person_who_is_late_gives_the_seat_and_the_turn_back_to_the_agent() -> None:
    play = second_round("agent")
    theirs = play.turn("panelist_1")
    play.reply("panelist_2", says("Kaunas"))
    play.reply("panelist_3", says("Riga"))
    entry = late(play, theirs)
    again = asked(entry)
    assert told(entry) == [{"seat": "panelist_1", "human": False}] and play.session.sitters == {}
    assert [(a.seat, a.kind, a.round, a.queue, a.attempt) for a in again] == [("panelist_1", "revise", 2, "", 1)]
    assert again[0].deadline_ns == play.now_ns + 120 * SECOND
    assert (again[0].sees, again[0].brief) == (theirs.ask.sees, theirs.ask.brief)
    assert play.session.ledger.unaccounted_turns == 0
    play.reply("panelist_1", says("Vilnius, of old"))
    assert play.turn("analyst").ask.kind == "compare"
    recomputes(play)


def test_the_round_waits_for_the_agent_that_took_over_though_the_others_were_missed_in_the_same_moment() -> None:
    play = second_round("agent", timeout_s=30.0)
    while play.turn("panelist_1").ask.queue:
        play.expire()
    assert [t.ask.seat for t in play.session.turns.values()] == ["panelist_1"]
    recomputes(play)


def test_a_person_who_is_late_is_missed_where_that_was_chosen_and_keeps_the_seat() -> None:
    play = second_round("miss")
    play.reply("panelist_2", says("Kaunas"))
    play.reply("panelist_3", says("Riga, of old"))
    entry = late(play, play.turn("panelist_1"))
    assert told(entry) == [] and play.turn("analyst").ask.kind == "compare"
    assert "panelist_1" in play.session.sitters and play.session.ledger.unaccounted_turns == 0
    play.score(50)
    assert play.turn("panelist_1").ask.queue == HUMAN
    recomputes(play)


def test_a_person_is_waited_for_a_day_and_no_longer_than_the_session_has() -> None:
    assert second_round("wait").turn("panelist_1").ask.deadline_ns > START_OF_THE_DAY
    play = second_round("wait", budget=Budget(seconds=600.0))
    assert play.turn("panelist_1").ask.deadline_ns == play.session.opened_ns + 600 * SECOND


START_OF_THE_DAY = Play().now_ns + 86_400 * SECOND


def test_there_must_be_such_a_seat() -> None:
    with pytest.raises(Illegal, match="there is no seat panelist_9; seats are panelist_1, panelist_2, panelist_3"):
        Play().event(sat("panelist_9"))


def test_a_persons_turn_reserves_nothing_and_is_never_lost() -> None:
    plain, seated = Play(there=METERED), Play(there=METERED)
    seated.event(sat(then="wait"))
    for play in (plain, seated):
        play.round(50, "Vilnius", "Kaunas", "Riga")
    caps = plain.turn("panelist_1").ask.caps
    one = (caps.input_tokens + caps.output_tokens) * caps.calls
    for play in (plain, seated):
        play.begin(*[s for s in play.panel if not play.turn(s).ask.queue])
        play.cancel()
    lost = [play.session.ledger.lost for play in (plain, seated)]
    assert lost[0].tokens - lost[1].tokens == one and lost[0].calls - lost[1].calls == caps.calls
    assert plain.session.ledger.unaccounted_turns - seated.session.ledger.unaccounted_turns == 1
    assert lost[1].cost_usd < lost[0].cost_usd


def test_a_turn_that_the_agent_cannot_pay_for_is_missed() -> None:
    """The budget holds the first turns and not a token more: a second round with a person in it, and none without."""
    found = Play(there=METERED)
    first = total(reservation(seat_of(found, t.ask.seat), t.ask.caps) for t in found.session.turns.values())
    held = total(reservation(seat_of(found, seat), caps) for seat, caps in CONSENSUS.final(view_of(found)))
    play = Play(there=METERED, budget=Budget(tokens=first.tokens + held.tokens))
    play.event(sat(then="wait"))
    play.round(50, "Vilnius", "Kaunas", "Riga")
    assert play.turn("panelist_1").ask.queue == HUMAN
    play.reply("panelist_2", None, error="down", usage=Usage(input_tokens=1))
    play.reply("panelist_2", says("Kaunas"), usage=Usage(input_tokens=first.tokens // 3, calls=2))
    entry = play.event(sat(left=True))
    assert told(entry) == [{"seat": "panelist_1", "human": False}] and not asked(entry)
    play.reply("panelist_3", says("Riga, of old"))
    (assessment,) = [c for c in play.entries[-1].commands if isinstance(c, log.Ask)]
    assert assessment.seat == "analyst"
    recomputes(play)


# ---------------------------------------------------------------- briefing and admission


def test_the_turn_is_sent_to_the_persons_queue_alone_with_what_the_seat_may_see() -> None:
    play = second_round()
    entry = play.entries[-1]
    sendings = build(play.session, entry.n, entry.commands, key=b"k" * 32, lane="a", decided_ns=play.now_ns)
    queues = {t.seat: s.queue for s in sendings for t in s.work.turns}
    assert queues == {"panelist_1": HUMAN, "panelist_2": "panelist_2", "panelist_3": "panelist_3"}
    mine = next(s for s in sendings if s.queue == HUMAN)
    assert mine.work.channel == "public" and mine.work.turns[0].role == "panelist"


def test_nobody_is_seated_on_a_persons_queue_by_himself() -> None:
    request = OpenSession(question="?", protocol="consensus", settings={"panel": 3})
    there = (*workers(3), worker(HUMAN), worker(human_queue("panelist_2")))
    opened = admit(CONSENSUS, request, there, 7, "client")
    assert [s.queue for s in opened.seats] == ["panelist_1", "panelist_2", "panelist_3", "analyst"]
    assert not [w for w in opened.workers if w.queue == HUMAN]
    seats = (msgspec.structs.replace(opened.seats[0], queue=HUMAN), *opened.seats[1:])
    asked_for = admit(CONSENSUS, msgspec.structs.replace(request, seats=seats), there, 7, "client")
    assert asked_for.seats[0].queue == HUMAN, "unless the request says so"
    with pytest.raises(Inadmissible, match="no worker is alive for role panelist on queue panelist_1_human"):
        admit(CONSENSUS, msgspec.structs.replace(request, seats=seats), workers(3), 7, "client")
