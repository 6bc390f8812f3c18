"""Events of a stream (what a stream is: parley/web/page/shapes.py)."""

import msgspec

from parley.client.show.cards import Series
from parley.web.page.shapes import HumanTurn, MindChange, OpenItem, PostCard, Refused, ResultView, SeatView, Use, Warn


class PostEvent(msgspec.Struct, frozen=True, kw_only=True):
    """`post`."""

    session: str
    post: PostCard
    round_name: str
    """`Round`"""
    round_note: str = ""
    """As that of a round of the snapshot (shapes.RoundView)."""


class LiveEvent(msgspec.Struct, frozen=True, kw_only=True):
    """`live`: a seat's text or state as it comes. `text` is to be added to what came of this turn before."""

    session: str
    seat: str
    turn: str
    state: str
    """queued | thinking | retrying | text | tool | done | failed"""
    text: str = ""
    attempt: int = 1


class SeatsEvent(msgspec.Struct, frozen=True, kw_only=True):
    """`seats`."""

    session: str
    round: int
    seats: tuple[SeatView, ...]


class SignalsEvent(msgspec.Struct, frozen=True, kw_only=True):
    """`signals`."""

    session: str
    signals: tuple[Series, ...]
    changes: tuple[MindChange, ...] = ()


class UsageEvent(msgspec.Struct, frozen=True, kw_only=True):
    """`usage`."""

    session: str
    usage: Use


class RefusedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """`refused`."""

    session: str
    refused: tuple[Refused, ...]


class ItemsEvent(msgspec.Struct, frozen=True, kw_only=True):
    """`items`."""

    session: str
    items: tuple[OpenItem, ...]


class TurnEvent(msgspec.Struct, frozen=True, kw_only=True):
    """`turn`: what the person on this seat is asked now; None: nothing."""

    session: str
    seat: str
    turn: HumanTurn | None
    message: str = ""


class ResultEvent(msgspec.Struct, frozen=True, kw_only=True):
    """`result`."""

    session: str
    status: str
    result: ResultView
    warnings: tuple[Warn, ...] = ()


class TroubleEvent(msgspec.Struct, frozen=True, kw_only=True):
    """`trouble`."""

    away: bool
    """False: it is back."""
    message: str
    session: str = ""
    """Empty: of all sessions of the stream."""


class EndEvent(msgspec.Struct, frozen=True, kw_only=True):
    """`end`."""

    session: str
    why: str = ""
    """Empty: the session is closed; else why nothing more comes."""
