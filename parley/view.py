"""What a person sees of a running session: lines as they come, and on a terminal the seats' states below them."""

import sys
from collections.abc import Iterable
from typing import Any, Protocol

import msgspec

from coordinator.budget import booked
from parley import madp_story, transcript, transcript_maci, transcript_madp, view_competition
from parley.competition_story import Due, Story, due
from parley.text import clean, line, line_end
from parley.transcript import Teller
from parley.transcript_competition import Block, Piece
from parley.turns import Turns
from schemas import log
from schemas.post import Live, Post
from schemas.result import Result
from schemas.session import Seat
from schemas.wire import SchemaError, decode

_STYLES = {
    "heading": "bold", "seat": "cyan", "score": "yellow", "quiet": "dim", "stop": "bold green", "answer": "bold",
    **view_competition.STYLES,
}  # fmt: skip
_TEXT = 400
_KEPT = 40_000
"""Characters of a text that is under way."""


class View(Protocol):
    """Takes what happens."""

    wants_log: bool
    tells: bool

    def knows(self, turns: Turns) -> None: ...
    def rules(self, story: Story) -> None: ...
    def located(self, where: str) -> None: ...
    def opened(self, sid: str, protocol: str, question: str, continues: str = "") -> None: ...
    def post(self, post: Post) -> None: ...
    def live(self, live: Live) -> None: ...
    def entry(self, entry: str) -> None: ...
    def workers(self, queues: frozenset[str]) -> None: ...
    def note(self, text: str) -> None: ...
    def result(self, result: Result) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def close(self) -> None: ...


class SeatState:
    """One seat as it is now."""

    def __init__(self) -> None:
        self.state = ""
        self.text = ""
        self.round = 0
        self.turn = ""

    @property
    def asked(self) -> int:
        """The transition that asked its present turn; -1: none was."""
        return _asked(self.turn)

    def shown(self, served: bool = True) -> str:
        """queued | no worker | thinking | retrying | answered | failed | idle"""
        waits = self.state in ("queued", "thinking", "retrying")
        return "no worker" if waits and not served else self.state or "idle"


