"""Each row of 9.1 and of 9.3, and the breaker of 9.2, provoked on the real bus: what comes of it, and who is told."""

import asyncio
import base64
import re
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parley.agents.models import make_model
from parley.bus import subjects
from parley.schemas import log
from parley.schemas.expert import queue_of
from parley.schemas.presence import ALIVE_S
from parley.schemas.protocols.madp.messages import Worded, WordedClaim
from parley.schemas.session import TimerDue
from parley.schemas.wire import encode
from tests.engine.test_standing import Ear
from tests.protocols.madp.play import (
    ARCH,
    AUDITOR,
    EXPERTS,
    GENERAL,
    IMPL,
    QA,
    REVISE,
    SEC,
    SRE,
    blocked,
    done,
    hands,
    matched,
    objection,
    spec,
)
from tests.support.engine import until
from tests.support.madp import Actor, Crew, lead_of, unusable, waits

NOBODY: dict[str, float] = {}
ONE = matched({SRE: 0.95}, reviewers=[AUDITOR])


@pytest.fixture
async def crew(tmp_path: Path) -> AsyncIterator[Crew]:
    """Seven experts are enrolled; nobody is there yet."""
    async with Crew(tmp_path, (spec(x) for x in EXPERTS)) as started:
        yield started


async def begun(crew: Crew, *but: str, **more: Any) -> dict[str, Actor]:
    moderator = await crew.moderator(**more)
    models = await crew.experts(*but)
    await crew.know(moderator, without=but)
    return models


# ---------------------------------------------------------------- 9.1


async def test_no_expert_matches(crew: Crew) -> None:
    """The general-purpose expert takes it with a warning; without one nobody does."""
    models = await begun(crew)
    await crew.helper(matched(NOBODY), matched(NOBODY, general=""))
    await crew.task("s1", "What is the meaning of life?")
    result = await crew.result("s1")
    assert lead_of(result) == GENERAL and models[GENERAL].kinds() == ["work"]
    assert "no expert matches the task: generalist takes it" in result["outcome"]["warnings"][0]
    assert result["outcome"]["consensus"]["how"] == "general"
    await crew.task("s2")
    result = await crew.result("s2")
    assert (result["stop"]["reason"], result["status"], lead_of(result)) == ("nobody", "failed", "")
    assert result["outcome"]["consensus"]["outcome"]["lead"] is None
    assert "no general-purpose expert is there either" in result["outcome"]["warnings"][0]


async def test_all_match_equally(crew: Crew) -> None:
    await begun(crew)
    await crew.helper(matched({SEC: 0.6, IMPL: 0.6, SRE: 0.6}))
    await crew.task("s1")
    result = await crew.result("s1")
    assert lead_of(result) == IMPL, "of three that are equal it has the highest priority"
    assert any("equally confident (0.60); priority decides" in n for n in result["outcome"]["consensus"]["notes"])


async def test_the_coordination_takes_too_long(crew: Crew) -> None:
    """Nobody speaks; the helper never answers; claims are not worded in time. Each is a failure of coordination."""
    slow = Actor(metered=True)
    stuck = waits(slow, "claim")
    moderator = await crew.moderator()
    await crew.experts(SRE, IMPL)
    await crew.expert(SRE, slow)
    await crew.expert(IMPL, hears=False)
    await crew.know(moderator)
    helper = await crew.helper(matched({IMPL: 0.9}), matched({SRE: 0.6, ARCH: 0.55}, clear=False))
    await crew.task("mute", claim_window_s=0.25)
    result = await crew.result("mute")
    assert lead_of(result) == IMPL and result["outcome"]["consensus"]["how"] == "timeout"
    assert "no candidate claimed it in time" in result["outcome"]["warnings"][0]
    await crew.task("worded", coordination_s=0.5)
    result = await crew.result("worded")
    assert lead_of(result) == SRE, "of those who claimed it is the most confident"
    assert "the coordination took longer" in result["outcome"]["consensus"]["rationale"]
    stuck()
    stuck = waits(helper, "match")
    await crew.task("unmatched", coordination_s=0.5)
    result = await crew.result("unmatched")
    stuck()
    assert lead_of(result) == GENERAL
    told = [t for sid in ("mute", "worded", "unmatched") for t in await crew.told(sid)]
    assert [t["ok"] for t in told] == [False] * 3 and all(t["why"] for t in told)


