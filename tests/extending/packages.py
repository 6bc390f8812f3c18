"""Installed packages as Python finds them: a folder on the path, with metadata. Nothing is built or fetched."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from parley.schemas.registry import ALLOWED

ROOT = Path(__file__).parents[2]
JURY = ROOT / "examples" / "extension"
POINTS: Mapping[str, Mapping[str, str]] = tomllib.loads((JURY / "pyproject.toml").read_text())["project"][
    "entry-points"
]
"""Group -> name -> where it stands, of the example package."""


def place(
    folder: Path, package: str, points: Mapping[str, Mapping[str, str]], modules: Mapping[str, str] | None = None
) -> None:
    """Write a package's metadata, and its modules (name -> source)."""
    info = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [f"[{group}]\n" + "".join(f"{n} = {v}\n" for n, v in named.items()) for group, named in points.items()]
    (info / "entry_points.txt").write_text("\n".join(lines))
    for name, source in (modules or {}).items():
        (folder / f"{name}.py").write_text(source)


def jury(folder: Path, patch: pytest.MonkeyPatch) -> None:
    """The example package, installed and allowed, as long as the patch lasts."""
    place(folder, "parley-jury", POINTS)
    for path in (folder, JURY):
        patch.syspath_prepend(path)
    patch.setenv(ALLOWED, "parley-jury")
