"""What coordination takes, by depth: the table of docs/reports/routing.md is what the command prints."""

import asyncio
import re
from pathlib import Path

import pytest

from parley.schemas.routing import DEPTHS
from parley_research.benchmarks.coordination import MOST, measure, table

pytestmark = [pytest.mark.slow]
PAGE = (Path(__file__).parents[3] / "docs" / "reports" / "routing.md").read_text(encoding="utf-8").splitlines()
NAMES = (*DEPTHS, "all")
_ROW = re.compile(r"(\w+) .*?(\d+) +([\d,]+) +([\d,]+) +\d+ +[\d.]+%")


def tokens(rows: list[str]) -> dict[str, list[int]]:
    """Of each row the tasks, their median and their p95."""
    found = [m.groups() for row in rows if (m := _ROW.fullmatch(row))]
    return {name: [int(n.replace(",", "")) for n in figures] for name, *figures in found}


def test_the_table_of_the_page_is_measured_and_its_p95_is_what_the_source_allows() -> None:
    """A few words more or less in a specification leave it as it is."""
    rows = table(asyncio.run(measure()))
    said, measured = tokens(PAGE), tokens(rows)
    assert rows[0] in PAGE and tuple(measured) == NAMES
    for name, figures in measured.items():
        assert said[name] == pytest.approx(figures, rel=0.03), rows
    assert measured["all"][-1] <= MOST
