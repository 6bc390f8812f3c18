"""Data as text: JSON, JSON lines, notebooks, and Markdown with its tables as rows."""

import json
import re
from collections.abc import Sequence
from typing import Any

from parley.client.evidence.document_writer import CannotRead, DocumentWriter
from parley.client.evidence.html import page

_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")
_CELL_END = re.compile(r"(?<!\\)\|")
_FENCE = re.compile(r"\s*(?:```|~~~)")
MOST_DEEP = 40


def markdown(text: str, out: DocumentWriter) -> None:
    """Write Markdown as it is, but each row of a table with its headers."""
    lines = text.splitlines()
    kept: list[str] = []
    code = False
    at = 0
    while at < len(lines):
        line = lines[at]
        code ^= bool(_FENCE.match(line))
        if not code and "|" in line and at + 1 < len(lines) and "|" in lines[at + 1] and _RULE.match(lines[at + 1]):
            end = at + 2
            while end < len(lines) and "|" in lines[end] and lines[end].strip():
                end += 1
            out.verbatim("\n".join(kept))
            out.rows(_cells(line), [_cells(row) for row in lines[at + 2 : end]])
            kept, at = [], end
            continue
        kept.append(line)
        at += 1
    if len(kept) == len(lines) and out.empty:
        out.whole(text)
    else:
        out.verbatim("\n".join(kept))


def _cells(row: str) -> list[str]:
    bare = row.strip().removeprefix("|").removesuffix("|")
    return [cell.strip().replace("\\|", "|") for cell in _CELL_END.split(bare)]


def json_text(text: str, out: DocumentWriter) -> None:
    """Write JSON as a line a value, with the names that lead to it; what is a list of records as rows."""
    try:
        _write(json.loads(text), "", out, 0)
    except (ValueError, RecursionError):
        out.whole(text)  # it may be what somebody wants to be told of


def json_lines(text: str, out: DocumentWriter) -> None:
    """Write JSON lines, each as a row."""
    try:
        _write([json.loads(line) for line in text.splitlines() if line.strip()], "", out, 0)
    except (ValueError, RecursionError):
        out.whole(text)


def _write(value: Any, path: str, out: DocumentWriter, depth: int) -> None:
    if isinstance(value, dict) and value and depth < MOST_DEEP:
        for name, inner in value.items():
            _write(inner, f"{path}.{name}" if path else str(name), out, depth + 1)
    elif isinstance(value, list) and value and not all(map(_flat, value)) and depth < MOST_DEEP:
        for number, inner in enumerate(value, 1):
            if isinstance(inner, dict) and inner and all(map(_flat, inner.values())):
                out.rows([str(name) for name in inner], [[_said(v) for v in inner.values()]])
            else:
                _write(inner, f"{path}.{number}" if path else str(number), out, depth + 1)
    elif path:
        out.item(f"{path}: {_said(value)}")
    else:
        out.paragraph(_said(value))


def _flat(value: Any) -> bool:
    return not isinstance(value, dict | list) or (isinstance(value, list) and all(map(_scalar, value)))


def _scalar(value: Any) -> bool:
    return not isinstance(value, dict | list)


def _said(value: Any) -> str:
    if isinstance(value, list) and all(map(_scalar, value)):
        return ", ".join(map(_said, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def notebook(text: str, out: DocumentWriter) -> None:
    """Write a notebook: its texts, its code, and what the code printed."""
    try:
        cells = json.loads(text)["cells"]
        for cell in cells:
            said = _lines(cell.get("source", ""))
            if cell.get("cell_type") == "markdown":
                markdown(said, out)
            elif cell.get("cell_type") == "code":
                out.verbatim(f"```\n{said}\n```" if said.strip() else "")
                for shown in cell.get("outputs", ()):
                    _output(shown, out)
            else:
                out.verbatim(said)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise CannotRead("is no notebook: it has no list of cells") from None


def _output(shown: Any, out: DocumentWriter) -> None:
    data = shown.get("data", {})
    if "text/html" in data and "<table" in _lines(data["text/html"]):
        page(_lines(data["text/html"]), out)
    else:
        out.verbatim(_lines(shown.get("text", data.get("text/plain", ""))))


def _lines(text: str | Sequence[str]) -> str:
    return text if isinstance(text, str) else "".join(text)
