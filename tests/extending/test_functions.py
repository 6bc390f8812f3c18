"""An agent is a function: in a stack of one's own, as a service, and what it may not return."""

import asyncio
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import parley
from parley.agents.context import Shown
from parley.agents.model.base import ModelMisconfigured, ModelRefused
from parley.agents.models.function import agents_by_queue
from parley.schemas.post import Post
from parley.schemas.protocols.consensus import PanelBrief, Position
from parley.schemas.turn import Speak, Usage
from parley.schemas.wire import raw
from parley.stack.rows import rows_of

QUESTION = "Canary or blue-green?"


@parley.agent(role="panelist")
async def canary(turn: parley.Turn) -> parley.Reply:
    """Says the same each time."""
    return parley.Reply(answer="Canary", reasoning=f"In round {turn.round}.", confidence=0.9)


def shown(**more: Any) -> Shown:
    """A panelist's first turn."""
    given: dict[str, Any] = {
        "session": "s", "protocol": "consensus", "question": QUESTION, "seat": "panelist_1", "role": "panelist",
        "kind": "answer", "round": 1, "brief": PanelBrief(iteration=1, round_limit=5), "reply": Position,
    }  # fmt: skip
    return Shown(**{**given, **more})


def made(returned: Any) -> Any:
    """The body of the reply of a function that returns this."""

    @parley.agent(role="panelist")
    async def function(turn: parley.Turn) -> Any:
        if isinstance(returned, Exception):
            raise returned
        return returned

    return asyncio.run(function.model().reply(shown(), lambda text: None)).body


@pytest.mark.parametrize(
    "returned",
    [
        parley.Reply(answer="Canary", reasoning="", confidence=0.5),
        {"answer": "Canary", "reasoning": "", "confidence": 0.5},
        Position(answer="Canary", reasoning="", confidence=0.5),
        'Here it is: {"answer": "Canary", "reasoning": "", "confidence": 0.5}',
        " Canary\n",
    ],
    ids=["reply", "mapping", "typed", "json", "text"],
)
def test_what_a_function_may_return(returned: Any) -> None:
    assert made(returned) == Position(answer="Canary", reasoning="", confidence=0.5)


@pytest.mark.parametrize(
    ("returned", "why"),
    [
        (None, "returned NoneType"),
        (7, "returned int"),
        (parley.Reply(answr="Canary"), "no field 'answr'; fields are .*answer"),
        (parley.Reply(answer="Canary"), "confidence|reasoning"),
        (parley.Reply(answer="Canary", reasoning="", confidence=3), "confidence"),
        ("{no json", "JSON"),
    ],
)
def test_what_is_no_reply_is_refused_with_the_field(returned: Any, why: str) -> None:
    with pytest.raises(ModelRefused, match=f"agent function: .*({why})"):
        made(returned)


def test_a_function_is_told_its_turn() -> None:
    seen: list[parley.Turn] = []

    @parley.agent(role="panelist", metered=True)
    async def function(turn: parley.Turn) -> parley.Reply:
        seen.append(turn)
        turn.say("thinking")
        return parley.Reply(answer="A", reasoning="", confidence=1.0, usage=Usage(input_tokens=5, calls=1))

    said: list[str] = []
    done = asyncio.run(function.model().reply(shown(error="too short"), said.append))
    (turn,) = seen
    assert (turn.question, turn.kind, turn.round, turn.error) == (QUESTION, "answer", 1, "too short")
    assert said == ["thinking"]
    assert done.usage.input_tokens == 5
    assert {"answer", "confidence"} <= set(turn.schema()["$defs"]["Position"]["properties"])
    assert QUESTION in str(turn.prompt()) and turn.seconds_left == 0.0