class Scene:
    """The seats and figures of one session, from posts, live text, and, where the credential may read it, the log."""

    def __init__(self) -> None:
        self.seats: dict[str, SeatState] = {}
        self.round = 0
        self.trend: tuple[float, ...] = ()
        self.band = ""
        self.direction = ""
        self.signals = ""
        """Of MACI: the last round's signals, and the dials of the next."""
        self.scored = True
        """Whether rounds have a score; a task's have none."""
        self.tokens = 0
        self.calls = 0
        self._turns: dict[str, log.Ask] = {}
        self._seats: dict[str, Seat] = {}
        self._queues: dict[str, str] = {}
        """Of each seat: who is asked now."""
        self._alive: frozenset[str] | None = None

    def seat(self, name: str) -> SeatState:
        """The state of a seat, new if need be."""
        return self.seats.setdefault(name, SeatState())

    def workers(self, queues: frozenset[str]) -> None:
        """Note which queues a living worker serves."""
        self._alive = queues

    def shown(self, name: str) -> str:
        """A seat's state in a word. `no worker`: it waits, and nobody who is alive serves its queue."""
        return self.seat(name).shown(self._alive is None or self._queues.get(name, name) in self._alive)

    def post(self, post: Post) -> None:
        """Fold one post. A seat that was asked anew in the meantime, or with the post itself, is at its new turn."""
        self.round = max(self.round, post.round)
        self.scored = self.scored and post.kind != "task"
        seat = self.seat(post.seat) if post.seat else None
        if seat is not None and seat.asked < post.transition:
            seat.text, seat.state = "", "answered"
        if post.kind in ("assessment", "tally"):
            body: dict[str, Any] = msgspec.json.decode(post.body)
            self.trend = tuple(body.get("trend") or ())
            self.band, self.direction = str(body.get("band") or body.get("label", "")), str(body.get("direction", ""))
        self.signals = transcript_maci.foot(post) or self.signals

    def busy(self) -> dict[str, tuple[str, str]]:
        """Seats that are at something: state, and text so far."""
        names = sorted(
            name for name, seat in self.seats.items() if seat.state in ("queued", "thinking", "retrying", "text")
        )
        return {name: (self.shown(name), self.seats[name].text) for name in names}

    def dues(self) -> dict[str, Due]:
        """What the turns are for that seats are at, as far as the log has been read: of another turn it says nothing,
        since each has a limit of its own."""
        return {name: due(self._turns[seat.turn]) for name, seat in self.seats.items() if seat.turn in self._turns}

    def used(self) -> str:
        """What was used so far."""
        return f"{self.tokens:,} tokens, {self.calls} calls"

    def foot(self) -> str:
        """The session's figures on one line."""
        trend = " → ".join(f"{s:.0f}" for s in self.trend) or "–"
        score = f"score {trend} {line(self.band)} {line(self.direction)}" if self.scored else ""
        moves = self.signals or score
        return " · ".join(part for part in (f"round {self.round or 1}", moves, self.used()) if part)

    def live(self, live: Live) -> None:
        """Fold one sign of life."""
        seat = self.seat(live.seat)
        if _asked(live.turn) < seat.asked:
            return
        if live.turn != seat.turn:
            seat.turn, seat.text = live.turn, ""
        if live.state == "text":
            seat.text = (seat.text + live.text)[-_KEPT:]
        elif live.state == "done":
            seat.state = "answered"
        else:
            seat.state = live.state

    def entry(self, text: str) -> None:
        """Fold one log entry: who was asked, who answered, what was used."""
        try:
            entry = decode(text.encode(), log.Entry)
        except SchemaError:
            return  # written by another version; the posts go on
        if isinstance(entry.event, log.Opened):
            self.scored = entry.event.protocol != "madp"
            self._seats = {s.seat: s for s in entry.event.seats}
            self._queues = {s.seat: s.queue for s in entry.event.seats}
        if isinstance(entry.event, log.Replied):
            ask = self._turns.get(entry.event.turn)
            seat, usage = ask.seat if ask else "", entry.event.usage
            if ask and seat in self._seats:
                usage = booked(self._seats[seat], ask.caps, usage, person=bool(ask.queue))
            self.tokens += usage.input_tokens + usage.output_tokens
            self.calls += usage.calls
            if seat and self.seat(seat).turn == entry.event.turn:
                self.seat(seat).state = "failed" if entry.event.error else "answered"
        for index, command in enumerate(entry.commands):
            if isinstance(command, log.Invite):
                self._seats[command.seat.seat] = command.seat
            elif isinstance(command, log.Ask):
                turn = f"{entry.n}-{index}"
                self._turns[turn] = command
                own = self._seats.get(command.seat)
                self._queues[command.seat] = command.queue or (own.queue if own else command.seat)
                self.round = max(self.round, command.round)
                seat_state = self.seat(command.seat)
                if seat_state.turn != turn and entry.n > seat_state.asked:
                    seat_state.turn, seat_state.text = turn, ""
                    seat_state.state = "retrying" if command.attempt > 1 else "queued"


def _asked(turn: str) -> int:
    """The transition that asked a turn, as its id says; -1 where it says none."""
    n = turn.partition("-")[0]
    return int(n) if n.isdecimal() else -1


class QuietView:
    """Shows nothing while it runs; notes go to stderr."""

    wants_log = False
    tells = False
    """Whether it tells posts as they come."""
    _turns: Turns | None = None
    _where = ""

    def knows(self, turns: Turns) -> None:
        """What becomes of the turns, as far as it is known; it grows."""
        self._turns = turns

    def rules(self, story: Story) -> None:
        """What a competition is played by."""

    def located(self, where: str) -> None:
        """The options that name the bus, for commands that are shown."""
        self._where = where

    def opened(self, sid: str, protocol: str, question: str, continues: str = "") -> None:
        """The session is open."""

    def post(self, post: Post) -> None:
        """Something was said. A question to a human is told: somebody has to answer it."""
        item = madp_story.body_of(post) if post.kind == "item" else None
        if item is not None:
            for _, text in transcript_madp.item_lines(post.session, item, post.at_ns, self._where):
                self.note(f"parley: {text.strip()}")

    def live(self, live: Live) -> None:
        """A seat's state or text."""

    def entry(self, entry: str) -> None:
        """One entry of the log."""

    def workers(self, queues: frozenset[str]) -> None:
        """Queues that a living worker serves."""

    def note(self, text: str) -> None:
        """Something that the user should know."""
        print(clean(text), file=sys.stderr, flush=True)

    def result(self, result: Result) -> None:
        """It is over; where it failed, why turns came to nothing."""
        if transcript.failed(result) and self._turns is not None:
            for text in transcript.came_to_nothing(self._turns):
                self.note(f"parley: {text}")

    def pause(self) -> None:
        """The terminal is wanted for a question."""

    def resume(self) -> None:
        """The question is over."""

    def close(self) -> None:
        """Leave the terminal as it was."""


