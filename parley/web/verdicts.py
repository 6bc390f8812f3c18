"""What a session came to, for programs: words that never call agreement what is none, and the same as JSON values."""

from typing import Any

import msgspec

from parley.client.rendering.terminal import answer_lines, bare, card_lines
from parley.client.show.answer import ResultCard
from parley.client.text import clean, hung, line
from parley.client.view.fold import of_result
from parley.client.view.shapes import PostCard
from parley.schemas.result import Result
from parley.schemas.stops import ONE_SOURCE, STOPS

_OTHERWISE = {"failed": "Failed", "cancelled": "Cancelled"}
NOT_AGREED = "Without agreement"
"""How the words begin of a session that ended, and did not converge."""


def card_of(result: Result) -> ResultCard:
    """The card of a result whose posts nobody looked at."""
    return of_result(result)


def stop_words(result: Result) -> str:
    """Why it ended, on one line."""
    card = of_result(result)
    return line(f"{card.stop} ({card.reason})" + (f": {card.open}" if card.open else ""))


def verdict(result: Result) -> str:
    """The words. The first line is the answer where they converged, or one reader found it, and else says that they did
    not converge, and why it ended. How sure it is, why, who dissents and what was used follow."""
    card = of_result(result)
    first, *behind = answer_lines(card)
    if card.text and (result.stop.converged or result.stop.reason == ONE_SOURCE):
        return "\n".join([hung(clean(card.text)), "", *bare(behind), card.used])
    lines = list(bare([first, *behind, ("quiet", card.used)]))
    head = _OTHERWISE.get(result.status, NOT_AGREED)
    return "\n".join([f"{head}: {stop_words(result)}.", "", *lines])


def figures(result: Result) -> dict[str, Any]:
    """The same as JSON values: status, whether they agree, the card, the certificate, dissent, usage."""
    row, card = STOPS.get(result.stop.reason), of_result(result)
    return {
        "session": result.session,
        "protocol": result.protocol,
        "status": result.status,
        "agreed": result.stop.converged,
        "answer": clean(card.text),
        "words": row.in_words(result.stop.converged) if row else "",
        "stop": msgspec.to_builtins(result.stop),
        "dissent": card.dissent,
        "card": msgspec.to_builtins(card),
        "rounds": len(result.rounds),
        "usage": msgspec.to_builtins(result.usage),
        "duration_s": result.duration_s,
    }


def text_of(card: PostCard | None) -> str:
    """A post as a text; empty where it says nothing to a reader."""
    return "" if card is None else "\n".join(text for text in bare(card_lines(card)) if text.strip())
