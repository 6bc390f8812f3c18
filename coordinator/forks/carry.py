"""Makes the first entries of a fork from a record and other settings. Pure.

The recorded events are stepped once more, each into an entry of the new session's own log, as long as both sessions
take the same course (parley.coordinator.replay.course). So the new log holds all that it rests on, and any moderator
folds it as it folds every other. What differs between the two:

* Turns and sessions beneath are named by their places, so the names in events are those of the new log.
* Times are moved, so that the last carried event is the time of the fork.
* The record's session paid for what is carried: its limits hold there, and the ledger begins anew behind it.
* What ended the recorded session is not carried: it is asked anew. Words about a result are left out.
* Nobody sits in a person's place afterwards: its agent has it until a person sits down.
"""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from parley.coordinator.budget import Reservation, shortfall
from parley.coordinator.machine import Protocol, Session, begin, record, record_opening, step
from parley.coordinator.replay import VerifiedRecord, course, parting_words
from parley.coordinator.table import Illegal, Inadmissible, MachineError
from parley.coordinator.transition_builder import TransitionBuilder
from parley.schemas import log
from parley.schemas.past_sessions.fork import CAUSE, Change, Fork, Paid
from parley.schemas.session import Seat
from parley.schemas.wire import encode


def rounds_of(protocol: Protocol, sid: str, entries: Sequence[log.Entry]) -> dict[int, int]:
    """Whole round -> the transition with which it ended, in the order of the record."""
    rounds: dict[int, int] = {}
    current: int | None = None
    session: Session | None = None
    for entry in entries:
        before = session
        if isinstance(entry.event, log.Opened):
            session, commands = begin(protocol, sid, entry.event, entry.at_ns)
        else:
            assert before is not None, "a record begins with its opening"
            session, commands = step(protocol, before, entry.event, entry.at_ns)
        latest = max((c.round for c in commands if isinstance(c, log.Ask)), default=None)
        stopped = session.stopped is not None and (before is None or before.stopped is None)
        ended = (
            _is_whole(before, entry.event)
            if stopped
            else latest is not None and current is not None and latest > current
        )
        if current is not None and ended:
            rounds[current] = entry.n
        if session.stopped is not None:
            break
        if latest is not None and (current is None or latest > current):
            current = latest
    return rounds


def _is_whole(before: Session | None, event: log.Event) -> bool:
    """Whether nothing else was out when this event stopped the session."""
    if before is None or isinstance(event, log.Cancelled | log.Hurried):
        return False
    ended_name = getattr(event, "turn", None) or getattr(event, "session", None)
    open_names = [*before.turns, *before.children, *before.windows]
    return all(name == ended_name for name in open_names)


def position_of(rounds: dict[int, int], sid: str, wanted: int | None) -> tuple[int, int]:
    """(round, its last transition): of the round that is wanted, or of the last whole one. Raises Inadmissible: the
    record has no such round."""
    if not rounds:
        raise Inadmissible("round", f"session {sid} has no whole round that a fork could carry")
    if wanted is None:
        return list(rounds.items())[-1]
    if wanted not in rounds:
        have = ", ".join(map(str, rounds))
        raise Inadmissible("round", f"round: got {wanted}, whole rounds of session {sid} are {have}")
    return wanted, rounds[wanted]


MOST_EVENTS = 2_000
"""Of a record that is carried: a moderator does nothing else while it steps through them."""
replace = msgspec.structs.replace


class CarriedEntry(NamedTuple):
    """One entry of a session's first message."""

    before: Session | None
    after: Session
    entry: log.Entry


class ForkRequest(NamedTuple):
    """What a fork is made of."""

    sid: str
    parent: str
    protocol: Protocol
    record: VerifiedRecord
    opened: log.Opened
    """With all that changes, and no `fork` yet."""
    changes: tuple[Change, ...]
    round: int
    position: int


class _Course(NamedTuple):
    steps: list[CarriedEntry]
    taken: int
    """The transition of the record that was carried last."""
    parted: int | None
    how: str


