"""The command line as a process: one document, exit statuses, errors by name, and nothing left behind."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from parley.stack.lease import read_running
from tests.parley.support import ANSWER, QUESTION, Front, until

pytestmark = [pytest.mark.slow]

FRAME = {"session", "protocol", "status", "outcome", "stop", "rounds", "usage", "duration_s", "keyless"}


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Front:
    return Front(tmp_path_factory.mktemp("cli"))


@pytest.fixture
def fresh(tmp_path: Path) -> Front:
    return Front(tmp_path)


@pytest.fixture(scope="module")
def asked(front: Front) -> dict[str, Any]:
    """One session, asked with --json."""
    code, out, err = front.run("ask", QUESTION, "--evidence", str(front.evidence), "--json", "--seed", "7")
    assert code == 0, err
    assert err == ""
    assert len(out.splitlines()) == 1
    found: dict[str, Any] = json.loads(out)
    return found


def test_ask_prints_the_frame_and_nothing_else(front: Front, asked: dict[str, Any]) -> None:
    assert set(asked) == FRAME
    assert asked["protocol"] == "consensus"
    assert asked["status"] == "finished"
    assert asked["outcome"]["answer"] == ANSWER
    assert {"answer", "confidence", "minority", "first_round_majority"} <= set(asked["outcome"])
    assert (asked["stop"]["reason"], asked["stop"]["converged"]) == ("threshold", True)
    assert asked["stop"]["certificate"]["trend"] == [r["score"] for r in asked["rounds"]]
    assert {"turns", "input_tokens", "output_tokens", "estimated", "cost_usd", "by_seat"} <= set(asked["usage"])
    assert set(asked["usage"]["by_seat"]) == {"panelist_1", "panelist_2", "panelist_3", "analyst"}
    front.assert_nothing_left()


def run(front: Front, *arguments: str) -> str:
    code, out, err = front.run(*arguments)
    assert code == 0, err
    return out


def test_the_finished_session_is_listed_shown_exported_replayed_and_explained(
    front: Front, asked: dict[str, Any]
) -> None:
    sid, file = asked["session"], front.folder / "s.jsonl"
    run(front, "sessions", "export", sid, "-o", str(file))
    rows = front.json("sessions", "list", "--json")["sessions"]
    assert [(r["session"], r["status"], r["reason"]) for r in rows] == [(sid, "finished", "threshold")]
    head, *entries = file.read_text().splitlines()
    assert json.loads(head) == {"parley": "session", "session": sid, "version": 1}
    assert [json.loads(e)["n"] for e in entries] == list(range(len(entries)))
    replayed = front.json("replay", str(file), "--json")
    assert (replayed["recomputed"], replayed["transitions"], replayed["result"]) == (True, len(entries), asked)
    assert front.json("sessions", "show", str(file), "--json")["result"] == asked
    out = run(front, "sessions", "show", str(file))
    assert f"Answer: {ANSWER}" in out and "Next:" not in out, "its id alone would find it nowhere"
    found = f"Next: parley explain {sid} --state {front.state}\n"
    assert found in run(front, "sessions", "show", sid, "--state", str(front.state))
    why = front.json("explain", sid, "--json")
    assert why["result"] == asked and why["view"]["result"]["stop"] == "enough seats said or signed the same answer"
    assert "enough seats said or signed the same answer (threshold)" in run(front, "explain", str(file))
    parted = front.json("replay", str(file), "--set", "consensus.threshold=100", "--json")
    assert parted["n"] is None, "its score is 100"
    assert run(front, "sessions", "export", str(file), "--format", "markdown").startswith(f"# Session {sid}")
    assert json.loads(run(front, "sessions", "export", str(file), "--format", "json"))["result"] == asked
    front.assert_nothing_left()


def test_sessions_are_found_by_words_of_question_and_answer(front: Front, asked: dict[str, Any]) -> None:
    found = front.json("sessions", "search", "LITHUANIA", "vilnius", "--json")
    assert [(s["session"], s["answer"]) for s in found["sessions"]] == [(asked["session"], ANSWER)]
    assert (found["searched"], found["more"]) == (1, False)
    assert run(front, "sessions", "search", "Kaunas Vilnius") == "0 found in 1 session\n", "every word counts"
    said = front.json("sessions", "search", "Lithuania", "panelist_1", "--json")
    assert [s["session"] for s in said["sessions"]] == [asked["session"]], "what was said counts, too"
    for narrowed, there in ((("--ended", "agreed"), 1), (("--ended", "done"), 0), (("--since", "2027-01-31"), 0)):
        assert len(front.json("sessions", "list", *narrowed, "--json")["sessions"]) == there, narrowed
    code, _, err = front.run("sessions", "list", "--ended", "well")
    assert code == 2 and "ended: got 'well', wanted is one of open, agreed" in err


def test_quiet_prints_the_answer_alone(fresh: Front) -> None:
    code, out, err = fresh.run("ask", QUESTION, "--evidence", str(fresh.evidence), "--ephemeral", "--quiet")
    assert (code, out) == (0, f"{ANSWER}\n")
    caution, sure = err.splitlines()
    assert caution == "parley: No language model read it: check the quotation"
    assert sure.startswith("parley: all 3 agree; confidence 0.53, ")


BAD = [
    (("ask", ""), "question: got '', it must not be empty"),
    (("ask", "q", "--protocol", "consensu"), "--protocol: 'consensu' is not a protocol; did you mean consensus?"),
    (("ask", "--protocol", "consensu", "--help"), "--protocol: 'consensu' is not a protocol; did you mean consensus?"),
    (("ask", "q", "--threshold", "1.5"), "--threshold: got 1.5, is it a share (up to 1) or points (from 2)?"),
    (("ask", "q", "--round-limit", "0"), "--round-limit: got 0, allowed is 1 to 50"),
    (("ask", "q", "--budget-tokens", "-5"), "--budget-tokens: got -5, it must be above 0, and at most 1e12"),
    (("ask", "q", "--turn-timeout", "0"), "--turn-timeout: got 0.0, allowed is 0.25 to 86400"),
    (("ask", "q", "--evidence", "nowhere"), "--evidence: nowhere does not exist"),
    (("ask", "q", "--evidence", ""), "--evidence: got '', expected a path"),
    (("ask", "q", "--nats", "nats://127.0.0.1:1", "--creds", "c.json"), "creds: c.json: No such file"),
    (("ask", "q", "--nats", "nats://127.0.0.1:1"), "nats.creds: a bus at --nats needs a credentials file"),
    (("ask", "q", "--creds", "x.json"), "nats.creds: x.json is for a bus that runs elsewhere; name it with --nats URL"),
    (("ask", "q", "--nats", "http://x:1"), "nats.url: got 'http://x:1', no such scheme, known: nats, tls, ws, wss"),
    (("sessions", "show", "nope"), "session: there is no session nope"),
    (("sessions", "search", " "), "words: no words are given"),
    (("replay", "nope.jsonl"), "file: nope.jsonl does not exist"),
    (("explain", "misspelt.yaml"), "file: misspelt.yaml is no exported session; parley sessions export ID"),
    (("agent", "nope"), "spec: nope: no such file, and no built-in agent"),
    (("agent", "analyst"), "nats: a service needs the bus's address and its credentials"),
    (("up", "--protocol", "critic", "x"), "QUEUE: got x, but up starts every queue of the stack: answerer, "),
    (("up", "--panel-file", "bad.yaml"), "seats.panelist_1.modle in bad.yaml is not a known field; did you mean "),
    (("ask", "q", "--panel-file", "nope.yaml"), "panel-file: cannot read nope.yaml"),
    (("ask", "q", "--panel-file", "good.yaml", "--panel", "5"), "--panel: got 5, good.yaml seats 2 of role panelist"),
    (("ask", "q", "--ephemeral", "--continue", "abc"), "--continue: --ephemeral keeps nothing"),
    (("ask", "q", "--continue", "../x"), "--continue: '../x' is no session's id"),
]  # fmt: skip
CANNOT_RUN = [
    (("--human", "panelist_9"), "human: there is no seat panelist_9; seats are panelist_1, panelist_2"),
    (("--continue", "abc"), "--continue: there is no session abc: no session ever ran in "),
    (("--apply",), "apply: --apply writes the result into --folder, and no folder is named"),
]
BAD += [(("ask", "q", *more, *dry), why) for more, why in CANNOT_RUN for dry in ((), ("--dry-run",))]


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> Front:
    front = Front(tmp_path_factory.mktemp("bad"))
    for name, text in (
        ("misspelt", "protocl: consensus"), ("bad", "seats: {panelist_1: {modle: x}}"),
        ("good", "protocol: consensus\nseats: {panelist_1: , panelist_2: {}, analyst: {}}"),
    ):  # fmt: skip
        (front.folder / f"{name}.yaml").write_text(f"{text}\n")
    return front


@pytest.mark.parametrize(("command", "why"), BAD, ids=[" ".join(c)[:50] for c, _ in BAD])
def test_bad_input_is_named_and_nothing_is_started(bad: Front, command: tuple[str, ...], why: str) -> None:
    code, out, err = bad.run(*command)
    assert (code, out) == (2, "")
    assert err.startswith("parley: " + why), err
    assert len(err.splitlines()) == 1
    assert not bad.state.exists()
    assert bad.left() == []


def test_a_bus_that_is_not_there_and_wrong_credentials_each_say_so(fresh: Front, tmp_path: Path) -> None:
    code, out, err = fresh.run("bus", "config", "--dir", "other", "--json")
    assert code == 0, err
    written = json.loads(out)
    assert {oct(Path(fresh.folder / p).stat().st_mode & 0o777) for p in written.values()} == {"0o600"}
    code, _, err = fresh.run("ask", "q", "--nats", "nats://127.0.0.1:1", "--creds", written["owner"])
    assert code == 2
    assert err.startswith("parley: no NATS server answers at nats://127.0.0.1:1")
    up = fresh.start("up", "--panel", "2", "--json")
    try:
        assert up.stdout is not None
        running = json.loads(up.stdout.readline())
        code, _, err = fresh.run("ask", "q", "--nats", running["url"], "--creds", written["owner"])
        assert code == 2
        assert err.startswith(f"parley: the server at {running['url']} does not accept the credentials of 'owner'")
        given = ("--nats", running["url"], "--creds", running["credentials"]["owner"])
        found = fresh.json("ask", QUESTION, "--evidence", str(fresh.evidence), "--panel", "2", *given, "--json")
        assert set(found) == FRAME
        client = ("--nats", running["url"], "--creds", running["credentials"]["client"])
        mine = fresh.json("sessions", "list", *client, "--json")
        assert mine == {"sessions": [], "whole": True}, "the session is the owner's"
        code, _, err = fresh.run("ask", QUESTION, "--panel", "3", *given)
        assert code == 2
        assert "panelist: 3 needed, 2 alive; 1 missing, start parley agent panelist_3 (credentials: parley bus" in err
        code, _, err = fresh.run("up", "--panel", "2")
        assert code == 2
        assert "a stack runs in" in err
        agent = ("--nats", running["url"], "--creds", running["credentials"]["panelist_1"])
        code, _, err = fresh.run("ask", QUESTION, "--panel", "2", *agent)
        assert code == 2 and err.endswith("is for 'panelist_1', of kind agent; expected a client's or an owner's\n")
        up.send_signal(signal.SIGHUP)
        assert len(fresh.json("sessions", "list", "--json")["sessions"]) == 2
        assert up.poll() is None
        up.send_signal(signal.SIGTERM)
        assert up.wait(15) == 0
    finally:
        up.kill()
        up.communicate()
    fresh.assert_nothing_left()


@pytest.mark.parametrize("supervisor_too", [False, True])
def test_nothing_is_left_when_ask_is_killed(fresh: Front, supervisor_too: bool) -> None:
    child = fresh.start("ask", QUESTION, "--config", str(fresh.slow_agents(30.0)), "--plain")
    until(fresh.journal.exists, "no model call was begun")
    running = read_running(fresh.state)
    assert running is not None
    seen = {int(process.split()[0]) for process in fresh.left()}
    assert {running.supervisor, *(s.pid for s in running.services.values())} <= seen
    child.kill()
    if supervisor_too:
        os.kill(running.supervisor, signal.SIGKILL)
    child.communicate()
    fresh.assert_nothing_left()


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, front: Front, *arguments: str) -> None:
        self._leader, follower = pty.openpty()
        environment = {**front.environment_for(*arguments), "TERM": "xterm-256color"}
        environment.pop("NO_COLOR", None)
        self.child = subprocess.Popen(
            [sys.executable, "-m", "parley", *arguments], cwd=front.folder, env=environment, stdin=follower,
            stdout=follower, stderr=follower, start_new_session=True,
        )  # fmt: skip
        os.close(follower)
        self.shown = ""

    def read_until(self, text: str | None) -> str:
        """All that was shown up to this text; None: to the end."""
        while text is None or text not in self.shown:
            ready, _, _ = select.select([self._leader], [], [], 30)
            assert ready, f"the terminal fell silent after {self.shown}"
            try:
                piece = os.read(self._leader, 65_536)
            except OSError:  # the other end is closed
                piece = b""
            if not piece:
                assert text is None, self.shown
                break
            self.shown += piece.decode(errors="replace")
        return self.shown

    def type(self, text: str) -> None:
        os.write(self._leader, text.encode())


@pytest.mark.serial
def test_an_interrupt_asks_and_the_session_may_be_left_running(fresh: Front) -> None:
    config = str(fresh.slow_agents(0.6))
    with fresh.up("--config", config):
        terminal = Terminal(fresh, "ask", QUESTION, "--config", config)
        terminal.read_until("thinking")
        terminal.child.send_signal(signal.SIGINT)
        asked = terminal.read_until("Ctrl-C again")
        assert "c and Enter cancels it, l and Enter leaves it running, Enter alone goes on" in asked
        terminal.type("l\n")
        text = terminal.read_until(None)
        assert terminal.child.wait(20) == 0, text
        sid = re.search(r"parley sessions watch (\w+)", text)
        assert sid is not None
        code, out, err = fresh.run("sessions", "watch", sid[1], "--json")
        assert code == 0, err
        assert json.loads(out)["stop"]["reason"] == "threshold"
        second = Terminal(fresh, "ask", QUESTION, "--config", config)
        second.read_until("thinking")
        second.child.send_signal(signal.SIGINT)
        second.read_until("Ctrl-C again")
        second.type("c\n")
        text = second.read_until(None)
        assert second.child.wait(20) == 130, text
        assert "Traceback" not in text
