"""A turn that a command does: what it is told, what is taken of it, and what ends it."""

import asyncio
import sys
import threading
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from parley.agents.hands.catalogue import Hand, TurnLimits
from parley.agents.hands.hand import AgentHands
from parley.agents.hands.look import try_out
from parley.agents.model.base import ModelRefused
from parley.agents.tools import sandbox
from parley.agents.tools.folder import unpack_archive
from parley.agents.worker_model import WorkerModel
from parley.schemas.protocols.madp.work import Checked, Finding, ReviewBrief, Support
from parley.schemas.routing import Task
from tests.hands.stub import KEY, model, texts
from tests.hands.support import APP, options, support, tiny, turn, work
from tests.llm.support import silent
from tests.support.experts import FolderArtifacts
from tests.tools.support import SPEC, Scripted, asked

pytestmark = [
    pytest.mark.skipif(bool(sandbox.unavailable()), reason=f"{sandbox.unavailable()}; `make install` says how"),
]
FIX = "open('app.py', 'w').write('print(1)\\n')"


@pytest.mark.parametrize("dialect", ["chat", "messages", "responses"])
async def test_its_work_is_what_the_folder_is_and_its_tokens_what_the_provider_counts(
    tmp_path: Path, dialect: str
) -> None:
    with model(texts(FIX, "import os; os.makedirs('__pycache__'); open('__pycache__/x', 'w'); "
                     "open('.aider.chat.history.md', 'w')", "DONE I fixed it. 12 tests pass.")) as server:  # fmt: skip
        done = await turn(tiny(server, DIALECT=dialect), tmp_path)
        found, used = done.work, done.done.usage
        assert (found.outcome, found.output, found.performed) == ("done", "I fixed it. 12 tests pass.", True)
        assert found.diff.count("diff --git") == 1 and "-print('hi')\n+print(1)" in found.diff, "no litter"
        assert found.folder is not None
        assert unpack_archive(await done.artifacts.get(found.folder.id)) == {"app.py": (b"print(1)\n", False)}
        assert (used.calls, used.input_tokens + used.output_tokens) == (3, server.counted)
        call = found.calls[0]
        assert (len(found.calls), call.server, call.tool, call.ok) == (1, "hands", "tiny", True)
        assert not isinstance(call.ended, str), "what it ran was not seen, so it is no evidence of a run"
        assert all(a["headers"]["authorization"] == f"Bearer {KEY}" for a in server.asked)


async def test_it_is_told_the_task_its_part_and_what_was_found(tmp_path: Path) -> None:
    check = Checked(when="before", command="pytest", exit=1, output="1 failed: test_greets")
    brief = work(findings=(Finding(severity="major", description="It still says hi"),), checks=(check,))
    with model(texts("DONE Nothing.")) as server:
        done = await turn(tiny(server), tmp_path, brief, boundary="0123456789abcdef")
        prompt = server.asked[0]["body"]["messages"][0]["content"]
    for told in ("Fix the greeting in app.py", "It still says hi", "$ pytest", "test_greets", "latency and load",
                 '"the greeting"', "[[BEGIN 0123456789abcdef task]]"):  # fmt: skip
        assert told in prompt, told
    assert "outcome" not in prompt, "the form of a model's reply is not its own"
    assert (done.work.performed, done.work.diff, done.work.folder) == (False, "", None), "a word is no work"


async def test_a_prompt_may_be_an_argument_or_a_file(tmp_path: Path) -> None:
    show = "import sys; open('got', 'w').write(sys.argv[2] + '|' + sys.stdin.read())"
    for slot in ("{prompt}", "{prompt_file}"):
        hand = Hand(command=(sys.executable, "-c", show, "-", slot))
        with model(texts("x")) as server:
            done = await turn(AgentHands("shows", hand, options(server.url)), tmp_path)
        got = "Fix the greeting" if slot == "{prompt}" else "/run/parley/prompt.txt|"
        assert got in done.work.diff


async def test_support_gives_back_a_copy(tmp_path: Path) -> None:
    with model(texts(FIX, "DONE I looked.")) as server:
        done = (await turn(tiny(server), tmp_path, support())).done.body
        prompt = server.asked[0]["body"]["messages"][0]["content"]
    assert isinstance(done, Support) and done.output == "I looked." and "+print(1)" in done.diff
    assert "Look for other greetings" in prompt and "sub-task alone" in prompt


