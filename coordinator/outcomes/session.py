"""What one session adds to the totals when it closes, from its whole log. Pure.

What every protocol's sessions have is read off the entries; what its protocol measured, off the state to which the
machine of its version replays them. Where no machine can, that part is left out."""

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from parley.coordinator.budget import booked
from parley.coordinator.estimate import estimate
from parley.coordinator.machine import Session
from parley.coordinator.outcomes.fold import Fold, Traced
from parley.coordinator.replay import replay
from parley.coordinator.table import FLIPS, MachineError, Measured, Protocol, Sample
from parley.coordinator.transition_builder import TransitionBuilder
from parley.observability.outcomes import OUTCOMES, PROTOCOL
from parley.schemas import log
from parley.schemas.past_sessions.fork import CAUSE, Fork
from parley.schemas.post import CLOSED
from parley.schemas.result import Result
from parley.schemas.session import Seat
from parley.schemas.stops import PROTOCOL_FAULT, STOPS, VERSION_LOST
from parley.schemas.turn import Usage
from parley.schemas.wire import decode_or_none

_LOGGER = logging.getLogger(__name__)
Protocols = Mapping[str, Protocol]
_KINDS = ("input", "output")
_BY_MODEL = ("cached_tokens_total", "cost_usd_total", "unpriced_tokens_total")
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
"""W3C's, as a session's opening has it."""
NOT_EARLY = ("round_limit", "budget", "unanswered", "quorum")
"""Reasons of a protocol's own for which a debate does not stop because it has come to an end."""


class Call(NamedTuple):
    """A turn that was answered."""

    at_ns: int
    model: str
    usage: Usage
    """As it is booked."""


class Record:
    """What the entries of a closed session say, also where no machine of this release replays them."""

    def __init__(self, entries: Sequence[bytes]) -> None:
        self.protocol = ""
        self._trace = ""
        self.opened_ns = self.closed_ns = 0
        self.rounds = self.unaccounted = 0
        self.close: log.Close | None = None
        self.fork: Fork | None = None
        self.result: Result | None = None
        self.calls: list[Call] = []
        self._seats: dict[str, Seat] = {}
        self._asks: dict[str, log.Ask] = {}
        for entry in _read(entries):
            self._take(entry)

    @property
    def reason(self) -> str:
        """Of the stop."""
        return "" if self.close is None else self.close.reason

    @property
    def converged(self) -> bool:
        """As the result says; without one, what its reason always means."""
        return is_convergence(self.reason) if self.result is None else self.result.stop.converged

    @property
    def traced(self) -> Traced | None:
        """None where no trace tells of it."""
        match = _TRACEPARENT.fullmatch(self._trace)
        return Traced(match[1], self.closed_ns) if match else None

    def _take(self, entry: log.Entry) -> None:
        event = entry.event
        self.opened_ns = self.opened_ns or entry.at_ns
        self.closed_ns = entry.at_ns
        if isinstance(event, log.Opened):
            self.protocol, self._trace = event.protocol, event.trace or ""
            if event.fork:  # its own time begins where what it carries ends
                self.fork = event.fork
                self.opened_ns += round(event.fork.seconds * 1e9)
            self._seats = {s.seat: s for s in event.seats}
        elif isinstance(event, log.Replied):
            self._replied(entry, event)
        elif isinstance(event, log.ChildEnded) and event.ended.result is not None:
            self.unaccounted -= event.ended.result.usage.unaccounted_turns
        for index, command in enumerate(entry.commands):
            self._command(f"{entry.n}-{index}", command)

    def _replied(self, entry: log.Entry, reply: log.Replied) -> None:
        ask, usage = self._asks.get(reply.turn), reply.usage
        if ask is not None and ask.seat in self._seats:
            usage = booked(self._seats[ask.seat], ask.caps, usage, person=bool(ask.queue))
        if entry.cause.startswith(CAUSE):
            usage = Usage()  # another session paid
        self.calls.append(Call(entry.at_ns, reply.model, usage))

    def _command(self, place: str, command: log.Command) -> None:
        match command:
            case log.Ask():
                self._asks[place] = command
            case log.Invite():
                self._seats.setdefault(command.seat.seat, command.seat)
            case log.Close():
                self.close = command
            case log.Say():
                self.rounds = max(self.rounds, command.round)
                if command.kind == CLOSED and command.channel == "control":
                    self.result = decode_or_none(command.body, Result)
                    if self.result is not None:
                        self.unaccounted += self.result.usage.unaccounted_turns


