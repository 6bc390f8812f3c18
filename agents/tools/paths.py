"""What a path inside a folder is.

A folder is a task's, and everything about it may have been written by a model or for one: links, names, archives.
"""

import os
import re
import stat
from pathlib import Path
from unicodedata import category

REPOSITORIES = frozenset({".git", ".hg", ".svn", ".jj", ".bzr"})
"""Folders of version control: hooks and settings in them run programs, so no path leads into one."""
_SHORT = re.compile(rf"({'|'.join(name[1:] for name in sorted(REPOSITORIES))})~[0-9]+")
"""What NTFS calls them beside their names."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u0080-\u009f\u2028\u2029\ud800-\udfff]")
MOST_NAME = 255
"""Bytes of one part of a path, in UTF-8."""
MOST_PATH = 1_000
"""Characters of a path in its folder."""


class Outside(ValueError):
    """A path that is not held inside its folder, or is none. Names it and says why."""

    def __init__(self, given: str, why: str) -> None:
        self.given = given
        self.why = why
        shown = given if len(given) <= 200 else given[:200] + "..."
        super().__init__(f"path {shown!r}: {why}")


def is_repository(part: str) -> bool:
    """Whether one part of a path is a folder of version control, on any file system: NTFS drops spaces and dots at the
    end, what follows a colon names a stream, and HFS+ passes over characters that are not seen."""
    seen = "".join(c for c in part if category(c) != "Cf").partition(":")[0].rstrip(" .").casefold()
    return seen in REPOSITORIES or bool(_SHORT.fullmatch(seen))


def bad_name(path: str) -> str:
    """What is wrong with a relative path's names; empty: nothing."""
    parts = path.split("/")
    if not path or path.startswith("/"):
        return "it is empty or absolute"
    if any(p in ("", ".", "..") for p in parts):
        return "it has an empty part, . or .."
    if _CONTROL.search(path) or "\\" in path:
        return "it has a control character or a backslash"
    if len(path) > MOST_PATH or any(len(p.encode("utf-8", "replace")) > MOST_NAME for p in parts):
        return f"allowed are at most {MOST_PATH} characters, and {MOST_NAME} bytes a part"
    if any(map(is_repository, parts)):
        return "it leads into a repository's own files, which may run programs"
    return ""


def inside(root: Path, given: str) -> Path:
    """Where a path leads, with every link followed.

    Parameters
    ----------
    root
        The folder, resolved itself.
    given
        Relative to it, or absolute.

    Raises
    ------
    Outside
        It leads out of the folder, by `..`, an absolute path, a link or a second name of a file that may stand
        elsewhere; or into a repository's own files; or it is no path.
    """
    if "\x00" in given or given.startswith("~"):
        raise Outside(given, "it begins with ~ or has a zero byte")
    if len(given) > 4 * MOST_PATH:
        raise Outside(given, f"it has {len(given):,} characters, allowed are at most {4 * MOST_PATH:,}")
    try:
        found = Path(os.path.realpath(root / given))
    except (OSError, UnicodeError, ValueError) as error:
        raise Outside(given, f"it cannot be looked at ({type(error).__name__})") from None
    if found == root:
        return found
    if root not in found.parents:
        raise Outside(given, "it leads out of the task's folder")
    wrong = bad_name(found.relative_to(root).as_posix())
    if wrong:
        raise Outside(given, wrong)
    try:
        about = found.lstat()
    except FileNotFoundError:
        return found
    except (OSError, UnicodeError) as error:
        raise Outside(given, f"it cannot be looked at ({type(error).__name__})") from None
    if stat.S_ISREG(about.st_mode) and about.st_nlink > 1:
        raise Outside(given, "the file has a second name, which may stand elsewhere")
    if not (stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode)):
        raise Outside(given, "it is neither a file nor a folder")
    return found
