"""The machine: what every session does, whatever its protocol.

    step(session, event, at_ns) -> (session, commands)        pure: no clock, no dice, no network

A protocol is a table (`parley.coordinator.table`). This module keeps what all protocols share: open turns with their
deadlines, retries, the ledger, posts and their numbers, the one timer, the stop decision, and the result.

What always holds:

1. The same events give the same state and the same commands, byte for byte, on every machine. Each entry's digest
   includes the one before it, so a replay finds the first byte that differs. Time comes in as `at_ns` and never runs
   backwards: an earlier time is set to the session's last.
2. A failed step changes nothing, because state is replaced and never mutated. An event that has no place raises
   `Illegal`, and its sender is refused with that text.
3. A turn is answered once. It is open until it is replied to, missed or withdrawn, and then it is gone.
4. Money is reserved when a turn is asked and booked when the turn ends. A try that was begun and gave no reply counts
   as lost at its full reservation. So the ledger may overstate, and never understates.
5. While something is awaited, one timer is set for the earliest deadline. So no silent worker can hang a session.
6. A stop decision stands. A session that is closed takes no event.
7. A turn that is set aside is awaited by nobody, and stays open until its deadline
   (parley.coordinator.signals.grace). Its seat is asked nothing meanwhile: what it would be asked is missed at once.

Why the steps have this order:

- `_on_replied` books the usage before it hands the reply to the protocol: the protocol's next turns must fit into what
  is really left. It checks the reply before that, since a bad reply is paid too and the turn is asked again.
- `_on_timer` handles what is due in the order of deadlines, turns before windows. Each one may close others, so it
  looks each up again. Workers that are gone come last: a turn whose deadline also passed is late, not gone.
- `_on_begun` takes a second try of a turn as proof that the first was lost: it is booked, and the turn stays open only
  if one more reservation fits.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from parley.coordinator.budget import BYTES_PER_TOKEN, ESTIMATED, OVERSTATED, UNPRICED, Ledger, booked, priced
from parley.coordinator.commands import Stop
from parley.coordinator.signals.grace import GONE, SECOND
from parley.coordinator.table import (
    Answered,
    AnsweredLate,
    BrokenTable,
    Cell,
    ChildEnded,
    Decided,
    Illegal,
    Inadmissible,
    Inner,
    MachineError,
    Missed,
    OpenTurn,
    Protocol,
    Role,
    Session,
    Sitter,
    Spoke,
    Step,
    Stopped,
    Table,
    Told,
    Unaffordable,
    View,
    WindowClosed,
    awaited,
    digest,
    seat_of,
    to,
)
from parley.coordinator.transition_builder import STOP_RULES, Transition, TransitionBuilder
from parley.schemas import log, registry
from parley.schemas.folders.notes import memory_of
from parley.schemas.past_sessions.feedback import CHANNEL, FEEDBACK, MOST_FEEDBACK, NOTES, Feedback, Kept
from parley.schemas.past_sessions.fork import FORK
from parley.schemas.stops import PROTOCOL_FAULT
from parley.schemas.wire import Undecodable, decode, encode, raw

__all__ = [
    "step", "begin", "digest", "counted", "record", "record_opening", "outcome", "Session", "Stopped", "OpenTurn",
    "Protocol", "Role", "Table", "Cell", "Step", "View", "to", "Answered", "AnsweredLate", "Missed", "Unaffordable",
    "Spoke", "WindowClosed", "Decided", "ChildEnded", "Told", "Inner", "MachineError", "Illegal", "Inadmissible",
    "BrokenTable",
]  # fmt: skip


def begin(protocol: Protocol, sid: str, opened: log.Opened, at_ns: int) -> Transition:
    """The first transition. Raises Inadmissible: the budget does not even hold the first turns and what is kept back
    for the end."""
    if opened.stop_rule:
        registry.load(STOP_RULES, opened.stop_rule)  # who does not have it leaves the session to others
    settings: Any = decode(encode(opened.settings), protocol.settings)
    sitters = awaited(opened)
    session = Session(sid=sid, opened=opened, settings=settings, n=0, opened_ns=at_ns, at_ns=at_ns, sitters=sitters)
    draft = TransitionBuilder(protocol, session, at_ns)
    for seat, sitter in sitters.items():
        draft.tell("seat", {"seat": seat, "human": True, "waits": sitter.seconds})
    inner, wishes = protocol.start(draft.view())
    draft.inner = inner
    draft.wish(wishes)
    short = draft.short()
    if short:
        raise Inadmissible("budget", f"the first turns do not fit: {short.what}")
    return draft.done()


def step(protocol: Protocol, session: Session, event: log.Event, at_ns: int) -> Transition:
    """Take one event.

    Parameters
    ----------
    at_ns
        Unix time of the event, ns. A clock that runs behind the session's last is set to that.

    Raises
    ------
    Illegal
        The event has no place here: a turn that is not open, a closed session, words nobody waits for.
    """
    if session.closed and not isinstance(event, log.AFTERWARDS):
        raise Illegal("the session is closed")
    handler = _ON.get(type(event))
    if handler is None:
        raise Illegal(f"{type(event).__name__} has no place in an open session")
    draft = TransitionBuilder(protocol, session, max(at_ns, session.at_ns))
    handler(draft, event)
    draft.follow_rule()
    return draft.done()


def _on_replied(draft: TransitionBuilder, event: log.Replied) -> None:
    turn = draft.turns.pop(event.turn, None)
    if turn is None:
        raise Illegal(f"turn {event.turn} is not open")
    a = turn.ask
    if a.deadline_ns < draft.at_ns:
        raise Illegal(f"turn {event.turn}: its deadline passed {(draft.at_ns - a.deadline_ns) / 1e9:.3f} s ago")
    if event.found:
        draft.take_found(a, event.found)
    body: Any = None
    error = event.error
    if not error:
        try:
            body = decode(event.body, draft.protocol.replies[a.kind])
        except Undecodable as fault:
            error = f"the reply is not what was asked: {fault.why}"
    if not error:
        error = draft.protocol.check(draft.inner, turn, body, draft.view())
    used = booked(seat_of(draft.opened, a.seat), a.caps, event.usage, person=bool(a.queue))
    draft.ledger = draft.ledger.add(a.seat, used, answered=not error)
    if not event.error and not a.queue and draft.protocol.may_close is not None:
        draft.lasted = {**draft.lasted, a.seat: draft.at_ns - turn.asked_ns}
    draft.note_taken(turn, used)
    flags = event.flags if used == event.usage else (*event.flags, OVERSTATED)
    if error and not turn.aside:
        draft.again(turn, error, bytes(event.body))
    elif not error:
        came = AnsweredLate if turn.aside else Answered
        draft.handle(came(turn=turn.id, seat=a.seat, kind=a.kind, round=a.round, body=body, flags=flags))


def _on_timer(draft: TransitionBuilder, event: log.TimerFired) -> None:
    draft.timer_ns = None
    if draft.time_is_over() and not draft.stopped:
        draft.handle(draft.out_of_time())
        return
    alone = [t for t in draft.turns.values() if not t.ask.queue and draft.seat(t.ask.seat).queue in event.gone]
    for turn in [t for t in alone if draft.seat(t.ask.seat).role not in draft.protocol.spares]:  # they have a grace
        alone.remove(turn)
        if not turn.failing_ns and not turn.aside:
            silent_ns = int(draft.protocol.grace.gone_s * SECOND)
            draft.fails(turn, GONE, max(turn.asked_ns, draft.at_ns - silent_ns))
    # in the order of their deadlines; among equal ones, turns come first
    due = [(t.ask.deadline_ns, 0, t.id) for t in draft.turns.values() if t.ask.deadline_ns <= draft.at_ns]
    due += [(end, 1, name) for name, end in draft.windows.items() if end <= draft.at_ns]
    if draft.quorum_ns:
        in_time = [t for t in draft.turns.values() if t.ask.deadline_ns > draft.at_ns]
        ends = ((draft.grace_ns(t, draft.quorum_ns), t.id) for t in in_time)
        due += [(end, 2, id) for end, id in ends if end is not None and end <= draft.at_ns]
    for end, kind, name in sorted(due, key=lambda d: d[:2]):
        if kind == 0:
            _on_turn_due(draft, name)
        elif kind == 2:
            if (late := draft.turns.get(name)) is not None:  # else its deadline passed, or it was withdrawn
                draft.set_aside(late)
        elif draft.windows.get(name) == end:  # else an earlier one closed it, or opened it anew
            if name in event.stay:
                draft.windows[name] = draft.at_ns + SECOND
                continue
            del draft.windows[name]
            draft.handle(WindowClosed(name=name))
    for turn in alone:
        if draft.turns.pop(turn.id, None) is not None:  # else its deadline passed, or it was withdrawn
            draft.lose(turn)
            draft.miss(turn, "its worker is gone, and no other serves it", gone=True)


def _on_turn_due(draft: TransitionBuilder, id: str) -> None:
    turn = draft.turns.get(id)
    if turn is None:
        return  # withdrawn or given back while an earlier one was handled
    if turn.ask.queue and draft.sitters[turn.ask.seat].then == "agent":
        draft.give_back(turn.ask.seat)
        return
    del draft.turns[id]
    draft.lose(turn)
    if turn.aside:
        return  # its step was told
    seconds = draft.seconds(turn.ask.seat, turn.ask.queue, turn.ask.window_s)
    draft.miss(turn, f"no reply within {seconds:g} s", late=True)


def _on_begun(draft: TransitionBuilder, event: log.Begun) -> None:
    """A first try stands on the turn's own reservation. Any other proves that the one before was lost: it may have used
    all of that, so it is booked, and the turn needs another reservation. If that does not fit, the turn is missed: its
    worker is told that it is closed, and pays nothing."""
    turn = draft.turns.get(event.turn)
    if turn is None:
        raise Illegal(f"turn {event.turn} is not open")
    if turn.ask.deadline_ns < draft.at_ns:
        raise Illegal(f"turn {event.turn}: its deadline passed")
    if not turn.begun:
        draft.turns[turn.id] = msgspec.structs.replace(turn, begun=True)
        return
    short = draft.no_more(turn.ask)
    draft.lose(turn)
    if short:
        del draft.turns[turn.id]
        if turn.aside:
            return
        draft.miss(turn, f"the worker that had it was lost, and another try does not fit: {short}", short)


def _on_retrying(draft: TransitionBuilder, event: log.Retrying) -> None:
    """A call for a turn failed, and is made again. Only the first time counts, and only where the step may go on."""
    turn = draft.turns.get(event.turn)
    if turn is None or turn.aside or turn.ask.deadline_ns < draft.at_ns:
        raise Illegal(f"nobody waits for turn {event.turn}")
    if draft.protocol.may_close is None or turn.failing_ns:
        raise Illegal(f"turn {event.turn}: that changes nothing")
    draft.fails(turn, event.why, draft.at_ns)


def _on_cancelled(draft: TransitionBuilder, event: log.Cancelled) -> None:
    """End the session, in any phase. If a stop was decided already, the session closes with that, without a final
    turn."""
    if draft.protocol.standing:
        raise Illegal("this session stands for as long as its bus does: it is not cancelled")
    if draft.stopped is None:
        draft.stop(Stop(reason="cancelled", certificate=raw({"by": event.author, "why": event.reason})))
    draft.inner = msgspec.structs.replace(draft.inner, phase=draft.protocol.done)
    draft.close()


def _on_hurried(draft: TransitionBuilder, event: log.Hurried) -> None:
    """End the session with what it has come to, exactly as if its time were over now."""
    if draft.protocol.standing:
        raise Illegal("this session stands for as long as its bus does: it has no answer to give")
    if draft.stopped is not None:
        raise Illegal("the session has stopped already, and its result is being written")
    draft.hurried = event.author
    draft.handle(draft.out_of_time())


def _on_faulted(draft: TransitionBuilder, event: log.Faulted) -> None:
    """End the session without asking its protocol anything."""
    certificate = {"protocol": draft.protocol.name, "why": event.why}
    draft.stopped = None
    stopped = draft.stop(Stop(reason=PROTOCOL_FAULT, certificate=raw(certificate), converged=False))
    draft.inner = msgspec.structs.replace(draft.inner, phase=draft.protocol.done)
    draft.finish(stopped, {}, ())


def _on_spoke(draft: TransitionBuilder, event: log.Spoke) -> None:
    """Take words from the floor. If a protocol has windows, only an open one takes words, until its end."""
    end = draft.windows.get(event.window)
    if end is None and any(WindowClosed in row for row in draft.protocol.table.values()):
        raise Illegal(f"window {event.window} is not open")
    if end is not None and end < draft.at_ns:
        raise Illegal(f"window {event.window}: its end passed {(draft.at_ns - end) / 1e9:.3f} s ago")
    draft.handle(event)


def _on_forked(draft: TransitionBuilder, event: log.Forked) -> None:
    """The fork begins: from here on the session pays for itself. It does not pay for what it carries."""
    draft.ledger = Ledger()
    end = draft.end_ns()
    for id, turn in draft.turns.items():
        late = turn.ask.deadline_ns if end is None else min(end, turn.ask.deadline_ns)
        draft.turns[id] = OpenTurn(id=id, ask=msgspec.structs.replace(turn.ask, deadline_ns=late))
    draft.tell(FORK, event.fork)


def _on_feedback(draft: TransitionBuilder, event: log.FeedbackGiven) -> None:
    _afterwards(draft, FEEDBACK, Feedback(author=event.author, right=event.right, answer=event.answer, note=event.note))


def _on_notes_kept(draft: TransitionBuilder, event: log.NotesKept) -> None:
    """Take a person's word on which of the session's notes stay."""
    memory = memory_of(draft.session.closing.body) if draft.session.closed else None
    there = [note.n for note in memory.notes] if memory is not None else []
    for note in event.notes:
        if note.n not in there:
            raise Illegal(f"notes: there is no note {note.n}; its notes are {', '.join(map(str, there)) or 'none'}")
    _afterwards(draft, NOTES, Kept(author=event.author, notes=event.notes))


def _afterwards(draft: TransitionBuilder, kind: str, said: Feedback | Kept) -> None:
    """What a person says of a closed session, which stays as it ended. What repeats the last word is not posted."""
    if not draft.session.closed:
        raise Illegal("the session is open: feedback is on what it came to")
    draft.closed = True
    earlier = [p for p in draft.posts if p.kind == kind and p.channel == CHANNEL]
    if len(earlier) >= MOST_FEEDBACK:
        raise Illegal(f"{kind}: given {len(earlier)} times, kept are at most {MOST_FEEDBACK}")
    body = raw(said)
    if not earlier or bytes(earlier[-1].body) != bytes(body):
        draft.tell(kind, said)


def _on_child_ended(draft: TransitionBuilder, event: log.ChildEnded) -> None:
    """A child ended: what it used is booked here. If its texts are gone, all that it might have used is booked."""
    most, e = draft.children.pop(event.session, None), event.ended
    if most is None:
        raise Illegal(f"session {event.session} is not awaited here")
    draft.ledger = draft.ledger.lose(most) if e.status == "erased" else draft.ledger.child(event.session, e)
    result = None if e.result is None else raw(e.result)
    ended = ChildEnded(
        session=event.session, protocol=e.protocol, status=e.status, reason=e.reason, result=result, why=e.why
    )
    draft.handle(ended)


def _on_sat(draft: TransitionBuilder, event: log.Sat) -> None:
    """A person takes a seat, or leaves it. Taking it affects turns asked from now on; leaving also affects the person's
    open turns."""
    seat = event.seat
    if seat not in (seats := [s.seat for s in draft.opened.seats]):
        raise Illegal(f"there is no seat {seat}; seats are {', '.join(seats)}")
    if event.left:
        if seat not in draft.sitters:
            raise Illegal(f"nobody sits on seat {seat}")
        draft.give_back(seat)
        return
    if seat not in draft.sitters:
        draft.tell("seat", {"seat": seat, "human": True})
    draft.sitters[seat] = Sitter(queue=event.queue, seconds=event.seconds, then=event.then)


_ON: dict[type, Callable[[TransitionBuilder, Any], None]] = {
    log.Replied: _on_replied,
    log.TimerFired: _on_timer,
    log.Begun: _on_begun,
    log.Retrying: _on_retrying,
    log.Cancelled: _on_cancelled,
    log.Hurried: _on_hurried,
    log.Faulted: _on_faulted,
    log.Spoke: _on_spoke,
    log.Sat: _on_sat,
    log.Decided: TransitionBuilder.handle,
    log.FeedbackGiven: _on_feedback,
    log.NotesKept: _on_notes_kept,
    log.Forked: _on_forked,
    log.ChildEnded: _on_child_ended,
    log.Told: TransitionBuilder.handle,
}


def outcome(protocol: Protocol, session: Session) -> dict[str, Any]:
    """What a session has come to so far, in the form of its result."""
    return protocol.outcome(session.inner, TransitionBuilder(protocol, session, session.at_ns).view())[0]


# ---------------------------------------------------------------- the chain


def record_opening(
    protocol: Protocol, sid: str, opened: log.Opened, at_ns: int, cause: str
) -> tuple[Session, log.Entry]:
    """`begin`, and the entry to append. Raises Inadmissible."""
    session, commands = begin(protocol, sid, opened, at_ns)
    return session, _entry("", session, opened, cause, commands)


def counted(protocol: Protocol, session: Session, event: log.Event) -> log.Event:
    """The event as it is appended: a reply with its usage complete, and flagged where that is an estimate or has no
    price. Any other event as it is.

    A worker tells what it knows: tokens, calls, money, or none of it, whoever wrote it. Of a seat that is metered,
    tokens that it does not tell are estimated from the texts, and a cost that it does not tell is its tokens times the
    prices that were announced (`priced`). This is done here, so that all who read the log read the same.
    """
    turn = session.turns.get(event.turn) if isinstance(event, log.Replied) else None
    if turn is None or turn.ask.queue or not isinstance(event, log.Replied):
        return event
    seat, ask, usage = seat_of(session.opened, turn.ask.seat), turn.ask, event.usage
    silent = usage.unpriced is msgspec.UNSET and not usage.input_tokens + usage.output_tokens
    if seat.metered and silent and not event.error:
        shown = TransitionBuilder(protocol, session, session.at_ns).shown(ask)
        usage = msgspec.structs.replace(
            usage,
            input_tokens=min(ask.caps.input_tokens, -(-shown // BYTES_PER_TOKEN)),
            output_tokens=min(ask.caps.output_tokens, -(-len(bytes(event.body)) // BYTES_PER_TOKEN)),
            calls=max(1, usage.calls),
            estimated=True,
        )
    usage = priced(seat, usage)
    flags = {ESTIMATED: usage.estimated, UNPRICED: bool(usage.unpriced)}
    more = tuple(flag for flag, is_so in flags.items() if is_so and flag not in event.flags)
    return msgspec.structs.replace(event, usage=usage, flags=(*event.flags, *more))


def record(
    protocol: Protocol, session: Session, before: str, event: log.Event, at_ns: int, cause: str
) -> tuple[Session, log.Entry]:
    """`step`, and the entry to append; `before` is the digest of the entry ahead. Raises Illegal."""
    after, commands = step(protocol, session, event, at_ns)
    return after, _entry(before, after, event, cause, commands)


def _entry(before: str, session: Session, event: log.Event, cause: str, commands: tuple[log.Command, ...]) -> log.Entry:
    chained = digest(before, session, event, session.at_ns, cause, commands)
    return log.Entry(n=session.n - 1, at_ns=session.at_ns, cause=cause, event=event, commands=commands, digest=chained)
