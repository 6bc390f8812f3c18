"""What a person sees of a running session: lines as they come, and on a terminal the seats' states below them."""

import asyncio
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from parley.client.following import Watcher
from parley.client.rendering.terminal import (
    StyledLine,
    bare,
    card_lines,
    end_lines,
    opening_lines,
    part_lines,
    table_lines,
)
from parley.client.show.open_items import OpenItem, item_lines
from parley.client.show.palette import STYLES, seat_name
from parley.client.show.printing import cuts, give, say, say_all, terminal_width, warn
from parley.client.text import clean, hung, line, line_end
from parley.client.view.fold import Fold
from parley.client.view.result import came_to_nothing
from parley.client.view.shapes import PostCard
from parley.client.view.taking import Notice
from parley.schemas.post import Live
from parley.schemas.result import Result

_TEXT = 400
_DRAWN_S = 0.12
"""Between two drawings of what stands below the lines."""
_CALL = 240
"""Characters of a call of a tool."""


class TerminalView(Watcher):
    """Takes what happens. This one shows nothing while it runs, but questions to a human; notes go to stderr."""

    def __init__(self, *, verbose: bool = False) -> None:
        self._fold = Fold("")
        self._verbose = verbose
        self.where = ""
        """The options that name the bus, for commands that are shown."""
        self.led = False
        """The card has no next step: it is told otherwise, or there is nothing to go on with."""
        self.drafts: asyncio.Queue[OpenItem] = asyncio.Queue()
        """Questions to a human who has something to change, as they come."""

    def next_step(self, step: str) -> None:
        """What to do next."""
        self.note(f"next: {step}")

    def begins(self, fold: Fold) -> None:
        """What the session is folded into, as it goes."""
        self._fold = fold
        fold.led = self.led

    def opened(self) -> None:
        """The session is open."""

    def cards(self, cards: Sequence[PostCard], notices: Iterable[Notice]) -> None:
        """Something was said. A question to a human is told: somebody has to answer it."""
        for card in cards:
            if card.asks is not None:
                for text in bare(item_lines(self._fold.sid, card.asks, card.at_ms * 1_000_000, self.where)):
                    self.note(f"parley: {text.strip()}")
        self._draft(cards)

    def _draft(self, cards: Sequence[PostCard]) -> None:
        for card in cards:
            if card.asks is not None and card.asks.draft:
                self.drafts.put_nowait(card.asks)

    def note(self, text: str) -> None:
        """Something that the user should know."""
        warn(text)

    def result(self, result: Result) -> None:
        """It is over; where it failed, why turns came to nothing."""
        card = self._fold.answer()
        if card is not None and (result.status == "failed" or not card.text):
            for text in came_to_nothing(self._fold.turns):
                self.note(f"parley: {text}")

    def told(self) -> dict[str, Any]:
        """What a document of the result does not say: the turns that no seat answered, and why."""
        nothing = self._fold.turns.nothing
        return {"unanswered": nothing} if nothing else {}

    def pause(self) -> None:
        """The terminal is wanted for a question."""

    def resume(self) -> None:
        """The question is over."""

    def close(self) -> None:
        """Leave the terminal as it was."""


class AnswerView(TerminalView):
    """Prints the answer alone, and on stderr how sure it is. What is not settled is marked as such."""

    def result(self, result: Result) -> None:
        """Shows the result: the session is over."""
        card = self._fold.answer()
        assert card is not None, "it is over"
        if card.text and card.exit_code:
            say_all(
                [
                    f"Not settled: {card.stop}" + (f"; {card.open}" if card.open else ""),
                    f"{card.word if card.open else 'Found so far'}: {clean(card.text)}",
                ]
            )
        else:
            give(clean(card.text))
        if not card.text:
            self.note(f"parley: no answer: {card.stop}")
            super().result(result)
        for text in card.weak:
            self.note(f"parley: {text}")
        if card.text:
            self.note(f"parley: {line(card.sure)}")

    def next_step(self, step: str) -> None:
        """The answer alone is wanted."""


