"""What is known of a session (parley.web.page.fold) as the documents that pages show."""

from collections.abc import Iterator
from typing import Any

from parley.client.protocols import face_of, setup_of
from parley.client.rendering.transcript import forked, read_by_nobody
from parley.client.show.cards import Quote
from parley.client.show.learned_words import learned_figures, learned_words
from parley.client.show.presenter import Presenter
from parley.client.show.words import one_family
from parley.client.text import clean, count
from parley.client.untrusted import items, mapping, number, shaped, words
from parley.schemas.afterwards.feedback import feedback_of
from parley.schemas.post import SessionRow
from parley.schemas.result import Result
from parley.schemas.session import Document
from parley.schemas.stops import STOPS
from parley.web.page import events
from parley.web.page.fold import Fold
from parley.web.page.passages import Marked, passages
from parley.web.page.positions import written
from parley.web.page.shapes import (
    CertificateRow,
    DocumentRow,
    DocumentView,
    FeedbackView,
    HumanTurn,
    Limits,
    OpenItem,
    Override,
    ResultView,
    RoundView,
    Session,
    Warn,
)

_QUESTION = 20_000
_KEYLESS = "extractive"
_WEAK = 0.6
"""Below this confidence an answer that all share is called weakly founded."""
NO_DISSENT = "not known: nobody was asked who dissents"
NO_ANSWER = "there is no answer to dissent from"


