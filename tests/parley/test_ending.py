"""How a command ends: interrupted, unread, refused, with its session neither lost nor left running unseen."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from parley.client.post_order import in_order
from parley.schemas.post import Post
from parley.stack.lease import OWNER, Lease, Stack, read_running
from parley.stack.rows import rows_of
from tests.parley.support import QUESTION, Front, until

pytestmark = [pytest.mark.slow]


@pytest.fixture
def fresh(tmp_path: Path) -> Front:
    return Front(tmp_path)


def rows(front: Front) -> list[tuple[str, str]]:
    return [(r["status"], r["reason"]) for r in front.json("sessions", "list", "--json")["sessions"]]


def test_nobody_reads_and_the_session_is_cancelled_without_a_word(fresh: Front) -> None:
    child = fresh.start("ask", QUESTION, "--config", str(fresh.slow_agents(0.3)))
    assert child.stdout is not None and child.stderr is not None
    assert child.stdout.readline().startswith("consensus: ")
    child.stdout.close()
    assert child.wait(30) == 141
    with child.stderr:
        assert child.stderr.read() == ""
    assert rows(fresh) == [("cancelled", "cancelled")]
    fresh.assert_nothing_left()


@pytest.mark.parametrize(
    ("redirect", "ends"), [(">/dev/full", (1, "parley: standard output: No space left on device\n")), (">&-", (0, ""))]
)
def test_an_output_that_cannot_be_written_is_no_traceback(fresh: Front, redirect: str, ends: tuple[int, str]) -> None:
    command = ["sh", "-c", f"{sys.executable} -m parley sessions list {redirect}"]
    done = subprocess.run(
        command, cwd=fresh.folder, env=fresh.environment_for(), capture_output=True, text=True, timeout=30
    )
    assert (done.returncode, done.stderr) == ends


@pytest.mark.parametrize(
    ("command", "field", "value"),
    [
        (("ask", "q", "--bogus", "--json"), "--bogus", "--bogus"), (("ask", "--json"), "question", None),
        (("sessions", "list", "--limit=0", "--json"), "--limit", "0"),
    ],
)  # fmt: skip
def test_a_usage_error_with_json_is_one_document(
    fresh: Front, command: tuple[str, ...], field: str, value: str | None
) -> None:
    code, out, err = fresh.run(*command)
    found = json.loads(out)
    assert (code, found["exit_code"], found["error"]["field"], found["error"].get("value")) == (2, 2, field, value)
    assert err.startswith("parley: ")


@pytest.mark.parametrize(
    ("words", "said", "why"),
    [
        ([b"q\xff"], b"", "argument 2: got 'q\\udcff', which is not UTF-8"),
        ([b"-"], b"a\xff", "question: cannot read standard input: it is not UTF-8 text (byte 1)"),
    ],
)
def test_what_is_not_utf8_is_named_and_nothing_is_started(
    fresh: Front, words: list[bytes], said: bytes, why: str
) -> None:
    command = [sys.executable.encode(), b"-m", b"parley", b"ask", *words]
    done = subprocess.run(
        command, cwd=fresh.folder, env=fresh.environment_for(), input=said, capture_output=True, timeout=30
    )
    assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", f"parley: {why}\n")
    assert not fresh.state.exists()


@pytest.mark.serial
@pytest.mark.timeout(120)
def test_an_interrupt_while_the_session_is_opened_leaves_none_behind(fresh: Front) -> None:
    """At several moments of the first second. Before our code runs, an interpreter has its own way to end."""
    for i in range(6):
        child = fresh.start("ask", QUESTION, "--config", str(fresh.slow_agents(30.0)))
        until((lambda: read_running(fresh.state)) if i else fresh.state.exists, "no stack")
        threading.Event().wait(0.04 * i)  # the moments are what is varied
        child.send_signal(signal.SIGINT)
        assert child.stderr is not None
        for line in child.stderr:
            if "Ctrl-C again" in line:  # it was open already, and asks what to do
                child.send_signal(signal.SIGINT)
        child.communicate(timeout=20)
        assert child.returncode in (130, -2), i
    fresh.assert_nothing_left()
    assert {status for status, _ in rows(fresh)} <= {"cancelled", "refused"}


@pytest.mark.serial
def test_without_a_moderator_the_session_is_named_and_expires(tmp_path: Path) -> None:
    fresh = Front(tmp_path)
    with Lease(Stack(agents=rows_of("consensus", 2)), tmp_path / "s", wait_ready=True) as lease:
        pid = lease.kill("moderator-1", signal.SIGSTOP)
        given = ("--nats", lease.url, "--creds", str(lease.credentials("client")))
        try:
            owner = ("--nats", lease.url, "--creds", str(lease.credentials(OWNER)))
            first, second = (fresh.start("ask", QUESTION, "--panel", "2", *who) for who in (owner, given))
            _, err = first.communicate(timeout=40)
            assert (first.returncode, err) == (
                2, f"parley: no moderator answered within 6 s at {lease.url}; nothing was opened\n",
            )  # fmt: skip
            _, err = second.communicate(timeout=40)
            assert second.returncode == 2
            named = re.search(
                r"whether session (\w+) was opened; it may still be, if .* comes within \d+ s; (.+)$", err
            )
            assert named is not None, err
            assert named[2] == f"parley sessions cancel {named[1]} {' '.join(given)}"
        finally:
            os.kill(pid, signal.SIGCONT)


@pytest.mark.serial
def test_an_interrupt_with_json_prints_the_cancelled_frame(fresh: Front) -> None:
    """Before the asker knows that it was taken, an interrupt takes the opening back without a frame: how to sit is told
    after that."""
    config = str(fresh.slow_agents(30.0))
    child = fresh.start("ask", QUESTION, "--config", config, "--json", "--human", "panelist_1")
    assert child.stderr is not None
    assert child.stderr.readline().startswith("to sit on panelist_1: parley sit ")
    child.send_signal(signal.SIGTERM)
    out, err = child.communicate(timeout=20)
    assert child.returncode == 130, err
    found = json.loads(out)
    assert (found["status"], found["stop"]["reason"]) == ("cancelled", "cancelled")


def test_who_waits_sees_each_answer_and_can_end_it_with_what_there_is(fresh: Front) -> None:
    """Two seats have answered, and not the same; the third has not answered."""
    config = str(fresh.slow_agents(0.1, panelist_3=60.0))
    child = fresh.start("ask", QUESTION, "--config", config, "--plain", "--verbose")
    assert child.stdout is not None
    shown = ""
    while shown.count(" has answered: ") < 2:
        piece = child.stdout.readline()
        assert piece, shown
        shown += piece
    assert "Panelist 3 has answered" not in shown
    (sid,) = re.findall(r"^session ([0-9a-f]{20})", shown, re.M)
    code, out, err = fresh.run("sessions", "answer-now", sid)
    rest, _ = child.communicate(timeout=20)
    assert (code, child.returncode) == (3, 3), err + rest
    assert out == f"session {sid} has ended; its answer: parley sessions show {sid}\n"
    assert "Weak: Panelist 3 is missing" in rest and rows(fresh) == [("finished", "answered_now")]
    fresh.assert_nothing_left()


def test_a_session_that_goes_on_is_told_and_cancelled(fresh: Front) -> None:
    config = ("--config", str(fresh.slow_agents(30.0)))
    child = fresh.start("ask", QUESTION, *config)
    until(fresh.journal.exists, "no model call was begun")
    child.kill()
    child.communicate()
    fresh.assert_nothing_left()
    code, out, err = fresh.run("sessions", "list")
    (sid,) = re.findall(r"^([0-9a-f]{20}) .* open$", out, re.M)
    ways = f"to follow it: parley sessions watch {sid}; to end it: parley sessions cancel {sid}"
    assert (code, err) == (0, f"parley: 1 session is open; {ways}\n")
    code, out, err = fresh.run("sessions", "cancel", sid, "nope", "--reason", "left behind")
    assert (code, out.split(";")[0]) == (2, f"session {sid} is cancelled"), err
    assert "no stack runs in" in err and f"there is no session nope in {fresh.state}" in err
    code, out, err = fresh.run("sessions", "cancel", sid)
    assert (code, out) == (2, "")
    assert err.endswith(f"session {sid} had ended already (cancelled), so there was nothing to end\n")


@pytest.mark.serial
def test_a_killed_permanent_stack_comes_back_as_it_was(fresh: Front) -> None:
    """Its size and its moderators are those of `up`, not of the session that uses it."""
    config = fresh.slow_agents(0.5)
    up = fresh.start("up", "--config", str(config), "--moderators", "2", "--json")
    try:
        assert up.stdout is not None
        before = json.loads(up.stdout.readline())
        child = fresh.start("ask", QUESTION, "--config", str(config), "--json")
        until(fresh.journal.exists, "no model call was begun")
        os.kill(before["supervisor"], signal.SIGKILL)
        out, err = child.communicate(timeout=40)
        assert child.returncode == 0, err
        assert json.loads(out)["stop"]["reason"] == "threshold"
        again = until(lambda: (r := read_running(fresh.state)) and r.permanent and r, "it is gone")
        assert again.supervisor != before["supervisor"]
        assert "moderator-2" in until(lambda: (read_running(fresh.state) or again).services, "none")
        up.terminate()
        assert up.wait(timeout=20) == 0
    finally:
        up.kill()
        up.communicate()
    fresh.assert_nothing_left()


async def test_posts_of_two_channels_come_in_the_order_in_which_they_were_said() -> None:
    def post(n: int) -> Post:
        return Post(
            session="s", channel="public", k=n, n=n, transition=n, at_ns=0, kind="x", round=1, body=msgspec.Raw(b"{}")
        )

    async def heard() -> AsyncIterator[Post]:
        for n in (0, 2, 1, 5, 4):
            yield post(n)

    assert [p.n async for p in in_order(heard(), 30.0)] == [0, 1, 2, 4, 5], (
        "what never comes holds up nobody at the end"
    )
