"""What the documents say is what the code does."""

import re
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
        ),
        *(("sessions", name) for name in ("list", "show", "watch", "cancel", "export", "erase")),
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
