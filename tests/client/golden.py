"""Recorded sessions as each screen shows them: `golden/NAME.txt`, read by people, compared by a test.

python -m tests.client.golden    writes them anew
"""

import asyncio
import contextlib
import io
import re
from collections.abc import Callable
from pathlib import Path

import msgspec

from parley.client.records import Record, read_record
from parley.client.rendering import explain, html, terminal
from parley.client.view.fold import Fold, fold_of
from parley.show.view import PlainView
from parley.web.page.snapshot import session

LOGS = Path(__file__).parents[1] / "played" / "sessions" / "logs"
SESSIONS = ("competition", "compound", "consensus", "critic", "diagnosis", "ranking", "single", "task", "undecided")
FOLDER = Path(__file__).parent / "golden"


def screen(record: Record) -> str:
    """What `parley ask` prints where it is no terminal."""
    out = io.StringIO()

    async def play() -> None:
        view, fold = PlainView(), Fold(record.sid)
        view.begins(fold)
        for n, text in enumerate(record.entries):
            cards = fold.entry(text)
            if not n:
                view.opened()
            view.cards(cards, fold.notices())
        assert fold.result is not None
        view.result(fold.result)

    with contextlib.redirect_stdout(out):
        asyncio.run(play())
    return out.getvalue()


def page(record: Record) -> str:
    """What the web page gets of it, without what it may do and what the pictures and parts repeat."""
    shown = session(fold_of(record), owner=True, can=("export",))
    return msgspec.json.format(msgspec.json.encode(shown), indent=1).decode() + "\n"


_BULK = re.compile(r"(?<=base64,)[^\"]+|(?<=<style>).*?(?=</style>)", re.DOTALL)
"""Of a page in one file: pictures and the style sheet, which nobody reads."""
FORMS: dict[str, Callable[[Record], str]] = {
    "screen": screen,
    "explain": lambda record: "\n".join(explain.explanation_lines(record)) + "\n",
    "markdown": lambda record: "\n".join(terminal.markdown(record)) + "\n",
    "html": lambda record: _BULK.sub("...", "\n".join(html.html(record))) + "\n",
    "json": page,
}
"""Head of a part of the file -> what makes it."""
_HEAD = re.compile(r"^######## (\w+)\n", re.MULTILINE)


def recorded(name: str) -> Record:
    return read_record(LOGS / f"{name}.jsonl")


def made(name: str) -> dict[str, str]:
    """All of a session, as the code makes it."""
    record = recorded(name)
    return {form: make(record) for form, make in FORMS.items()}


def kept(name: str) -> dict[str, str]:
    """The same, as it was read."""
    _, *parts = _HEAD.split((FOLDER / f"{name}.txt").read_text(encoding="utf-8"))
    return dict(zip(parts[::2], parts[1::2], strict=True))


if __name__ == "__main__":
    for name in SESSIONS:
        whole = "".join(f"######## {form}\n{text}" for form, text in made(name).items())
        (FOLDER / f"{name}.txt").write_text(whole, encoding="utf-8")
    from tests.client import endings

    (FOLDER / "endings.txt").write_text(endings.text(), encoding="utf-8")
