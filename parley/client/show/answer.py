"""The card of a result: the answer, how sure it is and what that rests on, why, who dissents, what is weak, what to do
next. In this order on every screen, in few words; everything else is a part (parley.client.show.card.CardPart)."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from parley.client.show.card import CardPart, Quote

MOST_WORDS = 60
"""Of all lines of a card together."""
_CAPS = {"answer": 8, "sure": 13, "why": 15, "dissent": 10, "weak": 10, "next": 4}
"""Words that each line may take whatever the others need."""
_ORDER = ("sure", "next", "why", "dissent", "weak", "answer")
"""In this order lines have what the others leave."""
Kind = Literal["agreed", "done", "unsettled", "failed", "cancelled"]


class ResultSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What a protocol says of a result."""

    word: str = "Answer"
    """How the answer is called."""
    text: str = ""
    """The answer; empty: there is none."""
    behind: str = ""
    """What its certainty rests on: `agreed by 2 of 3`. Empty: how it ended says it."""
    open: str = ""
    """What kept it from being settled, in short."""
    why: str = ""
    """The reason that carried it, in its own words."""
    quote: Quote | None = None
    """The quotation that carried it."""
    posts: tuple[int, ...] = ()
    """Numbers of the posts that carried it."""
    dissent: str = ""
    """Who holds something else in the end, and what; `nobody`; empty: the protocol does not ask it."""
    weak: tuple[str, ...] = ()
    """What was left out or is weak, the weightiest first."""
    next: str = ""
    """The one next step; empty: the usual one."""
    parts: tuple[CardPart, ...] = ()
    stop: str = ""
    """Why it ended, where the table of stops leaves that open."""


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the card."""

    what: Literal["answer", "sure", "why", "dissent", "weak", "next"]
    label: str
    """Stands before it; empty: nothing does."""
    text: str
    cut: bool = False
    """Not all of it: the card's own field has the rest."""
    quote: Quote | None = None
    posts: tuple[int, ...] = ()


class ResultCard(ResultSummary, frozen=True, kw_only=True):
    """The card of a result: what its protocol says, and what all share."""

    kind: Kind
    """`agreed`: it converged; `done`: it ended as its protocol means it; `unsettled`: nothing is settled."""
    status: str
    """finished | failed | cancelled"""
    sure: str
    lines: tuple[Line, ...] = ()
    """The card as every screen shows it: at most 60 words, whatever its fields hold."""
    confidence: str = ""
    """`0.62`; empty: none is stated."""
    reads: str = ""
    """How past outcomes say that it should be read, or that nobody has compared it with them."""
    converged: bool
    reason: str
    """The stop's name."""
    used: str = ""
    duration_s: float = 0.0
    exit_code: int


def lines_of(told: Sequence[tuple[str, str, str]], quote: Quote | None, posts: tuple[int, ...]) -> tuple[Line, ...]:
    """The lines of a card, cut to its words. `told`: (what, label, text), those without a text left out. The quotation
    stands behind the reason."""
    given = [
        (what, label, text.split())
        for what, label, text in told
        if text.strip() or (what == "why" and quote is not None)
    ]
    quoted = quote.quote.split() if quote is not None else []
    needs = [len(label.split()) + len(text) + (len(quoted) if what == "why" else 0) for what, label, text in given]
    kept = [min(need, _CAPS[what]) for need, (what, _, _) in zip(needs, given, strict=True)]
    made, left = dict[str, Line](), MOST_WORDS - sum(kept)
    for at in sorted(range(len(given)), key=lambda n: _ORDER.index(given[n][0])):
        what, label, text = given[at]
        shown = _line(what, label, text, min(needs[at], kept[at] + left), quote if what == "why" else None)
        made[what] = msgspec.structs.replace(shown, posts=posts if what in ("why", "answer") else ())
        left += kept[at] - len(f"{label} {shown.text} {shown.quote.quote if shown.quote else ''}".split())
    return tuple(made[what] for what, _, _ in given)


def _line(what: str, label: str, text: list[str], most: int, quote: Quote | None) -> Line:
    """One line in so many words, its label and a quotation among them: the quotation has at most half of them."""
    most -= len(label.split())
    span = quote.quote.split() if quote is not None else []
    kept = min(len(span), max(most // 2, most - len(text)))
    shown = text[: most - kept]
    if len(shown) < len(text) and what not in ("answer", "sure"):  # rather a whole sentence, where that is most of it
        ends = [n for n, word in enumerate(shown, 1) if word.endswith((".", ";", "?", "!")) and 2 * n >= len(shown)]
        shown = shown[: ends[-1]] if ends else shown
    return Line(
        what=what,  # type: ignore[arg-type]
        label=label,
        text=" ".join(shown) + ("…" if len(shown) < len(text) else ""),
        cut=len(shown) < len(text) or kept < len(span),
        quote=None
        if quote is None or not kept
        else msgspec.structs.replace(quote, quote=" ".join(span[:kept]) + ("…" if kept < len(span) else "")),
    )
