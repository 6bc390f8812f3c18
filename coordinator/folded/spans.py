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

from bus import subjects
from bus.channels import CONTROL
from bus.errors import BusError
from bus.log import Log
from coordinator.machine import Protocol, Session
from observability import genai, tracing
from observability.tracing import Attribute, Event, Written
from schemas import log
from schemas.afterwards.fork import CAUSE
from schemas.post import Post
from schemas.session import Seat, is_human
from schemas.wire import SchemaError, decode

_LOGGER = logging.getLogger(__name__)
_LONG_TURN_S = 3_600.0
"""A session whose turns may last longer, or that waits for people, is one trace a round. Slow models have so long."""
_BESIDE = (subjects.REFUSED, subjects.ERASED, subjects.FEEDBACK)


# ---------------------------------------------------------------- where they are


def is_long(opened: log.Opened) -> bool:
    """Whether each of its rounds is a trace of its own: it may last longer than viewers and collectors hold a trace."""
    return bool(opened.waits) or opened.turn_timeout_s > _LONG_TURN_S or any(is_human(s.queue) for s in opened.seats)


def session_span(sid: str, opened: log.Opened) -> SpanContext | None:
    """The session's own span; None where it is not traced."""
    hangs = tracing.parsed(opened.trace or "")
    return None if hangs is None else tracing.place(hangs, tracing.span_of(sid, "session"))


def round_span(sid: str, opened: log.Opened, round_: int) -> SpanContext | None:
    """The span of one of its rounds; None where it is not traced."""
    own = session_span(sid, opened)
    if own is None:
        return None
    return tracing.place(
        own, tracing.span_of(sid, "round", round_), tracing.trace_of(sid, round_) if is_long(opened) else 0
    )


def step_within(session: Session | None, event: log.Event) -> SpanContext | None:
    """What a step hangs on whose event carries no context: the turn that it answers, else the session."""
    if session is None or not session.opened.trace:
        return None
    turn = session.turns.get(event.turn) if isinstance(event, log.Replied) else None
    if turn is None:
        return session_span(session.sid, session.opened)
    here = round_span(session.sid, session.opened, turn.ask.round)
    return None if here is None else tracing.place(here, tracing.span_of(session.sid, "turn", turn.id))


def post_headers(session: Session, post: Post) -> dict[str, str]:
    """What a post carries: the span that is written of it."""
    sid, opened = session.sid, session.opened
    where = session_span(sid, opened) if post.channel == CONTROL else round_span(sid, opened, post.round)
    return _headers(where, tracing.span_of(sid, "post", post.n))


def work_headers(session: Session, round_: int) -> dict[str, str]:
    """What turns carry: the span of their round."""
    return _headers(round_span(session.sid, session.opened, round_))


def session_headers(session: Session) -> dict[str, str]:
    """What a session's words to another one carry: its own span."""
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
    """The transition with which it was over."""
    turns: list[str] = field(default_factory=list)
    missed: int = 0


@dataclass
class _Told:
    """What the entries of one session come to."""

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
    """With the time, and the turn whose reply it came with."""
    tokens: int = 0
    calls: int = 0
    cost_usd: float = 0.0


def _told(entries: Sequence[log.Entry]) -> _Told:
    opening = entries[0].event
    assert isinstance(opening, log.Opened)
    told = _Told(opening, entries[0].at_ns, {s.seat: s for s in opening.seats})
    for entry in entries:
        said = ""
        if isinstance(entry.event, log.Replied) and entry.event.turn in told.turns:
            said = entry.event.turn
            _reply(told, entry)
        elif isinstance(entry.event, log.TimerFired):
            _deadlines(told, entry)
        for place, command in enumerate(entry.commands):
            _command(told, command, f"{entry.n}-{place}", entry.at_ns, said)
        told.ended_ns = entry.at_ns
        _rounds_over(told, entry)
    return told


