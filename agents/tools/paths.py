"""Decides which paths inside a folder are allowed.

A folder is a task's, and everything about it may have been written by a model or for one: links, names, archives.
"""

import os
import stat
from pathlib import Path

from parley.schemas.folders.paths import MOST_PATH, bad_name, is_repository


class Outside(ValueError):
    """A path that is not held inside its folder, or is none. Names it and says why."""

    def __init__(self, path: str, why: str) -> None:
        self.path = path
        self.why = why
        shown = path if len(path) <= 200 else path[:200] + "..."
        super().__init__(f"path {shown!r}: {why}")


def inside(root: Path, path: str) -> Path:
    """Where a path leads, with every link followed.

    Parameters
    ----------
    root
        The folder, resolved itself.
    path
        Relative to it, or absolute.

    Raises
    ------
    Outside
        It leads out of the folder, by `..`, an absolute path, a link or a second name of a file that may stand
        elsewhere; or into a repository's own files; or it is no path.
    """
    if "\x00" in path or path.startswith("~"):
        raise Outside(path, "it begins with ~ or has a zero byte")
    if len(path) > 4 * MOST_PATH:
        raise Outside(path, f"it has {len(path):,} characters, the limit is {4 * MOST_PATH:,}")
    try:
        resolved = Path(os.path.realpath(root / path))
    except (OSError, UnicodeError, ValueError) as error:
        raise Outside(path, f"it cannot be looked at ({type(error).__name__})") from None
    if resolved == root:
        return resolved
    if root not in resolved.parents:
        raise Outside(path, "it leads out of the task's folder")
    wrong = bad_name(resolved.relative_to(root).as_posix())
    if wrong:
        raise Outside(path, wrong)
    try:
        status = resolved.lstat()
    except FileNotFoundError:
        return resolved
    except (OSError, UnicodeError) as error:
        raise Outside(path, f"it cannot be looked at ({type(error).__name__})") from None
    if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
        raise Outside(path, "the file has a second name, which may stand elsewhere")
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        raise Outside(path, "it is neither a file nor a folder")
    return resolved


__all__ = ["Outside", "bad_name", "inside", "is_repository"]
