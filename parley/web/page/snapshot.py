"""What is known of a session (parley.client.view.fold) as the documents that pages show."""

from collections.abc import Iterator
from typing import Any

from parley.client.text import clean
from parley.client.view.fold import Fold
from parley.client.view.passages import Marked, passages
from parley.client.view.shapes import SessionView
from parley.schemas.post import SessionRow
from parley.web.page import events
from parley.web.page.positions import written
from parley.web.page.shapes import DocumentView, HumanTurn, OpenItem, Override, Session

_QUESTION = 20_000


def states(fold: Fold) -> Iterator[tuple[str, Any]]:
    """Events that tell a whole state."""
    sid = fold.sid
    yield "seats", events.SeatsEvent(session=sid, round=fold.scene.round, seats=fold.seat_views())
    yield (
        "signals",
        events.SignalsEvent(session=sid, signals=fold.signals(), board=fold.board(), changes=tuple(fold.changes)),
    )
    yield "usage", events.UsageEvent(session=sid, usage=fold.usage())
    yield "refused", events.RefusedEvent(session=sid, refused=fold.refused())
    yield "items", events.ItemsEvent(session=sid, items=open_items(fold))
    if fold.result is not None and (card := fold.answer()) is not None:
        yield (
            "result",
            events.ResultEvent(session=sid, status=fold.result.status, result=card, warnings=fold.warnings()),
        )


def session(
    fold: Fold, *, owner: bool, can: tuple[str, ...], user: str = "", sits: tuple[str, ...] = (),
    turns: tuple[HumanTurn, ...] = (),
) -> Session:  # fmt: skip
    """The whole of it.

    Parameters
    ----------
    owner
        Whether who asks operates: what it may do follows.
    can
        What this gateway can do beside that.
    user
        Who asks, as the bus knows it: it forks sessions of its own alone.
    sits, turns
        Seats on which who asks sits, and the turns that wait there.
    """
    view = fold.view()
    fields = {name: getattr(view, name) for name in SessionView.__struct_fields__ if name != "items"}
    return Session(
        **fields, items=open_items(fold), position=written(fold.position), overrides=overrides(fold), sits=sits,
        turns=turns, may=_may(fold, owner=owner, user=user, can=can),
    )  # fmt: skip


def of_row(row: SessionRow) -> Session:
    """A session of which nothing but its row is left, or ever was."""
    return Session(
        session=row.session, question=row.question, protocol=row.protocol, status=row.status,
        opened_ms=row.opened_ns // 1_000_000, closed_ms=row.closed_ns // 1_000_000 if row.closed_ns else None,
        owner=row.owner, position="", left_out=_gone(row),
    )  # fmt: skip


def _gone(row: SessionRow) -> str:
    if row.status == "erased":
        return f"its texts were removed by {clean(row.erased_by)}" if row.erased_by else "its texts were removed"
    return f"it was refused: {clean(row.reason)}" if row.status == "refused" else ""


def document(fold: Fold, number_: int) -> DocumentView | None:
    """One document with what was quoted of it so far; None: there is none of that number that may be read."""
    documents, cards = fold.opened.documents if fold.opened else (), tuple(fold.cards)
    if not 0 <= number_ < len(documents):
        return None
    source = documents[number_]
    quotes = [
        (card, Marked(f"{card.n}-{i}", quote.quote))
        for card in cards for i, quote in enumerate(card.quotes) if quote.file == number_
    ]  # fmt: skip
    pieces, missing = passages(source.text, (marked for _, marked in quotes))
    return DocumentView(
        session=fold.sid, question=fold.question[:_QUESTION], round_name=fold.show.round_name,
        name=source.name[:1_000], characters=len(source.text), holders=source.holders, passages=pieces, missing=missing,
        posts={marked.name: (card.seat, card.round) for card, marked in quotes},
    )  # fmt: skip


def _may(fold: Fold, *, owner: bool, user: str, can: tuple[str, ...]) -> tuple[str, ...]:
    """What who asks may do with it now."""
    closed = fold.result is not None
    own = user == fold.author
    acts = "act" in can and (owner or own)
    allowed = {
        "cancel": not closed and acts,
        "decide": not closed and acts and bool(fold.open_items() or overrides(fold)),
        "what-if": owner,
        "everything": owner and (fold.left_out > 0 or fold.everything),
        "export": True,
        "sit": not closed and "sit" in can,
        "feedback": closed and "feedback" in can and (owner or own),
        "fork": closed and "fork" in can and own,
    }
    return tuple(name for name, may in allowed.items() if may)


def open_items(fold: Fold) -> tuple[OpenItem, ...]:
    """Questions that wait for a human, as pages ask them."""
    return tuple(
        OpenItem(
            session=fold.sid, task=fold.question[:500], item=i.id, kind=i.kind, question=i.question, choices=i.choices,
            default=i.default, deadline_ms=i.deadline_ns // 1_000_000,
        )
        for i in fold.open_items()
    )  # fmt: skip


def overrides(fold: Fold) -> tuple[Override, ...]:
    """What a human may decide unasked."""
    if fold.result is not None:
        return ()
    return tuple(Override(item=item, about=about) for item, about in fold.show.decisions.items())
