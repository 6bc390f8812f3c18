"""What the documents say is what the code does."""

import re
import subprocess
import sys
import time
from pathlib import Path

from schemas.stops import STOPS
from tests.support.forks import run

ROOT = Path(__file__).parents[2]


def test_the_table_of_stops_equals_the_code() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (\w+) \| (\d+) \| (.*) \|$", (ROOT / "docs/stops.md").read_text(), re.M)
    assert [(r, {"yes": True, "may": True, "no": False}[c], s, int(e), w) for r, c, s, e, w in rows] == [
        (s.reason, s.converged, s.status, s.exit_code, s.words) for s in STOPS.values()
    ]


def help_of(*command: str) -> str:
    code, out, err = run(*command, "--help")
    assert code == 0, err
    return out


def test_every_command_is_documented_and_gives_an_example() -> None:
    text = (ROOT / "docs/cli.md").read_text()
    commands = [
        *(
            ("ask",),
            ("up",),
            ("doctor",),
            ("init",),
            ("moderator",),
            ("agent",),
            ("replay",),
            ("explain",),
            ("schema",),
            ("bus", "config"),
            ("route",),
            ("eval", "routing"),
            ("completion",),
        ),
        *(("sessions", name) for name in ("list", "search", "show", "watch", "cancel", "export", "erase")),
    ]
    listed = help_of()
    for command in commands:
        assert command[0] in listed
        assert f"## parley {' '.join(command)}" in text
        shown = help_of(*command)
        assert "Example" in shown
        assert f"  parley {' '.join(command)}" in shown
        for option in re.findall(r"^  (?:-\w, )?(--[a-z-]+)", shown, re.M):
            if option != "--help":
                assert f"`{option}" in text, f"{option} of {command}"


def test_help_comes_at_once() -> None:
    times = []
    for _ in range(3):
        started = time.monotonic()
        help_of()
        times.append(time.monotonic() - started)
    assert min(times) < 0.3


def test_the_readmes_lines_of_python_run() -> None:
    block = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert block is not None
    done = subprocess.run([sys.executable, "-c", block[1]], cwd=ROOT, capture_output=True, text=True, timeout=50)
    assert (done.stdout, done.stderr) == ("1869 threshold True\n", "")


def test_the_readmes_example_is_what_the_command_prints() -> None:
    """The answers, scores and the stop, in order."""
    text = (ROOT / "README.md").read_text()
    question = (ROOT / "examples/rollout/question.txt").read_text()
    command = [
        sys.executable,
        "-m",
        "parley",
        "ask",
        question,
        "--protocol",
        "consensus",
        "--evidence",
        "examples/rollout/evidence",
        "--ephemeral",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    lines = re.compile(
        r"^(?:  panelist_\d \([\d.]+\): [\w-]+|  round \d: score \d+.*|stop: .*|Answer: .*|confidence .*)", re.M
    )
    printed = lines.findall(done.stdout)
    assert printed
    assert lines.findall(text) == printed
