"""What a person sees of a running session: lines as they come, and on a terminal the seats' states below them."""

import asyncio
import sys
import time
from collections.abc import Iterable, Mapping
from typing import Any

from parley.client.live_feed import View
from parley.client.protocols import face_of
from parley.client.rendering import transcript
from parley.client.rendering.transcript import Teller
from parley.client.show.frames import framed, shown_line
from parley.client.show.lines import Block, Piece, StyledLine
from parley.client.show.live_seats import Scene
from parley.client.show.open_items import item_lines
from parley.client.show.printing import give, say, say_all, terminal_width, warn
from parley.client.show.words import WHOLE, bare, opening_lines
from parley.client.text import clean, line, line_end
from parley.client.turns import Turns
from parley.schemas.post import Live, Post
from parley.schemas.result import Result
from parley.schemas.stops import STOPS

_TEXT = 400
_DRAWN_S = 0.12
"""Between two drawings of what stands below the lines."""
_CALL = 240
"""Characters of a call of a tool."""
_BRIEF = 100
"""Characters of what is said in passing, where one screen is wanted."""


class QuietView:
    """Shows nothing while it runs; notes go to stderr."""

    wants_log = False
    tells = False
    """Whether it tells posts as they come."""

    def __init__(self, *, verbose: bool = False) -> None:
        self._teller = Teller(brief=not verbose)
        self._verbose = verbose
        self._width = WHOLE if verbose else _BRIEF

    def knows(self, turns: Turns) -> None:
        """What becomes of the turns, as far as it is known; it grows."""
        self._teller.turns = turns

    def runs(self, protocol: str, settings: Mapping[str, Any]) -> None:
        """What the session runs, and by which settings; untold where whoever watches may not read them."""
        self._teller.presenter = face_of(protocol).present(settings)

    def located(self, where: str) -> None:
        """The options that name the bus, for commands that are shown."""
        self._teller.where = where

    def forgets(self) -> None:
        """Nothing of the session is kept."""
        self._teller.kept = False

    def is_led_on(self) -> None:
        """After the result the one next step is told, so no other hint is given."""
        self._teller.hints = False

    def leads_on(self, step: str) -> None:
        """What to do next."""
        self.note(f"next: {step}")

    def opened(self, sid: str, protocol: str, question: str, continues: str = "") -> None:
        """The session is open."""

    def post(self, post: Post) -> None:
        """Something was said. A question to a human is told: somebody has to answer it."""
        item = self._teller.asked(post)
        if item is not None:
            for text in bare(item_lines(post.session, item, post.at_ns, self._teller.where)):
                self.note(f"parley: {text.strip()}")

    def live(self, live: Live) -> None:
        """A seat's state or text."""

    def entry(self, entry: str) -> None:
        """One entry of the log."""

    def caught_up(self) -> None:
        """The entries that there were are read."""

    def workers(self, queues: frozenset[str]) -> None:
        """Queues that a living worker serves."""

    def note(self, text: str) -> None:
        """Something that the user should know."""
        warn(text)

    def result(self, result: Result) -> None:
        """It is over; where it failed, why turns came to nothing."""
        if transcript.failed(result):
            for text in transcript.came_to_nothing(self._teller.turns):
                self.note(f"parley: {text}")

    def pause(self) -> None:
        """The terminal is wanted for a question."""

    def resume(self) -> None:
        """The question is over."""

    def close(self) -> None:
        """Leave the terminal as it was."""


class AnswerView(QuietView):
    """Prints the answer alone, where the exit status says that there is one; what is not settled is marked as such.
    Without an answer, why not goes to stderr."""

    def result(self, result: Result) -> None:
        """Shows the result: the session is over."""
        answer, reason = clean(transcript.answer_of(result)), transcript.stop_words(result)
        if answer and STOPS[result.stop.reason].exit_status(result.stop.converged):
            say_all([f"Not settled: {reason}", *transcript.not_settled(result)])
        else:
            give(answer)
        if not answer:
            self.note(f"parley: no answer: {reason}")
            super().result(result)
        for text in transcript.beside_answer(result):
            self.note(f"parley: {text}")

    def leads_on(self, step: str) -> None:
        """The answer alone is wanted."""


