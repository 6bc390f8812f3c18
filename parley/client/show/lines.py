"""The lines and blocks in which a session is told: styled lines, and blocks for long texts."""

from collections.abc import Iterator

import msgspec

from parley.client.text import wrapped

StyledLine = tuple[str, str]
"""(style, text): heading, seat, score, quiet, stop, answer, warning, a protocol's own, or empty for plain."""

COLUMNS = 100
"""Blocks are wrapped at so many, where a line may be longer."""


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is said at length: who and what above it, what is to be said of it below."""

    style: str
    """One of its protocol's own."""
    title: str
    text: str
    foot: tuple[StyledLine, ...] = ()

    def lines(self, width: int = COLUMNS) -> Iterator[StyledLine]:
        """The block as lines without a frame."""
        yield self.style, f"  {self.title}"
        for paragraph in self.text.split("\n"):
            yield from (("", f"      {part}") for part in wrapped(paragraph, min(width, COLUMNS) - 6))
        yield from ((style, f"      {text}") for style, text in self.foot)


Piece = StyledLine | Block
