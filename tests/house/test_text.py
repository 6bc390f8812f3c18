"""What the tree may not contain, and what must agree with what."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("schemas", "observability", "bus", "coordinator", "agents", "parley", "research/parley_research")
QUOTED = (ROOT / "docs" / "sources", ROOT / "research" / "parley_research" / "questions")
"""Texts of other people, kept word for word."""
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCK = (ROOT / "requirements.lock").read_text()
IMAGE_LOCK = (ROOT / "deploy" / "requirements.lock").read_text()
INVENTED = ROOT / "research" / "parley_research" / "registries"
"""Specifications and prompts that others wrote, kept as they are."""


def tracked() -> list[Path]:
    """The files of the tree that people write."""
    skipped = {".git", ".venv", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", "__pycache__", ".parley"}
    return [
        p
        for p in ROOT.rglob("*")
        if p.is_file()
        and p.suffix in {".py", ".md", ".toml", ".yml", ".yaml", ".lock", ""}
        and not skipped & set(p.parts)
    ]


@pytest.mark.parametrize(
    ("what", "pattern"),
    [
        ("something left to do", r"\b(?:TODO|FIXME|XXX|HACK)\b"),
        ("a path of one machine", r"(?<![\w.])/(?:work|root|home/\w+)/"),
    ],
)
def test_no_file_has(what: str, pattern: str) -> None:
    here = Path(__file__)
    found = []
    for path in tracked():
        if path == here or path.parent in QUOTED or INVENTED in path.parents:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if re.search(pattern, line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}")
    assert found == [], what


def test_modules_stay_readable() -> None:
    lengths = {p: len(p.read_text().splitlines()) for package in PACKAGES for p in (ROOT / package).rglob("*.py")}
    assert lengths
    assert {str(p): n for p, n in lengths.items() if n > 600} == {}


def entries(lock: str) -> list[str]:
    """Name, version and hashes of each, without the platforms that it is for."""
    return re.split(r"\n(?=[a-z0-9])", re.sub(r" ; [^\\\n]*", " ", lock.partition("make lock\n")[2]))


@pytest.mark.parametrize("lock", [LOCK, IMAGE_LOCK], ids=["whole", "image"])
def test_a_lock_names_no_host_and_every_entry_has_a_hash(lock: str) -> None:
    assert not re.search(r"://|--(?:extra-)?index|--find-links|--trusted-host|@ ", lock)
    assert len(entries(lock)) > 40
    for entry in entries(lock):
        assert re.match(r"[a-z0-9.-]+==\S+", entry), entry
        assert "--hash=sha256:" in entry, entry


def test_the_lock_has_every_dependency() -> None:
    project = CONFIG["project"]
    extras = project["optional-dependencies"]
    large = {"embeddings"}  # torch, or transformers: not in the lock
    assert set(extras) == {"uvloop", "acp", "dev", "documents"} | large
    wanted = project["dependencies"] + extras["uvloop"] + extras["acp"] + extras["dev"] + extras["documents"]
    names = {re.split(r"[\[<>=~; ]", d)[0].lower().replace("_", "-") for d in wanted}
    pinned = set(re.findall(r"^([a-z0-9.-]+)==", LOCK, re.MULTILINE))
    assert names <= pinned


def test_the_image_has_what_was_tested_and_no_tools() -> None:
    image = set(entries(IMAGE_LOCK.rstrip()))
    assert image < set(entries(LOCK.rstrip()))
    assert not {"pytest", "mypy", "ruff"} & {entry.partition("==")[0] for entry in image}


def test_the_licence_is_the_one_named() -> None:
    assert CONFIG["project"]["license"] == "Apache-2.0"
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in text and "END OF TERMS AND CONDITIONS" in text
