"""Who is an expert: the broker and the moderator take only what was enrolled, and who is there is a candidate."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from parley.agents.expert_registry import ExpertRegistry
from parley.agents.specs import AgentSpec, NotEnrolled, of_expert
from parley.agents.worker import Worker
from parley.bus import subjects
from parley.bus.errors import Denied
from parley.coordinator.presence import Presence
from parley.schemas.expert import ROLE, ExpertSpec, Known, pin, queue_of
from parley.schemas.presence import ALIVE_S, Announcement, PinnedAnnouncement
from parley.schemas.wire import encode
from tests.engine.test_owner import workers
from tests.support.engine import Engine, until
from tests.support.experts import expert

SRE, DBA = expert("sre"), expert("dba")
OTHER = expert("sre", version="2.0.0")


class Experts(Engine):
    """An engine with two experts and a helper."""

    def __init__(self, folder: Path) -> None:
        queues = {queue_of("sre"): ROLE, queue_of("dba"): ROLE, "helper": "helper"}
        super().__init__(folder, queues, pins={queue_of(s.id): pin(s) for s in (SRE, DBA)})

    async def expert(self, spec: ExpertSpec) -> Worker:
        """One more worker of an expert."""
        return await self.worker(queue_of(spec.id), spec=of_expert(spec))


@pytest.fixture
async def bus(tmp_path: Path) -> AsyncIterator[Experts]:
    async with Experts(tmp_path) as started:
        yield started


def said(spec: ExpertSpec | None = SRE, queue: str = "", **given: object) -> Announcement:
    about = {"instance": "one", "roles": (ROLE,), "model": "m", "family": "f", "expert": spec}
    return Announcement(**{**about, "queue": queue or queue_of(spec.id if spec else "sre"), **given})  # type: ignore[arg-type]


# ---------------------------------------------------------------- the table


# ---------------------------------------------------------------- announcing


async def test_the_broker_takes_the_enrolled_specification_alone(bus: Experts) -> None:
    moderator, sre = await bus.connect("moderator"), await bus.connect("expert_sre")
    heard: list[str] = []
    await moderator.subscribe(subjects.here.each, lambda msg: heard.append(msg.subject))
    mine = subjects.here(ROLE, "expert_sre", pin(SRE))
    for wrong in (
        subjects.here(ROLE, "expert_sre", pin(OTHER)),
        subjects.here(ROLE, "expert_sre", ""),
        subjects.here(ROLE, "expert_dba", pin(DBA)),
        subjects.here("helper", "expert_sre", pin(SRE)),
    ):
        with pytest.raises(Denied):
            await sre.publish(wrong, encode(said()), confirm=True)
    await sre.publish(mine, encode(said()), confirm=True)
    await until(lambda: heard)
    assert heard == [mine]


async def test_the_moderator_takes_a_body_that_is_what_the_subject_pins(bus: Experts) -> None:
    """The broker pins the subject; what is in the message must be of that pin."""
    moderator = await bus.moderator(protocols={})
    sre = await bus.connect("expert_sre")
    mine = subjects.here(ROLE, "expert_sre", pin(SRE))
    for forged in (said(OTHER), said(DBA, queue="expert_sre"), said(None), said(DBA)):
        await sre.publish(mine, encode(forged), confirm=True)
    await sre.publish(mine, encode(said(instance="true")), confirm=True)

    async def known() -> tuple[Known, ...]:
        return moderator.presence.known()

    assert await until(known) == (Known("sre", pin(SRE), "m", "f", category="engineering"),)
    assert [a.instance for a in moderator.presence.everybody()] == ["true"]


@pytest.mark.parametrize(
    ("role", "queue", "pinned", "spec", "is_its"),
    [
        (ROLE, "expert_sre", pin(SRE), SRE, True),
        (ROLE, "expert_sre", pin(OTHER), SRE, False),
        (ROLE, "expert_dba", pin(SRE), SRE, False),
        (ROLE, "expert_sre", pin(SRE), None, False),
        (ROLE, "sre_human", "", None, True),
        (ROLE, "sre_human", "", SRE, False),
        ("helper", "expert_sre", pin(SRE), SRE, False),
        ("panelist", "panelist_1", "", None, True),
    ],
)
def test_what_an_announcement_says_of_an_expert(
    role: str, queue: str, pinned: str, spec: ExpertSpec | None, is_its: bool
) -> None:
    assert PinnedAnnouncement.of(said(spec, queue=queue)).is_own_expert(role, queue, pinned) is is_its


async def test_a_worker_with_another_specification_than_its_credentials_pin_ends(bus: Experts) -> None:
    with pytest.raises(NotEnrolled) as refused:
        await bus.expert(OTHER)
    text = str(refused.value)
    assert "expert sre" in text and "parley experts enroll" in text
    assert pin(OTHER) in text and pin(SRE) in text
    connection = await bus.connect("helper")
    with pytest.raises(NotEnrolled, match="these credentials are no enrolled expert's"):
        of_expert(SRE).check_pin(connection.credentials.pin)
    AgentSpec(queue="helper", roles=("helper",)).check_pin("")


# ---------------------------------------------------------------- who is there


async def test_who_starts_is_a_candidate_and_who_stops_is_not(bus: Experts) -> None:
    """At the moderator, which writes it into the opening, and at the helper, which matches."""
    moderator = await bus.moderator(protocols={})
    helper = await bus.worker("helper")
    assert helper.experts is not None
    registry = helper.experts
    sre = await bus.expert(SRE)

    async def both(wanted: list[str]) -> bool:
        known = [k.id for k in moderator.presence.known()]
        return known == wanted == [s.id for s in registry.specs()]

    await until(lambda: both(["sre"]))
    await bus.expert(DBA)
    assert await registry.wait(2, 5.0)
    await until(lambda: both(["dba", "sre"]))
    assert registry.specs() == (DBA, SRE)
    assert [a.queue for a in moderator.presence.alive()] == ["helper"], "experts do not stand among workers"
    found = await workers(bus)
    assert [(e.id, e.name, e.version, e.pin) for e in found.experts] == [
        ("dba", "Dba", "1.0.0", pin(DBA)), ("sre", "Sre", "1.0.0", pin(SRE)),
    ]  # fmt: skip
    assert [w.queue for w in found.workers] == ["expert_dba", "expert_sre", "helper"]
    await sre.__aexit__(None, None, None)
    await until(lambda: both(["dba"]))


# ---------------------------------------------------------------- presence and registry, without a bus


def test_who_is_known_has_the_dearest_copy_and_the_newest_specification() -> None:
    there = Presence()
    there.hear(said(), pin(SRE))
    first = there.known()
    assert first == (Known("sre", pin(SRE), "m", "f", category="engineering"),)
    there.hear(said(busy=3), pin(SRE))
    assert there.known() is first, "nothing changed"
    there.hear(said(instance="two", metered=True, usd_per_million_input=2.0, tools=True), pin(SRE))
    assert there.known() == (Known("sre", pin(SRE), "m", "f", True, 2.0, tools=True, category="engineering"),)
    there.hear(said(instance="two", draining=True), pin(SRE))
    assert there.known() == first
    there.hear(said(OTHER, instance="three"), pin(OTHER))
    assert there.known() == (Known("sre", pin(OTHER), "m", "f", category="engineering"),)
    assert [a.instance for a in there.everybody()] == ["three"], "who serves the older specification is out"


def test_a_queue_is_gone_when_nobody_was_heard_of_it_for_the_liveness_time() -> None:
    """A copy that is there, one that comes back in time, and whoever was not listened to all that time are not gone."""
    now = [1_000.0]
    there = Presence(clock=lambda: now[0])
    queues = ("expert_sre", "helper", "expert_dba")

    def looks_in_s() -> int:
        return round(there.look_in_ns(queues) / 1e9)

    now[0] += ALIVE_S - 1
    assert there.gone(queues) == () and looks_in_s() == 1, "it has not listened for long enough"
    for instance in ("one", "two"):
        there.hear(said(instance=instance), pin(SRE))
    there.hear(said(None, queue="helper", roles=("helper",)))
    now[0] += 1
    assert there.gone(queues) == ("expert_dba",), "it was never heard at all"
    now[0] += ALIVE_S - 2
    there.hear(said(instance="two"), pin(SRE))
    now[0] += 1
    assert there.gone(queues) == ("expert_dba", "helper"), "of the first there is a second copy"
    there.hear(said(instance="two", draining=True), pin(SRE))
    now[0] += ALIVE_S - 1
    assert "expert_sre" not in there.gone(queues), "who stops may be followed by another in that time"
    now[0] += 1
    assert there.gone(queues) == ("expert_dba", "expert_sre", "helper") and looks_in_s() == 1
    there.interrupted()
    assert there.gone(queues) == () and looks_in_s() == ALIVE_S, "what was said meanwhile is not known"


def test_a_registry_forgets_who_was_killed() -> None:
    now = [0.0]
    registry = ExpertRegistry(clock=lambda: now[0])
    assert registry.specs() == ()
    assert registry.hear(ROLE, "expert_sre", pin(SRE), PinnedAnnouncement.of(said()))
    now[0] = ALIVE_S - 1
    assert registry.hear(ROLE, "expert_dba", pin(DBA), PinnedAnnouncement.of(said(DBA)))
    specs = registry.specs()
    assert specs == (DBA, SRE)
    assert registry.hear(ROLE, "expert_dba", pin(DBA), PinnedAnnouncement.of(said(DBA, busy=1)))
    assert registry.specs() is specs, "nothing changed"
    now[0] = ALIVE_S + 1
    assert registry.specs() == (DBA,)


def test_a_registry_takes_nothing_that_is_not_pinned_and_the_newest_enrolment() -> None:
    registry = ExpertRegistry()
    assert not registry.hear(ROLE, "expert_sre", pin(OTHER), PinnedAnnouncement.of(said()))
    assert not registry.hear(ROLE, "expert_dba", pin(SRE), PinnedAnnouncement.of(said()))
    assert not registry.hear(ROLE, "sre_human", "", PinnedAnnouncement.of(said(None, queue="sre_human")))
    assert registry.specs() == ()
    registry.hear(ROLE, "expert_sre", pin(SRE), PinnedAnnouncement.of(said()))
    registry.hear(ROLE, "expert_sre", pin(SRE), PinnedAnnouncement.of(said(instance="two")))
    registry.hear(ROLE, "expert_sre", pin(SRE), PinnedAnnouncement.of(said(draining=True)))
    assert registry.specs() == (SRE,), "a copy is left"
    registry.hear(ROLE, "expert_sre", pin(OTHER), PinnedAnnouncement.of(said(OTHER, instance="three")))
    assert registry.specs() == (OTHER,)
    registry.hear(ROLE, "expert_sre", pin(OTHER), PinnedAnnouncement.of(said(OTHER, instance="three", draining=True)))
    assert registry.specs() == ()
