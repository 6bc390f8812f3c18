"""What is taken together comes to what the same submissions come to one after another, in every protocol."""

import dataclasses
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parley.bus.storage.packs import pack, unpack
from parley.coordinator import briefing
from parley.coordinator.machine import Cell, Illegal, Protocol, Session, begin, counted, digest, record
from parley.coordinator.sessions.group import MOST, MOST_BYTES, PendingSubmission, cut, fold
from parley.schemas import log
from parley.schemas.turn import Usage
from parley.schemas.wire import encode, raw
from tests.protocols.consensus.play import Play, says
from tests.support.play import SECOND, START_NS
from tests.support.walk import Walk, walks

KEY = b"k" * 32
"""Of tokens."""
MOST_STEPS = 40


def waiting(event: log.Event, cause: str, **more: Any) -> PendingSubmission:
    return PendingSubmission(cause, event, lambda outcome: None, **more)


def build(session: Session, entry: log.Entry) -> list[briefing.Sending]:
    return briefing.build(session, entry.n, entry.commands, key=KEY, lane="m", decided_ns=entry.at_ns)


class Run:
    """A session that takes groups of submissions, and what it came to."""

    def __init__(self, walk: Walk, world: Any) -> None:
        self.protocol = walk.protocol
        opened = world.opening()
        self.session, commands = begin(self.protocol, "s1", opened, START_NS)
        self.digest = digest("", self.session, opened, START_NS, "in:1", commands)
        self.causes: dict[str, int] = {"in:1": 0}
        self.entries: list[bytes] = []
        self.outcomes: list[tuple[str, str, str]] = []
        self.sent: list[bytes] = []

    def together(self, group: Sequence[PendingSubmission], at_ns: int) -> None:
        """In one fold."""
        found = fold(self.protocol, self.session, self.digest, self.causes, group, at_ns, build)
        self.session, self.digest = found.session, found.digest
        entries = [step.entry for _, step in found.taken]
        stored = [encode(e) for e in entries]
        if entries:
            assert unpack(pack(entries)) == stored, "the log gives back what was put there"
        self.entries += stored
        for w, step in found.taken:
            self.causes[w.cause] = step.entry.n
            self.outcomes.append((w.cause, "taken", str(step.entry.n)))
            self.sent += [encode(s.work) for s in step.sendings]
        self.outcomes += [(w.cause, "dropped", why) for w, why in found.dropped]
        self.outcomes += [(w.cause, "refused", why) for w, why in found.refused]
        self.outcomes += [(w.cause, "repeated", str(n)) for w, n in found.repeated]
        self.outcomes += [(w.cause, "failed", str(error)) for w, error in found.failed]

    def alone(self, group: Sequence[PendingSubmission], at_ns: int) -> None:
        """One after another, each a step of the machine."""
        for w in group:
            if w.cause in self.causes:
                self.outcomes.append((w.cause, "repeated", str(self.causes[w.cause])))
            elif w.check is not None:
                self.outcomes.append((w.cause, "refused", w.check(self.session)))
            else:
                self._alone(w, at_ns)

    def _alone(self, w: PendingSubmission, at_ns: int) -> None:
        try:
            event = counted(self.protocol, self.session, w.event)
            self.session, entry = record(self.protocol, self.session, self.digest, event, at_ns, w.cause)
        except Illegal as why:
            self.outcomes.append((w.cause, "dropped", str(why)))
            return
        self.digest = entry.digest
        self.causes[w.cause] = entry.n
        self.entries.append(encode(entry))
        self.outcomes.append((w.cause, "taken", str(entry.n)))
        self.sent += [encode(s.work) for s in build(self.session, entry)]


def some(random: Random, walk: Walk, world: Any, session: Session, number: int) -> tuple[list[PendingSubmission], int]:
    """A group of what may happen next, at one time: repeats, a forged one and a cancel among it."""
    moves = list(walk.moves(world, session))
    at_ns = random.choice(moves)[1]
    events = [event for event, at in moves if at == at_ns]
    group = []
    for place in range(random.randint(1, 6)):
        event = random.choice(events)
        if random.random() < 0.02:
            event = log.Cancelled(author="client")
        turn = getattr(event, "turn", "")
        cause = f"turn:{turn}" if turn else f"in:{number}-{place}"
        check = (lambda session: "the token is not right") if random.random() < 0.1 else None
        group.append(waiting(event, cause, check=check))
    return group, at_ns


