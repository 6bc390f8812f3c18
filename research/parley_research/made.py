"""What a report says of its own making: the day, the commit, the command."""

import subprocess
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[2]


def commit() -> str:
    """Of the project; empty where it is in no repository."""
    return git("rev-parse", "HEAD")


def is_changed() -> bool:
    """Whether files of the project differ from that commit."""
    return bool(git("status", "--porcelain", "--untracked-files=no"))


def today() -> str:
    """Such as `2026-11-29`."""
    return datetime.now(UTC).date().isoformat()


def line(command: str) -> str:
    """The sentence that stands under the title of a report."""
    changed = ", with files that differ from it" if is_changed() else ""
    return f"Made on {today()} by `{command}`, from commit {commit()[:12] or 'unknown'}{changed}."


def git(*words: str) -> str:
    """What git says of the project; nothing where it is no repository, or there is no git."""
    try:
        done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
