"""What coordination takes, by depth: the table of docs/madp.md is what the command prints."""

import re
from pathlib import Path

import pytest

from benchmarks import coordination

pytestmark = [pytest.mark.slow]
PAGE = (Path(__file__).parents[3] / "docs" / "madp.md").read_text(encoding="utf-8")


def figures(rows: list[str]) -> list[int]:
    return [int(n.replace(",", "")) for row in rows for n in re.findall(r"[\d,]*\d", row)]


async def test_the_table_of_the_page_is_measured() -> None:
    """A few words more or less in a specification leave it as it is."""
    rows = coordination.table(await coordination.measure())
    depths = tuple(coordination.SOURCE)
    shown = [row for row in PAGE.splitlines() if row.startswith(depths)]
    assert [row.split()[0] for row in rows[1:]] == list(depths) and rows[0] in PAGE
    assert figures(shown) == pytest.approx(figures(rows[1:]), rel=0.03), rows
