"""Whatever seats, models, documents, endpoints and files say stands in a margin, on every screen and export: no quoted
text puts a line at column 0, and no character of it is obeyed or hides."""

import asyncio
import contextlib
import io
import json
import re
import time
import unicodedata
from collections.abc import Callable, Iterable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from parley.client.follow_up import found_by
from parley.client.records import Record, read_record, result_of
from parley.client.rendering import explain, html, terminal
from parley.client.rendering.terminal import bare
from parley.client.rendering.told import to_api
from parley.client.show.open_items import OpenItem, item_lines
from parley.client.show.printing import say_all
from parley.client.show.session_list import SessionLine, sessions_table
from parley.client.text import hung, line
from parley.client.view.fold import Fold, fold_of
from parley.process import report_error
from parley.schemas.result import Result
from parley.show.view import AnswerView, LiveView, PlainView, TerminalView
from parley.web import verdicts
from parley.web.mcp.following import _form

LOGS = sorted(p for p in (Path(__file__).parents[2] / "old_logs" / "1").glob("*.jsonl") if p.stem != "breaker")
FORGED = "FORGED"
BREAKS = ("\n", "\n\n", "\r\n", "\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", " \n", "\n\t")
MARKS = tuple("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
UNSEEN = (*MARKS, *"\u200b\u2060\u2063\ufeff\u00ad\u180e\ufff9\U000e0041")
STEERS = ("\x1b[1A\x1b[2K\r", "\x9b2J", "\x00", "\x08" * 8, "\x7f", "\x1b]8;;http://x\x1b\\", "\ud800")
MARKUP = ("```\n", "~~~\n", "</pre></div><p>", "\n# ", "\n</article>", "word " * 30)
hostile = st.lists(st.sampled_from((*BREAKS, *UNSEEN, *STEERS, *MARKUP)), min_size=1, max_size=10).map(
    lambda parts: FORGED + "".join(f"{part}{FORGED}: agreed. " for part in parts)
)
FRAME = {
    "t", "type", "kind", "channel", "seat", "queue", "role", "protocol", "version", "session", "sid", "status",
    "reason", "state", "at", "place", "id", "stage", "side", "team", "model", "family", "phase", "effort", "scope",
    "verdict", "operation",
}  # fmt: skip
"""Fields by which a message is known, and names that admission checks."""
SAID = {
    "answer", "label", "position", "document", "quote", "claim", "statement", "shared", "text", "summary", "why",
    "note", "error",
}  # fmt: skip


def texts_of(value: Any, key: str, everything: bool) -> set[str]:
    """What participants wrote: texts of several words, and what stands in a field that is theirs."""
    if isinstance(value, dict):
        return set().union(*(texts_of(v, k, everything) for k, v in value.items()))
    if isinstance(value, list):
        return set().union(*(texts_of(v, key, everything) for v in value))
    theirs = isinstance(value, str) and value and key not in FRAME and (everything or " " in value or key in SAID)
    return {value} if theirs else set()


def replaced(value: Any, texts: set[str], text: str) -> Any:
    if isinstance(value, dict):
        given = {k: v if k in FRAME else replaced(v, texts, text) for k, v in value.items()}
        labels = {k for k in given if k in texts and not (k.isidentifier() and k.islower())}
        return {(text + k if k in labels else k): v for k, v in given.items()}
    if isinstance(value, list):
        return [replaced(v, texts, text) for v in value]
    return text + value if isinstance(value, str) and value in texts else value


def forged(path: Path, text: str, *, everything: bool = False) -> Record:
    """The record with this text before everything that somebody wrote. `everything`: also where nobody writes."""
    record = read_record(path)
    text = text.encode("utf-8", "replace").decode() if "\ud800" in text else text
    entries = [json.loads(entry) for entry in record.entries]
    said = [c.get("body") for entry in entries for c in entry["commands"]]
    texts = texts_of(said, "", everything) | {entries[0]["event"]["question"]}
    for entry in entries:
        for command in entry["commands"]:
            if command.get("body") is not None:
                command["body"] = replaced(command["body"], texts, text)
    entries[0]["event"]["question"] = text + entries[0]["event"]["question"]
    return Record(sid=record.sid, entries=tuple(json.dumps(entry) for entry in entries))


def printed(show: Callable[[], Any]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        show()
    return out.getvalue()


def view(of: Callable[[], TerminalView], record: Record) -> str:
    """What a view prints of a session, from its opening to its end."""

    async def play() -> None:
        fold, shows = Fold(record.sid, everything=True), of()
        shows.begins(fold)
        for n, text in enumerate(record.entries):
            cards = fold.entry(text)
            if not n:
                shows.opened()
            shows.cards(cards, fold.notices())
        shows.note(f"parley: {fold.question}")
        assert fold.result is not None
        shows.result(fold.result)
        shows.close()

    return printed(lambda: asyncio.run(play()))


def ended(record: Record) -> Result:
    result = result_of(record)
    assert result is not None
    return result


def whole(record: Record) -> Fold:
    return fold_of(record, everything=True)


SCREENS: dict[str, Callable[[Record], str]] = {
    "sessions show": lambda r: printed(lambda: say_all(terminal.show(r))),
    "explain": lambda r: printed(lambda: say_all(explain.explanation_lines(r, "all"))),
    "ask --plain": lambda r: view(PlainView, r),
    "ask --plain --verbose": lambda r: view(lambda: PlainView(verbose=True), r),
    "ask, live": lambda r: view(LiveView, r),
    "ask, live --verbose": lambda r: view(lambda: LiveView(verbose=True), r),
    "ask --json, its notes": lambda r: view(TerminalView, r),
    "export --format markdown": lambda r: "\n".join(terminal.markdown(r)),
    "print(result)": lambda r: str(to_api(ended(r))),
    "MCP explain": lambda r: "\n".join(map(hung, explain.explanation_lines(r, "all"))),
    "MCP and /v1 posts": lambda r: "\n".join(verdicts.text_of(card) for card in whole(r).cards),
    "the document of a follow-up": lambda r: found_by(r.sid, whole(r).question, result_of(r), whole(r).posts).text,
}
"""Everything that shows a session as text."""
WHOLE = {"sessions show", "ask --plain --verbose", "ask, live --verbose", "export --format markdown"}
"""Those that show all that was said."""


def hidden(text: str) -> set[str]:
    """Characters that a terminal obeys, or nobody sees."""
    kinds = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
    return {f"U+{ord(c):04X}" for c in text if unicodedata.category(c) in kinds and c not in "\n\t\u200c\u200d"}


def at_the_edge(text: str) -> list[str]:
    """Rows that begin with somebody else's words."""
    return [row[:60] for row in re.split("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", text) if row.startswith(FORGED)]


def faults(shown: str) -> tuple[list[str], set[str]]:
    return at_the_edge(shown), hidden(shown)


modest = settings(max_examples=4, phases=[Phase.generate])
every_log = pytest.mark.parametrize("path", LOGS, ids=[p.stem for p in LOGS])


@every_log
@modest
@given(text=hostile, everything=st.booleans())
def test_no_quoted_text_puts_a_line_at_column_0(path: Path, text: str, everything: bool) -> None:
    record = forged(path, text, everything=everything)
    shown = {screen: show(record) for screen, show in SCREENS.items()}
    assert {screen: faults(text) for screen, text in shown.items() if faults(text) != ([], set())} == {}
    assert all(FORGED in shown[screen] for screen in WHOLE), "somebody's words are there"


@every_log
@modest
@given(text=hostile)
def test_a_door_for_programs_and_whoever_wants_the_answer_alone_gets_nothing_that_nobody_sees(
    path: Path, text: str
) -> None:
    """Of a verdict the first line is the answer, where the session converged."""
    converged, record = ended(read_record(path)).stop.converged, forged(path, text)
    first, _, rest = verdicts.verdict(ended(record)).partition("\n")
    assert faults(rest) == ([], set()) and not hidden(first)
    assert converged or not first.startswith(FORGED)
    assert not hidden(view(AnswerView, record))


class Texts(HTMLParser):
    """The texts of a page with the elements in which they stand."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.path: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "br", "col", "img"):
            self.path.append(f"{tag}.{dict(attrs).get('class') or ''}")

    def handle_endtag(self, tag: str) -> None:
        assert self.path.pop().startswith(f"{tag}.")

    def handle_data(self, data: str) -> None:
        self.texts.append((self.path[-1] if self.path else "", data))


@every_log
@modest
@given(text=hostile)
def test_no_text_breaks_out_of_its_element_on_the_page(path: Path, text: str) -> None:
    record = forged(path, text)
    for shown in ("\n".join(html.html(record)), to_api(ended(record), posts=fold_of(record).posts)._repr_html_()):
        assert FORGED in shown and not hidden(shown)
        elements = Texts(shown)
        assert elements.path == [], "every element is closed"
        outside = ("body.", "main.", "section.", ".", "div.parley-result")
        assert all(FORGED not in said for where, said in elements.texts if where in outside)


@modest
@given(text=hostile)
def test_lists_and_errors_keep_the_margin(text: str) -> None:
    text = text.replace("\ud800", "")
    row = SessionLine(
        session="s1", protocol=text, question=text, status="finished", reason=text, opened_ns=0, owner=text, seq=1,
        answer=text, kind="agreed",
    )  # fmt: skip
    item = OpenItem(item="1", kind=text, question=text, choices=(text,), default=text, deadline_ns=time.time_ns())
    rows: Iterable[Iterable[str]] = (
        sessions_table([row]), sessions_table([row], 60), bare(item_lines("s1", item, 0)),
        [f"a line of Parley's: {text}", f"    {text}"],
    )  # fmt: skip
    for lines in rows:
        assert faults(printed(lambda lines=lines: say_all(lines))) == ([], set())  # type: ignore[misc]
    assert faults(printed(lambda: report_error(f"the endpoint says: {text}", "x", 2, json=False))) == ([], set())
    assert faults(_form(item).message.partition("\n")[2]) == ([], set())


@given(text=hostile | st.text(max_size=60), width=st.integers(20, 120), indent=st.integers(0, 8))
def test_rows_that_a_terminal_would_wrap_stand_in_the_margin_too(text: str, width: int, indent: int) -> None:
    shown = hung(" " * indent + "Answer: " + text, width)
    assert faults(shown) == ([], set())
    assert all(row.startswith(" " * max(indent, 2)) for row in shown.split("\n")[1:])
    assert len(line(text).splitlines()) <= 1 and not hidden(line(text))
