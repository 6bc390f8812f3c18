"""Turns that lie together: shares of a queue, what waits in a lane, and how many a message holds."""

import asyncio
import base64
import heapq
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
import pytest

from parley.bus import subjects
from parley.coordinator.sessions.lanes import Held, Lanes
from parley.schemas.presence import Announcement
from parley.schemas.session import OpenSession, Seat
from parley.schemas.turn import Work
from parley.schemas.wire import decode, encode
from tests.engine.test_rules import announce
from tests.support.engine import Engine, engine, until

SESSIONS = 40


async def test_what_waited_at_a_moderator_that_died_is_sent_by_another(tmp_path: Path) -> None:
    async with engine(tmp_path) as bare:
        moderators = [await bare.moderator(), await bare.moderator()]
        for queue in bare.queues:
            await bare.worker(queue, {"latency_s": 0.02}, room=1)
        alice, opening = await bare.connect("alice"), encode(OpenSession(question="Which?", protocol="consensus"))
        for i in range(SESSIONS):
            await alice.store(subjects.inbox("client", "alice", f"s{i}"), opening)
        await until(lambda: all(moderator._lanes.waiting().get("alice", 0) > 2 for moderator in moderators))
        dead = moderators[0]
        await dead._connection.close()
        for task in (dead._sweeping, dead._looking):
            task.cancel()

        async def ended() -> bool:
            rows = (await bare.sessions()).rows
            return sum(row.status == "finished" for row in rows) == SESSIONS

        await until(ended, 40.0)
        await asyncio.gather(dead._sweeping, dead._looking, return_exceptions=True)
        assert moderators[1]._lanes.waiting() == {}


ROOM, MODEL_S, ROUND_TRIP_S = 8, 0.1, 0.003
QUEUE = "panelist_1"


class Bus:
    """A queue in the order of sending, `ROOM` places at its workers, and one moderator's lanes before it."""

    def __init__(self, model_s: float = MODEL_S, lanes: bool = True, weights: dict[str, float] | None = None) -> None:
        self.now = 0.0
        self.model_s = model_s
        self.has_lanes = lanes
        weigh = (weights or {}).get
        self.lanes = Lanes(lambda _: ROOM, lambda *_: True, lambda: self.now)
        self.lanes.weight = lambda owner: weigh(owner, 1.0)
        self.queue: deque[str] = deque()
        self.free = ROOM
        self.made = 0
        self.events: list[tuple[float, int, Callable[[], None]]] = []
        self.asked_at: dict[str, float] = {}
        self.took: dict[str, float] = {}
        """Turn -> seconds from when it was asked to its answer."""
        self.order: list[str] = []

    def at(self, when: float, what: Callable[[], None]) -> None:
        self.made += 1
        heapq.heappush(self.events, (when, self.made, what))

    def ask(self, owner: str, name: str) -> None:
        self.asked_at[name] = self.now
        if not self.has_lanes or self.lanes.send(QUEUE, owner, Held(name, ("0-0",), partial(self.sent, name))):
            self.sent(name)

    def sent(self, name: str) -> None:
        self.at(self.now + ROUND_TRIP_S, partial(self.arrive, name))

    def arrive(self, name: str) -> None:
        self.queue.append(name)
        self.take()

    def take(self) -> None:
        while self.free and self.queue:
            self.free -= 1
            self.at(self.now + self.model_s, partial(self.answer, self.queue.popleft()))

    def answer(self, name: str) -> None:
        self.free += 1
        self.order.append(name)
        self.took[name] = self.now - self.asked_at[name]
        self.take()
        self.at(self.now + ROUND_TRIP_S, partial(self.lanes.ended, name, ("0-0",)))

    def run(self) -> float:
        """Play it to its end; when that was."""
        while self.events:
            self.now, _, what = heapq.heappop(self.events)
            what()
        return self.now


def flood(bus: Bus, turns: int = 2_000, owner: str = "alice") -> None:
    for i in range(turns):
        bus.ask(owner, f"{owner}-{i}")


