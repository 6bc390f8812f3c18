"""Records of every protocol, carried on without a bus: the same states by the new log alone, paid once, told apart."""

from typing import Any

import msgspec
import pytest

from parley.client.records import read_record
from parley.coordinator.budget import Ledger
from parley.coordinator.forks.carry import MOST_EVENTS, CarriedEntry, ForkRequest, carry, position_of, rounds_of
from parley.coordinator.machine import Inadmissible
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.replay import VerifiedRecord, course, replay, what_if
from parley.coordinator.sessions.forking import changed
from parley.schemas import log
from parley.schemas.past_sessions.fork import Fork
from parley.schemas.presence import Announcement
from parley.schemas.session import Budget, ForkSession
from parley.schemas.turn import Usage
from parley.schemas.wire import encode
from tests.old_logs.test_old_logs import ENDED, FIRST, LOGS

NOW = 2_000_000_000_000_000_000
NAMES = sorted(name for name in ENDED if not name.endswith("-single"))
"""Of one answer nothing can be carried (docs/fork.md)."""


def recorded(name: str) -> VerifiedRecord:
    record = read_record(LOGS[name])
    return replay(PROTOCOLS.get, record.sid, record.entries)


def opening(found: VerifiedRecord) -> log.Opened:
    event = found.entries[0].event
    assert isinstance(event, log.Opened)
    return event


def workers(opened: log.Opened) -> tuple[Announcement, ...]:
    """Whoever serves the record's seats."""
    return tuple(
        Announcement(queue=s.queue, roles=(s.role,), instance="1", model=s.model, family=s.family) for s in opened.seats
    )


def wanted(found: VerifiedRecord, sid: str = "f1", round_: int | None = None, **settings: Any) -> ForkRequest:
    parent, protocol = found.session.sid, PROTOCOLS[opening(found).protocol]
    number, position = position_of(rounds_of(protocol, parent, found.entries), parent, round_)
    request = ForkSession(of=parent, settings=settings)
    opened, changes = changed(protocol, opening(found), request, workers(opening(found)))
    return ForkRequest(
        sid=sid, parent=parent, protocol=protocol, record=found, opened=opened, changes=changes, round=number,
        position=position,
    )  # fmt: skip


def forked(steps: list[CarriedEntry]) -> Fork:
    event = steps[0].entry.event
    assert isinstance(event, log.Opened) and isinstance(event.fork, Fork)
    return event.fork


@pytest.mark.parametrize("name", NAMES)
def test_each_whole_round_of_each_protocol_is_carried_as_it_was(name: str) -> None:
    found = recorded(name)
    rounds = rounds_of(PROTOCOLS[opening(found).protocol], found.session.sid, found.entries)
    assert rounds, "each of them played a round"
    for round_, position in rounds.items():
        steps = carry(wanted(found, round_=round_), NOW, "in:1")
        fork = forked(steps)
        assert fork.parted is None, fork.how
        ends = any(isinstance(c, log.Close) for c in found.entries[position].commands)
        assert fork.carried == position - ends and bool(fork.how) == ends, "what ended the record is asked anew"
        for n in range(fork.carried + 1):
            mine, theirs = steps[n].entry, found.entries[n]
            assert [c[:3] for c in course(mine.commands) if isinstance(c, tuple)] == [
                c[:3] for c in course(theirs.commands) if isinstance(c, tuple)
            ]
            assert n == 0 or (mine.cause == f"fork:{n}" and type(mine.event) is type(theirs.event))
        last = steps[-1].after
        assert not last.closed and (last.turns or last.windows or last.children), "it goes on"
        assert last.at_ns == NOW and all(t.ask.deadline_ns > NOW for t in last.turns.values())
        again = replay(PROTOCOLS.get, "f1", [encode(s.entry) for s in steps])
        assert again.session == last, "the new log alone gives the same state"
        assert last.ledger == Ledger(), "the record's session paid"


@pytest.mark.parametrize("name", [f"{FIRST}-consensus", f"{FIRST}-fork"])
def test_it_parts_where_a_replay_under_these_settings_does(name: str) -> None:
    found = recorded(name)
    for threshold in (0.01, 0.3, 0.99):
        record = read_record(LOGS[name])
        parting = what_if(PROTOCOLS.get, record.sid, record.entries, {"threshold": threshold})
        fork = forked(carry(wanted(found, threshold=threshold), NOW, "in:1"))
        if parting.n is None or parting.n > fork.position:
            assert fork.parted is None
        else:
            assert fork.parted == parting.n and parting.how.startswith(fork.how)
        assert [c.what for c in fork.changes] in ([], ["consensus.threshold"])


def test_what_the_record_used_is_said_and_not_booked() -> None:
    found = recorded(f"{FIRST}-consensus")
    entries = list(found.entries)
    for n, e in enumerate(entries):
        if isinstance(e.event, log.Replied):
            used = Usage(calls=1, input_tokens=100, output_tokens=10)
            entries[n] = msgspec.structs.replace(e, event=msgspec.structs.replace(e.event, usage=used))
    dear = ForkRequest(
        **{
            **wanted(found)._asdict(),
            "record": VerifiedRecord(session=found.session, entries=tuple(entries), result=None),
        }
    )
    steps = carry(dear, NOW, "in:1")
    replies = sum(isinstance(e.event, log.Replied) for e in entries[: forked(steps).carried + 1])
    assert forked(steps).paid.calls == replies and forked(steps).paid.input_tokens == 100 * replies
    assert steps[-1].after.ledger == Ledger()
    tight = msgspec.structs.replace(dear.opened, budget=Budget(seconds=60.0))
    last = carry(ForkRequest(**{**dear._asdict(), "opened": tight}), NOW, "in:1")[-1].after
    assert all(t.ask.deadline_ns <= NOW + 60 * 10**9 for t in last.turns.values()), "its seconds begin with it"
    assert last.timer_ns is not None and last.timer_ns <= NOW + 60 * 10**9
    few = msgspec.structs.replace(dear.opened, budget=Budget(calls=1))
    with pytest.raises(Inadmissible, match="the turns that are out where the record ends do not fit"):
        carry(ForkRequest(**{**wanted(found, round_=1)._asdict(), "opened": few}), NOW, "in:1")


def test_what_cannot_be_carried_is_refused_in_words() -> None:
    found = recorded(f"{FIRST}-consensus")
    with pytest.raises(Inadmissible, match=r"round: got 99, whole rounds of session .* are 1, 2"):
        wanted(found, round_=99)
    with pytest.raises(Inadmissible, match="did you mean"):
        wanted(found, treshold=1)
    long = ForkRequest(**{**wanted(found)._asdict(), "position": MOST_EVENTS + 1})
    with pytest.raises(Inadmissible, match=r"2,001 events up to the end of round .*, carried are at most 2,000"):
        carry(long, NOW, "in:1")
    nobody = ForkSession(of=found.session.sid)
    with pytest.raises(Inadmissible, match="no worker is alive for role panelist"):
        changed(PROTOCOLS["consensus"], opening(found), nobody, ())