async def test_reviews_go_on_and_on(crew: Crew) -> None:
    """After three the work is emitted with a warning; or a human says what becomes of it."""
    models = await begun(crew, AUDITOR)
    await crew.expert(AUDITOR, Actor(review=[REVISE]))
    await crew.helper(ONE)
    await crew.task("s1", item_s=1.0)
    result = await crew.result("s1")
    assert (result["stop"]["reason"], result["status"]) == ("review_limit", "finished")
    assert (result["outcome"]["reviews"], result["outcome"]["revisions"]) == (4, 3)
    (item,) = result["outcome"]["items"]
    assert (item["kind"], item["choice"], item["author"]) == ("review_limit", "emit", "")
    assert "it ended although reviews still ask for a revision" in result["outcome"]["warnings"][-1]
    assert result["outcome"]["answer"] == "In full: It is done."
    assert models[SRE].kinds() == ["work"] * 4

    await crew.task("s2", max_reviews=0)
    item = await crew.item("s2")
    assert item.choices == ("emit", "revise", "reject")
    fate = await crew.decide("s2", item.id, "maybe")
    assert fate.fate == "refused" and "got 'maybe'; item 1 has emit, revise, reject" in fate.why
    assert (await crew.decide("s2", item.id, "revise", "Mind the leak.")).fate == "taken"
    again = await crew.item("s2", 2)
    assert models[SRE].briefs("work")[-1].advice == "Mind the leak."
    late = await crew.decide("s2", item.id, "emit")
    assert late.fate == "refused" and "open is item '2'" in late.why
    assert (await crew.decide("s2", again.id, "reject", "Not like this.")).fate == "taken"
    result = await crew.result("s2")
    assert (result["stop"]["reason"], result["status"]) == ("rejected", "failed")
    assert [i["author"] for i in result["outcome"]["items"]] == ["owner", "owner"]


async def test_an_expert_gives_nothing_that_can_be_used(crew: Crew) -> None:
    """It is asked once more; then a human says who goes on, or the next that fits does."""
    wrong = {"outcome": "done"}
    models = await begun(crew, SRE)
    bad = Actor(work=[wrong, wrong, unusable(), unusable(), wrong, done("At last.")])
    await crew.expert(SRE, bad)
    await crew.helper(matched({SRE: 0.8, IMPL: 0.6}, reviewers=[AUDITOR]))
    await crew.task("s1", item_s=1.0)
    result = await crew.result("s1")
    assert bad.kinds() == ["work", "work"], "asked once more"
    assert "summary" in bad.shown[1].error, "and told what was wrong"
    assert lead_of(result) == IMPL and models[IMPL].kinds() == ["work"]
    assert [(i["kind"], i["choice"], i["author"]) for i in result["outcome"]["items"]] == [("invalid", IMPL, "")]
    assert result["outcome"]["overrides"] == 0
    await crew.task("s2")
    item = await crew.item("s2")
    assert item.choices == (IMPL, GENERAL, "give up") and item.default == IMPL
    await crew.decide("s2", item.id, "give up")
    result = await crew.result("s2")
    assert result["stop"]["reason"] == "rejected" and result["outcome"]["answer"] == ""
    await crew.task("s3")
    result = await crew.result("s3")
    assert result["outcome"]["answer"] == "In full: At last." and not result["outcome"]["items"]


