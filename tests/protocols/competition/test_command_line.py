"""`parley ask --protocol competition`: a whole competition in one command, on a terminal and without one."""

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.parley.support import ROOT, Front
from tests.support.debater import panel

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

TOPIC = f"{ROOT / 'examples' / 'competition' / 'topics.yaml'}#free_transport"
ASK = ("ask", "--protocol", "competition", "--panel-file", "debaters.yaml", "--topic", TOPIC)


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Front:
    found = Front(tmp_path_factory.mktemp("competition"))
    panel(found.folder)
    return found


def test_one_command_plays_all_four_stages(front: Front) -> None:
    code, out, err = front.run(*ASK, "--style", "pro_1=logical", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["stop"] == {**found["stop"], "reason": "played", "converged": False}
    assert found["outcome"]["complete"] and found["outcome"]["winner"] in ("pro", "con", "draw")
    assert [r["title"] for r in found["rounds"]] == [
        "Opening statements", "Cross-examination", "Free debate", "Closing statements",
    ]  # fmt: skip
    assert len(found["usage"]["by_seat"]) == 9
    document = front.json("sessions", "show", found["session"], "--json")
    assert document["opened"]["settings"]["styles"] == {"pro_1": "logical"}
    assert document["opened"]["settings"]["stances"]["con"].startswith("Fares should stay")
    assert {d["name"] for d in document["opened"]["documents"]} >= {"city-survey.md", "pro/trial-report.md"}
    code, out, err = front.run("replay", found["session"])
    assert code == 0 and "recompute" in out
    front.assert_nothing_left()


def test_without_a_terminal_it_is_plain_lines(front: Front) -> None:
    code, out, err = front.run(*ASK)
    assert code == 0, err
    assert "\x1b" not in out
    assert re.findall(r"^Stage (\d) of 4: \w+", out, re.M) == ["1", "2", "3", "4"]
    assert re.search(r"^Verdict: (For|Against) the motion wins: points [\d.]+ to [\d.]+", out, re.M)
    assert max(map(len, out.splitlines())) <= 330


def test_the_answer_alone_is_the_verdict(front: Front) -> None:
    code, out, _ = front.run(*ASK, "--quiet")
    assert code == 0 and len(out.splitlines()) == 1 and "wins: points" in out


@pytest.mark.parametrize(("more", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_on_a_terminal_teams_have_colours_unless_none_are_wanted(
    front: Front, more: dict[str, str], coloured: bool
) -> None:
    shown = on_a_terminal(front, {"TERM": "xterm-256color", "COLUMNS": "70", "LINES": "40", **more})
    for colour in ("94", "91", "33"):  # bright blue, bright red, yellow
        assert (re.search(rf"\x1b\[(?:1;)?{colour}m", shown) is not None) == coloured
    assert "Scoreboard" in shown and "Verdict: " in shown


def on_a_terminal(front: Front, env: dict[str, str]) -> str:
    """Everything that the command wrote to a terminal of its own."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "parley", *ASK], cwd=front.folder, env={**front.environment, **env}, stdin=theirs,
        stdout=theirs, stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    shown, deadline = b"", time.monotonic() + 60
    try:
        while time.monotonic() < deadline:
            if not select.select([ours], [], [], 0.5)[0]:
                continue
            try:
                data = os.read(ours, 65_536)
            except OSError:  # its end is closed
                break
            if not data:
                break
            shown += data
        assert child.wait(10) == 0
    finally:
        child.kill()
        os.close(ours)
    return shown.decode(errors="replace")


def test_bad_input_is_named_before_anything_is_started(front: Front, tmp_path: Path) -> None:
    cases = {
        "--topic gives the question": ("a question", *ASK[1:]),
        "question: nothing was asked": ("--protocol", "competition"),
        "--style: pro_1": (*ASK[1:], "--style", "pro_1=loud"),
        "format: 'eton' is no format": (*ASK[1:], "--format", "eton"),
    }
    for said, arguments in cases.items():
        code, out, err = front.run("ask", *arguments, "--state", str(tmp_path / "never"))
        assert (code, out) == (2, "") and said in err, said
    assert not (tmp_path / "never").exists()


def test_without_a_language_model_nothing_is_started(front: Front, tmp_path: Path) -> None:
    never = str(tmp_path / "never")
    code, out, err = front.run("ask", "--protocol", "competition", "--topic", TOPIC, "--state", never)
    assert (code, out) == (2, "") and not (tmp_path / "never").exists()
    assert err.startswith(
        "parley: seats: competition needs a language model, and pro_1, pro_2, pro_3 and 6 more have none: "
        "set LLM_PROVIDER and LLM_MODEL (`parley doctor` says what is missing)\n"
    )
    code, out, _ = front.run("doctor", "--state", never)
    assert "Without one there is no competition and no madp." in out


def test_a_stack_and_a_page_say_at_their_start_what_lacks_a_model(front: Front) -> None:
    for command in (("up", "--protocol", "competition"), ("serve", "--set", "protocol=competition")):
        child = front.start(*command, "--json")
        try:
            assert child.stdout is not None and child.stdout.readline()
        finally:
            child.terminate()
            _, err = child.communicate(timeout=20)
        assert "competition needs a language model, and sessions are refused until there is one: set LLM_" in err
    front.assert_nothing_left()