async def test_a_reviewer_never_gets_them(tmp_path: Path) -> None:
    artifacts = FolderArtifacts(tmp_path)
    start = await artifacts.put(APP)
    brief = ReviewBrief(
        task=Task(prompt="x"), expert="sre", lead="qa-engineer", summary="s", output="o", iteration=1, base=start.id,
        folder=start.id, tool_calls=5, model_calls=4,
    )  # fmt: skip
    own = Scripted({"verdict": "approved", "findings": []})
    with model(texts(FIX)) as server:
        worker = WorkerModel(own, SPEC, None, tiny(server))
        done = await worker.reply(asked("review", brief), silent, artifacts)
        assert done.body.verdict == "approved" and len(own.shown) == 1 and server.asked == []


@pytest.mark.parametrize(("code", "why"), [
    ("import sys; print('no login', file=sys.stderr); sys.exit(4)", "hands own: exit 4; its last words: no login"),
    ("import os; os.kill(os.getpid(), 9)", "hands own: exit 137"),
    ("import time; time.sleep(60)", "hands own: it took longer than 1 s"),
])  # fmt: skip
async def test_one_that_fails_without_a_change_is_an_error_that_says_why(tmp_path: Path, code: str, why: str) -> None:
    hand = Hand(command=(sys.executable, "-c", code), limits=TurnLimits(seconds=1 if "sleep" in code else 60))
    with model(texts("x")) as server:
        with pytest.raises(ModelRefused) as error:
            await turn(AgentHands("own", hand, options(server.url)), tmp_path)
    assert error.value.why.startswith(why)


async def test_it_ends_before_the_turn_and_a_call_that_this_breaks_off_is_booked(tmp_path: Path) -> None:
    with model(texts(FIX, "never said")) as server:
        hold = threading.Event()
        server.say = lambda _body, n: {"text": FIX} if n == 0 else {"text": str(hold.wait(30))}
        began = time.monotonic()
        done = await turn(tiny(server), tmp_path, seconds=8.0)
        assert time.monotonic() - began < 8.0
        hold.set()
    assert "+print(1)" in done.work.diff and "(the agent was ended: it took longer than 7" in done.work.output
    used = done.done.usage
    assert (used.calls, used.estimated, done.done.flags) == (2, True, ("estimated",))
    assert used.output_tokens == 20 + 4_000, "what it had asked for"


async def test_one_that_goes_on_after_its_tokens_are_spent_is_ended(tmp_path: Path) -> None:
    stubborn = """
import os, time, urllib.request
open('begun', 'w').close()
while True:
    try:
        url, headers = os.environ['URL'] + '/v1/messages', {'x-api-key': os.environ['T']}
        urllib.request.urlopen(urllib.request.Request(url, b'{"messages": []}', headers))
    except OSError:
        time.sleep(0.05)
"""
    hand = Hand(
        command=(sys.executable, "-c", stubborn), env={"URL": "{url}", "T": "{token}"}, limits=TurnLimits(tokens=1_000)
    )
    with model(lambda _b, _n: {"text": "x", "output": 400}) as server:
        done = await turn(AgentHands("own", hand, options(server.url)), tmp_path)
        assert server.counted <= 1_000
    assert done.work.output == "(the agent was ended: the turn's tokens are spent)" and "begun" in done.work.diff


async def test_long_output_is_kept_beside_the_log(tmp_path: Path) -> None:
    code = f"{FIX}; print('line\\n' * 3_000 + 'the end'); raise SystemExit(9)"
    hand = Hand(command=(sys.executable, "-c", code))
    with model(texts("x")) as server:
        done = await turn(AgentHands("own", hand, options(server.url)), tmp_path)
    call, results = done.work.calls[0], done.work.results
    assert "+print(1)" in done.work.diff and not call.ok, "its exit status says only that it ended"
    assert call.result.startswith("exit 9\n\n") and call.result.endswith("the end") and len(call.result) <= 2_000
    assert results is not None and isinstance(call.whole, str)
    assert unpack_archive(await done.artifacts.get(results.id))[call.whole][0].count(b"line") == 3_000


def test_a_worker_with_hands_reserves_tokens_and_says_what_is_missing() -> None:
    own = Scripted({"outcome": "done", "summary": "x"})
    own.metered = False
    hands = AgentHands("own", Hand(command=("sh",)), options("http://127.0.0.1:1/v1"))
    worker = WorkerModel(own, replace(SPEC, hands="own"), None, hands)
    assert (worker.metered, worker.tools, worker.usd_per_million_output) == (True, True, 2.0)
    hands.why_not = "there is no sandbox"
    asyncio.run(worker.look_at_tools())
    assert worker.no_tools == "hands own: there is no sandbox"


async def test_one_is_started_and_asked_what_it_is_before_any_turn() -> None:
    good = Hand(command=("sh",), version=("sh", "-c", "echo shell 7; echo more"))
    bad = Hand(command=("sh",), version=("sh", "-c", "echo gone >&2; exit 4"))
    assert [await try_out(hand) for hand in (good, bad)] == [(True, "shell 7"), (False, "sh: exit 4: gone")]