async def test_a_lead_is_gone(crew: Crew) -> None:
    """The timer fires long before the deadline, to look who is there; while the lead is, nothing comes of it. When
    nobody of it has been heard for the liveness time, the next that claimed it goes on, and no human is asked."""
    later = [0.0]
    moderator = await crew.moderator(clock=lambda: time.monotonic() + later[0])
    models = await crew.experts(SRE)
    stuck = Actor()
    waits(stuck, "work")
    lead = await crew.expert(SRE, stuck, drain_s=0.1)
    await crew.know(moderator)
    await crew.helper(matched({SRE: 0.8, IMPL: 0.6}, reviewers=[AUDITOR]))
    await crew.task("s1", request={"turn_timeout_s": 600.0}, claim_window_s=60.0, coordination_s=300.0)
    await asyncio.wait_for(stuck.stuck.wait(), 10)
    bus = await crew.connect("moderator")
    stored = await bus.api("STREAM.MSG.GET.TIMER", {"last_by_subj": subjects.timer("s1")})
    (at,) = re.findall(r"Schedule: @at (\S+)Z", base64.b64decode(stored["message"]["hdrs"]).decode())
    looks_in_s = (datetime.fromisoformat(at).replace(tzinfo=UTC) - datetime.now(UTC)).total_seconds()
    assert looks_in_s <= ALIVE_S, "before the end of anything that is set"

    async def fired() -> list[log.TimerFired]:
        return [e.event for e in await crew.entries("s1") if isinstance(e.event, log.TimerFired)]

    await bus.store(subjects.fired("s1"), encode(TimerDue()))
    assert await until(fired) == [log.TimerFired()] and not models[IMPL].kinds(), "the lead is there"

    await lead._connection.close()  # it dies
    later[0] = ALIVE_S

    async def only_the_lead() -> bool:
        return moderator.presence.gone(map(queue_of, EXPERTS)) == (queue_of(SRE),)

    await bus.publish(subjects.CALL, b"")
    await until(only_the_lead)
    await bus.store(subjects.fired("s1"), encode(TimerDue()))
    result = await crew.result("s1")
    assert (await fired())[1:] == [log.TimerFired(gone=(queue_of(SRE),))]
    assert (lead_of(result), result["stop"]["reason"]) == (IMPL, "reviewed") and not result["outcome"]["items"]
    assert [(r["lead"], r["outcome"]) for r in result["rounds"]] == [(SRE, "missed"), (IMPL, "done")]
    assert stuck.kinds() == ["work"] and models[IMPL].kinds() == ["work"] and models[AUDITOR].kinds() == ["review"]


# ---------------------------------------------------------------- 9.3


async def test_a_task_of_experts_without_a_language_model_is_refused_by_the_bus(crew: Crew) -> None:
    """Experts take no seat at the opening, so the moderator looks at all that are there; one that has a model is
    enough."""
    moderator = await crew.moderator()
    for name in crew.specs:
        await crew.expert(name, make_model("extractive"))
    await crew.know(moderator)
    fate = await crew.open("s0", protocol="madp")
    assert (fate.fate, fate.field) == ("refused", "seats")
    assert "madp needs a language model, and " in fate.why and "set LLM_PROVIDER" in fate.why
    await crew.expert(SRE)
    await crew.task("s1")


async def test_a_user_wants_another_expert(crew: Crew) -> None:
    """From the beginning, or in the middle of the work: what was under way is taken back, and it is counted."""
    stuck = Actor()
    waits(stuck, "work")
    models = await begun(crew, SRE)
    await crew.expert(SRE, stuck)
    await crew.helper(ONE)
    fate = await crew.open("s0", protocol="madp", settings={"expert": "nobody"})
    assert fate.fate == "refused" and "no expert 'nobody' is there; there are generalist, " in fate.why
    await crew.task("s1", expert=QA)
    result = await crew.result("s1")
    assert lead_of(result) == QA and result["outcome"]["consensus"]["how"] == "override"
    assert result["outcome"]["overrides"] == 1
    await crew.task("s2")
    await asyncio.wait_for(stuck.stuck.wait(), 10)
    client = await crew.connect("client")
    stranger = await crew.decide("s2", "expert", QA, user=client)
    assert stranger.fate == "refused" and "opened by somebody else" in stranger.why
    for wrong, why in (("nobody", "no such expert is there"), (SRE, "sre leads already")):
        fate = await crew.decide("s2", "expert", wrong)
        assert fate.fate == "refused" and why in fate.why
    assert (await crew.decide("s2", "expert", IMPL, "It is code.")).fate == "taken"
    result = await crew.result("s2")
    assert lead_of(result) == IMPL and result["outcome"]["overrides"] == 1
    assert [r["outcome"] for r in result["rounds"]] == ["withdrawn", "done"]
    (handoff,) = result["outcome"]["handoffs"]
    assert (handoff["from_agent"], handoff["to_agent"], handoff["reason"]) == (SRE, IMPL, "It is code.")
    assert models[IMPL].briefs("work")[-1].handoff == "owner: It is code."