def carry(wanted: ForkRequest, now_ns: int, cause: str) -> list[CarriedEntry]:
    """The first entries of a fork: its opening, what it carries, and what says so.

    Parameters
    ----------
    now_ns
        Unix time of the fork.
    cause
        Of the opening.

    Raises
    ------
    Inadmissible
        Nothing of the record can be carried, or it is too long.
    """
    if wanted.position > MOST_EVENTS:
        why = f"{wanted.position:,} events up to the end of round {wanted.round}, carried are at most {MOST_EVENTS:,}"
        raise Inadmissible("round", f"round: {why}")
    entries = wanted.record.entries
    fork = Fork(
        parent=wanted.parent,
        round=wanted.round,
        position=wanted.position,
        carried=wanted.position,
        entries=wanted.position,
        limits=_limits(wanted.record.session.opened),
    )
    last = wanted.position
    carried = _follow(wanted, _timed(fork, entries, last, now_ns), cause)
    while carried.taken != last:  # the times of what is carried hang on where it ends
        last = carried.taken
        again = _follow(wanted, replace(_timed(fork, entries, last, now_ns), carried=last), cause)
        carried = carried if again.taken == last else again
    if not last:
        raise Inadmissible(
            "of", f"nothing of the record can be carried: {carried.how}; open a session of its own instead"
        )
    people = sorted(carried.steps[-1].after.sitters)
    fork = replace(
        _timed(fork, entries, last, now_ns),
        carried=last,
        entries=last + len(people) + 1,
        parted=carried.parted,
        how=carried.how,
        changes=wanted.changes,
        paid=_paid(wanted, last),
    )
    fork = replace(fork, reworded=_reworded(wanted, carried.steps))
    steps = _follow(wanted, fork, cause).steps
    for seat in people:
        sat = log.Sat(seat=seat, queue=steps[-1].after.sitters[seat].queue, left=True)
        _add(wanted, steps, sat, now_ns, f"{CAUSE}left:{seat}")
    _add(wanted, steps, log.Forked(fork=fork), now_ns, f"{CAUSE}{wanted.parent}")
    draft = TransitionBuilder(wanted.protocol, steps[-1].after, now_ns)
    short = shortfall(draft.opened.budget, draft.ledger, Reservation(), draft.reserved(False))
    if short:
        raise Inadmissible("budget", f"the turns that are out where the record ends do not fit: {short}")
    return steps


def _limits(opened: log.Opened) -> dict[str, float | None]:
    """A fork's own seconds begin behind what it carries; those of what carries a fork's record begin with that."""
    limits: dict[str, float | None] = msgspec.to_builtins(opened.budget)
    if opened.fork is not msgspec.UNSET and opened.budget.seconds is not None:
        limits["seconds"] = opened.budget.seconds + opened.fork.seconds
    return limits


def _timed(fork: Fork, entries: Sequence[log.Entry], last: int, now_ns: int) -> Fork:
    took = entries[last].at_ns - entries[0].at_ns
    return replace(fork, shift_ns=now_ns - entries[last].at_ns, seconds=took / 1e9)


def _follow(wanted: ForkRequest, fork: Fork, cause: str) -> _Course:
    """Step through the record as far as both take the same course; to the transition that `fork` says at most."""
    protocol, first, *events = wanted.protocol, *wanted.record.entries[: fork.carried + 1]
    opened = replace(wanted.opened, fork=fork)
    mine, entry = record_opening(protocol, wanted.sid, opened, first.at_ns + fork.shift_ns, cause)
    steps = [CarriedEntry(None, mine, entry)]
    names: dict[str, str] = {}
    recorded = first
    for e in events:
        commands = steps[-1].entry.commands
        if not _same(wanted, commands, recorded.commands):
            return _Course(steps, recorded.n, recorded.n, parting_words(protocol, commands, recorded.commands))
        names |= _names(recorded, commands)
        try:
            _add(wanted, steps, _translated(e.event, names, wanted.opened), e.at_ns + fork.shift_ns, f"{CAUSE}{e.n}")
        except MachineError as error:
            how = f"the recorded {_word(e.event)} of transition {e.n} has no place: {error}"
            return _Course(steps, recorded.n, e.n, how)
        if steps[-1].after.closed:
            steps.pop()
            return _Course(steps, recorded.n, None, f"what ended the record, its transition {e.n}, is asked anew")
        recorded = e
    commands = steps[-1].entry.commands
    if not _same(wanted, commands, recorded.commands):
        return _Course(steps, recorded.n, recorded.n, parting_words(protocol, commands, recorded.commands))
    return _Course(steps, recorded.n, None, "")