def _reply(told: _Told, entry: log.Entry) -> None:
    event = entry.event
    assert isinstance(event, log.Replied)
    turn = told.turns[event.turn]
    turn.ended_ns, turn.answered = entry.at_ns, True
    told.rounds[turn.ask.round].ended_ns = entry.at_ns
    if entry.cause.startswith(CAUSE):
        return  # another session paid
    told.tokens += event.usage.input_tokens + event.usage.output_tokens
    told.calls += event.usage.calls
    told.cost_usd += event.usage.cost_usd


def _deadlines(told: _Told, entry: log.Entry) -> None:
    """Turns that a time-out ended."""
    event = entry.event
    assert isinstance(event, log.TimerFired)
    for turn in told.turns.values():
        gone = not turn.ask.queue and told.seats[turn.ask.seat].queue in event.gone
        if not turn.ended_ns and (turn.ask.deadline_ns <= entry.at_ns or gone):
            turn.ended_ns, turn.failed = entry.at_ns, "worker_gone" if gone else "deadline"
            round_ = told.rounds[turn.ask.round]
            round_.missed, round_.ended_ns = round_.missed + 1, entry.at_ns


def _command(told: _Told, command: log.Command, turn: str, at_ns: int, said: str) -> None:
    if isinstance(command, log.Ask):
        told.turns[turn] = _Turn(command, at_ns)
        told.rounds.setdefault(command.round, _Round(at_ns, at_ns)).turns.append(turn)
        told.rounds[command.round].over = -1
    elif isinstance(command, log.Say):
        told.posts.append((command, at_ns, said))
        if command.channel != CONTROL:
            told.rounds.setdefault(command.round, _Round(at_ns, at_ns)).ended_ns = at_ns
        elif command.kind == "stop":
            told.stopped, told.stopped_ns = _figures(command), at_ns
    elif isinstance(command, log.Invite):
        told.seats[command.seat.seat] = command.seat
    elif isinstance(command, log.Close):
        told.close = command


def _figures(said: log.Say) -> dict[str, Attribute]:
    """A stop decision's reason and plain figures."""
    body = decode(said.body, dict)
    certificate = body.get("certificate")
    attributes: dict[str, Attribute] = {"parley.stop.reason": str(body.get("reason", ""))}
    if isinstance(body.get("converged"), bool):
        attributes["parley.stop.converged"] = body["converged"]
    for name, value in (certificate if isinstance(certificate, dict) else {}).items():
        if isinstance(value, bool | int | float):
            attributes[f"parley.stop.{name}"] = value
    return attributes


def _rounds_over(told: _Told, entry: log.Entry) -> None:
    """A round is over when the session is, or when none of its turns is out and a later one's were asked."""
    asked = [c.round for c in entry.commands if isinstance(c, log.Ask)]
    later = max(asked, default=-1)
    for number, round_ in told.rounds.items():
        if round_.over < 0 and (
            told.close is not None or (number < later and all(told.turns[turn].ended_ns for turn in round_.turns))
        ):
            round_.over = entry.n


# ---------------------------------------------------------------- the spans


def spans(sid: str, protocol: Protocol, entries: Sequence[log.Entry], n: int) -> Iterator[Written]:
    """Those that are to be written with transition `n`: of a session of human length, the rounds that are over with it,
    at its end its own; of any other, all of them at its end."""
    told = _told(entries[: n + 1])
    own = session_span(sid, told.opened)
    if own is None:
        return
    long, ends = is_long(told.opened), told.close is not None and n == entries[-1].n
    before: SpanContext | None = None
    for number in sorted(told.rounds):
        round_ = told.rounds[number]
        if ends if not long else round_.over == n:
            yield from _of_round(sid, protocol, told, number, own, before)
        before = round_span(sid, told.opened, number)
    if ends:
        yield from _of_posts(sid, protocol, told, None, own)
        yield _of_session(sid, told, own)


