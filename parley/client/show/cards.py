"""A post, and the signals of a session, as data that any page can show: no words of a terminal, no markup.

Texts are as they were said: whoever shows them makes them safe.
"""

from typing import Any, Literal

import msgspec

from parley.client.show.lines import Block, Piece
from parley.client.untrusted import items, mapping, number, words

Tone = Literal["plain", "good", "warn", "quiet"]
MOST_TEXT = 60_000
"""Characters of a text on a card: more than any reply of a model has."""
_CHIPS = 24
_PARTS = 100


class Quote(msgspec.Struct, frozen=True, kw_only=True):
    """A span of a document."""

    document: str
    quote: str
    file: int | None = None
    """Which of the session's documents it is, from 0; None: not known to who shows it."""


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


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What one of several says in a post that tells of them all."""

    who: str = ""
    """Its seat; empty: nobody's, such as a finding of a review."""
    head: str = ""
    text: str = ""
    chips: tuple[Chip, ...] = ()


class StopTest(msgspec.Struct, frozen=True, kw_only=True):
    """One comparison on which a stop rests, in words."""

    what: str
    value: str
    wanted: str
    """`at least 0.50`; empty where there is no limit to compare with."""
    holds: bool

    @property
    def words(self) -> str:
        """The test, its value and what was wanted, without the verdict."""
        return f"{self.what}: {self.value}" + (f", wanted {self.wanted}" if self.wanted else "")


class StopRule(msgspec.Struct, frozen=True, kw_only=True):
    """One of the reasons to stop, and its tests: all of them hold where it does."""

    name: str
    holds: bool
    tests: tuple[StopTest, ...]


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """What a post says. Whatever a protocol says beside position and confidence stands in `text` and `chips`."""

    place: Literal["post", "note", "score", "line", "hidden"] = "post"
    """`post`: a seat's argument, at length; `note`: said beside it; `score`: a measure of the round; `line`: one line;
    `hidden`: nothing that a reader needs, such as the stop and the result, which stand above."""
    head: str = ""
    """What kind of thing it is, in a word or two; empty: nothing to say."""
    position: str = ""
    """What it holds."""
    confidence: float | None = None
    """0 to 1."""
    text: str = ""
    """Why; several paragraphs are parted by empty lines."""
    chips: tuple[Chip, ...] = ()
    parts: tuple[Said, ...] = ()
    """Below the text: what each of several says."""
    code: str = ""
    """Lines to be shown as they stand, such as a diff."""
    quotes: tuple[Quote, ...] = ()
    changed: Changed | None = None
    refers: tuple[int, ...] = ()
    """Numbers of posts that it answers."""
    refused: str = ""
    """Why what it says was not accepted; empty: it was, or nobody asked."""


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """A signal by round."""

    name: str
    label: str
    rounds: tuple[float, ...]
    values: tuple[float | None, ...]
    threshold: float | None = None
    threshold_label: str = ""
    stops: Literal["above", "below", ""] = ""
    """On which side of the threshold the session ends; empty: it ends nothing."""
    least: float | None = None
    most: float | None = None
    """Of the axis."""


def share(value: Any) -> float | None:
    """A confidence of 0 to 1; None for anything else."""
    fraction = number(value)
    return fraction if fraction is not None and 0 <= fraction <= 1 else None


def quotes_of(cited: Any) -> tuple[Quote, ...]:
    """Citations of a body."""
    mappings = (mapping(c) for c in items(cited))
    return tuple(
        Quote(document=words(c["document"]), quote=words(c["quote"]))
        for c in mappings
        if "document" in c and "quote" in c
    )


def answered(body: Any) -> Card | None:
    """The card of a body with an answer and its reasons, of whatever protocol; None: it has none."""
    fields = mapping(body)
    if not isinstance(fields.get("answer"), str):
        return None
    return Card(
        position=words(fields["answer"])[:MOST_TEXT],
        text=words(fields.get("reasoning", ""))[:MOST_TEXT],
        confidence=share(fields.get("confidence")),
        quotes=quotes_of(fields.get("citations")),
    )


def from_lines(pieces: list[Piece], kind: str, *, seated: bool) -> Card:
    """The card of a post that is known by its lines alone."""
    texts: list[str] = []
    for piece in pieces:
        if isinstance(piece, Block):
            texts += [piece.title, piece.text, *(text for _, text in piece.foot)]
        else:
            texts.append(piece[1].strip())
    text = "\n".join(t for t in texts if t)[:MOST_TEXT]
    if not text:
        return Card(place="hidden")
    text = text.removeprefix(f"{_named(kind)}: ")  # its head says that
    return Card(place="line" if "\n" not in text else "post" if seated else "note", head=_named(kind), text=text)


def _named(kind: str) -> str:
    return kind.replace("_", " ")


def bounded(card: Card) -> Card:
    """With no more than a page shows: of a post that another version wrote, anything may be long."""
    long = (card.text, card.position, card.code, *(part.text for part in card.parts))
    if all(len(t) <= MOST_TEXT for t in long) and len(card.chips) <= _CHIPS and len(card.parts) <= _PARTS:
        return card
    parts = tuple(msgspec.structs.replace(p, text=p.text[:MOST_TEXT]) for p in card.parts[:_PARTS])
    return msgspec.structs.replace(
        card, text=card.text[:MOST_TEXT], position=card.position[:MOST_TEXT], code=card.code[:MOST_TEXT],
        chips=card.chips[:_CHIPS], parts=parts,
    )  # fmt: skip