@pytest.mark.parametrize("flooders", [1, 5])
def test_anothers_turns_take_at_most_twice_their_quiet_time(flooders: int) -> None:
    """One after another, each asked when the one before was answered, while two thousand turns wait."""
    bus = Bus()
    for k in range(flooders):
        flood(bus, 2_000 // flooders, f"alice{k}")
    for i in range(60):
        bus.at(1.0 + i * 0.317, partial(bus.ask, "bob", f"bob-{i}"))
    bus.run()
    took = sorted(seconds for name, seconds in bus.took.items() if name.startswith("bob-"))
    quiet_s = MODEL_S + ROUND_TRIP_S
    assert took[len(took) // 2] <= 2 * quiet_s and took[-1] <= (2 + flooders) * quiet_s


def test_owners_share_by_their_weights() -> None:
    bus = Bus(weights={"bob": 3.0})
    flood(bus, 600, "alice")
    flood(bus, 600, "bob")
    bus.run()
    first = [name.split("-")[0] for name in bus.order[100:500]]
    assert first.count("bob") == pytest.approx(300, rel=0.15)


def test_turns_of_which_nothing_is_heard_are_told_and_closed_ones_are_never_sent() -> None:
    now, closed = [0.0], {"s40"}
    sent: list[str] = []
    lanes = Lanes(lambda _: 2, lambda sid, _: sid not in closed, lambda: now[0])
    for i in range(50):
        if lanes.send(QUEUE, "alice", Held(f"s{i}", ("0-0",), partial(sent.append, f"s{i}"))):
            sent.append(f"s{i}")
    assert sent == ["s0", "s1", "s2", "s3"] and lanes.waiting() == {"alice": 46}
    assert lanes.send(QUEUE, "alice", Held("s1", ("0-0",), lambda: None)), "sent again: it has its place"
    assert not lanes.send(QUEUE, "alice", Held("s9", ("0-0",), lambda: None)) and lanes.waiting() == {"alice": 46}
    now[0] = 6.0
    assert lanes.look(5.0, 2) == [("s0", "0-0"), ("s1", "0-0")] and len(lanes.look(5.0, 9)) == 2
    for i in range(50):
        lanes.ended(f"s{i}", ("0-0",))
    assert len(sent) == 49 and "s40" not in sent and lanes.waiting() == {}


@pytest.mark.parametrize(
    ("copies", "room", "messages"), [(1, 4, [3]), (1, 2, [2, 1]), (2, 4, [2, 1]), (3, 1, [1, 1, 1]), (5, 4, [1, 1, 1])]
)
async def test_copies_of_a_queue_share_a_round(tmp_path: Path, copies: int, room: int, messages: list[int]) -> None:
    """Of its own accord a moderator puts as many turns into a message as let the copies share the round, and no more
    than a copy has room for; sent again they lie together as before, whoever is there by then."""
    async with engine(tmp_path, queues={"panelist": "panelist", "analyst": "analyst"}) as bare:
        moderator = await bare.moderator(lane="a")
        await announce(bare)
        here = Announcement(instance="x", queue="panelist", roles=("panelist",), model="none", family="none", room=room)
        connection = await bare.connect("panelist")

        async def announced(many: int) -> None:
            async def heard() -> bool:
                for copy in ("x", "y", "z", "v", "w")[:many]:
                    told = encode(msgspec.structs.replace(here, instance=copy))
                    await connection.publish(subjects.here("panelist", "panelist", ""), told)
                living = [(a.copies, a.room) for a in moderator.presence.alive() if a.queue == "panelist"]
                return living == [(many, many * room)]

            await until(heard)

        await announced(copies)
        seats = [Seat(seat=f"p{i}", role="panelist", queue="panelist") for i in range(3)]
        await bare.open("s1", seats=(*seats, Seat(seat="analyst", role="analyst", queue="analyst")))
        assert await _kept(bare) == messages
        await announced(5)
        await moderator.sessions.reissue("s1", "in:1")
        assert await _kept(bare) == messages


async def _kept(bare: Engine) -> list[int]:
    """How many turns lie in each message to the panelists."""
    connection = await bare.connect("moderator")
    state = (await connection.api("STREAM.INFO.WORK"))["state"]
    found = []
    for seq in range(state["first_seq"], state["last_seq"] + 1):
        message = (await connection.api("STREAM.MSG.GET.WORK", {"seq": seq}))["message"]
        found.append(len(decode(base64.b64decode(message["data"]), Work).turns))
    return found
