"""Which build of Parley this is. Users of one build share a stack; another build starts one of its own."""

import contextlib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


@cache
def build_of() -> str:
    """Which Parley this is, as exactly as its files say: version, place, and commit where it runs from a clone."""
    package = Path(__file__).resolve().parents[1]
    try:
        released = version("parley")
    except PackageNotFoundError:
        released = "unknown"
    return " ".join(filter(None, (released, _commit(package.parent), str(package))))


def _commit(clone: Path) -> str:
    with contextlib.suppress(OSError):
        git = clone / ".git"
        if git.is_file():  # a worktree
            git = Path(git.read_text().removeprefix("gitdir:").strip())
        head = (git / "HEAD").read_text().strip()
        if not head.startswith("ref: "):
            return head[:12]
        common = git / "commondir"
        refs = git / common.read_text().strip() if common.is_file() else git
        return (refs / head.removeprefix("ref: ")).read_text().strip()[:12]
    return ""