def test_a_function_that_hears_posts_speaks_up() -> None:
    @parley.agent(role="expert")
    async def storage(turn: parley.Turn) -> str:
        return "x"

    @storage.hears("task")
    def claims(post: Post) -> Speak | None:
        return Speak(window="1", kind="claim", body=raw({"confidence": 0.9}))

    assert storage.hear is not None and storage.hear.posts == (("public", "task"),)
    post = Post(
        session="s", channel="public", kind="task", n=1, k=1, round=0, seat="", body=raw({}), at_ns=0, transition=0
    )
    said = storage.hear.react(post)
    assert said is not None and said.kind == "claim"
    assert canary.hear is None


def test_only_a_coroutine_of_a_known_role_is_an_agent() -> None:
    with pytest.raises(ValueError, match=r"role: got 'panellist', known are .*panelist"):
        parley.agent(role="panellist")
    with pytest.raises(TypeError, match="async def"):
        parley.agent(role="panelist")(lambda turn: turn)  # type: ignore[arg-type, return-value]


def test_functions_take_the_first_free_queues_of_their_role() -> None:
    queues = [row.queue for row in rows_of("consensus")]
    named = parley.agent(role="panelist", queue="panelist_1")(canary.function)
    assert agents_by_queue([canary, named], queues) == {"panelist_1": named, "panelist_2": canary}
    with pytest.raises(ModelMisconfigured, match="no free queue of role panelist; it has"):
        agents_by_queue([canary] * 4, queues)


async def test_functions_hold_seats_and_a_result_says_why_one_is_missing(caplog: pytest.LogCaptureFixture) -> None:
    @parley.agent(role="panelist")
    async def faulty(turn: parley.Turn) -> parley.Reply:
        raise LookupError("no such row")

    async with parley.local(protocol="consensus", panel=3, agents=[faulty, canary, canary]) as p:
        result = await p.ask(QUESTION)
    assert result.outcome["answer"] == "Canary" and {"panelist_2", "panelist_3"} <= set(result.usage.by_seat)
    why = r"Panelist 1 is missing: agent faulty raised LookupError in test_functions\.py, line \d+: no such row"
    assert re.search(why, str(result)), str(result)
    assert {(turn.seat, turn.kind) for turn in result.unanswered} >= {("panelist_1", "answer")}
    logged = [r for r in caplog.records if r.exc_info and r.name == "parley.agents.models.function"]
    assert len(logged) == 1, "one traceback, however often it raises"
    assert "correct the function" in logged[0].getMessage()


SERVICE = """
import parley

@parley.agent(role="panelist")
async def answer(turn):
    return parley.Reply(answer="Canary", reasoning="The safest.", confidence=0.9)
"""


async def test_a_function_is_a_service_on_a_queue(tmp_path: Path) -> None:
    (tmp_path / "my_module.py").write_text(SERVICE)
    rows = tuple(replace(row, copies=0) if row.queue == "panelist_1" else row for row in rows_of("consensus", 2))
    async with parley.local(protocol="consensus", stack=parley.Stack(agents=rows)) as p:
        keys = ("--nats", p.lease.url, "--creds", str(p.lease.credentials("panelist_1")))
        command = ("-m", "parley", "agent", "my_module:answer", "--queue", "panelist_1", *keys)
        environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        service = await asyncio.create_subprocess_exec(sys.executable, *command, cwd=tmp_path, env=environ)
        try:
            result = await p.ask(QUESTION, settings={"panel": 2, "round_limit": 1})
        finally:
            service.kill()
            await service.wait()
    assert result.outcome["answer"] == "Canary" and result.usage.by_seat["panelist_1"].turns > 0


def test_a_function_names_the_prices_of_its_tokens() -> None:
    async def function(turn: parley.Turn) -> str:
        return "A"

    made = parley.agent(role="panelist", metered=True, usd_per_million_input=0.5, usd_per_million_output=2.0)(function)
    model = made.model()
    assert (model.metered, model.usd_per_million_input, model.usd_per_million_output) == (True, 0.5, 2.0)
    with pytest.raises(ValueError, match=r"prices: got .*, allowed is 0 to 1e6"):
        parley.agent(role="panelist", metered=True, usd_per_million_input=-1.0)
    with pytest.raises(ValueError, match="metered=True"):
        parley.agent(role="panelist", usd_per_million_input=1.0)
