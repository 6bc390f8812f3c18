"""Every command of README and the pages of docs/ runs, page by page, and every sample is what its command prints."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, blocks, pages, unfenced
from tests.docs.running import Failed, Page, masked

NOT_RUN = 19
"""Blocks that need what a machine without keys, containers or people lacks. One more is a decision."""


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", [p for p in pages() if any(b.runs and "not run" not in b.said for b in blocks(p))])
def test_what_a_page_says_is_so(page: str, tmp_path: Path) -> None:
    with Page(page, tmp_path) as running:
        running.run()
        fresh = {line: "\n".join(lines) for line, lines in running.fresh.items()}
    assert fresh == {}, "python -m tests.docs --write puts it there"


def test_what_is_not_run_says_why() -> None:
    marked = [b for page in pages() for b in blocks(page) if "not run" in b.said]
    assert all(len(b.said["not run"]) > 10 and b.runs for b in marked)
    assert len(marked) == NOT_RUN, [f"{b.where}: {b.said['not run']}" for b in marked]


def test_no_command_stands_where_it_is_not_run() -> None:
    assert [line for page in ("README.md", *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md")))
            for line in unfenced(page)] == []  # fmt: skip


def page_of(folder: Path, text: str) -> Page:
    """A project of one page."""
    root = folder / "root"
    root.mkdir()
    (root / "page.md").write_text(text)
    subprocess.run(["git", "init", "-q", str(root)], check=True, timeout=30)
    return Page("page.md", folder / "work", root)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Text\n\n```sh\ntrue\nparley route\n```\n", r"page\.md:4: parley route\nended with 2"),
        ("<!-- rows: 1 -->\n| `echo one` | `two` |\n", r"echo one: it does not print \['two'\]"),
    ],
)
def test_a_command_that_fails_is_told_with_its_place(text: str, why: str, tmp_path: Path) -> None:
    with page_of(tmp_path, text) as page, pytest.raises(Failed, match=why):
        page.run()


def test_a_sample_is_generated_and_what_differs_from_run_to_run_is_not_compared(tmp_path: Path) -> None:
    text = "<!-- output of: echo 0.3 s; echo two -->\n```text\n$ it\n0.1 s\n{}\n```\n"
    with page_of(tmp_path, text.format("one")) as page:
        page.run()
        assert page.fresh == {3: ["$ it", "0.3 s", "two"]}
        page.write()
        assert (tmp_path / "root" / "page.md").read_text() == text.format("two").replace("0.1", "0.3")
    assert masked("session 0123456789abcdef0123 took 1.25 s") == masked("session ffff456789abcdef0123 took 9 s")


@pytest.mark.timeout(300)
def test_the_programs_of_the_pages_are_typed(tmp_path: Path) -> None:
    """As strictly as the house's own."""
    found = [b for page in ("docs/extending.md", "docs/api.md") for b in blocks(page) if b.language == "python"]
    for number, block in enumerate(found):
        (tmp_path / block.said.get("file", f"block_{number}.py")).write_text("\n".join(block.lines) + "\n")
    programs = sorted(map(str, tmp_path.glob("*.py")))
    assert len(programs) >= 3
    mypy = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml"), *programs]
    ran = subprocess.run(mypy, cwd=ROOT, env={**os.environ, "MYPYPATH": str(tmp_path)}, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