def states(fold: Fold) -> Iterator[tuple[str, Any]]:
    """Events that tell a whole state."""
    sid = fold.sid
    yield "seats", events.SeatsEvent(session=sid, round=fold.scene.round, seats=fold.seat_views())
    yield "signals", events.SignalsEvent(session=sid, signals=_signals(fold), changes=tuple(fold.changes))
    yield "usage", events.UsageEvent(session=sid, usage=fold.usage())
    yield "refused", events.RefusedEvent(session=sid, refused=fold.refused())
    yield "items", events.ItemsEvent(session=sid, items=open_items(fold))
    if fold.result is not None:
        view = result_view(fold, fold.result)
        yield (
            "result",
            events.ResultEvent(session=sid, status=fold.result.status, result=view, warnings=warnings(fold, view)),
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
    opened, result, row, fork = fold.opened, fold.result, fold.row, fold.fork
    view = None if result is None else result_view(fold, result)
    budget = opened.budget if opened else None
    return Session(
        session=fold.sid, question=fold.question[:_QUESTION], protocol=fold.protocol,
        status=result.status if result else (row.status if row and row.status != "finished" else "open"),
        opened_ms=fold.opened_ns // 1_000_000, closed_ms=fold.closed_ns // 1_000_000 if fold.closed_ns else None,
        owner=row.owner if row else "", position=written(fold.position),
        settings=dict(opened.settings) if opened else {}, continues=opened.continues if opened else "",
        forked_from=fork.parent if fork else "", forked_at=fork.round if fork else None,
        fork_words=tuple(forked(fork)),
        parent=opened.parent if opened else "", round=fold.scene.round,
        round_limit=_limit(opened.settings if opened else {}), round_name=fold.presenter.round_name,
        documents=tuple(_document(d) for d in opened.documents) if opened else (),
        seats=fold.seat_views(), rounds=rounds(fold), signals=_signals(fold), refused=fold.refused(),
        changes=tuple(fold.changes),
        budget=Limits(tokens=budget.tokens, calls=budget.calls, cost_usd=budget.cost_usd, seconds=budget.seconds)
        if budget else Limits(),
        usage=fold.usage(), result=view, warnings=warnings(fold, view), items=open_items(fold),
        overrides=overrides(fold), sits=sits, turns=turns, left_out=_left_out(fold),
        feedback=_feedback(fold), may=_may(fold, owner=owner, user=user, can=can),
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


def _document(document: Document) -> DocumentRow:
    return DocumentRow(name=document.name[:1_000], characters=len(document.text), holders=document.holders)


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
        session=fold.sid, question=fold.question[:_QUESTION], round_name=fold.presenter.round_name,
        name=source.name[:1_000], characters=len(source.text), holders=source.holders, passages=pieces, missing=missing,
        posts={marked.name: (card.seat, card.round) for card, marked in quotes},
    )  # fmt: skip


def _limit(settings: dict[str, Any]) -> int | None:
    limit = settings.get("round_limit")
    return limit if isinstance(limit, int) else None


def _left_out(fold: Fold) -> str:
    if not fold.left_out:
        return ""
    return f"{count(fold.left_out, 'post')} {fold.presenter.left_out} are not shown"


def _feedback(fold: Fold) -> FeedbackView | None:
    feedback = feedback_of(fold.posts)
    if not feedback:
        return None
    last = feedback[-1]
    return FeedbackView(
        author=clean(last.author), right=last.right, answer=last.answer, note=last.note, times=len(feedback)
    )


def _may(fold: Fold, *, owner: bool, user: str, can: tuple[str, ...]) -> tuple[str, ...]:
    """What who asks may do with it now."""
    closed = fold.result is not None
    own = user == fold.author
    acts = "act" in can and (owner or own)
    allowed = {
        "cancel": not closed and acts,
        "decide": not closed and acts and bool(open_items(fold) or overrides(fold)),
        "what-if": owner,
        "everything": owner and (fold.left_out > 0 or fold.everything),
        "export": True,
        "sit": not closed and "sit" in can,
        "feedback": closed and "feedback" in can and (owner or own),
        "fork": closed and "fork" in can and own,
    }
    return tuple(name for name, may in allowed.items() if may)


def rounds(fold: Fold) -> tuple[RoundView, ...]:
    """Posts by rounds; what comes after the last round, such as the stop, stays with it."""
    by_round: list[tuple[int, list[Any]]] = []
    for card in fold.cards:
        if not by_round or card.round > by_round[-1][0]:
            by_round.append((card.round, []))
        by_round[-1][1].append(card)
    shows = fold.presenter
    return tuple(
        RoundView(
            round=number_, name=f"{shows.round_name} {number_}" if number_ else "Beginning",
            note=shows.round_note(number_), posts=tuple(posts),
        )
        for number_, posts in by_round
    )  # fmt: skip


def _signals(fold: Fold) -> tuple[Any, ...]:
    return tuple(shaped(fold.presenter.signals, lambda: ()))


def open_items(fold: Fold) -> tuple[OpenItem, ...]:
    """Questions that wait for a human."""
    if fold.result is not None:
        return ()
    return tuple(
        OpenItem(
            session=fold.sid, task=fold.question[:500], item=i.id, kind=i.kind, question=i.question, choices=i.choices,
            default=i.default, deadline_ms=i.deadline_ns // 1_000_000,
        )
        for i in fold.presenter.open_items()
    )  # fmt: skip


def overrides(fold: Fold) -> tuple[Override, ...]:
    """What a human may decide unasked."""
    if fold.result is not None:
        return ()
    return tuple(Override(item=item, about=about) for item, about in fold.presenter.decisions.items())


def result_view(fold: Fold, result: Result) -> ResultView:
    """What a session came to, as its protocol says it; as any protocol's where another version wrote it."""
    (view,) = shaped(
        lambda: [_result_view(fold, result, fold.presenter)], lambda: [_result_view(fold, result, Presenter())]
    )
    return view


def _result_view(fold: Fold, result: Result, shows: Presenter) -> ResultView:
    stop, row = result.stop, STOPS.get(result.stop.reason)
    rows, answer = shows.certificate_rows(stop.certificate), shows.answer(result)
    return ResultView(
        status=result.status, answer=answer, answer_word=shows.answer_words(result, shows.answer_word),
        reasoning=shows.reasoning(result),
        confidence=shows.confidence(result) if answer else "", reads=shows.reads(result),
        converged=stop.converged,
        reason=stop.reason, stop=shows.why_stopped(stop, result.rounds) or stop.reason,
        why=shows.kept_apart(stop.certificate),
        certificate=tuple(CertificateRow(name=name, value=value) for name, value in rows),
        learned=tuple(shaped(lambda: learned_words(result), lambda: learned_figures(result))),
        rules=tuple(shows.stop_rules(stop.certificate)),
        dissent=shows.dissent(result) or (NO_DISSENT if answer else NO_ANSWER),
        quotes=tuple(Quote(document=d, quote=q) for d, q in shows.quotes(result.outcome)),
        carried_by=shows.carried(result, {seat: (card.n, card.position) for seat, card in fold.last.items()}),
        beside=tuple(text for _, text in shows.beside(result)), in_short=shows.in_short(result),
        duration_s=result.duration_s, usage=shows.usage_words(result),
        exit_code=row.exit_status(stop.converged) if row else 1,
    )  # fmt: skip


def warnings(fold: Fold, view: ResultView | None) -> tuple[Warn, ...]:
    """What a reader must know before believing the answer."""
    return tuple(_warnings(fold, view))


def _warnings(fold: Fold, view: ResultView | None) -> Iterator[Warn]:
    unread = read_by_nobody(fold.result) if fold.result is not None else ""
    argue = _arguing(fold)
    models = [seat for seat in argue if seat.seat not in fold.spoke | fold.people]
    families = [seat.family for seat in models]
    which = "All seats" if len(models) == len(argue) else "All seats without a person"
    if unread and (fold.opened is None or fold.opened.documents):
        yield Warn(kind="no_language_model", text=f"{unread[:1].upper()}{unread[1:]}.")
    elif unread or set(families) == {_KEYLESS}:
        yield Warn(kind="no_language_model", text="No language model took part.")
    else:
        yield from (Warn(kind="one_family", text=text) for text in one_family(which, families))
    if (opened := fold.opened) is not None:
        cautions = shaped(lambda: fold.presenter.cautions(opened), lambda: ())
        yield from (Warn(kind="weights", text=f"{text[:1].upper()}{text[1:]}.") for text in cautions)
    if view is None or fold.result is None:
        return
    if unanimous(view) and (why := _weak(fold, view)):
        yield Warn(kind="weak_evidence", text=f"All agree, and on weak evidence: {why}.")
    away = [words(seat) for seat in items(mapping(fold.result.rounds[-1]).get("missing"))] if fold.result.rounds else []
    if away:
        yield Warn(kind="missing_seats", text=f"Missing in the last round: {', '.join(away)}.")
    if fold.result.usage.estimated:
        yield Warn(kind="estimated", text="Some of the token counts are estimates.")


def unanimous(view: ResultView) -> bool:
    """Whether it converged and nobody dissents."""
    return view.converged and view.dissent == "nobody"


def _weak(fold: Fold, view: ResultView) -> str:
    """Why what all agree on has little to rest on; empty: it has more, or nobody can say."""
    confidence = number(mapping(fold.result.outcome if fold.result else {}).get("confidence"))
    # a debater weighs its beliefs in one post, and quotes for them in others, which hold no position
    held = (*fold.last.values(), *(card for card in fold.cards if not card.position and not card.refused))
    cited = view.quotes or any(card.quotes for card in held)
    parts = [] if cited else ["no document is quoted for it"]
    if confidence is not None and confidence < _WEAK:
        parts.append(f"confidence is {view.confidence}")
    return ", and ".join(parts)


def _arguing(fold: Fold) -> list[Any]:
    """Seats that argue: those of the role of which the protocol has several, else all."""
    several = setup_of(fold.protocol).several
    seats = list(fold.seats.values())
    return [s for s in seats if s.role == several.role] if several else seats


def round_name(protocol: str) -> str:
    """What a protocol calls its rounds."""
    return face_of(protocol).presenter.round_name
