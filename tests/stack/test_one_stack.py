"""One stack a state directory: whoever comes first starts it, each session has its own models, and nobody takes
anything from anybody else."""

import itertools
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from parley.client.errors import StackFailed
from parley.schemas.session import is_variant
from parley.stack.lease import Lease, Stack, read_running
from parley.stack.queues import joining, making, served_queues
from parley.stack.rows import AgentRow, rows_of
from tests.parley.support import ANSWER, QUESTION, ROOT, Front, until
from tests.support.debater import CRITIC, MACI, panel
from tests.support.expert_model import expert_model

NOBODY = 65534
KINDS = {
    "consensus": ("--protocol", "consensus"),
    "five": ("--protocol", "consensus", "--panel", "5"),
    "critic": ("--protocol", "critic"),
    "maci": ("--protocol", "maci", "--outcomes", "Vilnius, Kaunas"),
    "three": ("--protocol", "maci", "--panel", "3", "--outcomes", "Vilnius, Kaunas"),
    "single": ("--protocol", "single"),
    "task": ("--protocol", "madp"),
}
"""Protocols and sizes that are asked side by side."""
SEATS = {"critic": CRITIC, "maci": MACI, "three": (*MACI, "debater_3")}
"""Seats that have the debater's model, since the extractive one plays none of them."""


@pytest.fixture
def front(tmp_path: Path) -> Iterator[Front]:
    with expert_model() as env:
        yield Front(tmp_path, protocol="", env=env)


def ask(front: Front, kind: str, folder: Path, **env: str) -> "subprocess.Popen[str]":
    folder.mkdir(exist_ok=True)
    here = Front(folder, protocol="", env={**front.env, **env})
    here.state, here.mark = front.state, front.mark
    text = "Write down which city the capital is." if kind == "task" else QUESTION
    more = [] if kind == "task" else ["--evidence", str(front.evidence)]
    if kind in SEATS:
        more += ["--panel-file", str(panel(folder, seats=SEATS[kind], protocol=KINDS[kind][1]))]
    return here.start("ask", *KINDS[kind], text, *more, "--json")


def ended(asked: "subprocess.Popen[str]") -> tuple[int, str, str]:
    out, err = asked.communicate(timeout=150)
    return asked.returncode, out, err


@pytest.mark.timeout(240)
@pytest.mark.parametrize("pair", [("consensus", "five"), ("maci", "critic"), ("single", "task")], ids="-".join)
def test_two_questions_of_any_protocols_and_sizes_are_asked_at_once(
    front: Front, tmp_path: Path, pair: tuple[str, str]
) -> None:
    asked = [ask(front, kind, tmp_path / f"folder {i}") for i, kind in enumerate(pair)]
    for kind, (code, out, err) in zip(pair, map(ended, asked), strict=True):
        assert code in ((0, 3) if kind == "task" else (0,)), f"{pair} {kind}: {err}"
        assert json.loads(out)["status"] == "finished"
    front.assert_nothing_left()


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_each_of_two_has_the_model_of_its_own_folder(front: Front, tmp_path: Path) -> None:
    """The same seats, one folder with a `.env` and one without, at the same time."""
    named = tmp_path / "named"
    named.mkdir()
    base = front.env["EXPERT_LLM_BASE_URL"]
    key = "secret-of-one-folder"
    (named / ".env").write_text(
        f"ANSWERER_LLM_PROVIDER=openai_compatible\nANSWERER_LLM_MODEL=work\nANSWERER_LLM_BASE_URL={base}\n"
        f"ANSWERER_LLM_API_KEY={key}\n"
    )
    asked = [ask(front, "single", tmp_path / "plain"), ask(front, "single", named)]
    plain, own = ended(asked[0]), ended(asked[1])
    assert plain[0] == 0 and json.loads(plain[1])["outcome"]["answer"] == ANSWER
    assert ANSWER not in own[1], "another model answered it"
    kept = [path for path in front.state.rglob("*") if path.is_file() and key.encode() in path.read_bytes()]
    assert not kept, "the key is in no log, no opening and no file"


@pytest.mark.slow
@pytest.mark.serial
@pytest.mark.timeout(180)
@pytest.mark.parametrize("killed", ["first", "supervisor"])
def test_who_is_killed_takes_nothing_from_the_others(front: Front, killed: str) -> None:
    config = ("--config", str(front.slow_agents(1.5)))
    asks = [
        front.start("ask", "--protocol", "consensus", QUESTION, "--evidence", str(front.evidence), "--json", *config)
        for _ in range(2)
    ]
    until(lambda: front.journal.exists() and front.journal.read_text(), "no model was asked", 60)
    running = read_running(front.state)
    assert running is not None
    os.kill(asks[0].pid if killed == "first" else running.supervisor, signal.SIGKILL)
    for asked in asks[killed == "first" :]:
        code, out, err = ended(asked)
        assert code == 0, err
        assert json.loads(out)["status"] == "finished"
    asks[0].communicate(timeout=10)
    front.assert_nothing_left()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def test_the_socket_is_for_its_owner_alone(state: Path) -> None:
    with Lease(Stack(agents=()), state):
        assert stat.S_IMODE((state / joining.SOCKET).stat().st_mode) == 0o600
        state.chmod(0o755)
        for folder in state.parents:
            if folder.stat().st_uid == os.geteuid() and folder != Path("/tmp"):
                folder.chmod(folder.stat().st_mode | 0o055)
        if os.geteuid():
            return  # nobody else can be played
        tried = (
            f"import os, socket; os.setuid({NOBODY}); s = socket.socket(socket.AF_UNIX)\n"
            f"try: s.connect({str(state / joining.SOCKET)!r})\nexcept PermissionError: print('refused')"
        )
        done = subprocess.run([sys.executable, "-c", tried], capture_output=True, text=True, check=True, timeout=30)
        assert done.stdout == "refused\n"
    assert not (state / joining.SOCKET).exists()


