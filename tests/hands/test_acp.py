"""A turn over the Agent Client Protocol: what goes into the log, what is allowed, and what ends it."""

import sys
import time
from pathlib import Path
from typing import Any

import pytest

from parley.agents.hands.catalogue import Hand, TurnLimits
from parley.agents.hands.hand import AgentHands
from parley.agents.hands.look import try_out
from parley.agents.model.base import ModelRefused
from parley.agents.tools import sandbox
from tests.hands.stub import model
from tests.hands.support import Turn, options, turn

pytestmark = [
    pytest.mark.skipif(bool(sandbox.unavailable()), reason=f"{sandbox.unavailable()}; `make install` says how"),
]
AGENT = Path(__file__).with_name("acp_agent.py")
ALLOW: Any = ({"kind": "edit"}, {"kind": "execute", "command": "python3 -m unittest*"})


def hand(scenario: str, **more: Any) -> Hand:
    env = {"SCENARIO": scenario, "URL": "{url}", "TOKEN": "{token}"}
    given = {"acp": (sys.executable, str(AGENT)), "reads": (AGENT,), "env": env, "allow": ALLOW}
    return Hand.model_validate(given | more)


async def done(tmp_path: Path, scenario: str, seconds: float = 40.0, **more: Any) -> Turn:
    with model(lambda _b, _n: {"text": "x", "output": 10**9}) as server:
        hands = AgentHands("agent", hand(scenario, **more), options(server.url))
        found = await turn(hands, tmp_path, seconds=seconds)
        used = found.done.usage
        assert used.input_tokens + used.output_tokens == server.counted
        return found


async def test_finished_calls_are_in_the_log_and_its_last_words_are_the_result(tmp_path: Path) -> None:
    work = (await done(tmp_path, "works", mode="default")).work
    assert (work.output, work.outcome, work.performed) == ("It is done.", "done", True) and "+print(1)" in work.diff
    assert len(work.calls) == 21 and [c.ok for c in work.calls] == [True] * 20 + [False]
    first, last = work.calls[0], work.calls[-1]
    assert (first.server, first.tool, first.result) == ("agent", "read", "did c0")
    assert first.arguments == '{"path":"/task/0.py"}' and not isinstance(first.ended, str), "told, and not seen"
    assert (last.tool, last.result, last.arguments) == ("execute", "it was not finished", '{"title":"never ends"}')


async def test_what_the_list_does_not_name_is_refused_once(tmp_path: Path) -> None:
    work = (await done(tmp_path, "asks")).work
    yes, no = "o-allow_once", "o-reject_once"
    assert work.output.split() == [yes, yes, no, no, yes, no, "cancelled", "-32601", "-32601"]


async def test_at_the_turns_time_it_is_cancelled_and_what_it_did_is_taken(tmp_path: Path) -> None:
    began = time.monotonic()
    work = (await done(tmp_path, "slow", seconds=8.0)).work
    assert time.monotonic() - began < 8.0 and "+print(1)" in work.diff
    assert work.output == "I begin.\n\n(the agent was ended: the turn's time is over)"


async def test_one_that_does_not_end_when_it_is_cancelled_is_killed(tmp_path: Path) -> None:
    began = time.monotonic()
    work = (await done(tmp_path, "stubborn", limits=TurnLimits(seconds=8))).work
    assert time.monotonic() - began < 12.0 and "the turn's time is over" in work.output


async def test_at_the_first_refusal_for_tokens_it_is_cancelled(tmp_path: Path) -> None:
    work = (await done(tmp_path, "spends", limits=TurnLimits(tokens=2_000))).work
    assert work.output == "(the agent was ended: the turn's tokens are spent)" and "+print(1)" in work.diff


@pytest.mark.parametrize(("scenario", "said"), [
    ("refuses", "I will not.\n\n(the agent was ended: it stopped: refusal)"),
    ("noisy", "Still here."),
    ("odd", "odd."),
    ("floods", "(the agent was ended: it printed more than 64 MB)"),
    ("dies", "agent ended without a word."),
])  # fmt: skip
async def test_however_it_ends_what_it_did_counts(tmp_path: Path, scenario: str, said: str) -> None:
    work = (await done(tmp_path, scenario)).work
    assert "+print(1)" in work.diff and work.output.endswith(said)


@pytest.mark.parametrize(("scenario", "why", "more"), [
    ("newer", "hands agent: it speaks version 2 of the protocol, wanted is 1", {}),
    ("absent", "its last words: no licence", {}),
    ("works", "hands agent: no such mode", {"mode": "none"}),
])  # fmt: skip
async def test_one_that_cannot_be_used_is_an_error_that_says_why(
    tmp_path: Path, scenario: str, why: str, more: dict[str, Any]
) -> None:
    with pytest.raises(ModelRefused) as error:
        await done(tmp_path, scenario, **more)
    assert why in error.value.why


async def test_the_doctor_asks_it_what_it_is() -> None:
    assert await try_out(hand("works")) == (True, "scripted 1.2")
    starts, why = await try_out(hand("newer"))
    assert (starts, why) == (False, "it speaks version 2 of the protocol, wanted is 1")
    starts, why = await try_out(hand("absent"))
    assert not starts and why.endswith(": no licence")
