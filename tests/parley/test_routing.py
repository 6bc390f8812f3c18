"""`parley route`: a task's coordination in one process."""

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parley.agents.protocols.madp.reactions import own_score
from parley.client.errors import BadInput
from parley.client.protocols.madp.routing_preview import RoutingPreview
from parley.client.setup.expert_choice import Route
from parley.routing import route
from parley.schemas.expert import Deliberation, Domain, ExpertSpec, Triggers
from parley.schemas.routing import Task
from tests.support.forks import run as command

ROOT = Path(__file__).parents[2]
KEYS = [
    "task", "depth", "candidates", "factors", "lead", "support", "excluded", "rationale", "token_cost", "duration_ms",
]  # fmt: skip


def expert(name: str, primary: tuple[str, ...], **given: Any) -> ExpertSpec:
    return ExpertSpec(
        id=name, name=name, triggers=Triggers(primary=primary), domain=Domain(owns=(f"all about {primary[0]}",)),
        deliberation=Deliberation(claim=f"I own {primary[0]}."), **given,
    )  # fmt: skip


HEDGES = expert("hedges", ("hedge", "lawn", "garden"), priority=5)
PIPES = expert("pipes", ("pipe", "tap", "garden"), priority=3)
ANYBODY = expert("anybody", ("thing",), category="general")
GARDEN = (HEDGES, PIPES, ANYBODY)


def routed(prompt: str, specs: tuple[ExpertSpec, ...] = GARDEN, **given: Any) -> Route:
    return asyncio.run(RoutingPreview(specs, **given).route_all((Task(prompt=prompt),)))[0]


# ---------------------------------------------------------------- one task


def test_who_matches_best_leads_and_nobody_leads_what_nobody_knows() -> None:
    found = routed("the tap drips, and behind it the pipe is rusty")
    assert found.lead is not None and found.lead.expert == "pipes"
    assert found.lead.responsibility.startswith("I own pipe.")
    nobody = routed("zzzz qqqq", keyword=True)
    assert nobody.lead is None and nobody.candidates == () and "no expert matches" in nobody.rationale
    assert "anybody, the general-purpose expert, would take it" in nobody.rationale
    tied = routed("the garden", keyword=True)
    assert tied.lead is not None and tied.lead.expert == "pipes" and "priority decides" in tied.rationale


def test_an_expert_that_was_no_candidate_claims_and_leads() -> None:
    """Hearing experts speak for themselves: the machine leads with whoever claims the most."""
    task = Task(prompt="the hedge, the lawn and the whole garden; there is a tap")
    quiet = expert("quiet", ("tap",))
    router = RoutingPreview((HEDGES, quiet), keyword=True)
    found = asyncio.run(router._matched((task,)))[0]
    only = msgspec.structs.replace(
        found, candidates=tuple(c for c in found.candidates if c.expert == "quiet"),
        factors=msgspec.structs.replace(found.factors, candidate_count=1, action_clarity=True),
    )  # fmt: skip
    claiming = RoutingPreview((HEDGES, quiet), words=True)
    assert own_score(HEDGES, task) > 0.5
    route = claiming.routed(task, only)
    assert [c.expert for c in route.candidates] == ["quiet"]
    assert route.lead is not None and route.lead.expert == "hedges"


def test_the_same_task_comes_to_the_same_each_time_and_in_any_company() -> None:
    tasks = [Task(prompt=p) for p in ("the tap drips", "cut the hedge", "a garden with a pipe")]
    router = RoutingPreview(GARDEN, words=True)
    first, again = (asyncio.run(router.route_all(tasks)) for _ in range(2))
    alone = [asyncio.run(router.route_all((t,)))[0] for t in tasks]
    timeless = [[(r.lead, r.support, r.excluded, r.rationale, r.depth) for r in some] for some in (first, again, alone)]
    assert timeless[0] == timeless[1] == timeless[2]


def test_the_document_has_these_keys_and_the_shipped_experts_answer() -> None:
    code, out, _ = command("route", "it is broken", "--files", "db/migrations/7.sql", "--files", "db/schema.sql")
    assert code == 0 and out.startswith("database-engineer leads (") and "\nwhy: " in out
    code, out, err = command("route", "add JWT authentication", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert list(found) == KEYS
    assert found["task"] == "add JWT authentication" and found["lead"]["expert"] == "security-architect"
    assert list(found["candidates"][0]) == ["expert", "relevance", "confidence"]
    assert found["token_cost"] == 0 and 0 < found["duration_ms"] < 20_000
    assert set(found["factors"]) == {
        "candidate_count", "confidence_variance", "domain_overlap", "action_clarity", "scope_definition",
    }  # fmt: skip


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("prompt", "files", "experts", "what"),
    [
        ("", [], None, "prompt: got '', it must not be empty"),
        ("x", ["a\x1b[2Jb"], None, "control character U+001B at character 2; none is allowed"),
        ("x", [f"{i}" for i in range(201)], None, "files: got '201 items', allowed are at most 200"),
        ("x", [], "/nowhere", "experts: /nowhere: is not a folder"),
    ],
)
def test_what_cannot_be_routed_is_named(prompt: str, files: list[str], experts: str | None, what: str) -> None:
    with pytest.raises(BadInput) as error:
        route(prompt, files, Path(experts) if experts else None, keyword=False)
    assert what in str(error.value) and "\x1b" not in str(error.value)


def test_files_are_named_as_a_person_writes_them() -> None:
    found = route("two\nlines\tand a família", ("a b.py",), None, keyword=True)
    assert found.task == "two\nlines\tand a família" and found.cleaned == ()
