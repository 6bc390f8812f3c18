"""A competition on a terminal: speeches in frames of their team's colour, and below them who speaks, with words and
clock running, and the scoreboard."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from parley.client.protocols.competition.story import Due, Story, team_of
from parley.client.protocols.competition.transcript import WARNING, clock, points, speaker, words_told
from parley.client.show.frames import framed, styles_of
from parley.client.show.lines import Block
from parley.client.text import clean, line, wrapped
from parley.schemas.protocols.competition.format import TEAMS

if TYPE_CHECKING:
    from rich.console import RenderableType

COLOURS = {"pro": "bright_blue", "con": "bright_red", "judge": "yellow"}
_STYLES = styles_of(COLOURS)
_DOES = {
    "confer": "confers", "speak": "speaks", "question": "asks", "answer": "answers", "captain": "decides who speaks",
    "bid": "bids", "score": "scores", "summarize": "sums up", "review": "reviews", "vote": "votes",
}  # fmt: skip
_ALOUD = frozenset({"speak", "question", "answer", "review"})
_ROWS = 6
"""Of a speech that is under way."""
_LOW = 24
"""A terminal with fewer lines gets fewer of them."""


def under_way(
    story: Story, seats: Mapping[str, tuple[str, str]], dues: Mapping[str, Due], width: int, height: int
) -> "Iterator[RenderableType]":
    """What stands below the debate: whoever speaks, what the others do, the scoreboard.

    Parameters
    ----------
    seats
        Seat -> (state, text so far), of those that are at something.
    dues
        What they were asked for, as far as the log may be read.
    """
    from rich.text import Text

    others = []
    for seat, (state, text) in seats.items():
        due = dues.get(seat)
        if text and (due is None or due.kind in _ALOUD):
            yield _speaking(story, seat, text, due, width, _ROWS if height >= _LOW else 2)
        else:
            does = _DOES.get(due.kind, line(due.kind)) if due is not None else line(state)
            others.append(f"{line(seat)} {does}" + ("" if state in ("queued", "thinking") else f" ({line(state)})"))
    if others:
        yield Text(", ".join(others), style="dim")
    if story.totals or story.left:
        yield _board(story, width)


def progress(story: Story, seat: str, text: str, due: Due | None) -> tuple[str, bool]:
    """Who speaks, words and time of a text that is under way, and whether it is beyond its limit."""
    words = story.words(text)
    so_far = words_told(words)
    does = _DOES.get(due.kind, "speaks") if due is not None else "speaks"
    figures, over = f"{so_far} words, {clock(story.seconds(words))}", False
    if due is not None and due.words is not None:
        over = words > due.words
        clocks = f"{clock(story.seconds(words))} of {clock(story.seconds(due.words))}"
        figures = f"{so_far} of {due.words:,} words, {clocks}"
    if due is not None and due.seconds_left is not None:
        figures += f", team clock {clock(due.seconds_left - story.seconds(words))}"
    return f"{speaker(seat, story)} {does}: {figures}" + (f" {WARNING} OVERTIME" if over else ""), over


def _speaking(story: Story, seat: str, text: str, due: Due | None, width: int, rows: int) -> "RenderableType":
    title, over = progress(story, seat, text, due)
    tail = [row for part in clean(text).split("\n") for row in wrapped(part, width - 4)][-rows:]
    foot = (("warning", "beyond the limit"),) if over else ()
    return framed(Block(style=team_of(seat), title=title, text="\n".join(tail), foot=foot), COLOURS, width)


def _board(story: Story, width: int) -> "RenderableType":
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=width >= 60)
    for team in TEAMS:
        clocks = f"{clock(story.left[team])} left" if team in story.left else ""
        taken = story.taken(team)
        fined = f"{WARNING} {points(taken)}" if taken else ""
        seats = "  ".join(f"{line(s)} {points(story.total(s))}" for s in story.seats(team))
        cells: list[Any] = [
            Text(line(story.team_name(team), 24), style=_STYLES[team]), Text(points(story.total(team)), style="bold"),
            Text(clocks), Text(fined, style=_STYLES["warning"]),
        ]  # fmt: skip
        if width >= 60:
            cells.append(Text(seats, style="dim"))
        table.add_row(*cells)
    return Panel(table, title="Scoreboard", title_align="left", border_style="yellow", width=width)
