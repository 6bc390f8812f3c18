"""The unified diff that a reply's text holds: the patch of a plan. It is shown, and nobody applies it."""

import re
from collections.abc import Sequence

_HEAD = re.compile(r"diff --git |index [0-9a-f]|(?:new|deleted) file mode |(?:old|new) mode |similarity |rename ")
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


def diff_in(text: str) -> str:
    """All file changes of a text, in their order; empty: it holds none.

    A change begins with `---`, `+++` and `@@`. Of its hunks as many lines are taken as they say, and those beyond that
    which can be nothing else: models miscount.
    """
    rows = text.splitlines()
    lines: list[str] = []
    at = 0
    while at < len(rows):
        if not _begins(rows, at):
            at += 1
            continue
        end = _end(rows, at + 2)
        lines += [*_before(rows, at), *rows[at:end]]
        at = end
    return "\n".join([*lines, ""]) if lines else ""


def _begins(rows: Sequence[str], at: int) -> bool:
    names = rows[at].startswith("--- ") and at + 2 < len(rows) and rows[at + 1].startswith("+++ ")
    return names and bool(_HUNK.match(rows[at + 2]))


def _before(rows: Sequence[str], at: int) -> Sequence[str]:
    first = at
    while first and _HEAD.match(rows[first - 1]):
        first -= 1
    return rows[first:at]


def _end(rows: Sequence[str], at: int) -> int:
    while at < len(rows) and (hunk := _HUNK.match(rows[at])):
        old, new = (1 if n is None else int(n) for n in hunk.groups())
        at += 1
        while at < len(rows):
            row = rows[at]
            counted = old > 0 or new > 0
            if not (row[:1] in ("+", "-", "\\") or (counted and row[:1] in (" ", ""))) or _begins(rows, at):
                break
            old -= row[:1] in ("-", " ", "")
            new -= row[:1] in ("+", " ", "")
            at += 1
    return at
