"""The spans of a session that are written from its log: its own, those of its rounds, of its posts, and of the turns
that no worker can tell of.

    spans(sid, protocol, entries, n) -> spans that are over with transition n       pure

Nobody holds a span open. Whoever appends the end of a session reads its log and writes them all, with the times of the
log; where that moderator is killed, whoever carries the end's effects out again does. Their ids follow from what they
are of, so that workers hang their turns on a round which is written later.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from opentelemetry.trace import SpanContext, SpanKind

from parley.bus import subjects
from parley.bus.channels import CONTROL
from parley.bus.errors import BusError
from parley.bus.log import Log
from parley.coordinator.machine import Protocol, Session
from parley.observability import genai, tracing
from parley.observability.tracing import Attribute, Event, FinishedSpan
from parley.schemas import log
from parley.schemas.past_sessions.fork import CAUSE
from parley.schemas.post import Post
from parley.schemas.session import Seat, is_human
from parley.schemas.wire import SchemaError, decode

_LOGGER = logging.getLogger(__name__)
_LONG_TURN_S = 3_600.0
"""A session whose turns may last longer, or that waits for people, has one trace for each round. Slow models take so
long."""
_BESIDE = (subjects.REFUSED, subjects.ERASED, subjects.FEEDBACK)


# ---------------------------------------------------------------- where they are


def is_long(opened: log.Opened) -> bool:
    """Whether each round is a trace of its own: the session may last longer than viewers and collectors hold a
    trace."""
    return bool(opened.waits) or opened.turn_timeout_s > _LONG_TURN_S or any(is_human(s.queue) for s in opened.seats)


def session_span(sid: str, opened: log.Opened) -> SpanContext | None:
    """The session's own span; None if it is not traced."""
    hangs = tracing.parse_traceparent(opened.trace or "")
    return None if hangs is None else tracing.place(hangs, tracing.span_of(sid, "session"))


def round_span(sid: str, opened: log.Opened, round_: int) -> SpanContext | None:
    """The span of a round; None if it is not traced."""
    own = session_span(sid, opened)
    if own is None:
        return None
    return tracing.place(
        own, tracing.span_of(sid, "round", round_), tracing.trace_of(sid, round_) if is_long(opened) else 0
    )


def step_within(session: Session | None, event: log.Event) -> SpanContext | None:
    """The parent span of a step whose event has no context: the turn that it answers, else the session."""
    if session is None or not session.opened.trace:
        return None
    turn = session.turns.get(event.turn) if isinstance(event, log.Replied) else None
    if turn is None:
        return session_span(session.sid, session.opened)
    here = round_span(session.sid, session.opened, turn.ask.round)
    return None if here is None else tracing.place(here, tracing.span_of(session.sid, "turn", turn.id))


def post_headers(session: Session, post: Post) -> dict[str, str]:
    """Headers of a post: the span that is written for it."""
    sid, opened = session.sid, session.opened
    where = session_span(sid, opened) if post.channel == CONTROL else round_span(sid, opened, post.round)
    return _headers(where, tracing.span_of(sid, "post", post.n))


def work_headers(session: Session, round_: int) -> dict[str, str]:
    """Headers of turns: the span of their round."""
    return _headers(round_span(session.sid, session.opened, round_))


def session_headers(session: Session) -> dict[str, str]:
    """Headers of a message to another session: the sender's own span."""
    return _headers(session_span(session.sid, session.opened))


def _headers(context: SpanContext | None, span_id: int = 0) -> dict[str, str]:
    if context is None:
        return {}
    return {tracing.HEADER: tracing.text(tracing.place(context, span_id) if span_id else context)}


# ---------------------------------------------------------------- what the log says


@dataclass
class _Turn:
    ask: log.Ask
    asked_ns: int
    ended_ns: int = 0
    failed: str = ""
    answered: bool = False


@dataclass
class _Round:
    started_ns: int
    ended_ns: int
    over: int = -1
    """The transition with which the round was over; -1: it is not."""
    turns: list[str] = field(default_factory=list)
    missed: int = 0


@dataclass
class _Record:
    """What the entries of a session say."""

    opened: log.Opened
    opened_ns: int
    seats: dict[str, Seat]
    ended_ns: int = 0
    close: log.Close | None = None
    stopped: Mapping[str, Attribute] | None = None
    stopped_ns: int = 0
    rounds: dict[int, _Round] = field(default_factory=dict)
    turns: dict[str, _Turn] = field(default_factory=dict)
    posts: list[tuple[log.Say, int, str]] = field(default_factory=list)
    """Each with its time, and the turn whose reply it came with."""
    tokens: int = 0
    calls: int = 0
    cost_usd: float = 0.0
    unpriced: bool = False