class AnswerView(QuietView):
    """Prints the answer alone; without one, why not goes to stderr."""

    def result(self, result: Result) -> None:
        """It is over."""
        answer = clean(transcript.answer_of(result))
        if not answer:
            self.note(f"parley: no answer: {transcript.stop_words(result)}")
            super().result(result)
        print(answer, flush=True)


class PlainView(QuietView):
    """Lines on standard output, without any escape."""

    tells = True

    def __init__(self) -> None:
        self._teller = Teller(brief=True)

    def rules(self, story: Story) -> None:
        """What a competition is played by."""
        self._teller.story = story

    def located(self, where: str) -> None:
        """The options that name the bus, for commands that are shown."""
        self._teller.where = where

    def knows(self, turns: Turns) -> None:
        """What becomes of the turns."""
        self._teller.turns = turns

    def opened(self, sid: str, protocol: str, question: str, continues: str = "") -> None:
        """The session is open."""
        self._print(transcript.opening(sid, protocol, question, continues))

    def post(self, post: Post) -> None:
        """Something was said."""
        self._print(self._teller.lines(post))

    def result(self, result: Result) -> None:
        """It is over."""
        self._print([("", ""), *self._teller.end(result)])

    def _print(self, lines: Iterable[transcript.Line]) -> None:
        for _, text in lines:
            print(text, flush=True)


class LiveView(PlainView):
    """The same lines, coloured, and below them the seats as they are now."""

    wants_log = True

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live as RichLive

        super().__init__()
        self._scene = Scene()
        self._console = Console(highlight=False, markup=False, emoji=False)
        self._live = RichLive(
            console=self._console, transient=True, refresh_per_second=8, get_renderable=self._render,
            redirect_stdout=False, redirect_stderr=False,
        )  # fmt: skip
        self._live.start()

    def post(self, post: Post) -> None:
        """Something was said."""
        self._scene.post(post)
        self._print(self._teller.pieces(post, max(40, self._console.width - 20)))

    def live(self, live: Live) -> None:
        """A seat's state or text."""
        self._scene.live(live)

    def entry(self, entry: str) -> None:
        """One entry of the log."""
        self._scene.entry(entry)

    def workers(self, queues: frozenset[str]) -> None:
        """Queues that a living worker serves."""
        self._scene.workers(queues)

    def note(self, text: str) -> None:
        """Something that the user should know."""
        self._print([("score", clean(text))])

    def result(self, result: Result) -> None:
        """It is over."""
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
        from rich.text import Text

        for piece in lines:
            if isinstance(piece, Block):
                self._console.print(view_competition.framed(piece, self._console.width))
            else:
                style, text = piece
                told = Text(text, style=_STYLES.get(style, ""))  # wrapped at words
                hangs = self._teller.story.began and text.startswith(" ")
                self._console.print(view_competition.hanging(text, told.style) if hangs else told)

    def _render(self) -> Any:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        scene, story = self._scene, self._teller.story
        if story.began:
            size = self._console.size
            rows = view_competition.under_way(story, scene.busy(), scene.dues(), size.width, size.height)
            stage = f"{line(story.stage_words(story.round))} · " if story.round else ""
            return Group(*rows, Text(f"{stage}{scene.used()}", style="yellow"))
        table = Table.grid(padding=(0, 2))
        for name, seat in sorted(scene.seats.items()):
            tail = line_end(seat.text[-4 * _TEXT :], max(20, self._console.width - 40))
            table.add_row(
                Text(line(name), style="cyan"), Text(scene.shown(name), style="bold"), Text(tail, style="dim")
            )
        table.add_row(Text(""), Text(""), Text(scene.foot(), style="yellow"))
        return table


def choose(*, json: bool, quiet: bool, plain: bool) -> View:
    """The view for this output: none for JSON, the answer alone, plain lines where there is no terminal, or the live
    one."""
    import os

    if json:
        return QuietView()
    if quiet:
        return AnswerView()
    if plain or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not sys.stdout.isatty():
        return PlainView()
    return LiveView()
