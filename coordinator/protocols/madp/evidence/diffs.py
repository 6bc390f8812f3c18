"""madp: what the diff of a task's folder holds: its files, the tests that it adds, and its texts for people."""

import re
from collections.abc import Iterator

from parley.schemas.folders.paths import runs_by_itself, runs_in_ci
from parley.schemas.tools import CUT

_HEAD = re.compile(r"^diff --git a/", re.M)
_PROSE = re.compile(r".+\.(?:md|rst|txt|adoc)", re.I)
_WORD = re.compile(r"(?<!\S)[^\W\d_]{2,}[,.;:!?]?(?!\S)")
_LEAST_WORDS = 3
"""Words from which on a line reads as a sentence."""
_TEST = re.compile(
    r"^\+[ \t]*(?:(?:async )?def test|func Test\w|#\[test\]|(?:it|test)\s*(?:\.each.*)?\()|"
    r"^\+[ \t]*@pytest\.mark\.parametrize",
    re.M,
)
_KNOWN = re.compile(r".+\.(?:py|[cm]?[jt]sx?|go|rs)", re.I)
_TESTS = re.compile(r"(?:^|[/_.-])(?:tests?|spec)(?=[/_.-]|$)|(?:Test|Spec)s?\.\w+$", re.I)
_MAYBE = re.compile(
    r"\+[ \t]*(?:@?tests?\b|it\b|check\w*\b|ok\b|is\b|assert\w*|should\b|expect\w*|TEST\w*\(|\[(?:Fact|Test)|"
    r"(?:\w+ )*(?:def|function|fun|void|sub) \w*test\w*)",
    re.I,
)
"""How a test may begin in any other language."""


def paths_of(diff: str) -> tuple[str, ...]:
    """The files of a folder's diff."""
    return tuple(path for path, _ in _files(diff))


def that_run(diff: str) -> dict[str, tuple[str, ...]]:
    """What it adds or changes that runs without a call of the project's own: kind of files -> which."""
    found: dict[str, list[str]] = {}
    for path, lines in _parts(diff):
        head = [x for x in lines[:3] if " mode " in x]
        if any(x.startswith("deleted") for x in head):
            continue
        if runs_by_itself(path):
            found.setdefault("run by themselves on a developer's machine", []).append(path)
        if runs_in_ci(path):
            found.setdefault("CI runs", []).append(path)
        if any(x in ("new mode 100755", "new file mode 100755") for x in head):
            found.setdefault("may be executed", []).append(path)
    return {kind: tuple(paths) for kind, paths in found.items()}


def added_tests(diff: str) -> int:
    """How many tests begin on a line that it adds; of a language that is not known, how many may."""
    other = (x for path, lines in _files(diff) if _TESTS.search(path) and not _KNOWN.fullmatch(path) for x in lines)
    return len(_TEST.findall(diff)) + sum(bool(_MAYBE.match(x)) for x in other)


def is_prose(diff: str) -> bool:
    """Whether it changes texts for people and nothing else, or nothing."""
    if "\nBinary files " in diff or "file mode 100755" in diff or diff.endswith(CUT):
        return False
    files = list(_files(diff))
    return bool(files or not diff) and all(_PROSE.fullmatch(path) and _reads(path, lines) for path, lines in files)


def added_prose(diff: str) -> str:
    """The lines that it adds to texts for people."""
    added = (x[1:] for path, lines in _files(diff) if _PROSE.fullmatch(path) for x in lines if x.startswith("+"))
    return "\n".join(added)


def _files(diff: str) -> Iterator[tuple[str, list[str]]]:
    """(path, the lines that are added or taken away) of each file."""
    for path, lines in _parts(diff):
        yield path, [x for x in lines if x[:1] in ("+", "-") and x[:4] not in ("+++ ", "--- ")]


def _parts(diff: str) -> Iterator[tuple[str, list[str]]]:
    """(path, all lines) of each file."""
    for part in _HEAD.split(diff)[1:]:
        # A path stands twice in its head line: `a/PATH b/PATH`.
        rest, *lines = part.split("\n")
        yield rest[: (len(rest) - len(" b/")) // 2], lines


def _reads(path: str, lines: list[str]) -> bool:
    """Whether what changed reads as sentences: a `.txt` may as well be a list that a program reads."""
    filled = [x for x in lines if x[1:].strip()]
    sentences = sum(len(_WORD.findall(x[1:])) >= _LEAST_WORDS for x in filled)
    return not path.lower().endswith(".txt") or 2 * sentences >= len(filled)


def main_change(diff: str) -> tuple[str, str]:
    """(the file with most lines that it adds, the longest of these); empty where it adds none."""
    added = {path: [x[1:].strip() for x in lines if x.startswith("+")] for path, lines in _files(diff)}
    file = max(added, key=lambda path: len(added[path]), default="")
    return (file, max(added[file], key=len, default="")) if file else ("", "")
