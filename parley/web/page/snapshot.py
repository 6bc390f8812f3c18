"""What is known of a session (parley.client.view.fold) as the documents that pages show."""

from parley.client.view.fold import Fold
from parley.client.view.passages import Marked, passages
from parley.client.view.shapes import SessionView
from parley.web.page.shapes import DocumentView, HumanTurn, Override, PageSession
from parley.web.page.stream import written

_QUESTION = 20_000


def session(
    fold: Fold,
    *,
    owner: bool,
    can: tuple[str, ...],
    user: str = "",
    sits: tuple[str, ...] = (),
    turns: tuple[HumanTurn, ...] = (),
) -> PageSession:
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
    return PageSession(
        **{name: getattr(view, name) for name in SessionView.__struct_fields__},
        position=written(fold.position),
        overrides=overrides(fold),
        sits=sits,
        turns=turns,
        may=_may(fold, owner=owner, user=user, can=can),
    )


def document(fold: Fold, number_: int) -> DocumentView | None:
    """One document with what was quoted of it so far; None: there is none of that number that may be read."""
    documents, cards = fold.opened.documents if fold.opened else (), tuple(fold.cards)
    if not 0 <= number_ < len(documents):
        return None
    source = documents[number_]
    quotes = [
        (card, Marked(f"{card.n}-{i}", quote.quote))
        for card in cards
        for i, quote in enumerate(card.quotes)
        if quote.file == number_
    ]
    pieces, missing = passages(source.text, (marked for _, marked in quotes))
    return DocumentView(
        session=fold.sid,
        question=fold.question[:_QUESTION],
        round_name=fold.show.round_name,
        name=source.name[:1_000],
        characters=len(source.text),
        holders=source.holders,
        passages=pieces,
        missing=missing,
        posts={marked.name: (card.seat, card.round) for card, marked in quotes},
    )


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
        "export": "export" in can,
        "sit": not closed and "sit" in can,
        "feedback": closed and "feedback" in can and (owner or own),
        "fork": closed and "fork" in can and own,
    }
    return tuple(name for name, may in allowed.items() if may)


def overrides(fold: Fold) -> tuple[Override, ...]:
    """What a human may decide unasked."""
    if fold.result is not None:
        return ()
    return tuple(Override(item=item, about=about) for item, about in fold.show.decisions.items())
