"""The card of a result, made of what its protocol says (client.show.answer.ResultSummary) and of what all share."""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from parley.client.show.answer import Kind, ResultCard, ResultSummary, lines_of
from parley.client.show.card import CardPart, Quote, Row, Table, quotes_of
from parley.client.show.palette import seat_name
from parley.client.show.show import Show, in_names
from parley.client.show.words import (
    REASON,
    cost_words,
    is_settled,
    learned_words,
    reason_words,
    tokens_words,
    usage_words,
)
from parley.client.text import count, line
from parley.client.turns import SubmissionRefused, Turns
from parley.client.untrusted import figures, items, mapping, number, shaped, value_as_text
from parley.schemas import log
from parley.schemas.result import RIGHT, RIGHT_OF, Result
from parley.schemas.stops import ONE_SOURCE, PROTOCOL_FAULT, stop_row

_SAID = ("played", "decided")
"""Stop reasons that what stands behind the answer says."""
_MOST = 12
"""Reasons told at the end, and turns of each."""
Placed = Callable[[Quote], Quote]
"""Gives a quotation its place in its document."""


def card_of_result(
    show: Show, result: Result, *, turns: Turns | None = None, entries: Sequence[log.Entry] = (),
    warnings: Sequence[str] = (), led: bool = False, placed: Placed = lambda quote: quote,
) -> ResultCard:  # fmt: skip
    """The card of a result, as any protocol's where another version wrote it.

    Parameters
    ----------
    show
        What took its posts.
    turns, entries
        What became of the turns, and the whole log, as far as they are known.
    warnings
        What a reader must know before believing it, weightier than what the protocol says.
    led
        Whoever asked is told the next step otherwise.
    placed
        A quotation with its place in its document.
    """

    def made(shows: Show) -> Iterator[ResultCard]:
        yield _card(shows, result, turns or Turns(), entries, warnings, placed, led=led)

    (card,) = shaped(lambda: made(show), lambda: made(Show()))
    return card


def _card(
    show: Show, result: Result, turns: Turns, entries: Sequence[log.Entry], warnings: Sequence[str],
    placed: Placed, *, led: bool,
) -> ResultCard:  # fmt: skip
    told, stop = show.told(result), result.stop
    exit_code = stop_row(stop.reason).exit_status(stop.converged)
    kind: Kind = "agreed" if stop.converged else "unsettled" if exit_code else "done"
    if result.status == "failed":
        kind = "failed"
    elif "cancelled" in (result.status, stop.reason):
        kind = "cancelled"
    text = told.text
    because = told.stop or reason_words(stop.reason, stop.converged)
    if stop.reason == PROTOCOL_FAULT:
        because = f"{because}: {value_as_text(stop.certificate.get('why'))}"
    number_ = number(result.outcome.get("confidence"))
    confidence = "" if number_ is None or not text else f"{number_:.2f}"
    reads = _reads(show, result) if confidence else ""
    failed = not text or result.status == "failed"
    missing = tuple(_missing(result, turns))
    why_nothing = tuple(came_to_nothing(turns)) if failed and not missing else ()
    against = (told.open,) if told.open and told.open not in told.behind else ()
    weak = tuple(dict.fromkeys(text.rstrip(".") for text in (*missing, *against, *told.weak, *warnings, *why_nothing)))
    sure = "; ".join(
        filter(
            None,
            (
                _sure(kind, told, because, stop.reason, _cancelled(result)),
                "weighed by past records" if "reliability" in stop.certificate and text else "",
                f"confidence {confidence}, {reads}" if confidence else "",
            ),
        )
    )
    played = count(len(result.rounds), show.round_name.lower())
    following = told.next or f"parley explain {line(result.session)}"
    said = {name: getattr(told, name) for name in ResultSummary.__struct_fields__}
    card = ResultCard(**{
        **said, "kind": kind, "status": result.status, "sure": sure, "weak": weak, "next": "" if led else following,
        "quote": placed(told.quote) if told.quote is not None else None, "confidence": confidence, "reads": reads,
        "converged": stop.converged, "reason": stop.reason, "stop": because, "exit_code": exit_code,
        "parts": tuple(p for p in _parts(show, result, told, turns, entries, placed) if p.lines or p.code or p.table),
        "used": usage_words(played, result.usage, result.duration_s), "duration_s": result.duration_s,
    })  # fmt: skip
    card = msgspec.structs.replace(in_names(card, result.usage.by_seat), text=text)
    return msgspec.structs.replace(card, lines=lines_of(_labelled(card), card.quote, card.posts))


def _labelled(card: ResultCard) -> tuple[tuple[str, str, str], ...]:
    """What the lines of a card are cut from: (what, label, text)."""
    return (
        ("answer", f"{card.word}:" if card.text else "", card.text or f"No {card.word.lower()}."),
        ("sure", "", card.sure),
        ("why", "Why:", "" if card.quote is not None and card.quote.quote in card.why else card.why),
        ("dissent", "Dissent:", card.dissent),
        ("weak", "Weak:", "; ".join(card.weak)),
        ("next", "Next:", card.next),
    )


