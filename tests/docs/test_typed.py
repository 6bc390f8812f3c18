"""The programs of the pages for developers have types as strict as the house's own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, blocks


@pytest.mark.timeout(300)
def test_the_programs_of_the_pages_are_typed(tmp_path: Path) -> None:
    found = [b for page in ("docs/extending.md", "docs/api.md") for b in blocks(page) if b.language == "python"]
    for number, block in enumerate(found):
        (tmp_path / block.said.get("file", f"block_{number}.py")).write_text("\n".join(block.lines) + "\n")
    programs = sorted(map(str, tmp_path.glob("*.py")))
    assert len(programs) >= 3
    mypy = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml"), *programs]
    ran = subprocess.run(mypy, cwd=ROOT, env={**os.environ, "MYPYPATH": str(tmp_path)}, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