def _read(entries: Iterable[bytes]) -> Iterator[log.Entry]:
    """The entries, without those that this release cannot read."""
    return (entry for entry in (decode_or_none(data, log.Entry) for data in entries) if entry is not None)


def expected(data: bytes) -> Iterator[Sample]:
    """Numbers of the models of seats that this entry seats, with 0: they are there before the session ends, so that a
    rate sees a model's first tokens."""
    for entry in _read([data]):
        seated = entry.event.seats if isinstance(entry.event, log.Opened) else ()
        for seat in (*seated, *(c.seat for c in entry.commands if isinstance(c, log.Invite))):
            if seat.metered:
                model = {"model": seat.model}
                yield from (Sample("tokens_total", {**model, "kind": k, "estimated": "no"}, 0) for k in _KINDS)
                yield from (Sample(name, model, 0) for name in _BY_MODEL)


def is_convergence(reason: str) -> bool:
    """Whether every stop for this reason is one."""
    row = STOPS.get(reason)
    return row is not None and row.converged and not row.unless


def ends(data: bytes) -> bool:
    """Whether an entry closes its session."""
    return any(isinstance(c, log.Close) for entry in _read([data]) for c in entry.commands)


def is_carried(data: bytes) -> bool:
    """Whether an entry repeats one of the record that its session carries on."""
    return any(entry.cause.startswith(CAUSE) for entry in _read([data]))


def count(fold: Fold, protocols: Protocols, sid: str, entries: Sequence[bytes]) -> None:
    """Add a closed session."""
    record = Record(entries)
    fold.add(_of_every(record), record.traced)
    for call in record.calls:
        fold.spend(call.at_ns, call.usage.cost_usd)
    fold.add(_of_its_protocol(record, protocols, sid, entries), record.traced)
    fold.over(sid)


def count_erased(fold: Fold, sid: str, erased: log.Erased) -> None:
    """Add a closed session of which only this is left."""
    reason = STOPS[erased.reason].reason if erased.reason in STOPS else erased.reason
    fold.add([_closed(erased.protocol, reason, is_convergence(reason), erased.status)])
    if erased.closed_ns is not None:
        seconds = max(0, erased.closed_ns - erased.opened_ns) / 1e9
        fold.add([Sample("session_seconds", {"protocol": erased.protocol}, seconds)])
    fold.over(sid)


def _closed(protocol: str, reason: str, converged: bool, status: str) -> Sample:
    labels = {"protocol": protocol, "reason": reason, "converged": "yes" if converged else "no", "status": status}
    return Sample("sessions_closed_total", labels)


def count_feedback(fold: Fold, protocols: Protocols, sid: str, entries: Sequence[bytes], new: int) -> None:
    """Add what a person said of a closed session with the last `new` of these entries. What repeats the verdict before
    it adds nothing; one that changes it is counted beside it, as totals never fall."""
    last: bool | None = None
    fresh: list[bool] = []
    for place, data in enumerate(entries, new - len(entries)):
        entry = decode_or_none(data, log.Entry)
        if entry is None or not isinstance(entry.event, log.FeedbackGiven):
            continue
        if entry.event.right != last and place >= 0:
            fresh.append(entry.event.right)
        last = entry.event.right
    if not fresh:
        return
    try:
        session = replay(protocols.get, sid, entries).session
        protocol = protocols[session.opened.protocol]
        fold.add([sample for right in fresh for sample in protocol.counted.feedback(session, right)])
    except MachineError as error:
        _LOGGER.info("session %s: its feedback is not counted: %s", sid, error)


def _of_every(record: Record) -> Iterator[Sample]:
    """What is counted of every protocol's sessions."""
    labels = {"protocol": record.protocol}
    status = "failed" if record.close is None else record.close.status
    yield _closed(record.protocol, record.reason, record.converged, status)
    yield Sample("session_seconds", labels, max(0, record.closed_ns - record.opened_ns) / 1e9)
    yield Sample("session_rounds", labels, record.rounds)
    used = sum((c.usage for c in record.calls), Usage())
    yield Sample("session_tokens", labels, used.input_tokens + used.output_tokens)
    yield Sample("session_cost_usd", labels, used.cost_usd)
    yield Sample("session_calls_total", labels, used.calls)
    if record.unaccounted > 0:
        yield Sample("unaccounted_calls_total", value=record.unaccounted)
    for call in record.calls:
        yield from _of_call(call)


