"""Recorded sessions as each screen shows them: `golden/NAME.*`, read by people, compared by a test.

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
    "screen.txt": screen,
    "explain.txt": lambda record: "\n".join(explain.explanation_lines(record)) + "\n",
    "md": lambda record: "\n".join(terminal.markdown(record)) + "\n",
    "html": lambda record: _BULK.sub("...", "\n".join(html.html(record))) + "\n",
    "json": page,
}
"""Ending of a file -> what makes it."""


def made(name: str, form: str) -> str:
    """One of them, as the code makes it."""
    return FORMS[form](read_record(LOGS / f"{name}.jsonl"))


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in SESSIONS:
        for ending in FORMS:
            (FOLDER / f"{name}.{ending}").write_text(made(name, ending), encoding="utf-8")
    from tests.client import endings

    (FOLDER / "endings.txt").write_text(endings.text(), encoding="utf-8")
