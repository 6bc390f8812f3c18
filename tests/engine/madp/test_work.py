"""Tasks on the bus: a helper that asks its language model, and an expert that edits the folder through tools."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from parley.agents import experts
from parley.agents.context import Shown
from parley.agents.model.base import Completion, Emit
from parley.agents.specs import AgentSpec
from parley.agents.tools.folder import archive
from parley.bus import artifacts
from parley.client.protocols.madp.trace import trace
from parley.client.view.fold import fold_log
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.replay import replay
from parley.schemas import log
from parley.schemas.artifact import Artifact
from parley.schemas.expert import ROLE, pin, queue_of
from parley.schemas.post import Post
from parley.schemas.protocols.madp.work import Work
from parley.schemas.routing import Candidate, Factors, Matched, Profile
from parley.schemas.turn import Usage
from parley.schemas.wire import decode
from tests.llm.server import Step, fails, model_server, says
from tests.llm.support import model
from tests.support.engine import Engine, engine
from tests.support.madp import Crew, lead_of
from tests.tools.support import DONE, SPEC, Scripted, files_list, use

QUEUE = queue_of(SPEC.id)
START = archive({"app.py": (b"print('hi')\n", False)})
EDIT = use(("replace_in_file", {"path": "app.py", "old": "hi", "new": "hello"}))


class Matcher:
    """A helper that names the one expert that there is."""

    name = family = "matcher"
    metered = False
    computes = True
    usd_per_million_input = usd_per_million_output = 0.0

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """Sure of it: no claims are heard."""
        factors = Factors(
            candidate_count=1, confidence_variance=0.0, domain_overlap=False, action_clarity=True, scope_definition=True
        )
        named = (Candidate(expert=SPEC.id, relevance=0.95, confidence=0.95),)
        return Completion(
            body=Matched(candidates=named, factors=factors, profiles=(Profile.of(SPEC),)), usage=Usage(calls=1)
        )


@pytest.fixture
async def bus(tmp_path: Path) -> AsyncIterator[Engine]:
    """A server that knows a helper and one expert; a moderator and the helper."""
    async with engine(tmp_path, queues={"helper": "helper", QUEUE: ROLE}, pins={QUEUE: pin(SPEC)}) as started:
        await started.moderator()
        await started.worker("helper", model=Matcher())
        yield started


async def expert(bus: Engine, model: Any, **more: Any) -> Any:
    """A worker of the expert, with the tools that ship."""
    spec = AgentSpec(queue=QUEUE, roles=(ROLE,), expert=SPEC)
    return await bus.worker(QUEUE, model=model, spec=spec, tools=files_list(), **more)


async def opened(bus: Engine) -> Artifact:
    """A task over a folder that its opener stored."""
    id = await artifacts.put(bus.owner, "s1", START)
    fate = await bus.open("s1", question="Fix the greeting in app.py", protocol="madp", settings={"folder": id})
    assert fate.fate == "taken", fate.why
    return Artifact(id=id)


async def worked(bus: Engine) -> list[Work]:
    """The work that was accepted."""
    posts: tuple[Post, ...] = await bus.posts("s1", "public")
    return [decode(p.body, Work) for p in posts if p.kind == "work"]


@pytest.mark.slow
async def test_a_turn_whose_worker_died_is_done_again_on_a_fresh_copy(bus: Engine) -> None:
    stuck = asyncio.Event()

    class Dying(Scripted):
        async def reply(self, shown: Shown, emit: Emit) -> Completion:
            if len(self.shown) == 1:
                stuck.set()
                await asyncio.Event().wait()  # its file is changed, its reply never comes
            return await super().reply(shown, emit)

    first = await expert(bus, Dying(EDIT), drain_s=0.1)
    await opened(bus)
    await asyncio.wait_for(stuck.wait(), 30)
    await first.__aexit__(None, None, None)  # hands the turn back, as the server does for one that is killed
    model = Scripted(EDIT, DONE)
    await expert(bus, model)
    await bus.closed("s1", 40)
    (found,) = await worked(bus)
    assert [(c.tool, c.ok) for c in found.calls] == [("replace_in_file", True)], "the copy was fresh: hi stood in it"
    assert found.folder is not None and found.diff.count("+print('hello')") == 1


UNSURE = "The service numbers are down since the weekend, no idea why"
ANSWER = {"lead": "data-scientist", "support": [], "confidence": 0.7}
SHIPPED = {s.id: s for s in experts.builtin()}


async def task(folder: Path, *steps: Step, **request: Any) -> tuple[Any, list[log.Entry], tuple[Post, ...], int]:
    """(the result, the log, the public posts, requests at the model) of a task that the matcher is unsure of."""
    async with (
        Crew(folder, SHIPPED.values()) as crew,
        model_server(*steps, look=fails(404)) as server,
        model(server.url) as asked,
    ):
        moderator = await crew.moderator()
        await crew.worker("helper", model=asked)
        await crew.experts()
        await crew.know(moderator)
        settings = request.pop("settings", {})
        await crew.task("s1", UNSURE, request=request, coordination_s=60, **settings)
        result = await crew.result("s1")
        entries = await crew.entries("s1")
        posts = await crew.posts("s1", "public")
        assert replay(PROTOCOLS.get, "s1", await crew.log("s1")).session.closed
        return result, entries, posts, len(server.requests)


async def test_the_model_overrules_the_matcher_and_its_tokens_are_those_of_intake(tmp_path: Path) -> None:
    result, entries, posts, requests = await task(tmp_path, says(ANSWER, usage=(300, 40)), budget={"tokens": 100_000})
    outcome = result["outcome"]
    assert (lead_of(result), requests) == ("data-scientist", 1)
    assert outcome["matcher"] == "better, asked m" and outcome["tokens"]["intake"] == 340
    assert outcome["consensus"]["token_cost"] == 340
    assert result["usage"]["by_seat"]["helper"]["input_tokens"] == 300
    told = trace("s1", entries)
    assert told.phases.intake.matcher == "better, asked m" and told.token_usage.intake == 340
    claim = SHIPPED["data-scientist"].deliberation.claim[:40]
    cards = {card.kind: card for card in fold_log("s1", posts=posts).cards}
    line = cards["consensus"].position
    assert line.startswith(f"Data Scientist leads (relevance high; confidence 0.70; {claim}")
    assert "; m was asked)" in line
