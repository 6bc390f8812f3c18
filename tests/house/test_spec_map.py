"""docs/spec-map is true: its symbols and tests exist, and each test fails once its symbol is stubbed out.

Here that is seen of some rows, in each run of others. `make specmap` sees it of all.
"""

import re
import subprocess
import sys

import pytest

from tests.house.spec_rows import MAP, ROOT, missing, read

SOME = 48
"""Rows a run: half a minute at worst."""


def test_every_symbol_and_test_exists() -> None:
    rows = read(MAP)
    assert len(rows) >= 40
    assert missing(rows) == []


def test_the_index_links_every_page() -> None:
    pages = {p.name for p in MAP.glob("*.md")} - {"README.md"}
    assert set(re.findall(r"\]\(([\w-]+\.md)\)", (MAP / "README.md").read_text())) == pages
    assert all(read(MAP / name) for name in pages - {"bus.md", "madp-clauses.md"}), "those have tables of their own"


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_some_rows_count() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.house.specmap", "--workers", "2", "--passed", "--some", str(SOME)],
        cwd=ROOT, capture_output=True, text=True, timeout=230,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
