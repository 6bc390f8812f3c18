"""The unified diff of two folders' files. Whoever asks for a decision about a folder computes it from the files."""

import difflib
from collections.abc import Iterator

from parley.schemas.folders.archive import Files
from parley.schemas.tools import CUT

MOST_DIFF = 60_000
"""Characters."""
_DIFFED = 400_000
"""Bytes of a file beyond which only the fact of its change is told."""
_MOST_COMPARED = 20_000_000
"""Steps of a whole diff: some seconds."""


def diff(before: Files, after: Files, most: int = MOST_DIFF, around: int = 3) -> str:
    """Unified diff, as git and patch read it, of two folders' files, with so many lines around each change; cut to so
    many characters at a line's end.

    A file that would take long to compare, as one that was written to, is shown as replaced."""
    out: list[str] = []
    size = 0
    steps_left = _MOST_COMPARED
    for path in sorted(before.keys() | after.keys()):
        lines, took = _file_diff(path, before.get(path), after.get(path), steps_left, around)
        steps_left -= took
        for line in lines:
            size += len(line)
            if size > most - len(CUT):
                return "".join([*out, CUT])
            out.append(line)
    return "".join(out)


def _file_diff(
    path: str, old: tuple[bytes, bool] | None, new: tuple[bytes, bool] | None, steps_left: int, around: int
) -> tuple[list[str], int]:
    """(lines of one file, how many steps it took, of those that are left)."""
    if old == new:
        return [], 0
    lines = [f"diff --git a/{path} b/{path}\n"]
    if old is None or new is None:
        mode = "100755" if (old or new or (b"", False))[1] else "100644"
        lines.append(f"new file mode {mode}\n" if old is None else f"deleted file mode {mode}\n")
    elif old[1] != new[1]:
        lines += [f"{w} mode {'100755' if runs else '100644'}\n" for w, runs in (("old", old[1]), ("new", new[1]))]
    was, is_ = (b"" if x is None else x[0] for x in (old, new))
    if was == is_:
        return lines, 0
    before, after = text_of(was), text_of(is_)
    a, b = (f"a/{path}" if old is not None else "/dev/null"), (f"b/{path}" if new is not None else "/dev/null")
    if before is None or after is None or len(was) + len(is_) > _DIFFED:
        return [*lines, f"Binary files {a} and {b} differ\n"], 0
    rows, others = _lines(before), _lines(after)
    took = _steps(rows, others)
    fast = took <= steps_left
    compared = difflib.unified_diff(rows, others, a, b, n=around) if fast else _replaced(rows, others, a, b)
    for line in compared:
        # A name with a space ends at a tab, as git has it.
        if line.startswith(("--- ", "+++ ")) and " " in path and line.endswith(f"{path}\n"):
            line = line[:-1] + "\t\n"
        lines += [line] if line.endswith("\n") else [line + "\n", "\\ No newline at end of file\n"]
    return lines, took if fast else 0


def _steps(before: list[str], after: list[str]) -> int:
    """About how many steps difflib takes: for each run of equal lines it looks at all pairs of equal lines again."""
    short = min(len(before), len(after))
    first = next((i for i in range(short) if before[i] != after[i]), short)
    popular = len(after) // 100 + 1 if len(after) >= 200 else len(after)
    places: dict[str, list[int]] = {}
    for place, row in enumerate(after[first:]):
        places.setdefault(row, []).append(place)
    pairs, runs, goes_on = len(before) - first, 1, set[int]()
    for row in before[first:]:
        here = places.get(row, [])
        if len(here) > popular:
            goes_on = {place + 1 for place in goes_on}
            continue
        pairs += len(here)
        if pairs > _MOST_COMPARED // 50:
            return pairs * pairs
        runs += bool(here) and goes_on.isdisjoint(here)
        goes_on = {place + 1 for place in here}
    return pairs * runs


def _replaced(before: list[str], after: list[str], a: str, b: str) -> Iterator[str]:
    yield from (f"--- {a}\n", f"+++ {b}\n", f"@@ -{_range(len(before))} +{_range(len(after))} @@\n")
    yield from (f"-{row}" for row in before)
    yield from (f"+{row}" for row in after)


def _range(lines: int) -> str:
    return f"1,{lines}" if lines else "0,0"


def _lines(text: str) -> list[str]:
    """Lines with their ends; only a line feed ends one."""
    parts = text.split("\n")
    return [p + "\n" for p in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def text_of(data: bytes) -> str | None:
    """The text of a file; None: it is none."""
    try:
        return None if b"\x00" in data else data.decode("utf-8")
    except UnicodeDecodeError:
        return None
