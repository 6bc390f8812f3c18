"""What coordination takes, by depth: the table of docs/madp.md is what the command prints."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow]
PAGE = (Path(__file__).parents[3] / "docs" / "madp.md").read_text(encoding="utf-8")
DEPTHS = ("instant", "quick", "standard", "extended")


def rows(text: str) -> list[str]:
    return [row for row in text.splitlines() if row.startswith(DEPTHS)]


def figures(rows: list[str]) -> list[int]:
    return [int(n.replace(",", "")) for row in rows for n in re.findall(r"[\d,]*\d", row)]


def test_the_table_of_the_page_is_measured() -> None:
    """A few words more or less in a specification leave it as it is."""
    command = [sys.executable, "-m", "parley_research.benchmarks.coordination"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True)
    heads = [line for line in done.stdout.splitlines() if line.startswith("depth")]
    assert len(heads) == 1 and heads[0] in PAGE
    assert tuple(row.split()[0] for row in rows(done.stdout)) == DEPTHS
    assert figures(rows(PAGE)) == pytest.approx(figures(rows(done.stdout)), rel=0.03), done.stdout
