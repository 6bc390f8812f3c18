"""Whole tasks on the real bus: experts' own processes hear them and claim them; who leads, supports and reviews."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from parley.agents import experts
from parley.bus import subjects
from parley.bus.errors import Denied
from parley.bus.posts import Reader, _vouched
from parley.schemas import log
from parley.schemas.expert import Domain, Triggers, queue_of
from parley.schemas.post import Live
from parley.schemas.protocols.madp.messages import Pass
from parley.schemas.turn import Speak
from parley.schemas.wire import encode, raw
from tests.protocols.madp.play import (
    EXPERTS,
    GENERAL,
    IMPL,
    QA,
    SRE,
    claim,
    done,
    matched,
    spec,
)
from tests.support.engine import until
from tests.support.experts import expert
from tests.support.madp import Actor, Crew, lead_of

DBA = expert(
    "dba", triggers=Triggers(primary=("postgres", "index", "query")), domain=Domain(owns=("slow queries and indexes",))
)
WRITER = expert("writer", triggers=Triggers(primary=("manual", "translate")))
SHIPPED = {s.id: s for s in experts.builtin()}


@pytest.fixture
async def crew(tmp_path: Path) -> AsyncIterator[Crew]:
    """Seven experts and two more are enrolled; nobody is there yet."""
    async with Crew(tmp_path, (*(spec(x) for x in EXPERTS), DBA, WRITER)) as started:
        yield started


# ---------------------------------------------------------------- appendix A


async def test_the_shipped_experts_do_a_task(tmp_path: Path) -> None:
    """The helper matches, and every process decides for itself. A plan is no work, though its reviewers approve it."""
    async with Crew(tmp_path, SHIPPED.values()) as crew:
        moderator = await crew.moderator()
        await crew.helper()
        for id in crew.specs:
            await crew.expert(id, Actor(work=[done("I would look first.", performed=False)]))
        await crew.know(moderator)
        await crew.task("s1", "The nightly build is red since we bumped the base image, make the pipeline green again")
        result = await crew.result("s1")
    outcome = result["outcome"]
    assert outcome["lead"] == "build-release-engineer"
    assert outcome["matcher"].startswith("better")
    assert result["stop"]["reason"] == "planned" and not result["stop"]["converged"]
    assert outcome["work"]["performed"] is False and outcome["answer"] == "In full: I would look first."
    assert set(outcome["reviewed"].values()) == {"approved"}
    assert result["usage"]["input_tokens"] == 0 and outcome["consensus"]["token_cost"] == 0


# ---------------------------------------------------------------- who claims


async def test_a_claim_is_taken_of_who_was_announced_with_this_specification_alone(crew: Crew) -> None:
    """Each refusal names what is wrong, and leaves nothing behind. Nobody hears here: the test speaks, as each."""
    moderator = await crew.moderator()
    await crew.experts(DBA.id, hears=False)
    await crew.know(moderator, without=(DBA.id,))
    await crew.helper(matched({SRE: 0.75, IMPL: 0.7}))
    voices = {x: await crew.connect(queue_of(x)) for x in (SRE, IMPL, QA, DBA.id, WRITER.id, GENERAL)}
    await crew.task("s1", claim_window_s=20)
    await crew.kind("s1", "task")

    async def says(expert: str, kind: str, body: object) -> tuple[str, str]:
        answer = await crew.say(voices[expert], queue_of(expert), "s1", "claims", kind, body)
        return answer.verdict, answer.why

    async def refused(expert: str, kind: str, body: object) -> str:
        verdict, why = await says(expert, kind, body)
        assert verdict == "refused"
        return why

    assert "dba was not announced when the task came" in await refused(DBA.id, "claim", claim(DBA.id, spec=DBA))
    assert "got 'sre', but expert_implementation-engineer speaks" in await refused(IMPL, "claim", claim(SRE))
    with pytest.raises(Denied):
        speak = encode(Speak(window="claims", kind="claim", body=raw(claim(IMPL))))
        await voices[SRE].publish(subjects.say(subjects.ANY, "public", queue_of(IMPL), "s1"), speak, confirm=True)
    assert "needs its specification" in await refused(QA, "claim", claim(QA))
    other = expert(QA, triggers=Triggers(primary=("anything",)))
    assert "announced with another specification" in await refused(QA, "claim", claim(QA, spec=other))
    assert "relevance" in await refused(SRE, "claim", {"agent_id": SRE, "claim": "Mine.", "relevance": "huge"})
    assert "experts that are there" in await refused(SRE, "claim", claim(SRE, requires=(DBA.id,)))
    assert not [e for e in await crew.entries("s1") if isinstance(e.event, log.Spoke)]
    assert (await says(WRITER.id, "claim", claim(WRITER.id, "low", spec=WRITER)))[0] == "accepted"
    assert (await says(SRE, "claim", claim(SRE)))[0] == "accepted"
    assert (await says(IMPL, "pass", Pass(agent_id=IMPL)))[0] == "accepted"
    others = sorted(set(crew.specs) - {WRITER.id, SRE, IMPL, QA, DBA.id, GENERAL})
    for x in others:
        voice = await crew.connect(queue_of(x))
        answer = await crew.say(voice, queue_of(x), "s1", "claims", "pass", Pass(agent_id=x))
        assert answer.verdict == "accepted", "no candidate is waited for, until all have spoken"
    assert (await says(QA, "pass", Pass(agent_id=QA)))[0] == "accepted"
    assert "window claims is not open" in await refused(GENERAL, "claim", claim(GENERAL))
    result = await crew.result("s1")
    assert lead_of(result) == SRE
    spoke = [e.event.author for e in await crew.entries("s1") if isinstance(e.event, log.Spoke)]
    assert spoke == [queue_of(x) for x in (WRITER.id, SRE, IMPL, *others, QA)]


async def test_what_an_expert_says_live_is_its_own_seats_and_another_name_shows_both(crew: Crew) -> None:
    """The queue is another word than the seat; an expert that is called like a role is not taken for it."""
    moderator = await crew.moderator()
    await crew.experts(hears=False)
    await crew.know(moderator)
    await crew.helper(matched({SRE: 0.95}))
    sre, impl = await crew.connect(queue_of(SRE)), await crew.connect(queue_of(IMPL))
    heard: dict[str, str] = {}
    following = Reader(crew.owner).follow(
        "s1", ["public", "control"], on_live=lambda x: heard.update({x.seat: x.state})
    )
    await crew.task("s1")
    await crew.result("s1")
    await anext(following)
    for voice, queue, seat in ((sre, SRE, SRE), (impl, IMPL, SRE), (impl, IMPL, "helper")):
        said = encode(Live(session="s1", seat=seat, turn="9-0", state="thinking"))
        await voice.publish(subjects.live_owned("public", queue_of(queue), "owner", "s1"), said, confirm=True)
    wanted = {SRE, f"{SRE} ({queue_of(IMPL)})", f"helper ({queue_of(IMPL)})"}
    await until(lambda: wanted <= heard.keys())
    await following.aclose()
    assert heard.keys() == wanted


@pytest.mark.parametrize(
    ("seat", "author", "shown"),
    [
        ("dba", "expert_dba", "dba"),
        ("panelist_1", "panelist_1", "panelist_1"),
        ("panelist_1", "panelist_1__0a7e53f", "panelist_1"),
        ("dba", "expert_sre", "dba (expert_sre)"),
        ("analyst", "expert_analyst", "analyst (expert_analyst)"),
        ("expert_dba", "dba", "expert_dba (dba)"),
        ("", "expert_", " (expert_)"),
    ],
)
def test_a_seat_is_shown_bare_only_where_the_broker_vouches_for_it(seat: str, author: str, shown: str) -> None:
    assert _vouched(seat, author) == shown


async def test_a_candidate_that_is_there_and_deaf_is_waited_for_within_the_time_budget(crew: Crew) -> None:
    """Its process announces itself, so nobody may say that it does not want the task."""
    moderator = await crew.moderator()
    await crew.experts(IMPL)
    await crew.expert(IMPL, hears=False)
    await crew.know(moderator)
    await crew.helper(matched({IMPL: 0.9, SRE: 0.8}))
    await crew.task("s1", claim_window_s=0.5, coordination_s=3.0)
    result = await crew.result("s1")
    (claims,) = await crew.kind("s1", "claims")
    assert claims["silent"] == [IMPL] and [c["agent_id"] for c in claims["claims"]] == [SRE]
    at = {p.kind: p.at_ns for p in await crew.posts("s1", "public")}
    assert 2.0 <= (at["claims"] - at["task"]) / 1e9 < 5.0
    assert lead_of(result) == SRE
