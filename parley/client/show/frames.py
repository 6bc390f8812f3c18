"""Lines and blocks on a terminal that shows colours."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from parley.client.show.lines import Block, StyledLine
from parley.client.text import clean, hung

if TYPE_CHECKING:
    from rich.console import RenderableType

_STYLES = {
    "heading": "bold", "seat": "cyan", "score": "yellow", "quiet": "dim", "stop": "bold green", "answer": "bold",
    "warning": "bold magenta",
}  # fmt: skip


def styles_of(colours: Mapping[str, str]) -> dict[str, str]:
    """Style -> how a terminal shows it. `colours`: of a protocol's own styles."""
    return {**_STYLES, **{style: f"bold {colour}" for style, colour in colours.items()}}


def framed(block: Block, colours: Mapping[str, str], width: int) -> "RenderableType":
    """A block in its frame; a title that does not fit stands inside."""
    from rich.console import Group
    from rich.panel import Panel
    from rich.text import Text

    styles, colour = styles_of(colours), colours.get(block.style, "white")
    fits = len(block.title) + 6 <= width
    parts = [] if fits else [Text(block.title, style=f"bold {colour}")]
    parts.append(Text(clean(block.text)))
    parts += [Text(hung(text), style=styles.get(style, "dim")) for style, text in block.foot]
    title = Text(block.title, style=f"bold {colour}") if fits else None
    return Panel(Group(*parts), title=title, title_align="left", border_style=colour, width=width)


def shown_line(told: StyledLine, colours: Mapping[str, str], width: int) -> "RenderableType":
    """A line in rows of at most so many columns."""
    from rich.text import Text

    style, text = told
    return Text(hung(text, width), style=styles_of(colours).get(style, ""))