class PlainView(TerminalView):
    """Lines on standard output, without any escape."""

    def __init__(self, *, verbose: bool = False) -> None:
        super().__init__(verbose=verbose)
        self._retrying: dict[str, str] = {}
        """Seat -> why it tries again, as it was told last."""
        self._round = -1
        """The one whose title was told last."""

    def opened(self) -> None:
        """The session is open."""
        self._print(opening_lines(self._fold, cut=cuts()))

    def cards(self, cards: Sequence[PostCard], notices: Iterable[Notice]) -> None:
        """Something was said."""
        for card in cards:
            self._print(self._told(card))
        self._draft(cards)
        self._print(("score", f"  {n.text}") for n in notices if self._verbose or not n.more)

    def _told(self, card: PostCard) -> Iterable[StyledLine]:
        lines = list(card_lines(card, brief=not self._verbose, cut=cuts(), where=self.where, session=self._fold.sid))
        title = self._fold.show.round_title(card.round)
        if lines and card.round > self._round:
            self._round = card.round
            if self._verbose or ":" in title:  # stages of a debate have names
                note = self._fold.show.round_note(card.round)
                yield "heading", line(" · ".join(filter(None, (title, note))))
        yield from lines

    def live(self, live: Live) -> None:
        """A seat's state or text: each call of a tool is told as it happens, and what a seat waits for."""
        self._fold.live(live)
        if live.state == "tool":
            self._print([("quiet", f"      {seat_name(live.seat)}: {line(live.text, _CALL)}")])
        elif live.state == "retrying" and live.text and self._retrying.get(live.seat) != live.text:
            self._retrying[live.seat] = live.text
            self._print([("quiet", f"      {seat_name(live.seat)} tries again: {line(live.text, _CALL)}")])

    def caught_up(self, *, news: bool) -> None:
        """What came and is not posted yet is told: who watches need not wait for the others."""
        for seat, text in self._fold.scene.arrived().items():
            if self._verbose:  # one screen has it as soon as it is posted, and the live view at its seat
                self._print([("quiet", f"      {seat_name(seat)} has answered: {line(text, _CALL)}")])

    def result(self, result: Result) -> None:
        """Shows the result: the session is over."""
        card = self._fold.answer()
        assert card is not None, "it is over"
        self._print([("", "")])
        for part in card.parts:
            if self._verbose or part.first:
                self._print(part_lines(part))
        self._print(end_lines(self._fold, self.where, cut=cuts()))

    def _print(self, lines: Iterable[StyledLine]) -> None:
        for _, text in lines:
            say(text, terminal_width())


class LiveView(PlainView):
    """The same lines, coloured, and below them the seats as they are now."""

    wants_workers = True

    def __init__(self, *, verbose: bool = False) -> None:
        from rich.console import Console
        from rich.live import Live as RichLive

        super().__init__(verbose=verbose)
        self._console = Console(highlight=False, markup=False, emoji=False)
        self._live = RichLive(
            console=self._console,
            transient=True,
            auto_refresh=False,
            get_renderable=self._render,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._due: asyncio.TimerHandle | None = None
        self._live.start()

    def cards(self, cards: Sequence[PostCard], notices: Iterable[Notice]) -> None:
        """Something was said."""
        super().cards(cards, notices)
        self._changed()

    def live(self, live: Live) -> None:
        """A seat's state or text. What a seat waits for stands beside it."""
        self._changed()
        if live.state == "retrying":
            self._fold.live(live)
        else:
            super().live(live)

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

    def _print(self, lines: Iterable[StyledLine]) -> None:
        from rich.text import Text

        for style, text in lines:
            self._console.print(Text(hung(text, self._console.width), style=STYLES.get(style, "")))

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

        fold, width = self._fold, self._console.width
        table = Table.grid(padding=(0, 2))
        for seat in sorted(fold.seat_views(), key=lambda s: s.seat):
            if seat.state == "idle":
                continue
            head = Text(f"{seat.does or seat.state}", style="bold magenta" if "OVERTIME" in seat.does else "bold")
            tail = line_end(seat.text[-4 * _TEXT :], max(20, width - 24 - len(head)))
            table.add_row(Text(seat_name(seat.seat), style="cyan"), head, Text(tail, style="dim"))
        board = fold.board()
        scores = [Text(text, style=STYLES.get(style, "")) for style, text in table_lines(board)] if board else []
        return Group(table, *scores, Text(fold.foot(), style="yellow"))


def choose(*, json: bool, quiet: bool, plain: bool, verbose: bool = False) -> TerminalView:
    """The view for this output: none for JSON, the answer alone, plain lines where there is no terminal, or the live
    one. `verbose`: everything that is said, and not one screen."""
    if json:
        return TerminalView()
    if quiet:
        return AnswerView()
    if plain or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not sys.stdout.isatty():
        return PlainView(verbose=verbose)
    return LiveView(verbose=verbose)
