"""Events of a stream (what a stream is: parley/web/page/shapes.py)."""

import msgspec

from parley.client.show.answer import Answer
from parley.client.show.card import Series, Table
from parley.client.view.shapes import MindChange, PostCard, Refused, SeatView, Use, Warn
from parley.web.page.shapes import HumanTurn, OpenItem


class PostEvent(msgspec.Struct, frozen=True, kw_only=True):
    """`post`."""

    session: str
    post: PostCard
    round_name: str
    """`Round`"""
    round_title: str = ""
    """`Round 2`"""
    round_note: str = ""
    """As that of a round of the snapshot (view.shapes.RoundView)."""


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
    board: Table | None = None
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
    result: Answer
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