def _sure(kind: Kind, told: ResultSummary, because: str, reason: str, cancelled: str) -> str:
    """What the certainty rests on, or that there is none."""
    if kind == "agreed":
        return told.behind if told.behind and told.text else because
    if kind == "cancelled":
        return f"cancelled{cancelled}"
    if kind == "failed":
        return f"failed: {because}"
    if reason == ONE_SOURCE:
        return f"{because}; {told.behind}" if told.behind else because
    if kind == "done":
        return "; ".join(filter(None, (told.behind, "" if told.behind and reason in _SAID else because)))
    return "not settled: " + "; ".join(filter(None, (told.behind, because)))


def _cancelled(result: Result) -> str:
    """` by NAME: why`."""
    given = result.stop.certificate
    by, why = line(value_as_text(given.get("by") or "")), line(value_as_text(given.get("why") or ""), REASON)
    return (f" by {by}" if by else "") + (f": {why}" if why else "")


def _reads(show: Show, result: Result) -> str:
    """How past outcomes say that the confidence should be read, or that they do not say it."""
    stated = result.outcome.get("confidence")
    if show.measured and result.keyless is True and stated == RIGHT:
        return f"{RIGHT_OF[0]} of {RIGHT_OF[1]} such answers were right"
    if result.calibrated is msgspec.UNSET:
        return "computed from words" if result.keyless is True else "self-rated"
    return f"reads as {result.calibrated.confidence:.2f} by past outcomes"


def _missing(result: Result, turns: Turns) -> Iterator[str]:
    """Seats that were missing in the last round, by the reason."""
    last = mapping(result.rounds[-1]) if result.rounds else {}
    by_why: dict[str, list[str]] = {}
    for seat in map(value_as_text, items(last.get("missing"))):
        told = value_as_text(mapping(last.get("why_missing")).get(seat, ""))
        why = turns.why.get((int(number(last.get("round")) or 0), seat)) or told
        by_why.setdefault(line(why, REASON), []).append(seat_name(seat))
    for why, seats in by_why.items():
        yield f"{', '.join(seats)} {'is' if len(seats) == 1 else 'are'} missing" + (f": {why}" if why else "")


def came_to_nothing(turns: Turns) -> Iterator[str]:
    """Turns that came to nothing, by their reason: a line each, the last ones."""
    by_why: dict[str, list[str]] = {}
    for one in turns.nothing:
        by_why.setdefault(one.why, []).append(f"{seat_name(one.seat)} ({line(one.kind)}, round {one.round})")
    for why, asked in list(by_why.items())[-_MOST:]:
        more = f" and {len(asked) - _MOST} more" if len(asked) > _MOST else ""
        yield f"Nothing came of {', '.join(asked[:_MOST])}{more}: {line(why, REASON)}"


def _parts(
    show: Show, result: Result, told: ResultSummary, turns: Turns, entries: Sequence[log.Entry], placed: Placed
) -> Iterator[CardPart]:
    """Everything that stands behind the card, in the order in which it is looked for."""
    if told.why or told.quote is not None or told.open:
        cited = quotes_of(result.outcome.get("citations")) or filter(None, (told.quote,))
        quotes = (f"{line(q.where)}: “{line(q.quote)}”" for q in map(placed, cited))
        yield CardPart(
            name="reasons",
            title="The reasons in full",
            lines=(*filter(None, (*told.why.split("\n"), told.open)), *quotes),
            finding=True,
        )
    yield from told.parts
    yield from shaped(lambda: show.of_log(result.session, entries) if entries else (), lambda: ())
    if rows := tuple(f"{name}: {value}" for name, value in show.certificate(result)):
        yield CardPart(name="certificate", title="Certificate: the figures that the stop rests on", lines=rows)
    records = {"reliability": result.stop.certificate.get("reliability")}
    if learned := tuple(shaped(lambda: learned_words(result), lambda: figures(records))):
        yield CardPart(name="past", title="What past outcomes say of it", lines=learned)
    if failures := tuple(map(failure_words, turns.failures)):
        yield CardPart(name="failures", title="Replies that were not accepted", lines=failures)
    yield _usage(result)


def failure_words(failure: SubmissionRefused) -> str:
    """One attempt at a turn that was no good."""
    who = ""
    if failure.seat:
        attempt = f", attempt {failure.attempt}" if failure.attempt > 1 or not failure.last else ""
        what = f"{line(failure.kind)}{attempt}{', nothing came of it' if failure.last else ''}"
        who = f"{seat_name(failure.seat)}, round {failure.round} ({what}): "
    return f"Step {failure.transition}: {who}{line(failure.why, REASON).rstrip('.')}"


def _usage(result: Result) -> CardPart:
    """What each seat used."""
    rows = tuple(
        Row(cells=(seat_name(seat), str(u.turns), str(u.calls), tokens_words(u).removesuffix(" tokens"), cost_words(u)))
        for seat, u in result.usage.by_seat.items()
    )
    lost = result.usage.unaccounted_turns
    most = f"at most {result.usage.unaccounted_tokens:,} tokens"
    told = [f"{count(lost, 'turn')} may have been paid and lost with a process, {most}."] if lost else []
    told += ["Some of the token counts are estimates."] if result.usage.estimated else []
    return CardPart(
        name="usage",
        title="What was used",
        table=Table(head=("Seat", "Turns", "Calls", "Tokens", "Cost"), rows=rows),
        lines=tuple(told),
    )


def read_by_nobody(result: Result) -> str:
    """A caution for an answer that no language model had a part in; empty where one had, or nothing is settled."""
    if result.keyless is not True or not is_settled(result.stop.reason, result.stop.converged):
        return ""
    return "no language model read it: check the quotation"
