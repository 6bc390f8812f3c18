"""What a path in a task's folder may be, and which files side by side would make a repository.

A repository's hooks and settings run programs, so no archive holds one, in any folder. Names are compared as the file
systems compare them that pass over case, spelling in Unicode, and dots and spaces at the end.
"""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import lru_cache
from unicodedata import category, normalize

REPOSITORIES = frozenset({".git", ".hg", ".svn", ".jj", ".bzr", ".sl", ".pijul", "_darcs"})
"""Folders of version control: hooks and settings in them run programs, so no path leads into one."""
_SHORT = re.compile(rf"({'|'.join(name[1:] for name in sorted(REPOSITORIES) if name[0] == '.')})~[0-9]+")
"""What NTFS calls them beside their names."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u0080-\u009f\u2028\u2029]")
_LONE = re.compile(r"[\ud800-\udfff]")
"""How Python shows bytes of a name that are not UTF-8."""
_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9\u00b9\u00b2\u00b3]|lpt[0-9\u00b9\u00b2\u00b3]|conin\$|conout\$)")
"""Windows' devices, whatever follows a dot."""
_DRIVE = re.compile(r"[A-Za-z]:")
HEAD = "head"
_BESIDE_HEAD = frozenset({"objects", "refs", "commondir"})
"""git takes a folder as a repository that holds HEAD, objects and refs, or HEAD and commondir. One beside HEAD is too
much: a build may make the other, and a variable of git's stands for objects."""
_RUN_FOLDERS = frozenset({".husky", ".githooks", ".vscode", ".idea", ".devcontainer"})
_RUN_FILES = frozenset({".envrc", ".pre-commit-config.yaml", "lefthook.yml", ".lefthook.yml"})
_CI = re.compile(
    r"\.(?:github|gitea|forgejo)/(?:workflows|actions)/.+|\.(?:circleci|buildkite|woodpecker)/.+|\.gitlab-ci\.ya?ml|"
    r"(?:azure|bitbucket)-pipelines\.ya?ml|jenkinsfile|\.(?:travis|drone|woodpecker|appveyor)\.ya?ml"
)
RULES = ("AGENTS.md", "CLAUDE.md", ".cursor/rules/*", "CONTRIBUTING.md")
"""Files in which a project says how work is done in it, in the order in which they count."""
MOST_NAME = 255
"""Bytes of one part of a path, in UTF-8."""
MOST_PATH = 1_000
"""Characters of a path in its folder."""
MOST_PATH_BYTES = 3_000
"""The folder's own path has the rest of the 4,096 that Linux takes."""
MOST_PARTS = 100
REPOSITORY = "it makes a repository, whose hooks and settings run programs"


def is_repository(part: str) -> bool:
    """Whether one part of a path is a folder of version control, on any file system: NTFS drops spaces and dots at the
    end, what follows a colon names a stream, and HFS+ passes over characters that are not seen."""
    name = fold_case(part.partition(":")[0])
    return name in REPOSITORIES or bool(_SHORT.fullmatch(name))


@lru_cache(8_192)
def fold_case(part: str) -> str:
    """One part of a path, the same for all that are one name to some file system."""
    if not part.isascii():
        visible = "".join(c for c in normalize("NFKC", part) if category(c) != "Cf")
        part = normalize("NFKC", visible.casefold()) or part
    return part.lower().rstrip(" .") or part


def bad_name(path: str) -> str:
    """What is wrong with a relative path's names; empty: nothing."""
    parts = path.split("/")
    if not path or path.startswith("/"):
        return "it is empty or absolute"
    if any(p in ("", ".", "..") for p in parts):
        return "it has an empty part, . or .."
    if _LONE.search(path):
        return "its name is not UTF-8"
    if _CONTROL.search(path) or "\\" in path:
        return "it has a control character or a backslash"
    if (
        len(path) > MOST_PATH
        or len(parts) > MOST_PARTS
        or len(path.encode()) > MOST_PATH_BYTES
        or any(len(p.encode()) > MOST_NAME for p in parts)
    ):
        return (
            f"allowed are at most {MOST_PATH:,} characters, {MOST_PATH_BYTES:,} bytes and {MOST_PARTS} parts, and"
            f" {MOST_NAME} bytes a part"
        )
    if any(map(is_repository, parts)):
        return "it leads into a repository's own files, which may run programs"
    if _DRIVE.match(path) or any(map(_reserved, parts)):
        return "a part of it is a device, a drive or a stream to some file systems"
    return ""


def _reserved(part: str) -> bool:
    stem = fold_case(part.partition(".")[0])
    return ":$" in part or bool(_DEVICE.fullmatch(stem))


def runs_by_itself(path: str) -> bool:
    """Whether a file runs on the machine of whoever only opens, enters or commits in its folder."""
    parts = path.casefold().split("/")
    return parts[-1] in _RUN_FILES or not _RUN_FOLDERS.isdisjoint(parts[:-1])


def runs_in_ci(path: str) -> bool:
    """Whether a file says what runs at a service for continuous integration."""
    return bool(_CI.fullmatch(path.casefold()))


def is_rules(path: str) -> bool:
    """Whether a file says how work is done in the project, or in a folder of it."""
    return any(fnmatchcase(path, kind) or fnmatchcase(path, f"*/{kind}") for kind in RULES)


def is_bare(files: Iterable[str], names: Iterable[str]) -> bool:
    """Whether a folder is, or nearly is, a bare repository or a worktree's part of one.

    Parameters
    ----------
    files
        Names of what stands in it and is no folder.
    names
        Of all that stands in it.
    """
    return any(fold_case(n) == HEAD for n in files) and any(map(beside_head, names))


def beside_head(name: str) -> bool:
    """Whether it makes a repository of a folder that holds HEAD."""
    return fold_case(name) in _BESIDE_HEAD


class PathChecker:
    """Paths of one folder, taken one after another. Each is refused that cannot stand there beside those before."""

    def __init__(self) -> None:
        self._spellings: dict[str, tuple[str, bool]] = {}
        """By the folded path: as it is spelt, and whether it is a folder."""
        self._below: dict[str, tuple[set[str], set[str]]] = {}
        """By a folder's folded path: folded names of its files, and of all in it."""
        self.folders = 0
        """How many there are, without the root."""

    def add(self, path: str, *, folder: bool = False) -> str:
        """Take a path; what is wrong with it, empty: nothing."""
        wrong = bad_name(path)
        if wrong:
            return wrong
        at, key = "", ""
        parts = path.split("/")
        for i, part in enumerate(parts, 1):
            over, at, small = key, f"{at}/{part}" if at else part, fold_case(part)
            key = f"{key}/{small}" if key else small
            as_folder = folder or i < len(parts)
            if key not in self._spellings:
                if self._makes_bare(over, small, as_folder):
                    return REPOSITORY
                self._spellings[key] = (at, as_folder)
                self.folders += as_folder
                continue
            spelt, is_folder = self._spellings[key]
            if spelt != at:
                return f"{at!r} and {spelt!r} are one name to some file systems"
            if not is_folder:
                return f"{at!r} is a file" if as_folder else "it stands there twice"
            if not as_folder:
                return "it stands there as a folder too"
        return ""

    def _makes_bare(self, over: str, name: str, as_folder: bool) -> bool:
        files, names = self._below.setdefault(over, (set(), set()))
        if (name == HEAD and not as_folder and not names.isdisjoint(_BESIDE_HEAD)) or (
            name in _BESIDE_HEAD and HEAD in files
        ):
            return True
        names.add(name)
        if not as_folder:
            files.add(name)
        return False
