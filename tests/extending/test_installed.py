"""What installed packages bring: it is found by name, listed by the doctor, and left out where it is broken."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from parley.schemas.registry import ALLOWED
from tests.extending.environment import BARE, installed

PYPROJECT = """
[build-system]
requires = ["hatchling>=1.27"]
build-backend = "hatchling.build"
[project]
name = "parley-extras"
version = "2.1"
[project.entry-points."parley.protocols"]
broken = "parley_extras.broken:PROTOCOL"
odd = "parley_extras.good:NOTHING"
[project.entry-points."parley.models"]
coin = "parley_extras.good:coin"
lost = "parley_extras.absent:model"
[project.entry-points."parley.encoders"]
letters = "parley_extras.good:letters"
[project.entry-points."parley.strategies"]
coin-first = "parley_extras.good:STRATEGY"
fall = "parley_extras.broken:STRATEGY"
[project.entry-points."parley.commands"]
toss = "parley_extras.good:toss"
fall = "parley_extras.broken:fall"
"""
GOOD = """
import parley
from parley.schemas.strategies import Strategy
NOTHING = 7
STRATEGY = Strategy(id="coin-first", name="coin first", about="Asks a coin.", blind="Toss it.", later="Toss it again.")

class Coin:
    name = family = "coin"
    metered = False
    usd_per_million_input = usd_per_million_output = 0.0

    def __init__(self, side):
        self.side = side

    async def reply(self, shown, emit):
        from parley.agents.model.base import Completion
        from parley.schemas.protocols.consensus import Position
        return Completion(body=Position(answer=self.side, reasoning="It fell so.", confidence=0.9))

def coin(options):
    return Coin(options.get("side", "heads"))

class letters:
    name = "letters"

def toss(times: int = 1):
    \"\"\"Toss a coin.\"\"\"
    print("heads " * times)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with a package of which some things work and some do not."""
    folder = tmp_path_factory.mktemp("extras")
    package = folder / "parley_extras"
    package.mkdir()
    (folder / "pyproject.toml").write_text(PYPROJECT)
    (package / "__init__.py").touch()
    (package / "good.py").write_text(GOOD)
    (package / "broken.py").write_text("raise RuntimeError('half installed')")
    return installed(folder, folder)


@pytest.fixture(scope="module")
def run(python: Path) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Run the command line there."""

    def command(*words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [str(python), "-m", "parley", *words], cwd=python.parent, env={**BARE, ALLOWED: "parley-extras"},
            capture_output=True, text=True, timeout=50,
        )  # fmt: skip

    return command


Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_the_doctor_lists_what_is_there_and_says_what_is_broken(run: Run, tmp_path: Path) -> None:
    done = run("doctor", "--protocol", "consensus", "--json", "--state", str(tmp_path))
    found = {(b["group"], b["name"]): b for b in json.loads(done.stdout)["installed"]}
    assert found["parley.models", "coin"]["fault"] == "" and found["parley.encoders", "letters"]["fault"] == ""
    assert found["parley.models", "coin"]["package"] == "parley-extras 2.1"
    assert "half installed" in found["parley.protocols", "broken"]["fault"]
    assert "No module named" in found["parley.models", "lost"]["fault"]
    assert "class int, wanted is Protocol" in found["parley.protocols", "odd"]["fault"]
    shown = run("doctor", "--protocol", "consensus", "--state", str(tmp_path)).stdout
    assert "left out" in shown and "half installed" in shown and "model coin of parley-extras 2.1" in shown
    assert "Parley lacks nothing else, but not everything of 1 installed package is loaded." in shown
    rows = {row["id"]: row for row in json.loads(run("strategies", "list", "--json").stdout)["strategies"]}
    assert rows["coin-first"]["source"] == "package" and "fall" not in rows


def test_a_model_is_named_as_its_entry_is(run: Run, tmp_path: Path) -> None:
    panel = tmp_path / "panel.yaml"
    panel.write_text(
        "protocol: consensus\nseats:\n  analyst: {}\n  panelist_1: {model: coin}\n"
        "  panelist_2: {model: coin, options: {side: tails}}\n"
    )
    done = run("ask", "Heads or tails?", "--panel-file", str(panel), "--json", "--ephemeral", "--round-limit", "2")
    assert done.returncode in (0, 3), done.stderr
    assert "heads" in done.stdout and "tails" in done.stdout
    panel.write_text(panel.read_text().replace("{model: coin}", "{model: lost}"))
    refused = run("ask", "Heads?", "--panel-file", str(panel), "--ephemeral")
    assert refused.returncode == 2 and "lost of parley-extras 2.1 cannot be loaded" in refused.stderr


def test_a_command_runs_under_its_name_and_a_broken_one_says_why(run: Run) -> None:
    assert run("toss", "--times", "2").stdout.split() == ["heads", "heads"]
    help_text = run("--help").stdout
    assert "toss" in help_text and "fall" not in help_text
    broken = run("fall")
    assert broken.returncode == 1 and "fall of parley-extras 2.1 cannot be loaded" in broken.stderr


def test_a_fresh_environment_finds_the_nats_server_beside_parleys_own(python: Path) -> None:
    """The package is on the path of Python, and its program is on no PATH."""
    done = subprocess.run(
        [str(python), "-c", "from parley.bus.embedded import find_server; print(find_server())"], cwd=python.parent,
        env={**BARE, "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, timeout=20,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).name == "nats-server"