def _fold_record(entries: Sequence[log.Entry]) -> _Record:
    opening = entries[0].event
    assert isinstance(opening, log.Opened)
    record = _Record(opening, entries[0].at_ns, {s.seat: s for s in opening.seats})
    for entry in entries:
        replied_turn = ""
        if isinstance(entry.event, log.Replied) and entry.event.turn in record.turns:
            replied_turn = entry.event.turn
            _reply(record, entry)
        elif isinstance(entry.event, log.TimerFired):
            _deadlines(record, entry)
        for place, command in enumerate(entry.commands):
            _command(record, command, f"{entry.n}-{place}", entry.at_ns, replied_turn)
        record.ended_ns = entry.at_ns
        _rounds_over(record, entry)
    return record


def _reply(record: _Record, entry: log.Entry) -> None:
    event = entry.event
    assert isinstance(event, log.Replied)
    turn = record.turns[event.turn]
    turn.ended_ns, turn.answered = entry.at_ns, True
    record.rounds[turn.ask.round].ended_ns = entry.at_ns
    if entry.cause.startswith(CAUSE):
        return  # another session paid
    record.tokens += event.usage.input_tokens + event.usage.output_tokens
    record.calls += event.usage.calls
    record.cost_usd += event.usage.cost_usd
    record.unpriced = record.unpriced or bool(event.usage.unpriced)


def _deadlines(record: _Record, entry: log.Entry) -> None:
    """Note the turns that a time-out ended."""
    event = entry.event
    assert isinstance(event, log.TimerFired)
    for turn in record.turns.values():
        gone = not turn.ask.queue and record.seats[turn.ask.seat].queue in event.gone
        if not turn.ended_ns and (turn.ask.deadline_ns <= entry.at_ns or gone):
            turn.ended_ns, turn.failed = entry.at_ns, "worker_gone" if gone else "deadline"
            round_ = record.rounds[turn.ask.round]
            round_.missed, round_.ended_ns = round_.missed + 1, entry.at_ns


def _command(record: _Record, command: log.Command, turn: str, at_ns: int, replied_turn: str) -> None:
    if isinstance(command, log.Ask):
        record.turns[turn] = _Turn(command, at_ns)
        record.rounds.setdefault(command.round, _Round(at_ns, at_ns)).turns.append(turn)
        record.rounds[command.round].over = -1
    elif isinstance(command, log.Say):
        record.posts.append((command, at_ns, replied_turn))
        if command.channel != CONTROL:
            record.rounds.setdefault(command.round, _Round(at_ns, at_ns)).ended_ns = at_ns
        elif command.kind == "stop":
            record.stopped, record.stopped_ns = _figures(command), at_ns
    elif isinstance(command, log.Invite):
        record.seats[command.seat.seat] = command.seat
    elif isinstance(command, log.Close):
        record.close = command


def _figures(stop: log.Say) -> dict[str, Attribute]:
    """The reason of a stop decision, and its plain figures."""
    body = decode(stop.body, dict)
    certificate = body.get("certificate")
    attributes: dict[str, Attribute] = {"parley.stop.reason": str(body.get("reason", ""))}
    if isinstance(body.get("converged"), bool):
        attributes["parley.stop.converged"] = body["converged"]
    for name, value in (certificate if isinstance(certificate, dict) else {}).items():
        if isinstance(value, bool | int | float):
            attributes[f"parley.stop.{name}"] = value
    return attributes


def _rounds_over(record: _Record, entry: log.Entry) -> None:
    """Note the rounds that are over: the session is closed, or all turns of the round ended and a later round was
    asked."""
    asked_rounds = [c.round for c in entry.commands if isinstance(c, log.Ask)]
    later = max(asked_rounds, default=-1)
    for number, round_ in record.rounds.items():
        if round_.over < 0 and (
            record.close is not None or (number < later and all(record.turns[turn].ended_ns for turn in round_.turns))
        ):
            round_.over = entry.n


# ---------------------------------------------------------------- the spans


def spans(sid: str, protocol: Protocol, entries: Sequence[log.Entry], n: int) -> Iterator[FinishedSpan]:
    """The spans to be written with transition `n`. For a session that may last long: those of the rounds that end with
    it, and at the session's end its own. For any other session: all of them, at its end."""
    record = _fold_record(entries[: n + 1])
    own = session_span(sid, record.opened)
    if own is None:
        return
    long, ends = is_long(record.opened), record.close is not None and n == entries[-1].n
    before: SpanContext | None = None
    for number in sorted(record.rounds):
        round_ = record.rounds[number]
        if ends if not long else round_.over == n:
            yield from _of_round(sid, protocol, record, number, own, before)
        before = round_span(sid, record.opened, number)
    if ends:
        yield from _of_posts(sid, protocol, record, None, own)
        yield _of_session(sid, record, own)