def _of_call(call: Call) -> Iterator[Sample]:
    usage = call.usage
    if not (usage.input_tokens or usage.output_tokens):
        return
    model = {"model": call.model}
    estimated = "yes" if usage.estimated else "no"
    for kind, tokens in (("input", usage.input_tokens), ("output", usage.output_tokens)):
        yield Sample("tokens_total", {**model, "kind": kind, "estimated": estimated}, tokens)
    yield Sample("cached_tokens_total", model, usage.cached_tokens or 0)
    yield Sample("cost_usd_total", model, usage.cost_usd)
    yield Sample("unpriced_tokens_total", model, usage.input_tokens + usage.output_tokens if usage.unpriced else 0)


def _of_its_protocol(record: Record, protocols: Protocols, sid: str, entries: Sequence[bytes]) -> Sequence[Sample]:
    """What its protocol measured; nothing where no machine replays it."""
    protocol = protocols.get(record.protocol)
    if protocol is None:
        return ()
    try:
        session = replay(protocols.get, sid, entries).session
        view = TransitionBuilder(protocol, session, session.at_ns).view()
        measured = protocol.counted.measured(session, view)
        return [*_measured(protocol.name, measured), *_saved(protocol, session, record)]
    except MachineError as error:
        _LOGGER.info("session %s is counted by its entries alone: %s", sid, error)
    except Exception:  # what a protocol from outside measures may fail: the others are counted all the same
        _LOGGER.exception("session %s is counted by its entries alone", sid)
    return ()


def _measured(protocol: str, measured: Measured) -> Iterator[Sample]:
    labels = {"protocol": protocol}
    if measured.agreement is not None:
        yield Sample("agreement", labels, measured.agreement)
    if measured.disagreement is not None:
        yield Sample("disagreement", labels, measured.disagreement)
    if measured.plateau:
        yield Sample("plateaus_total", labels)
    for because, times in measured.flips.items():
        yield Sample("flips_total", {**labels, "because": because}, times)
    for variance in measured.judge_variance:
        yield Sample("judge_variance", labels, variance)
    yield from measured.samples


def _saved(protocol: Protocol, session: Session, record: Record) -> Iterator[Sample]:
    """Calls that an early stop saved, by the estimate that `--dry-run` shows."""
    labels, calls_made = {"protocol": protocol.name}, sum(c.usage.calls for c in record.calls)
    if record.fork is not None:
        return  # part of its calls were made by another session
    if record.reason in protocol.stops and record.reason not in NOT_EARLY and not (protocol.fixed or protocol.experts):
        cap = estimate(protocol, session.opened)
        if record.rounds < cap.rounds and cap.likely_most.calls > calls_made:
            yield Sample("calls_saved_total", labels, cap.likely_most.calls - calls_made)


# ---------------------------------------------------------------- labels that are known before anything is counted


Child = tuple[str, Mapping[str, str]]
_EVERYBODYS = ("answered_now", "cancelled", PROTOCOL_FAULT, VERSION_LOST)
_ITEMS = ("human", "default", "session")
"""Who closes a question to a human; session: it ended before anybody did."""


def children(protocols: Protocols) -> Iterator[Child]:
    """(series, labels)."""
    for protocol in protocols.values():
        yield from ((s.series, s.labels) for s in protocol.counted.children)
        if not protocol.standing:
            yield from _of(protocol)
    yield from (("items_closed_total", {"by": by}) for by in _ITEMS)
    yield from ((name, {}) for name, row in OUTCOMES.items() if not row.labels)


def _of(protocol: Protocol) -> Iterator[Child]:
    labels_of_protocol = {"protocol": protocol.name}
    yield from ((name, labels_of_protocol) for name, row in OUTCOMES.items() if row.labels == PROTOCOL)
    for reason in (*protocol.stops, *_EVERYBODYS):
        row = STOPS[reason]
        for converged in (True, False) if row.unless else (is_convergence(reason),):
            labels = {"reason": reason, "converged": "yes" if converged else "no", "status": row.status}
            yield "sessions_closed_total", {**labels_of_protocol, **labels}
    yield from (("flips_total", {**labels_of_protocol, "because": because}) for because in FLIPS)
