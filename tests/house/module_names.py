"""What a file of the checkout is imported as."""

from pathlib import Path

ROOT = Path(__file__).parents[2]


def module_of(path: str, root: Path = ROOT) -> str:
    """The module of a path from the root: `coordinator/machine.py` -> `parley.coordinator.machine`."""
    place = path.removesuffix(".py").removesuffix("/__init__").removeprefix("research/")
    linked = (root / "parley" / place.partition("/")[0]).is_symlink()
    return ("parley." if linked else "") + place.replace("/", ".")
