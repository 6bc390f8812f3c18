"""Decides what of a folder is not sent: what its .gitignore files name, what tools leave behind, what may hold a
secret by its name, and what is Parley's own (parley.agents.tools.own_files).

Read as git reads them: a .gitignore in each folder, the deeper one over the higher, those above the folder up to the
work tree's root, and last `.git/info/exclude`. git itself is not asked: a repository's settings may name programs that
it runs. So a file that is tracked though it is ignored counts as ignored.
"""

import os
from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from pathspec import GitIgnoreSpec

from parley.agents.tools import own_files

MOST_RULES = 1_000_000
"""Bytes of one .gitignore."""
LEFT_BEHIND = (
    "__pycache__/", "*.py[co]", ".venv/", "node_modules/", ".tox/", ".nox/", ".mypy_cache/", ".ruff_cache/",
    ".pytest_cache/", ".hypothesis/", ".gradle/", ".next/", ".nuxt/", ".terraform/", ".DS_Store",
    ".aider.chat.history.md", ".aider.input.history", ".aider.tags.cache.v*/", ".fast-agent/",
)  # fmt: skip
"""Nobody works on these: they are passed over without a word."""
BUILT = ("build/", "dist/", "target/", "out/", "venv/", "env/", "bin/Debug/", "bin/Release/", "obj/", "*.egg-info/")
"""What builds make, by the usual names. It is said; a line `!build/` in .gitignore has it sent."""
SECRETS = (
    ".env", ".env.*", ".envrc", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.ppk", "*.creds",
    "id_rsa*", "id_ed25519*", "id_ecdsa*", "id_dsa*", ".netrc", "_netrc", ".pgpass", ".htpasswd", ".pypirc", ".npmrc",
    ".git-credentials", "kubeconfig", "credentials", "credentials.json", "credentials.y*ml", "credentials.ini",
    "credentials.toml", "credentials.csv", "client_secret*.json", "service[-_]account*.json", "secrets.json",
    "secrets.y*ml", "secrets.toml", "secrets.env",
)  # fmt: skip
"""Names of files that hold passwords and keys, in lower case. They are held back and named. A line of .gitignore that
names one (`!.env`, `!*.pem`) has it sent, and one that only covers it (`!*`) has not."""
SECRET_FOLDERS = frozenset({".ssh", ".gnupg", ".aws", ".kube", ".docker"})
NO_SECRETS = (".example", ".sample", ".template", ".dist")
"""Ends of names that show what a file of secrets looks like."""
MAY_BE_SECRET = "by its name it may hold a secret"
TOO_MUCH = "and the folder is too much"


class LeftOut(NamedTuple):
    """What of a folder was not sent."""

    path: str
    why: str

    def __str__(self) -> str:
        return f"{self.path!r}: {self.why}"


class Unwanted:
    """Of one folder. Called with a path in it; see parley.agents.tools.folder.read_files."""

    def __init__(self, root: Path, largest: int | None = None) -> None:
        """`largest`: bytes of a file beyond which it is left out; None: of any size."""
        self._root = root.resolve()
        self._largest = largest
        self._top = self._root
        for above in (self._root, *self._root.parents):
            if (above / ".git").exists():
                self._top = above
                break
        self._rules: dict[Path, GitIgnoreSpec] = {}
        self._excluded = _spec(self._top / ".git" / "info" / "exclude")
        self._left_behind, self._built = (_compiled(lines) for lines in (LEFT_BEHIND, BUILT))

    def __call__(self, path: str, folder: bool) -> str | None:
        """Why it is not sent: None: it is; empty: nobody misses it."""
        full = self._root / path
        if (full.name == ".git") if folder else full.name in (".git", ".hg"):
            return ""
        if folder and own_files.is_state(full):
            return own_files.STATE
        decision, rule = self._rule_for(full, folder)
        if decision:
            return ""
        name = f"{path}/" if folder else path
        if _may_be_secret(path, folder) and not _names_secret(rule):
            return MAY_BE_SECRET
        if not folder and own_files.file_has_keys(full):
            return own_files.KEYS
        if decision is not None:
            return self._too_large(path, folder)
        if self._left_behind.match_file(name):
            return ""
        if self._built.match_file(name):
            return "a build makes it, by its name; the line `!" + full.name + "/` in .gitignore has it sent"
        return self._too_large(path, folder)

    def is_left(self, path: str, folder: bool) -> bool:
        """Whether running something left it behind: a cache by its name, or what the project's own rules ignore."""
        name = f"{path}/" if folder else path
        return bool(self._rule_for(self._root / path, folder)[0]) or self._left_behind.match_file(name)

    def _rule_for(self, full: Path, folder: bool) -> tuple[bool | None, str]:
        """Whether the files of rules leave it out, and the rule that says so; None: they say nothing."""
        for here in full.parents:
            if here not in self._rules:
                self._rules[here] = _spec(here / ".gitignore")
            decision = _match(self._rules[here], full.relative_to(here), folder)
            if decision[0] is not None:
                return decision
            if here == self._top:
                break
        return _match(self._excluded, full.relative_to(self._top), folder)

    def _too_large(self, path: str, folder: bool) -> str | None:
        if self._largest is None or folder:
            return None
        try:
            size = (self._root / path).lstat().st_size
        except OSError:
            return None
        return None if size <= self._largest else f"it has {in_bytes(size)}, {TOO_MUCH}"


def _may_be_secret(path: str, folder: bool) -> bool:
    """Whether a file or a folder has a name as those have that hold passwords and keys, or lies in such a folder."""
    *above, name = path.lower().split("/")
    if not SECRET_FOLDERS.isdisjoint((*above, name) if folder else above):
        return True
    return not folder and not name.endswith(NO_SECRETS) and any(fnmatchcase(name, like) for like in SECRETS)


def _names_secret(rule: str) -> bool:
    """Whether a rule that has something sent names what may hold a secret."""
    last = rule.strip().removeprefix("!").rstrip("/").rpartition("/")[2]
    return _may_be_secret(last, False) or _may_be_secret(last, True)


def biggest(sizes: Sequence[tuple[str, int]]) -> str:
    """The five largest of the files and folders at the top, each with its size. `sizes`: path and bytes of each
    file."""
    total: Counter[str] = Counter()
    for path, size in sizes:
        top, below, _ = path.partition("/")
        total[top + below] += size
    largest = sorted(total.items(), key=lambda one: (-one[1], one[0]))[:5]
    return ", ".join(f"{name} ({in_bytes(size)})" for name, size in largest)


def in_bytes(size: int) -> str:
    """`1.2 MB`"""
    return f"{size / 1e6:,.1f} MB" if size >= 100_000 else f"{size / 1e3:,.1f} KB"


def _match(spec: GitIgnoreSpec, path: Path, folder: bool) -> tuple[bool | None, str]:
    name = path.as_posix()
    result = spec.check_file(f"{name}/" if folder else name)
    pattern = spec.patterns[result.index] if result.index is not None else None
    return result.include, str(getattr(pattern, "pattern", None) or "")


def _spec(file: Path) -> GitIgnoreSpec:
    """Rules of a file; none, where it is none that is read: git follows no link there either."""
    try:
        fd = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(fd, "rb") as opened:
            return _compiled(opened.read(MOST_RULES).decode("utf-8", "replace").split("\n"))
    except OSError:
        return _compiled(())


def _compiled(lines: Sequence[str]) -> GitIgnoreSpec:
    """`a/**` is all in a, and not a itself, which the library takes with it."""
    return GitIgnoreSpec.from_lines(f"{x.rstrip()}/*" if x.rstrip().endswith("/**") else x for x in lines)
