"""The synthetic question: what it finds, and that it leaves nothing behind."""

from pathlib import Path

from prometheus_client import CollectorRegistry

from parley.bus import subjects
from parley.coordinator.moderator import Moderator
from parley.coordinator.outcomes.counting import Counting
from parley.coordinator.outcomes.session import children
from parley.coordinator.outcomes.synthetic_question import Asking
from parley.observability.outcomes import Outcomes
from parley.schemas.session import OpenSession
from parley.schemas.wire import encode
from tests.outcomes.played import KNOWN, values
from tests.support.engine import Engine, engine, until


async def _asking(bus: Engine, **more: float) -> tuple[Asking, Outcomes]:
    outcomes = Outcomes(CollectorRegistry(), children(KNOWN))
    return Asking(await bus.connect("metrics"), outcomes, KNOWN, 60.0, **more), outcomes


def _refused(moderator: Moderator, protocol: str, reason: str) -> float | None:
    labels = {"protocol": protocol, "reason": reason}
    return moderator._metrics.registry.get_sample_value("parley_sessions_refused_total", labels)


async def test_it_is_answered_and_leaves_only_the_last_behind(tmp_path: Path) -> None:
    async with engine(tmp_path, queues={"answerer": "answerer"}) as bus:
        moderator = await bus.moderator()
        (worker,) = await bus.workers()
        asking, outcomes = await _asking(bus)
        assert [await asking.ask() for _ in range(3)] == ["answered"] * 3
        counting = Counting(await bus.connect("metrics"), outcomes=outcomes, protocols=KNOWN)
        totals = await counting.catch_up()
        assert not any(number for numbers in totals.numbers.values() for number in numbers.values())
        assert (await bus.sessions()).rows == ()
        assert worker._link._metrics.registry.get_sample_value("parley_turn_overhead_seconds_count") == 3
        assert moderator._metrics.registry.get_sample_value("parley_openings_total", {"owner": "metrics"}) == 3
        connection = await bus.connect("moderator")
        streams = [(await connection.api(f"STREAM.INFO.{name}"))["state"]["messages"] for name in ("LOG", "INDEX")]
        assert streams == [3, 1]


async def test_it_finds_that_nobody_can_answer(tmp_path: Path) -> None:
    async with engine(tmp_path, queues={"answerer": "answerer"}) as bus:
        asking, outcomes = await _asking(bus, taken_s=0.3)
        assert await asking.ask() == "unanswered"
        moderator = await bus.moderator()
        asking, outcomes = await _asking(bus)
        assert await asking.ask() == "refused"
        assert _refused(moderator, "single", "worker") == 1
        assert values(outcomes, "asked_total") == {}, "only the loop counts"


async def test_a_question_that_no_moderator_took_in_time_is_counted(tmp_path: Path) -> None:
    async with engine(tmp_path, queues={"answerer": "answerer"}) as bus:
        moderator = await bus.moderator()
        assert (await bus.open("s1", protocol="single", expires_s=1e-9)).fate == "refused"
        assert _refused(moderator, "single", "late") == 1


async def test_nobody_else_may_take_such_an_id_and_the_service_no_other(tmp_path: Path) -> None:
    async with engine(tmp_path, queues={"answerer": "answerer"}) as bus:
        moderator = await bus.moderator()
        await bus.workers()
        fate = await bus.open("metrics-0", protocol="single")
        assert fate.fate == "refused" and "are of `parley metrics`" in fate.why
        assert _refused(moderator, "single", "input") == 1
        observer = await bus.connect("metrics")
        request = encode(OpenSession(question="Why?", protocol="single"))
        await observer.store(subjects.inbox("client", "metrics", "s1"), request)
        await until(lambda: _refused(moderator, "single", "input") == 2)
