"""Kills while model calls are under way, counted where they are begun: at a foreign server, by its own journal."""

import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from parley.schemas import log
from parley.stack.lease import Lease, read_running
from parley.stack.rows import Stack, rows_of
from tests.chaos.verify import LATE_NS
from tests.llm.aimock import Aimock, aimock
from tests.llm.debate import QUESTION, begun, fixtures, log_of, requests_of, tokens, variables
from tests.parley.support import Front, until

pytestmark = [pytest.mark.serial, pytest.mark.slow, pytest.mark.timeout(90)]
CHUNK_MS = 20
"""A streamed reply takes about two thirds of a second."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Aimock]:
    with aimock(tmp_path, fixtures(CHUNK_MS)) as found:
        yield found


@contextmanager
def asked(front: Front, server: Aimock, protocol: str, *arguments: str) -> "Iterator[subprocess.Popen[str]]":
    """`parley ask --json` on a stack with a process a seat, which hands a lost turn out again after a second."""
    env = variables(server.url)
    order = Stack(agents=rows_of(protocol), ack_wait_s=1.0, env=env)
    with Lease(order, front.state, wait_ready=True):
        child = front.start("ask", QUESTION, "--json", "--protocol", protocol, *arguments, env=env)
        try:
            yield child
        finally:
            child.kill()


def kill(front: Front, service: str) -> None:
    """SIGKILL one process of the stack."""
    running = read_running(front.state)
    assert running is not None
    os.kill(running.services[service].pid, signal.SIGKILL)


def ended(child: "subprocess.Popen[str]") -> tuple[int, dict[str, Any], str]:
    out, err = child.communicate(timeout=60)
    assert out, err
    return child.returncode, json.loads(out), err


@pytest.mark.parametrize("victim", ["worker", "moderator", "nats"])
def test_no_call_is_begun_after_its_reply_is_stored(server: Aimock, tmp_path: Path, victim: str) -> None:
    front, kind, seat = Front(tmp_path), "revise", "panelist_2"
    with asked(front, server, "consensus") as child:
        until(lambda: _asked(server, seat)[kind] or child.poll() is not None, "no call of that kind was begun", 45.0)
        assert child.poll() is None, child.communicate()
        kill(front, {"worker": f"{seat}-1", "moderator": "moderator-1", "nats": "nats"}[victim])
        code, found, err = ended(child)
    assert code == 0, err
    assert found["outcome"]["answer"] == "A4" and found["stop"]["converged"]
    counted = begun(server, log_of(front, found["session"]))
    print(f"{victim} killed during {kind}: {counted}, unaccounted {found['usage']['unaccounted_turns']}")
    assert counted.latest_ms <= LATE_NS / 1e6
    assert counted.requests >= counted.turns
    if victim == "worker":
        assert _asked(server, seat)[kind] == 2, "it was paid for again"
        assert found["usage"]["unaccounted_turns"] == 1
    front.assert_nothing_left()


def _asked(server: Aimock, seat: str) -> Counter[str]:
    """Requests of a seat by the kind of turn."""
    mine = [r["body"] for r in requests_of(server) if r["body"]["model"] == seat]
    return Counter(b["response_format"]["json_schema"]["name"] for b in mine)


CAPS = {"max_input_tokens": 1_100, "max_output_tokens": 150}
TURN = 2 * sum(CAPS.values())
"""What one turn reserves: a first call and a repair."""
BUDGET = 5 * TURN
"""One round and the verdict: less is refused at the opening."""


@pytest.fixture
def clumsy(tmp_path: Path) -> Iterator[Aimock]:
    """An answerer whose first reply never will do: every try is two requests, and the second one takes a second."""
    answer = {"systemMessage": "A critic looks for what is wrong"}
    wrong = {"match": answer, "response": {"content": json.dumps({"answer": "A4", "confidence": 9})}}
    good = next(f for f in fixtures(CHUNK_MS) if f["match"] == answer)
    repaired = {**good, "match": {**answer, "userMessage": "You have replied once already"}}
    with aimock(tmp_path, [repaired, wrong, *fixtures(CHUNK_MS)]) as found:
        yield found


@pytest.mark.parametrize("kills", [1, 12])
def test_the_budget_holds_when_a_worker_is_killed_in_mid_repair(clumsy: Aimock, tmp_path: Path, kills: int) -> None:
    """Whoever is handed the turn next may begin it only while another turn fits beside all that may have been paid."""
    front = Front(tmp_path)
    caps = [word for name, value in CAPS.items() for word in ("--set", f"critic.{name}={value}")]
    done = 0
    with asked(front, clumsy, "critic", "--budget-tokens", str(BUDGET), *caps) as child:
        while done < kills:
            until(partial(_goes_on, clumsy, done, child), "no repair was begun", 30.0)
            if child.poll() is not None:
                break
            kill(front, "answerer-1")
            done += 1
        code, found, err = ended(child)
    assert code in (1, 3), err
    requests = requests_of(clumsy)
    paid = sum(map(tokens, requests))
    usage = found["usage"]
    entries = log_of(front, found["session"])
    begun_turns = [e.event.turn for e in entries if isinstance(e.event, log.Begun)]
    granted = len(begun_turns) - len(set(begun_turns))
    print(
        f"{done} kills in mid-repair: {len(requests)} requests of {paid} tokens, budget {BUDGET}, used "
        f"{usage['input_tokens'] + usage['output_tokens']}, unaccounted {usage['unaccounted_tokens']}, {granted} "
        f"further tries, stop {found['stop']['reason']}"
    )
    assert paid <= usage["input_tokens"] + usage["output_tokens"] + usage["unaccounted_tokens"] <= BUDGET
    assert usage["unaccounted_turns"] >= granted >= done
    told = front.run("explain", found["session"])[1]
    lost = (
        "the worker that had it was lost, and another try does not fit" in told
    )  # the last one, if the budget ends it
    assert told.count("handed out again") + lost == granted
    front.assert_nothing_left()


def _goes_on(server: Aimock, done: int, child: "subprocess.Popen[str]") -> bool:
    """One more repair than kills so far is under way, or the session is over."""
    return _repairs(server) > done or child.poll() is not None


def _repairs(server: Aimock) -> int:
    """Second requests of the answerer, which tell what was wrong with the first."""
    mine = [r["body"]["messages"][-1]["content"] for r in requests_of(server) if r["body"]["model"] == "answerer"]
    return sum("You have replied once already" in text for text in mine)