async def test_assignments_are_in_conflict(crew: Crew) -> None:
    """Two that stand equal would each push the other out: a human decides, or the most confident leads."""
    objections = tuple(objection(one, other, "exclude") for one, other in ((IMPL, SRE), (SRE, IMPL)))
    claims = tuple(WordedClaim(agent_id=x, claim="It is mine.", relevance="high") for x in (IMPL, SRE))
    worded = Worded(claims=claims, challenges=objections)
    models = {IMPL: Actor(), SRE: Actor(), GENERAL: Actor(metered=True, words=[worded])}
    moderator = await crew.moderator()
    await crew.experts(*models)
    for x, model in models.items():
        await crew.expert(x, model)
    await crew.know(moderator)
    await crew.helper(matched({IMPL: 0.6, SRE: 0.6}, overlap=True))
    await crew.task("s1", item_s=1.0)
    result = await crew.result("s1")
    assert "challenge each other's part with equal standing" in result["outcome"]["consensus"]["conflict"]
    assert [(i["kind"], i["default"], i["author"]) for i in result["outcome"]["items"]] == [("conflict", IMPL, "")]
    assert lead_of(result) == IMPL and "nobody settled it" in result["outcome"]["warnings"][0]
    await crew.task("s2")
    item = await crew.item("s2")
    assert set(item.choices) == {IMPL, SRE}
    await crew.decide("s2", item.id, SRE)
    result = await crew.result("s2")
    assert lead_of(result) == SRE and result["outcome"]["consensus"]["how"] == "human"
    assert result["outcome"]["overrides"] == 1 and models[SRE].kinds().count("work") == 1


async def test_a_security_critical_task_with_low_confidence_is_confirmed_first(crew: Crew) -> None:
    models = await begun(crew)
    found = matched({SEC: 0.45, IMPL: 0.44}, security=True, reviewers=[AUDITOR])
    await crew.helper(found, matched({SEC: 0.95}, security=True, reviewers=[AUDITOR]), found)
    await crew.task("s1", "Rotate the keys", wording="never")
    # Both are below what they take part from, so both pass: the general-purpose expert is to be confirmed.
    item = await crew.item("s1")
    assert item.kind == "security" and "would lead with confidence 0.00 (wanted: 0.5)" in item.question
    assert models[GENERAL].kinds() == [], "the work has not begun"
    await crew.decide("s1", item.id, "stop")
    result = await crew.result("s1")
    assert result["stop"]["reason"] == "rejected" and result["rounds"] == []
    await crew.task("s2", "Rotate the keys")
    result = await crew.result("s2")
    assert lead_of(result) == SEC and result["outcome"]["items"] == []
    await crew.task("s3", "Rotate the keys", item_s=1.0)
    result = await crew.result("s3")
    assert result["stop"]["reason"] == "reviewed"
    assert "security-critical, with low confidence: nobody confirmed it" in result["outcome"]["warnings"][-1]