def _add(wanted: ForkRequest, steps: list[CarriedEntry], event: log.Event, at_ns: int, cause: str) -> None:
    before, ahead = steps[-1].after, steps[-1].entry
    after, entry = record(wanted.protocol, before, ahead.digest, event, at_ns, cause)
    steps.append(CarriedEntry(before, after, entry))


def _same(wanted: ForkRequest, ours: tuple[log.Command, ...], theirs: tuple[log.Command, ...]) -> bool:
    """Whether both take the same course: who is asked and shown what, and what is said. A text in which a session names
    itself has the new name here. What turns are told beside that may differ: they were answered."""
    recorded = encode(course(theirs, briefs=False)).replace(wanted.parent.encode(), wanted.sid.encode())
    return encode(course(ours, briefs=False)) == recorded


def _reworded(wanted: ForkRequest, steps: Sequence[CarriedEntry]) -> int:
    """How many of the turns that were answered are told something else now."""
    answered = {s.entry.event.turn for s in steps if isinstance(s.entry.event, log.Replied)}
    count = 0
    for carried_step, theirs in zip(steps, wanted.record.entries, strict=False):
        old = [c for c in theirs.commands if isinstance(c, log.Ask)]
        new = [(i, c) for i, c in enumerate(carried_step.entry.commands) if isinstance(c, log.Ask)]
        for (i, new_command), its in zip(new, old, strict=False):
            brief = bytes(its.brief).replace(wanted.parent.encode(), wanted.sid.encode())
            count += f"{carried_step.entry.n}-{i}" in answered and bytes(new_command.brief) != brief
    return count


def _names(theirs: log.Entry, ours: tuple[log.Command, ...]) -> dict[str, str]:
    """What the record calls the turns and sessions of a transition -> what the new log calls them."""
    names: dict[str, str] = {}
    ask_places = [[i for i, c in enumerate(commands) if isinstance(c, log.Ask)] for commands in (theirs.commands, ours)]
    names |= {f"{theirs.n}-{i}": f"{theirs.n}-{j}" for i, j in zip(*ask_places, strict=True)}
    started = [[c.session for c in commands if isinstance(c, log.StartChild)] for commands in (theirs.commands, ours)]
    return names | dict(zip(*started, strict=False))


def _translated(event: log.Event, names: dict[str, str], opened: log.Opened) -> log.Event:
    """A recorded event as the new log has it. Raises Illegal where it names what is not there."""
    match event:
        case log.Replied():
            return replace(event, turn=_named(names, event.turn))
        case log.Begun():
            return replace(event, turn=_named(names, event.turn))
        case log.ChildEnded():
            return replace(event, session=_named(names, event.session))
        case log.Decided(seat=Seat() as seat):
            return replace(event, seat=replace(seat, queue=(opened.queues or {}).get(seat.seat, seat.queue)))
    return event


def _named(names: dict[str, str], name: str) -> str:
    if name not in names:
        raise Illegal(f"{name} was not asked")
    return names[name]


def _word(event: log.Event) -> str:
    return str(type(event).__struct_config__.tag).replace("_", " ")


def _paid(wanted: ForkRequest, last: int) -> Paid:
    """What the carried turns used in the sessions that asked them: events keep it."""
    used = [e.event.usage for e in wanted.record.entries[: last + 1] if isinstance(e.event, log.Replied)]
    return Paid(
        calls=sum(u.calls for u in used),
        input_tokens=sum(u.input_tokens for u in used),
        output_tokens=sum(u.output_tokens for u in used),
        cost_usd=sum(u.cost_usd for u in used),
        unpriced=any(u.unpriced for u in used) or msgspec.UNSET,
    )
