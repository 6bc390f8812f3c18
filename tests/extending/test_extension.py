"""The example package, installed by pip into a fresh environment: it runs through every command, its own tests pass
there, and no general file knows of it. And a package of which some things work and some do not."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from parley.schemas.registry import ALLOWED
from tests.extending.environment import BARE, installed
from tests.extending.packages import place
from tests.house.test_rooms import named
from tests.parley.support import Front

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "extension"
ALLOWING = {**BARE, ALLOWED: "parley-jury"}
QUESTION = "Tea or coffee?"
Parley = Callable[..., str]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh environment with Parley's packages, where pip has installed the example."""
    return installed(tmp_path_factory.mktemp("environment"), EXAMPLE)


@pytest.fixture(scope="module")
def parley(python: Path) -> Parley:
    """What a command prints, where the package is installed."""

    def run(*arguments: str, code: int = 0) -> str:
        done = subprocess.run(
            [str(python), "-m", "parley", *arguments], env=ALLOWING, text=True,
            capture_output=True, timeout=50, cwd=python.parent,
        )  # fmt: skip
        assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    return run


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory, parley: Parley) -> tuple[dict[str, object], Path]:
    """(what `ask --json` printed, the session's record)."""
    folder = tmp_path_factory.mktemp("jury")
    state = str(folder / "state")
    (folder / "a.md").write_text("yes\n")
    read = ("--evidence", str(folder / "a.md"))
    asked = ("ask", QUESTION, "--protocol", "jury", "--jurors", "2", *read, "--json", "--state", state)
    result: dict[str, object] = json.loads(parley(*asked))
    record = folder / "jury.jsonl"
    parley("sessions", "export", str(result["session"]), "--all", "--state", state, "-o", str(record))
    return result, record


def test_it_is_asked_with_an_option_of_its_own(session: tuple[dict[str, object], Path]) -> None:
    result, _ = session
    assert result["protocol"] == "jury" and result["outcome"] == {"answer": "yes"}
    assert result["rounds"] == [{"round": 1, "choices": {"yes": 2}}]
    signed = ["x_parley_jury_juror_1", "x_parley_jury_juror_2"]
    certificate = {"ballots": 1, "signed": signed}
    assert result["stop"] == {"reason": "x_parley_jury_verdict", "converged": True, "certificate": certificate}


def test_its_option_is_for_it_alone(parley: Parley) -> None:
    assert "--jurors" in parley("ask", "--protocol", "jury", "--help")
    refused = parley("ask", QUESTION, "--protocol", "critic", "--jurors", "2", "--json", code=2)
    assert "--jurors is not for critic, but for jury" in refused
    refused = parley("ask", QUESTION, "--protocol", "jury", "--jurors", "13", "--json", code=2)
    assert "--jurors: got 13, allowed is 2 to 12" in refused


def test_it_is_shown_explained_exported_and_replayed(session: tuple[dict[str, object], Path], parley: Parley) -> None:
    _, record = session
    for command, words in ((("sessions", "show"), "  yes 2\n"), (("explain",), "votes")):
        told = parley(*command, str(record))
        assert QUESTION in told and words in told and "Answer: yes" in told and "2 of 2 votes" in told
    assert "yes" in parley("explain", str(record), "votes")
    figures = json.loads(parley("explain", str(record), "--json"))["result"]
    assert figures["rounds"][0]["choices"] == {"yes": 2} and figures["stop"]["certificate"]["ballots"] == 1
    assert "the jury is of one mind (x_parley_jury_verdict)" in parley("explain", str(record))
    page = parley("sessions", "export", str(record), "--format", "html")
    assert page.startswith("<!DOCTYPE html>") and QUESTION in page
    assert "It stands first in what I hold." not in page, "the jury's room is not for readers"
    assert json.loads(parley("replay", str(record), "--json"))["recomputed"] is True