def test_a_state_directory_may_have_a_long_path(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120) / "state"
    with Lease(Stack(agents=()), deep) as lease:
        assert lease.need(rows_of("single"))["answerer"] == "answerer"


def test_one_queue_a_model(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = AgentRow(queue="panelist_1", model="tests.support.model:make", options={"latency_s": 0.1})
    with Lease(Stack(agents=()), state) as lease, Lease(Stack(agents=()), state) as other:
        plain, variant = (lease.need([row])["panelist_1"] for row in (AgentRow(queue="panelist_1"), slow))
        assert plain == "panelist_1" and re.fullmatch(r"panelist_1__[0-9a-f]{7}", variant) and is_variant(variant)
        assert other.need([slow]) == {"panelist_1": variant}
        before = other.pids()
        monkeypatch.setenv("PANELIST_1_LLM_PROVIDER", "extractive")
        with Lease(Stack(agents=()), state) as third:
            assert third.need([AgentRow(queue="panelist_1")])["panelist_1"] not in (plain, variant)
        assert before.items() <= other.pids().items(), "nobody was disturbed"


def test_names_tell_nothing_of_a_key() -> None:
    row, environ = AgentRow(queue="answerer"), {"LLM_PROVIDER": "openai", "LLM_MODEL": "m", "OPENAI_API_KEY": "k"}
    names = {
        made.unit.members[0].variant
        for secret, key in itertools.product((b"one", b"two"), ("k", "l"))
        for made in making.make_units([row], {**environ, "OPENAI_API_KEY": key}, secret)
    }
    assert len(names) == 4


def test_the_limit_is_told(state: Path) -> None:
    rows = [AgentRow(queue=f"panelist_{i}", copies=64) for i in range(1, 4)]
    with Lease(Stack(agents=()), state) as lease:
        with pytest.raises(StackFailed, match=rf"at most {served_queues.MOST_PROCESSES} may run.*wait until sessions"):
            lease.need(rows)
        assert lease.need(rows_of("single")) == {"answerer": "answerer"}


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_another_build_has_a_stack_of_its_own(front: Front, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(ROOT / "parley", elsewhere / "parley", ignore=shutil.ignore_patterns("__pycache__"))
    with Lease(Stack(agents=rows_of("single")), front.state) as lease:
        asked = [sys.executable, "-m", "parley", "ask", *KINDS["single"], QUESTION, "--evidence", str(front.evidence)]
        environ = {**front.environment, "PYTHONPATH": str(elsewhere)}
        done = subprocess.run(asked, env=environ, cwd=tmp_path, capture_output=True, text=True, timeout=90, check=False)
        assert done.returncode == 0, done.stderr
        told = re.search(r"another build of Parley .* --state (\S+)", " ".join(done.stderr.split()))
        assert told and Path(told[1]).parent == front.state / "builds"
        with Lease(Stack(agents=()), front.state, looks=True) as looking:
            assert looking.url == lease.url


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_idle_agents_end_and_come_back(state: Path) -> None:
    with Lease(Stack(agents=rows_of("single"), idle_s=1.0), state, wait_ready=True) as lease:
        lease.need(rows_of("consensus"))
        until(lambda: "analyst-1" not in lease.pids(), "the idle ones stay", 30)
        assert "answerer-1" in lease.pids(), "somebody holds it"
        assert lease.need(rows_of("consensus"))["analyst"] == "analyst"
        assert "analyst-1" in lease.pids()


@pytest.mark.timeout(60)
def test_to_look_at_sessions_takes_no_agents(front: Front) -> None:
    code, out, err = front.run("ask", *KINDS["consensus"], QUESTION, "--evidence", str(front.evidence), "--json")
    assert code == 0, err
    logs = [p for p in (front.state / "logs").iterdir() if p.name.startswith(("panelist", "analyst"))]
    before = {path: path.stat().st_size for path in logs}
    code, out, err = front.run("sessions", "cancel", json.loads(out)["session"])
    assert code == 2 and "had ended already" in out + err
    assert len(before) == 4 and before == {path: path.stat().st_size for path in logs}, "an agent was started"
    front.assert_nothing_left()


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_session_that_was_left_goes_on_with_the_next_stack_whoever_starts_it(front: Front) -> None:
    """Its agents are those that their names stand for: nobody has to name them again."""
    waits = ("--human", "panelist_1", "--wait-for-human", "5", "--evidence", str(front.evidence))
    asked = front.start("ask", *KINDS["consensus"], QUESTION, *waits, "--json")
    assert asked.stderr is not None and "to sit on panelist_1" in asked.stderr.readline()
    asked.kill()
    asked.communicate()
    front.assert_nothing_left()
    (row,) = front.json("sessions", "list", "--json")["sessions"]
    assert row["status"] == "open"
    with Lease(Stack(agents=()), front.state) as lease:
        until(lambda: "analyst-1" in lease.pids(), "its agents do not come", 30)
        until(lambda: front.json("sessions", "list", "--json")["sessions"][0]["status"] == "finished", "it is open", 60)