def _of_session(sid: str, record: _Record, own: SpanContext) -> FinishedSpan:
    hangs = tracing.parse_traceparent(record.opened.trace or "")
    assert record.close is not None
    failed = record.close.reason if record.close.status == "failed" else ""
    attributes: dict[str, Attribute] = {
        **genai.workflow(sid, record.opened.protocol),
        "parley.status": record.close.status,
        "parley.stop.reason": record.close.reason,
        "parley.rounds": sum(bool(r.turns) for r in record.rounds.values()),
        "parley.turns": len(record.turns),
        "parley.turns.missed": sum(r.missed for r in record.rounds.values()),
        "parley.calls": record.calls,
        "parley.tokens": record.tokens,
        "parley.cost_usd": record.cost_usd,
        "parley.unpriced": record.unpriced,
    }
    stop = Event(
        "parley.stop",
        record.stopped_ns or record.ended_ns,
        record.stopped or {"parley.stop.reason": record.close.reason},
    )
    return FinishedSpan(
        name=f"invoke_workflow {record.opened.protocol}",
        within=None if hangs == own else hangs,
        id=own,
        started_ns=record.opened_ns,
        ended_ns=record.ended_ns,
        attributes=attributes,
        events=(stop,),
        failed=failed,
    )


def _of_round(
    sid: str, protocol: Protocol, record: _Record, number: int, own: SpanContext, before: SpanContext | None
) -> Iterator[FinishedSpan]:
    here = round_span(sid, record.opened, number)
    assert here is not None
    alone = here.trace_id != own.trace_id
    round_ = record.rounds[number]
    attributes: dict[str, Attribute] = {
        "session.id": sid,
        "gen_ai.conversation.id": sid,
        "parley.round": number,
        "parley.turns": len(round_.turns),
        "parley.turns.missed": round_.missed,
    }
    yield FinishedSpan(
        name=f"round {number}",
        within=None if alone else own,
        id=here,
        started_ns=round_.started_ns,
        ended_ns=round_.ended_ns,
        attributes=attributes,
        links=[c for c in (own, before) if c is not None] if alone else (),
    )
    for id in round_.turns:
        turn = record.turns[id]
        seat = record.seats[turn.ask.seat]
        person = bool(turn.ask.queue) or is_human(seat.queue)
        if (person and turn.ended_ns) or turn.failed == "worker_gone":  # no worker tells of it
            yield FinishedSpan(
                name=f"invoke_agent {seat.role}",
                within=here,
                started_ns=turn.asked_ns,
                ended_ns=turn.ended_ns,
                id=tracing.place(here, tracing.span_of(sid, "turn", id)),
                failed=turn.failed,
                attributes=genai.agent(sid, seat.seat, record.opened.protocol, turn.ask.kind, number, id),
            )
    yield from _of_posts(sid, protocol, record, number, here)


def _of_posts(
    sid: str, protocol: Protocol, record: _Record, number: int | None, here: SpanContext
) -> Iterator[FinishedSpan]:
    """The posts of a round; None: those of `control`, which belong to the session."""
    for n, (post, at_ns, turn) in enumerate(record.posts):
        if number != (None if post.channel == CONTROL else post.round):
            continue
        answers = protocol.answers.get(post.kind, ())
        links = [
            tracing.post(sid, here, k, other.round, alone=is_long(record.opened))
            for k, (other, _, _) in enumerate(record.posts[:n])
            if other.kind in answers
        ]
        if turn:
            links.append(tracing.place(here, tracing.span_of(sid, "turn", turn)))
        template, subject = (
            subjects.post.of(channel=post.channel, kind=post.kind),
            subjects.post(sid, post.channel, post.kind),
        )
        yield FinishedSpan(
            name=f"publish {post.kind}",
            within=here,
            id=tracing.place(here, tracing.span_of(sid, "post", n)),
            started_ns=at_ns,
            ended_ns=at_ns,
            kind=SpanKind.PRODUCER,
            links=links,
            attributes={
                **tracing.message("publish", template, subject, sid),
                "parley.post": n,
                "parley.seat": post.seat,
            },
        )


# ---------------------------------------------------------------- writing them


class Spans:
    """Writes the spans that end with a transition which this moderator appended, or whose effects it carries out
    again."""

    def __init__(self, log: Log) -> None:
        self._log = log

    async def write(self, session: Session, protocol: Protocol, ns: Sequence[int]) -> None:
        """Read the log, and write the spans that end with these transitions. A failure is only logged: the session goes
        on."""
        if not session.opened.trace or not tracing.is_enabled() or not (session.closed or is_long(session.opened)):
            return
        try:
            stored = [s for s in await self._log.read(session.sid) if s.kind not in _BESIDE]
            entries = [decode(s.data, log.Entry) for s in stored]
            for n in ns:
                if n < len(entries):
                    for span in spans(session.sid, protocol, entries, n):
                        tracing.write(span)
        except (BusError, SchemaError) as error:
            _LOGGER.warning("spans not written: %s", error)