def _of_session(sid: str, told: _Told, own: SpanContext) -> Written:
    hangs = tracing.parsed(told.opened.trace or "")
    assert told.close is not None
    failed = told.close.reason if told.close.status == "failed" else ""
    attributes: dict[str, Attribute] = {
        **genai.workflow(sid, told.opened.protocol),
        "parley.status": told.close.status,
        "parley.stop.reason": told.close.reason,
        "parley.rounds": sum(bool(r.turns) for r in told.rounds.values()),
        "parley.turns": len(told.turns),
        "parley.turns.missed": sum(r.missed for r in told.rounds.values()),
        "parley.calls": told.calls,
        "parley.tokens": told.tokens,
        "parley.cost_usd": told.cost_usd,
    }
    stop = Event(
        "parley.stop", told.stopped_ns or told.ended_ns, told.stopped or {"parley.stop.reason": told.close.reason}
    )
    return Written(
        name=f"invoke_workflow {told.opened.protocol}", within=None if hangs == own else hangs, id=own,
        started_ns=told.opened_ns, ended_ns=told.ended_ns, attributes=attributes, events=(stop,), failed=failed,
    )  # fmt: skip


def _of_round(
    sid: str, protocol: Protocol, told: _Told, number: int, own: SpanContext, before: SpanContext | None
) -> Iterator[Written]:
    here = round_span(sid, told.opened, number)
    assert here is not None
    alone = here.trace_id != own.trace_id
    round_ = told.rounds[number]
    attributes: dict[str, Attribute] = {
        "session.id": sid, "gen_ai.conversation.id": sid, "parley.round": number, "parley.turns": len(round_.turns),
        "parley.turns.missed": round_.missed,
    }  # fmt: skip
    yield Written(
        name=f"round {number}", within=None if alone else own, id=here, started_ns=round_.started_ns,
        ended_ns=round_.ended_ns, attributes=attributes,
        links=[c for c in (own, before) if c is not None] if alone else (),
    )  # fmt: skip
    for id in round_.turns:
        turn = told.turns[id]
        seat = told.seats[turn.ask.seat]
        person = bool(turn.ask.queue) or is_human(seat.queue)
        if (person and turn.ended_ns) or turn.failed == "worker_gone":  # no worker tells of it
            yield Written(
                name=f"invoke_agent {seat.role}", within=here, started_ns=turn.asked_ns, ended_ns=turn.ended_ns,
                id=tracing.place(here, tracing.span_of(sid, "turn", id)), failed=turn.failed,
                attributes=genai.agent(sid, seat.seat, told.opened.protocol, turn.ask.kind, number, id),
            )  # fmt: skip
    yield from _of_posts(sid, protocol, told, number, here)


def _of_posts(sid: str, protocol: Protocol, told: _Told, number: int | None, here: SpanContext) -> Iterator[Written]:
    """Of a round; None: of `control`, whose posts are the session's."""
    for n, (said, at_ns, turn) in enumerate(told.posts):
        if number != (None if said.channel == CONTROL else said.round):
            continue
        answers = protocol.answers.get(said.kind, ())
        links = [
            tracing.post(sid, here, k, other.round, alone=is_long(told.opened))
            for k, (other, _, _) in enumerate(told.posts[:n]) if other.kind in answers
        ]  # fmt: skip
        if turn:
            links.append(tracing.place(here, tracing.span_of(sid, "turn", turn)))
        template, subject = subjects.posts_all(said.channel, said.kind), subjects.post(sid, said.channel, said.kind)
        yield Written(
            name=f"publish {said.kind}", within=here, id=tracing.place(here, tracing.span_of(sid, "post", n)),
            started_ns=at_ns, ended_ns=at_ns, kind=SpanKind.PRODUCER, links=links,
            attributes={
                **tracing.message("publish", template, subject, sid), "parley.post": n, "parley.seat": said.seat,
            },
        )  # fmt: skip


# ---------------------------------------------------------------- writing them


class Spans:
    """Writes what is over with a transition that this moderator appended, or whose effects it carries out again."""

    def __init__(self, log: Log) -> None:
        self._log = log

    async def write(self, session: Session, protocol: Protocol, ns: Sequence[int]) -> None:
        """Read the log, and write the spans that are over with these transitions. What keeps it from that is logged, as
        the session itself went on."""
        if not session.opened.trace or not tracing.enabled() or not (session.closed or is_long(session.opened)):
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
