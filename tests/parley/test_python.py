"""The Python API as a user of the package meets it: calls that wait, results that say themselves, types, its page."""

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import parley
from docs.generators import api_page, commands_page, metrics_page, options_page, subjects_page
from tests.extending.environment import installed

ROOT = Path(__file__).parents[2]
ASKED = "In which year did the Suez Canal open?"
HISTORY = "The Suez Canal was opened to shipping on 17 November 1869 with a convoy of ships."


@pytest.fixture
def evidence(tmp_path: Path) -> Path:
    folder = tmp_path / "evidence"
    folder.mkdir()
    (folder / "history.md").write_text(HISTORY)
    return folder


def panelists(result: parley.Result) -> int:
    return sum(seat.startswith("panelist") for seat in result.usage.by_seat)


async def test_a_stack_of_two_runs_sessions_of_two_and_of_more_where_they_say_so(evidence: Path) -> None:
    async with parley.local(2, protocol="consensus") as p:
        assert panelists(await p.ask(ASKED, evidence=evidence)) == 2
        assert panelists(await p.ask(ASKED, evidence=evidence, panel=3)) == 3
        assert (await p.ask(ASKED, evidence=evidence, protocol="single")).status == "finished"


def test_a_script_asks_and_waits(evidence: Path) -> None:
    result = parley.ask(ASKED, protocol="consensus", settings={"panel": 2}, evidence=evidence)
    assert (result.outcome["answer"], panelists(result)) == ("1869", 2)
    assert "1869" in str(result).splitlines()[0]


async def test_a_notebook_asks_and_waits_although_its_loop_runs(evidence: Path) -> None:
    assert panelists(parley.ask(ASKED, protocol="consensus", panel=3, evidence=evidence)) == 3
    assert asyncio.get_running_loop().is_running()
    with pytest.raises(parley.BadInput, match="'cosensus' is not a protocol"):
        parley.ask(ASKED, protocol="cosensus")


def test_the_pages_of_reference_are_current() -> None:
    for name, generator in (
        ("api", api_page), ("options", options_page), ("cli", commands_page), ("subjects", subjects_page),
        ("operations/metrics", metrics_page),
    ):  # fmt: skip
        assert (ROOT / f"docs/{name}.md").read_text(encoding="utf-8") == generator.page(), "make api"
    assert set(parley.__all__) == set(parley._WHERE)
    for name in parley.__all__:
        first = (getattr(parley, name).__doc__ or "").strip().partition("\n")[0]
        assert first and first.partition(". ")[0] in api_page.page(), f"{name} has no description"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_readmes_lines_of_python_have_types_for_whoever_installs_the_package(tmp_path: Path) -> None:
    block = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert block is not None
    script = tmp_path / "script.py"
    python = str(installed(tmp_path, ROOT))
    check = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--python-executable", python]
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MYPY", "PYTHON"))}

    def checked(text: str) -> str:
        script.write_text(text)
        done = subprocess.run([*check, script.name], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=280)
        return done.stdout + done.stderr

    assert checked(block[1]) == "Success: no issues found in 1 source file\n"
    wrong = checked('import parley\n\nprint(parley.ask("q", panel="2").stop.nonsense)\n')
    assert "expected \"int | Literal['auto'] | None\"" in wrong
    assert '"Stop" has no attribute "nonsense"' in wrong


def test_a_keyword_that_cannot_be_right_is_named_before_a_stack_starts() -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"treshold": 3}, "treshold: there is no such option"),
        ({"panel": "x"}, "panel: got 'x', expected a whole number"),
        ({"settings": [1]}, r"settings: got \[1\], expected an object"),
        ({"seed": 1.5}, "seed: got 1.5, expected a whole number"),
    ]
    for given, why in wrong:
        with pytest.raises(parley.BadInput, match=why):
            parley.ask("q", protocol="consensus", **given)