def test_without_it_each_command_says_which_package_to_install(session: tuple[dict[str, object], Path]) -> None:
    """Recompute, judge and carry on need the protocol; none of them waits for a moderator that has it. Its record can
    be read."""
    result, record = session
    sid, state = str(result["session"]), str(record.parent / "state")
    lacking = f"session {sid} ran the protocol jury, which no installed package brings"
    unknown = "no installed package brings a protocol of this name"
    for code, said, *command in (
        (0, "jury", "explain", str(record)), (0, "jury", "sessions", "show", str(record)),
        (2, lacking, "replay", str(record)), (2, lacking, "replay", sid, "--state", state),
        (2, lacking, "feedback", sid, "right", "--state", state), (2, lacking, "fork", sid, "--state", state),
        (2, unknown, "fork", sid, "--state", state, "--set", "jury.jurors=3"),
    ):  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", "parley", *map(str, command)], env=BARE, text=True, capture_output=True, timeout=50
        )
        assert done.returncode == code and said in done.stdout + done.stderr, (command, done.stderr)
        assert "Traceback" not in done.stderr


def test_its_own_tests_pass_where_it_is_installed(python: Path) -> None:
    run = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", str(EXAMPLE)]
    done = subprocess.run(
        [*run, str(EXAMPLE / "tests")], env=BARE, text=True, capture_output=True, timeout=100, cwd=python.parent
    )
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout + done.stderr


def test_no_module_of_the_packages_knows_it() -> None:
    for package in ("schemas", "bus", "coordinator", "agents", "parley"):
        for path in (ROOT / package).rglob("*.py"):
            assert "parley_jury" not in path.read_text() and '"jury"' not in path.read_text(), path
    assert not named('protocol == "jury"'), "the house test knows the protocols that ship, and this is none"


GOOD = """
import parley
from parley.schemas.strategies import Strategy
STRATEGY = Strategy(id="coin-first", name="coin first", about="Asks a coin.", blind="Toss it.", later="Toss it again.")

def coin(options):
    @parley.agent(role="panelist")
    async def coin(turn):
        return parley.Reply(answer=options.get("side", "heads"), reasoning="It fell so.", confidence=0.9)
    return coin.model()

def toss(times: int = 1):
    \"\"\"Toss a coin.\"\"\"
    print("heads " * times)
"""
POINTS = {
    "parley.protocols": {"broken": "extras_broken:PROTOCOL"},
    "parley.models": {"coin": "extras_good:coin", "lost": "extras_absent:model"},
    "parley.strategies": {"coin-first": "extras_good:STRATEGY", "fall": "extras_broken:STRATEGY"},
    "parley.commands": {"toss": "extras_good:toss", "fall": "extras_broken:fall"},
}


def test_what_a_package_brings_is_used_by_its_name_and_what_is_broken_is_left_out_with_the_reason(
    tmp_path: Path,
) -> None:
    modules = {"extras_good": GOOD, "extras_broken": "raise RuntimeError('half installed')"}
    place(tmp_path, "parley-extras", POINTS, modules)
    front = Front(tmp_path, env={"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", ALLOWED: "parley-extras"})
    _, out, _ = front.run("doctor", "--json")
    found = {(b["group"], b["name"]): b for b in json.loads(out)["installed"]}
    coin = found["parley.models", "coin"]
    assert (coin["package"], coin["fault"]) == ("parley-extras 1.0", "")
    assert "half installed" in found["parley.protocols", "broken"]["fault"]
    assert "No module named" in found["parley.models", "lost"]["fault"]
    _, shown, _ = front.run("doctor")
    assert "left out" in shown and "half installed" in shown and "model coin of parley-extras 1.0" in shown
    rows = {row["id"]: row for row in front.json("strategies", "list", "--json")["strategies"]}
    assert rows["coin-first"]["source"] == "package" and "fall" not in rows
    assert front.run("toss", "--times", "2")[1].split() == ["heads", "heads"]
    assert "toss" in (told := front.run("--help")[1]) and "fall" not in told
    code, _, err = front.run("fall")
    assert code == 1 and "fall of parley-extras 1.0 cannot be loaded" in err
    panel = tmp_path / "panel.yaml"
    seats = "  analyst: {}\n  panelist_1: {model: coin}\n  panelist_2: {model: coin, options: {side: tails}}\n"
    panel.write_text(f"protocol: consensus\nseats:\n{seats}")
    asked = ("ask", "Heads or tails?", "--panel-file", str(panel), "--json", "--ephemeral", "--round-limit", "2")
    code, out, err = front.run(*asked)
    assert code in (0, 3) and "heads" in out and "tails" in out, err
    panel.write_text(panel.read_text().replace("{model: coin}", "{model: lost}"))
    code, _, err = front.run(*asked)
    assert code == 2 and "lost of parley-extras 1.0 cannot be loaded" in err