class PlainView(QuietView):
    """Lines on standard output, without any escape."""

    wants_log = True
    tells = True

    def __init__(self, *, verbose: bool = False) -> None:
        super().__init__(verbose=verbose)
        self._scene = Scene()
        self._retrying: dict[str, str] = {}
        """Seat -> why it tries again, as it was told last."""

    def opened(self, sid: str, protocol: str, question: str, continues: str = "") -> None:
        """The session is open."""
        self._print(opening_lines(sid, protocol, question, continues))

    def post(self, post: Post) -> None:
        """Something was said."""
        self._scene.post(post)
        self._print(self._teller.lines(post, self._width))

    def live(self, live: Live) -> None:
        """A seat's state or text: each call of a tool is told as it happens, and what a seat waits for."""
        self._scene.live(live)
        if live.state == "tool":
            self._print([("quiet", f"      {line(live.seat)}: {line(live.text, _CALL)}")])
        elif live.state == "retrying" and live.text and self._retrying.get(live.seat) != live.text:
            self._retrying[live.seat] = live.text
            self._print([("quiet", f"      {line(live.seat)} tries again: {line(live.text, _CALL)}")])

    def entry(self, entry: str) -> None:
        """One entry of the log."""
        self._scene.entry(entry)

    def caught_up(self) -> None:
        """What came and is not posted yet is told: who watches need not wait for the others."""
        for seat, text in self._scene.arrived().items():
            self._print([("quiet", f"      {line(seat)} has answered: {line(text, _CALL)}")])

    def result(self, result: Result) -> None:
        """Shows the result: the session is over."""
        self._print([("", ""), *self._teller.end(result)])

    def _print(self, lines: Iterable[StyledLine]) -> None:
        for _, text in lines:
            say(text, terminal_width())


class LiveView(PlainView):
    """The same lines, coloured, and below them the seats as they are now."""

    def __init__(self, *, verbose: bool = False) -> None:
        from rich.console import Console
        from rich.live import Live as RichLive

        super().__init__(verbose=verbose)
        self._console = Console(highlight=False, markup=False, emoji=False)
        self._live = RichLive(
            console=self._console, transient=True, auto_refresh=False, get_renderable=self._render,
            redirect_stdout=False, redirect_stderr=False,
        )  # fmt: skip
        self._due: asyncio.TimerHandle | None = None
        self._live.start()

    def post(self, post: Post) -> None:
        """Something was said."""
        self._scene.post(post)
        self._changed()
        width = WHOLE if self._verbose else max(40, self._console.width - 20)
        self._print(self._teller.pieces(post, width))

    def live(self, live: Live) -> None:
        """A seat's state or text. What a seat waits for stands beside it."""
        self._changed()
        if live.state == "retrying":
            self._scene.live(live)
        else:
            super().live(live)

    def entry(self, entry: str) -> None:
        """One entry of the log."""
        super().entry(entry)
        self._changed()

    def workers(self, queues: frozenset[str]) -> None:
        """Queues that a living worker serves."""
        self._scene.workers(queues)
        self._changed()

    def note(self, text: str) -> None:
        """Something that the user should know."""
        self._print([("score", text)])

    def result(self, result: Result) -> None:
        """Shows the result: the session is over."""
        self.close()
        super().result(result)

    def pause(self) -> None:
        """The terminal is wanted for a question."""
        self._live.stop()

    def resume(self) -> None:
        """The question is over."""
        self._live.start()

    def close(self) -> None:
        """Leave the terminal as it was."""
        self._live.stop()

    def _print(self, lines: Iterable[Piece]) -> None:
        width = self._console.width
        for piece in lines:
            presenter = self._teller.presenter  # a first post may say which protocol it is
            if isinstance(piece, Block):
                self._console.print(framed(piece, presenter.colours, width))
            else:
                self._console.print(shown_line(piece, presenter.colours, width))

    def _changed(self) -> None:
        """The rows are drawn anew soon. Not by a thread of their own, as rich would: it may draw between the moment at
        which a line that is told looks how many rows to take back and the moment at which it is written, and then a
        row is left behind."""
        if self._due is None:
            self._due = asyncio.get_running_loop().call_later(_DRAWN_S, self._draw)

    def _draw(self) -> None:
        self._due = None
        if self._live.is_started:
            self._live.refresh()

    def _render(self) -> Any:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        scene, presenter, size = self._scene, self._teller.presenter, self._console.size
        foot = Text(scene.foot(presenter, time.time_ns()), style="yellow")
        rows = presenter.rows(scene.busy(), scene.asks(), size.width, size.height)
        if rows is not None:
            return Group(*rows, foot)
        table = Table.grid(padding=(0, 2))
        for name, seat in sorted(scene.seats.items()):
            tail = line_end(seat.text[-4 * _TEXT :], max(20, self._console.width - 40))
            table.add_row(
                Text(line(name), style="cyan"), Text(scene.shown(name), style="bold"), Text(tail, style="dim")
            )
        table.add_row(Text(""), Text(""), foot)
        return table


def choose(*, json: bool, quiet: bool, plain: bool, verbose: bool = False) -> View:
    """The view for this output: none for JSON, the answer alone, plain lines where there is no terminal, or the live
    one. `verbose`: everything that is said, and not one screen."""
    import os

    if json:
        return QuietView()
    if quiet:
        return AnswerView()
    if plain or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not sys.stdout.isatty():
        return PlainView(verbose=verbose)
    return LiveView(verbose=verbose)
