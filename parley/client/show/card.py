"""What any screen shows of a session: a card a post, one for the result, signals, and the parts behind the answer.

A protocol makes them (parley.client.show.show); terminal, Markdown, HTML, page and notebook draw them, and none of
these knows a protocol. Texts are as they were said: whoever draws them makes them safe.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from parley.client.show.open_items import OpenItem

Tone = Literal["plain", "good", "warn", "quiet"]
MOST_TEXT = 60_000
"""Characters of a text on a card: more than any reply of a model has."""


class Quote(msgspec.Struct, frozen=True, kw_only=True):
    """A span of a document."""

    document: str
    quote: str
    file: int | None = None
    """Which of the session's documents it is, from 0; None: not known to who shows it."""
    place: str = ""
    """`page 2, Technical data`; empty: not known, or there is nothing to say."""

    @property
    def where(self) -> str:
        """The document, and the place in it."""
        return ", ".join(filter(None, (self.document, self.place)))


class Chip(msgspec.Struct, frozen=True, kw_only=True):
    """A short fact beside a post."""

    text: str
    tone: Tone = "plain"


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """That a seat changed its mind."""

    by: str
    """In words: `by argument`, `by what was quoted`, `without a reason that was found`."""
    why: str = ""
    post: int | None = None
    """Number of the post that moved it."""
    explained: bool = True


class CardQuote(msgspec.Struct, frozen=True, kw_only=True):
    """What one of several says in a post that tells of them all."""

    who: str = ""
    """Its seat; empty: nobody's, such as a finding of a review."""
    head: str = ""
    text: str = ""
    chips: tuple[Chip, ...] = ()


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """What a seat gives to one of several outcomes."""

    name: str
    p: float
    """0 to 1."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A row of a table."""

    cells: tuple[str, ...]
    side: str = ""
    """Whose colour it has."""
    strong: bool = False
    about: str = ""
    """What a side stands for, or the style in which a seat speaks."""
    session: str = ""
    """The session that it is of; empty: the one that is shown."""


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Figures in columns; the first column says what each row is of."""

    head: tuple[str, ...]
    rows: tuple[Row, ...]


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """What a post says. Whatever a protocol says beside position and confidence stands in `text` and `chips`."""

    place: Literal["post", "note", "score", "line", "hidden"] = "post"
    """`post`: a seat's argument, at length; `note`: said beside it; `score`: a measure of the round; `line`: one line;
    `hidden`: nothing that a reader needs, such as the stop and the result, which stand above."""
    more: bool = False
    """It is left out where one screen is wanted."""
    tone: Tone = "plain"
    side: str = ""
    """Whose colour it has, where there are sides (parley.client.show.palette)."""
    head: str = ""
    """What kind of thing it is, in a word or two; empty: nothing to say."""
    position: str = ""
    """What it holds."""
    confidence: float | None = None
    """0 to 1."""
    shares: tuple[Share, ...] = ()
    """How likely it holds each outcome to be, the most probable first."""
    text: str = ""
    """Why; several paragraphs are parted by empty lines."""
    chips: tuple[Chip, ...] = ()
    parts: tuple[CardQuote, ...] = ()
    """Below the text: what each of several says."""
    code: str = ""
    """Lines to be shown as they stand, such as a diff."""
    quotes: tuple[Quote, ...] = ()
    changed: Changed | None = None
    refers: tuple[int, ...] = ()
    """Numbers of posts that it answers."""
    refused: str = ""
    """Why what it says was not accepted; empty: it was, or nobody asked."""
    asks: OpenItem | None = None
    """A question to a human."""
    settles: str = ""
    """Id of the question that it answers."""
    missing: tuple[str, ...] | None = None
    """Seats that were missing in its round; None: it does not count them."""
    reply: bool = True
    """Whether, where it names a seat, it is what this seat replied."""


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """A signal by round."""

    name: str
    label: str
    group: str = "Signals"
    """Series of one group share a chart."""
    form: Literal["line", "steps", "bars", "points"] = "line"
    side: str = ""
    """Whose colour it has; empty: by its place in its group."""
    rounds: tuple[float, ...]
    values: tuple[float | None, ...]
    threshold: float | None = None
    threshold_label: str = ""
    stops: Literal["above", "below", ""] = ""
    """On which side of the threshold the session ends; empty: it ends nothing."""
    least: float | None = None
    most: float | None = None
    """Of the axis."""


def by_round(
    name: str, label: str, at: Iterable[tuple[float, float | None]], group: str = "Signals", **more: Any
) -> Series:
    """A figure that is 0 at least. `at`: (round, value) of each."""
    rounds, values = zip(*at, strict=True) if (at := tuple(at)) else ((), ())
    return Series(name=name, label=label, group=group, rounds=rounds, values=values, least=0.0, **more)


def against_threshold(name: str, label: str, at: Mapping[int, float], threshold: float | None) -> tuple[Series, ...]:
    """A figure of 0 to 100 by round, and the threshold above which the session ends; nothing where there is none."""
    limit: dict[str, Any] = {}
    if threshold is not None:
        limit = {"threshold_label": f"threshold {threshold:g}", "stops": "above"}
    return (by_round(name, label, at.items(), most=100.0, threshold=threshold, **limit),) if at else ()


class CardPart(msgspec.Struct, frozen=True, kw_only=True):
    """What stands behind an answer: folded away on a page, opened by its name in an explanation."""

    name: str
    """One word: `parley explain SESSION NAME` opens it."""
    title: str
    lines: tuple[str, ...] = ()
    table: Table | None = None
    code: str = ""
    """Lines to be shown as they stand, such as a diff."""
    finding: bool = False
    """A session that follows up this one is told it."""
    first: bool = False
    """It stands above the answer on one screen, too."""


def quotes_of(cited: Any) -> tuple[Quote, ...]:
    """Citations of a body or an outcome; none where they have another shape."""
    try:
        return msgspec.convert(cited or (), tuple[Quote, ...], from_attributes=True)
    except msgspec.ValidationError:
        return ()


def paragraphs(*texts: str) -> str:
    """Those that are not empty, as paragraphs."""
    return "\n\n".join(text for text in texts if text)
