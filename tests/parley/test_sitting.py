"""People in seats of the embedded stack: the options that make their credentials, and how they are told to sit down."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from parley.bus.accounts import load_credentials
from parley.client.text import clean
from parley.client.turns import Turns
from parley.schemas import log
from parley.stack.lease import read_running
from tests.client import shown
from tests.parley.support import Front, until
from tests.protocols.consensus.play import Play, says

pytestmark = pytest.mark.slow
POSITION = "the agreed answer\n.\nIt is mine.\n.\nmaybe\n0.8\n\npartly\nThe others were right.\n\n\n\n"
"""Answer, reasoning, a confidence that is none, one that is; no citations; why it changed; no more."""


@pytest.fixture
def front(tmp_path: Path) -> Iterator[Front]:
    found = Front(tmp_path)
    yield found
    found.assert_nothing_left()


def test_a_person_sits_in_a_session_that_was_asked_with_a_seat_for_him(front: Front) -> None:
    config = front.slow_agents(0.4)
    asking = front.start("ask", "What is it?", "--config", str(config), "--human", "panelist_1", "--json")
    try:
        assert asking.stderr is not None
        told = asking.stderr.readline()
        found = re.search(r"to sit on panelist_1: parley (sit \w+ panelist_1 --state \S+)", told)
        assert found, told
        running = read_running(front.state)
        assert running is not None
        analyst = next(s.pid for name, s in running.services.items() if name.startswith("analyst"))
        os.kill(analyst, signal.SIGSTOP)  # the second round begins when the person sits
        sitting = front.start(*found[1].split(), stdin=subprocess.PIPE)
        assert sitting.stdout is not None
        assert "You sit on panelist_1" in sitting.stdout.readline()
        os.kill(analyst, signal.SIGCONT)
        said, _ = sitting.communicate(POSITION, timeout=30)
        out, _ = asking.communicate(timeout=20)
    finally:
        asking.kill()
    result = json.loads(out)
    assert sitting.returncode == 0, said
    assert "panelist_1: revise, round 2" in said
    assert "confidence: got 'maybe', expected a number" in said, said
    assert result["stop"]["reason"] == "threshold" and "\n  the agreed answer" in said
    document = json.loads(front.run("sessions", "export", result["session"], "--format", "json")[1])
    models = {e["event"].get("model") for e in document["entries"] if e["event"]["t"] == "replied"}
    assert "human" in models, said


def test_up_says_how_to_sit_and_refuses_seats_that_are_for_nobody(front: Front) -> None:
    up = front.start("up", "--human", "panelist_2")
    try:
        until(lambda: (there := read_running(front.state)) and there.ready, "the stack is not ready", 30.0)
        running = read_running(front.state)
        assert running is not None
        path = Path(running.credentials["panelist_2_human"])
        found = load_credentials(path)
        assert (found.queue, found.role, found.account) == ("panelist_2_human", "panelist", "PANEL")
        assert path.stat().st_mode & 0o777 == 0o600
        for seat, why in (
            ("panelist_1", "nobody may sit on panelist_1 here: start the stack with parley up --human panelist_1"),
            ("panelist_7", "there is no seat panelist_7; seats are panelist_1, panelist_2, panelist_3, analyst"),
            ("panelist_2", "there is no session s1"),
        ):
            code, _, err = front.run("sit", "s1", seat)
            assert code == 2 and why in err
        code, _, err = front.run("ask", "What?", "--human", "panelist_1", "--evidence", str(front.evidence))
        assert code == 3 and "to sit on panelist_1: parley sit" in err
        assert (front.state / "keys" / "panelist_1_human.json").exists()
    finally:
        up.send_signal(signal.SIGINT)
        out, _ = up.communicate(timeout=20)
    assert f"parley sit SESSION panelist_2 --state {front.state}" in out
    assert "\nask          parley ask --protocol consensus --nats nats://127.0.0.1:" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("up --human pro_9", "there is no seat pro_9"),
        ("sit s1 pro_1", "there is no session s1 in"),
        ("sit s1 pro_1 --seconds 0", "sit.seconds: got 0.0, allowed is 1 to 86400"),
        ("sit s1 pro_1 --then run", "then: got 'run', expected one of agent, miss, wait"),
        ("sit s1 pro_1 --nats nats://127.0.0.1:1", "needs a credentials file"),
        ("ask What? --look-ups x", "Invalid value for '--look-ups': got 'x', allowed is a whole number"),
        ("ask What? --wait-for-human 9", "--wait-for-human: no seat is named for the person; name one that waits"),
        ("ask What? --human panelist_1 --wait-for-human 0", "got '0', allowed is at least 1"),
    ],
)
def test_what_cannot_be_is_said_before_anything_starts(front: Front, arguments: str, said: str) -> None:
    code, _, err = front.run(*arguments.split())
    assert code == 2 and said in err, clean(err)


def test_a_turn_that_went_back_to_the_agent_did_not_come_to_nothing() -> None:
    play = Play()
    play.event(log.Sat(seat="panelist_1", queue="panelist_1_human", seconds=30.0))
    play.round(50, "Vilnius", "Kaunas", "Riga")
    theirs = play.turn("panelist_1")
    play.reply("panelist_2", says("Kaunas"))
    play.reply("panelist_3", says("Riga"))
    while theirs.id in play.session.turns:
        play.expire()
    play.reply("panelist_1", says("Vilnius"))
    found = Turns(play.entries)
    assert found.nothing == [] and found.failures == []
    told = [text for text in shown.posts(p for p in play.session.posts if p.kind == "seat")]
    assert told == ["  ! Panelist 1: a person sits down", "  ! Panelist 1: its agent goes on"]
