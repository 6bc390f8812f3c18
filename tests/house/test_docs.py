"""What the documents cite is there: files that they link to, tests that they name."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("docs", "research", "examples", "tests")
PAGES = sorted((*ROOT.glob("*.md"), *(p for folder in FOLDERS for p in ROOT.glob(f"{folder}/**/*.md"))))
LINK = re.compile(r"\]\((?!https?://|#|mailto:)([^)#\s]+)")
NAMED = re.compile(
    r"`((?:tests|docs|bus|coordinator|agents|client|research|parley|schemas|observability|examples|deploy)/[\w./-]+)`"
)
TEST = re.compile(r"`(?:tests/\w+/)?(test_\w+)::(test_\w+)`")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_what_a_page_cites_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    missing = [link for link in LINK.findall(text) if not (page.parent / link).exists()]
    missing += [name for name in NAMED.findall(text) if not (ROOT / name).exists()]
    for module, test in TEST.findall(text):
        found = [p for p in ROOT.glob(f"tests/**/{module}.py") if f"def {test}" in p.read_text(encoding="utf-8")]
        missing += [] if found else [f"{module}::{test}"]
    assert not missing