@pytest.mark.timeout(240)
@pytest.mark.parametrize("protocol", sorted(walks()))
@settings(max_examples=120)
@given(seed=st.integers(0, 2**32))
def test_what_is_taken_together_comes_to_what_comes_of_it_one_by_one(protocol: str, seed: int) -> None:
    random, walk = Random(seed), walks()[protocol]
    world = walk.worlds[random.choice(sorted(walk.worlds))]
    together, alone = Run(walk, world), Run(walk, world)
    for number in range(MOST_STEPS):
        if together.session.closed:
            break
        group, at_ns = some(random, walk, world, together.session, number)
        together.together(group, at_ns)
        alone.alone(group, at_ns)
        assert together.entries == alone.entries
        assert sorted(together.outcomes) == sorted(alone.outcomes)
        assert together.sent == alone.sent
        assert together.digest == alone.digest
        for name in together.session.__struct_fields__:
            if name != "settings":
                assert encode(getattr(together.session, name)) == encode(getattr(alone.session, name)), name
    assert together.session.stopped == alone.session.stopped
    assert together.session.posts == alone.session.posts


@pytest.mark.parametrize("leaks", [False, True], ids=["its code", "what it would show"])
def test_a_protocol_that_fails_ends_the_session_and_the_others_are_told_that_it_is_closed(leaks: bool) -> None:
    """Of a machine that would show a seat what it may not read, nothing is stored but that it ended."""
    play = Play({"attempts": 1})
    turns = {t.ask.seat: t.id for t in play.session.turns.values()}
    phase = play.session.inner.phase
    cells = dict(play.protocol.table[phase])
    answered = next(event for event in cells if event.__name__ == "Answered")

    def breaks(s: Any, e: Any, v: Any) -> Any:
        if e.seat == "panelist_2" and not leaks:
            raise ZeroDivisionError("broken here")
        return cells[answered].handler(s, e, v)

    table = {**play.protocol.table, phase: {**cells, answered: Cell(breaks, cells[answered].targets)}}
    protocol: Protocol = dataclasses.replace(play.protocol, table=table)
    group = [
        waiting(log.Replied(turn=turn, body=raw(says("a")), usage=Usage(calls=1)), f"turn:{turn}")
        for turn in turns.values()
    ]

    def shows(session: Session, entry: log.Entry) -> list[briefing.Sending]:
        if leaks and entry.cause == f"turn:{turns['panelist_2']}" and isinstance(entry.event, log.Replied):
            raise briefing.Leak("panelist_3", "team_con", 0)
        return build(session, entry)

    found = fold(protocol, play.session, play.entries[-1].digest, {}, group, play.now_ns + SECOND, shows)
    assert [type(step.entry.event) for _, step in found.taken] == [log.Replied, log.Faulted]
    assert [w.cause for w, _ in found.taken][1] == f"turn:{turns['panelist_2']}"
    assert [why for _, why in found.dropped] == ["the session is closed"] and not found.failed
    assert found.session.closed and found.session.stopped and found.session.stopped.reason == "protocol_fault"


def test_a_seat_has_one_boundary_in_every_turn_and_copy_and_other_seats_another() -> None:
    play = Play()

    def boundaries(lane: str = "m") -> dict[str, str]:
        sent = briefing.build(
            play.session, play.entries[-1].n, play.entries[-1].commands, key=KEY, lane=lane, decided_ns=1
        )
        return {turn.seat: turn.boundary for sending in sent for turn in sending.work.turns}

    first = boundaries()
    assert boundaries("another") == first and len(set(first.values())) == 3
    play.answers("A", "B", "C")
    play.score(40.0, "the answer")
    assert boundaries() == first


@pytest.mark.parametrize(
    ("channel", "author", "why"),
    [
        ("public", "panelist_1", ""),
        ("team_pro", "panelist_1", "turn 0-0 is answered on channel public, not on team_pro"),
        ("public", "panelist_2", "turn 0-0 belongs to queue panelist_1, not to panelist_2"),
    ],
)
def test_a_turn_is_answered_by_its_own_queue_on_its_channel(channel: str, author: str, why: str) -> None:
    token = briefing.token(KEY, "s1", "0-0")
    told = briefing.not_its_turn(
        Play().session, lambda is_it: is_it(KEY), channel=channel, author=author, sid="s1", turn="0-0", presented=token
    )
    assert told == why


def test_an_append_has_a_most() -> None:
    small = [
        waiting(log.Spoke(author="a", channel="c", window="w", kind="k", body=raw("x")), str(n)) for n in range(99)
    ]
    first, rest = cut(small)
    assert (len(first), len(rest)) == (MOST, 99 - MOST)
    body = raw("x" * (MOST_BYTES // 2))
    large = [waiting(log.Spoke(author="a", channel="c", window="w", kind="k", body=body), str(n)) for n in range(3)]
    assert [len(part) for part in cut(large)] == [1, 2]
    assert [len(part) for part in cut(large[:1])] == [1, 0]
