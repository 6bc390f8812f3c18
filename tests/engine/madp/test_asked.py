"""A helper with a language model on the real bus: what it says of who leads is matched, booked, shown and replayed."""

from pathlib import Path
from typing import Any

from parley.agents import experts
from parley.client.protocols.madp.trace import trace
from parley.client.view.fold import folded
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.replay import replay
from parley.schemas import log
from parley.schemas.post import Post
from parley.schemas.routing import NOT_ANSWERED, NOT_ASKED
from tests.llm.server import Step, fails, model_server, says
from tests.llm.support import model
from tests.support.madp import Crew, lead_of

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


def flags(entries: list[log.Entry]) -> tuple[str, ...]:
    """Of the match."""
    return next(e.event.flags for e in entries if isinstance(e.event, log.Replied))


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
    cards = {card.kind: card for card in folded("s1", posts=posts).cards}
    line = cards["consensus"].position
    assert line.startswith(f"Data Scientist leads (relevance high; confidence 0.70; {claim}")
    assert "; m was asked)" in line and "; m was asked." in cards["task"].text


async def test_without_the_budget_for_it_the_computed_match_stands(tmp_path: Path) -> None:
    result, entries, _, requests = await task(tmp_path, says(ANSWER), budget={"tokens": 8_000})
    assert (lead_of(result), requests) == ("sre", 0) and result["outcome"]["matcher"] == "better"
    (flag,) = (f for f in flags(entries) if f.startswith(NOT_ASKED))
    assert flag.startswith(f"{NOT_ASKED}budget.tokens: limit 8000") and result["usage"]["input_tokens"] == 0


async def test_a_model_that_fails_costs_the_task_nothing_but_its_answer(tmp_path: Path) -> None:
    result, entries, _, requests = await task(tmp_path, says({**ANSWER, "lead": "wizard"}, usage=(300, 40)))
    assert (lead_of(result), requests) == ("sre", 1) and result["stop"]["reason"] == "reviewed"
    assert any(f.startswith(NOT_ANSWERED) for f in flags(entries))
    assert result["outcome"]["tokens"]["intake"] == 340


async def test_a_human_who_names_the_lead_and_a_task_that_wants_no_model_ask_none(tmp_path: Path) -> None:
    for name, settings in (("a", {"expert": "sre"}), ("b", {"ask_below": 0})):
        folder = tmp_path / name
        folder.mkdir()
        result, _, _, requests = await task(folder, fails(500), settings=settings)
        assert (lead_of(result), requests) == ("sre", 0) and result["outcome"]["matcher"] == "better"
