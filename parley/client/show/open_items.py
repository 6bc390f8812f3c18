"""Questions of a session to a human, as the inbox and the live view show them."""

import shlex
from collections.abc import Iterator

import msgspec

from parley.client.text import line

_WIDE = 300
_ANSWERABLE_S = 1.0


class OpenItem(msgspec.Struct, frozen=True, kw_only=True):
    """A question that waits for an answer."""

    item: str
    """`1`, `2`, ... in its session."""
    kind: str
    question: str
    choices: tuple[str, ...]
    """What may be answered; none: free text."""
    default: str
    """What holds without an answer."""
    deadline_ns: int
    draft: str = ""
    """What a person may change and send back as the answer; empty: nothing is written yet."""


def item_lines(sid: str, item: OpenItem, at_ns: int, where: str = "") -> Iterator[tuple[str, str]]:
    """An open item in lines with their styles: the question, what may be answered, by when, and how. `where`: options
    that name the bus."""
    seconds = max(0.0, (item.deadline_ns - at_ns) / 1e9)
    yield "warning", f"  item {line(item.item)} ({line(item.kind)}) waits for a human: {line(item.question, 4_000)}"
    if seconds < _ANSWERABLE_S:
        yield "score", f"      nobody can answer in time: {line(item.default, _WIDE)}"
        return
    choices = ", ".join(line(c, _WIDE) for c in item.choices) or "free text"
    yield "score", f"      answer: {choices}; without one in {span(seconds)}: {line(item.default, _WIDE)}"
    yield "score", f"      {answer_command(sid, item, where)}"


def answer_command(sid: str, item: OpenItem, where: str = "") -> str:
    """The command that answers it."""
    choice = shlex.quote(line(item.choices[0])) if item.choices else '"..."'
    return f"parley inbox answer {line(sid)} {shlex.quote(line(item.item))} {choice}{where}"


def span(seconds: float) -> str:
    """`45 s`, `5 min`, `2.5 h`, `3 d`."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"