async def test_a_lead_that_is_blocked_asks_a_human(crew: Crew) -> None:
    """In words; nobody answers: it goes on with what it knows."""
    sre = Actor(work=[blocked(), done(), blocked(), done()])
    await begun(crew, SRE)
    await crew.expert(SRE, sre)
    await crew.helper(ONE)
    await crew.task("s1")
    item = await crew.item("s1")
    assert (item.kind, item.question, item.choices) == ("blocked", "Postgres or SQLite?", ())
    await crew.decide("s1", item.id, "Postgres", "We have it already.")
    assert (await crew.result("s1"))["stop"]["reason"] == "reviewed"
    assert sre.briefs("work")[1].advice == "A human answered:\nPostgres\nWe have it already."
    await crew.task("s2", item_s=1.0)
    assert (await crew.result("s2"))["stop"]["reason"] == "reviewed"
    assert sre.briefs("work")[3].advice == "Go on with what you know, and say what is open."


# ---------------------------------------------------------------- 9.2 and NOTIFY


async def test_repeated_failures_degrade_and_five_good_tasks_recover(crew: Crew) -> None:
    """Two moderators see the same; the maintainer is called once for each change."""
    async with Ear().serving() as ear:
        moderators = [await crew.moderator(notify_url=ear.url) for _ in range(2)]
        await crew.experts(hears=False)
        await crew.know(*moderators)
        helper = await crew.helper(ONE)
        mute = matched({IMPL: 0.9, QA: 0.8}, reviewers=[AUDITOR])
        helper.said["match"] = [mute] * 4 + [mute] * 5 + [ONE]
        keyword = []
        for i in range(11):
            await crew.task(f"s{i}")
            result = await crew.result(f"s{i}")
            how = result["outcome"]["consensus"]["how"]
            keyword.append(helper.briefs("match")[-1].keyword)
            assert how == ("timeout" if i < 4 else "degraded" if i < 9 else "implicit"), i
            await told(crew, 1 + i)
            if i in (3, 8):
                for moderator in moderators:
                    await phase(moderator, "degraded" if i == 3 else "closed")
        assert keyword == [False] * 4 + [True] * 5 + [False] * 2
        entries = await crew.entries("s5")
        assert isinstance(entries[0].event, log.Opened) and entries[0].event.known == {"degraded": True}
        (post,) = [p for p in await crew.posts("s5", "public") if p.kind == "task"]
        assert msgspec.json.decode(post.body)["degraded"] is True
        calls = [await asyncio.wait_for(ear.got.get(), 5) for _ in range(2)]
        assert [c["severity"] for c in calls] == ["warning", "info"]
        assert "4 of the last 4 tasks" in calls[0]["text"] and "5 tasks in a row went well" in calls[1]["text"]
        assert ear.got.empty() and {c["session"] for c in calls} == {"madp-breaker"}
        assert [p.kind for p in await crew.posts("madp-breaker", "control")] == ["degraded", "recovered"]


async def told(crew: Crew, times: int) -> None:
    async def look() -> bool:
        return len(await crew.entries("madp-breaker")) == 1 + times

    await until(look)


async def phase(moderator: Any, wanted: str) -> None:
    held = await moderator.sessions.look("madp-breaker", fresh=True)
    assert held.session.inner.phase == wanted


async def test_an_open_item_is_a_post_a_metric_and_a_webhook(crew: Crew) -> None:
    async with Ear().serving() as ear:
        moderators = [await crew.moderator(notify_url=ear.url) for _ in range(2)]
        await crew.experts(SRE)
        await crew.expert(SRE, Actor(work=[blocked(), hands(IMPL)]))
        await crew.helper(ONE)
        await crew.know(*moderators)
        await crew.task("s1")
        item = await crew.item("s1")
        call = await asyncio.wait_for(ear.got.get(), 5)
        assert (call["session"], call["severity"]) == ("s1", "warning")
        assert call["text"] == "a task waits for a human (blocked): Postgres or SQLite?"
        await crew.decide("s1", item.id, "Postgres")
        assert lead_of(await crew.result("s1")) == IMPL
        counts = [
            m._metrics.registry.get_sample_value("parley_notifications_total", {"severity": "warning"}) or 0
            for m in moderators
        ]
        assert sum(counts) == 1 and ear.got.empty()
