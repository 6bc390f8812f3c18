"""Whole tasks on the real bus: experts' own processes hear them and claim them; who leads, supports and reviews."""

import asyncio
import base64
import re
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from parley.agents import experts
from parley.agents.context import Shown
from parley.agents.model.base import Completion, Emit
from parley.agents.tools.folder import archive, unpack_archive
from parley.bus import artifacts, subjects
from parley.bus.posts import Reader, _vouched
from parley.client.protocols.madp.trace import trace
from parley.client.view.fold import fold_log
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.replay import replay
from parley.schemas import log
from parley.schemas.expert import queue_of
from parley.schemas.post import Live
from parley.schemas.presence import ALIVE_S
from parley.schemas.session import TimerDue
from parley.schemas.wire import encode
from tests.llm.server import fails, model_server, says
from tests.llm.support import model
from tests.protocols.madp.play import (
    AUDITOR,
    EXPERTS,
    IMPL,
    SRE,
    matched,
    spec,
)
from tests.support.engine import until
from tests.support.madp import Actor, Crew, lead_of, waits
from tests.tools.support import DONE, Scripted, files_list, use

SHIPPED = {s.id: s for s in experts.builtin()}


@pytest.fixture
async def crew(tmp_path: Path) -> AsyncIterator[Crew]:
    """Seven experts are enrolled; nobody is there yet."""
    async with Crew(tmp_path, [spec(x) for x in EXPERTS]) as started:
        yield started


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
        ("panelist_1", "panelist_1__0a7e53f", "panelist_1"),
        ("analyst", "expert_analyst", "analyst (expert_analyst)"),
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
    await bus.publish(subjects.CALL, b"")
    await until(lambda: moderator.presence.gone(map(queue_of, EXPERTS)) == (queue_of(SRE),))
    await bus.store(subjects.fired("s1"), encode(TimerDue()))
    result = await crew.result("s1")
    assert (await fired())[1:] == [log.TimerFired(gone=(queue_of(SRE),))]
    assert (lead_of(result), result["stop"]["reason"]) == (IMPL, "reviewed") and not result["outcome"]["items"]
    assert [(r["lead"], r["outcome"]) for r in result["rounds"]] == [(SRE, "missed"), (IMPL, "done")]
    assert stuck.kinds() == ["work"] and models[IMPL].kinds() == ["work"] and models[AUDITOR].kinds() == ["review"]


async def test_a_long_result_is_kept_whole_beside_the_record(crew: Crew) -> None:
    long = "".join(f"line {n:05d}\n" for n in range(1, 901))
    lead = Scripted(
        use(("read_file", {"path": "short.txt"})), use(("read_file", {"path": "long.txt"})),
        use(("write_file", {"path": "b.txt", "content": "b"})), DONE,
    )  # fmt: skip
    moderator = await crew.moderator()
    await crew.experts(SRE)
    await crew.expert(SRE, lead, tools=files_list())
    await crew.know(moderator)
    await crew.helper(matched({SRE: 0.95}, reviewers=[AUDITOR]))
    files = {"short.txt": (b"short\n", False), "long.txt": (long.encode(), False)}
    folder = await artifacts.put(crew.owner, "s1", archive(files))
    await crew.task("s1", "Read it", folder=folder, item_s=1)
    assert (await crew.result("s1", 50))["stop"]["reason"] == "unchecked"
    (work,) = await crew.kind("s1", "work")
    short, read, wrote = work["calls"]
    assert "whole" not in short and "whole" not in wrote
    assert len(read["result"]) == 2_000 and read["whole"] == "002-files.read_file.txt"
    kept = unpack_archive(await artifacts.get(crew.owner, "s1", work["results"]["id"]))
    text = kept[read["whole"]][0].decode()
    assert set(kept) == {read["whole"]} and text.startswith(read["result"]) and "line 00900" in text


@pytest.mark.slow
async def test_a_turn_whose_worker_died_is_done_again_on_a_fresh_copy(crew: Crew) -> None:
    class Dying(Scripted):
        async def reply(self, shown: Shown, emit: Emit) -> Completion:
            if len(self.shown) == 1:
                stuck.set()
                await asyncio.Event().wait()  # its file is changed, its reply never comes
            return await super().reply(shown, emit)

    stuck = asyncio.Event()
    edit = use(("replace_in_file", {"path": "app.py", "old": "hi", "new": "hello"}))
    moderator = await crew.moderator()
    await crew.experts(SRE)
    first = await crew.expert(SRE, Dying(edit), tools=files_list(), drain_s=0.1)
    await crew.know(moderator)
    await crew.helper(matched({SRE: 0.95}, reviewers=[AUDITOR]))
    folder = await artifacts.put(crew.owner, "s1", archive({"app.py": (b"print('hi')\n", False)}))
    await crew.task("s1", "Fix the greeting in app.py", folder=folder, item_s=1)
    await asyncio.wait_for(stuck.wait(), 30)
    await first.__aexit__(None, None, None)  # hands the turn back, as the server does for one that is killed
    await crew.expert(SRE, Scripted(edit, DONE), tools=files_list())
    await crew.result("s1", 40)
    (work,) = await crew.kind("s1", "work")
    assert [(c["tool"], c["ok"]) for c in work["calls"]] == [("replace_in_file", True)], "the copy was fresh"
    assert work["folder"] and work["diff"].count("+print('hello')") == 1


async def test_the_model_overrules_the_matcher_and_its_tokens_are_those_of_intake(tmp_path: Path) -> None:
    answer = {"lead": "data-scientist", "support": [], "confidence": 0.7}
    async with (
        Crew(tmp_path, SHIPPED.values()) as crew,
        model_server(says(answer, usage=(300, 40)), look=fails(404)) as server,
        model(server.url) as asked,
    ):
        moderator = await crew.moderator()
        await crew.worker("helper", model=asked)
        await crew.experts()
        await crew.know(moderator)
        unsure = "The service numbers are down since the weekend, no idea why"
        await crew.task("s1", unsure, request={"budget": {"tokens": 100_000}}, coordination_s=60)
        result = await crew.result("s1")
        told = trace("s1", await crew.entries("s1"))
        cards = {card.kind: card for card in fold_log("s1", posts=await crew.posts("s1", "public")).cards}
        assert replay(PROTOCOLS.get, "s1", await crew.log("s1")).session.closed
    outcome = result["outcome"]
    assert (lead_of(result), len(server.requests)) == ("data-scientist", 1)
    assert outcome["matcher"] == told.phases.intake.matcher == "better, asked m"
    assert outcome["tokens"]["intake"] == outcome["consensus"]["token_cost"] == told.token_usage.intake == 340
    assert result["usage"]["by_seat"]["helper"]["input_tokens"] == 300
    claim = SHIPPED["data-scientist"].deliberation.claim[:40]
    line = cards["consensus"].position
    assert line.startswith(f"Data Scientist leads (relevance high; confidence 0.70; {claim}")
    assert "; m was asked)" in line
