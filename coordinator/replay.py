"""Replay: a session recomputed from its events alone, and the same events under other settings.

`replay` trusts nothing that was computed: it steps the machine through the recorded events and compares every entry
that comes out, byte for byte, with the one that was stored. `what_if` steps two machines side by side until their
commands part."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from parley.coordinator.admission import build_settings
from parley.coordinator.machine import Session, begin, record, record_opening, step
from parley.coordinator.signals.grace import Grace
from parley.coordinator.table import MachineError, Protocol
from parley.schemas import log
from parley.schemas.result import Result
from parley.schemas.wire import SchemaError, decode, encode

Lookup = Callable[[str], Protocol | None]
"""A protocol by its name: `PROTOCOLS.get`."""


class Diverged(MachineError):
    """A recorded entry is not what its event leads to. The record was altered, or another version wrote it."""

    def __init__(self, n: int, what: str) -> None:
        self.n = n
        self.what = what
        super().__init__(f"transition {n}: {what}")


class VerifiedRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record that recomputes to itself."""

    session: Session
    entries: tuple[log.Entry, ...]
    result: Result | None
    """None: the session was still open at the end of the record."""


class Parting(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run under other settings departs from the recorded one."""

    n: int | None
    """The transition at which the commands first differ; None: they never do."""
    how: str
    """The difference, in words."""
    recorded: tuple[str, ...] = ()
    """What the recorded run did there."""
    this: tuple[str, ...] = ()
    """What this run does there."""
    stop: str | None = None
    """The stop reason that this run reached within the record."""
    result: Result | None = None
    """This run's result, if the record goes so far."""
    carried: int
    """Recorded events that this run could take."""


def replay(lookup: Lookup, sid: str, raw_entries: Sequence[bytes | str]) -> VerifiedRecord:
    """Recompute a session.

    Parameters
    ----------
    raw_entries
        Log entries exactly as stored, from the first on. One that ends before the session closed is fine.

    Raises
    ------
    Diverged
        An entry cannot be read, is not the one that its event leads to, or none is expected there.
    """
    steps = replayed(lookup, sid, raw_entries)
    session, entry = next(steps)
    entries = [entry]
    for after, entry in steps:
        session = after
        entries.append(entry)
    return VerifiedRecord(session=session, entries=tuple(entries), result=_result(session))


def replayed(lookup: Lookup, sid: str, raw_entries: Sequence[bytes | str]) -> Iterator[tuple[Session, log.Entry]]:
    """The session after each of its entries, with the entry. Arguments and errors are those of `replay`."""
    if not raw_entries:
        raise Diverged(0, "the record is empty")
    session: Session | None = None
    protocol: Protocol | None = None
    before = ""
    for n, data in enumerate(raw_entries):
        stored = data.encode() if isinstance(data, str) else bytes(data)
        entry = _decode_entry(n, stored)
        if isinstance(entry.event, log.Lost) and session is not None:
            break  # no machine took it
        try:
            if session is None or protocol is None:
                opened, protocol = _opening(lookup, entry)
                session, entry_again = record_opening(protocol, sid, opened, entry.at_ns, entry.cause)
            else:
                session, entry_again = record(protocol, session, before, entry.event, entry.at_ns, entry.cause)
        except Diverged:
            raise
        except Exception as error:  # an altered opening may break anything
            raise Diverged(n, f"the event cannot be taken: {type(error).__name__}: {error}") from error
        if encode(entry_again) != stored:
            raise Diverged(n, _difference(entry, entry_again))
        before = entry_again.digest
        yield session, entry_again


def what_if(
    lookup: Lookup,
    sid: str,
    raw_entries: Sequence[bytes | str],
    overrides: Mapping[str, Any],
    constants: Mapping[str, Any] | None = None,
    grace: Grace | None = None,
) -> Parting:
    """The recorded events under other settings, as far as they carry.

    Parameters
    ----------
    constants
        In place of the protocol's own, for one that has `tuned`.
    grace
        In place of the protocol's own. Where a grace of this run ends that did not in the record, the runs part.

    Raises
    ------
    Diverged
        The record itself does not recompute.
    Inadmissible
        A setting is unknown or out of range, or the budget does not hold this run's first turns.
    """
    recorded = replay(lookup, sid, raw_entries)
    entries = tuple(e for e in recorded.entries if not isinstance(e.event, log.AFTERWARDS))
    opened, protocol = _opening(lookup, entries[0])
    settings = {**opened.settings, **overrides}
    changed_protocol = protocol
    if constants and protocol.tuned is not None:
        changed_protocol = dataclasses.replace(protocol, settings=protocol.tuned)
        settings["constants"] = constants
    if grace is not None:
        changed_protocol = dataclasses.replace(changed_protocol, grace=grace)
    changed = msgspec.to_builtins(build_settings(changed_protocol, settings))
    other = msgspec.structs.replace(opened, settings=changed)
    mine, my_commands = begin(changed_protocol, sid, other, entries[0].at_ns)
    theirs, their_commands = begin(protocol, sid, opened, entries[0].at_ns)
    n = 0
    while course(my_commands) == course(their_commands):
        n += 1
        if n == len(entries):
            how = "both runs take the same course" + ("" if mine.closed else ", as far as the record goes")
            return Parting(n=None, how=how, stop=_reason(mine), result=_result(mine), carried=n)
        e = entries[n]
        if grace is not None and (aside := _set_aside(changed_protocol, mine, e.at_ns)):
            how = f"the grace of {' and '.join(aside)} is over before it; the record carries this run no further"
            return Parting(n=n, how=how, carried=n)
        mine, my_commands = step(changed_protocol, mine, e.event, e.at_ns)
        theirs, their_commands = step(protocol, theirs, e.event, e.at_ns)
    return _parting(protocol, n, mine, theirs, my_commands, their_commands)


Commands = tuple[log.Command, ...]


def _set_aside(protocol: Protocol, session: Session, until_ns: int) -> list[str]:
    """Seats that the session's timer would set aside before a time, the first ones; none: it would not."""
    while session.timer_ns is not None and session.timer_ns < until_ns:
        before = {t.id: t.ask.seat for t in session.turns.values() if not t.aside}
        session, _ = step(protocol, session, log.TimerFired(), session.timer_ns)
        over = [seat for id, seat in before.items() if id in session.turns and session.turns[id].aside]
        if over:
            return over
    return []


def course(commands: Commands, *, briefs: bool = True) -> list[object]:
    """What makes two runs the same: who is asked what, what each is shown, and what is posted. Caps, deadlines and
    streaming do not count; of a stop its reason counts, and the figures of its certificate do not.

    `briefs`: also what turns are told beside their question and what they are shown, such as the last round allowed."""
    steps: list[object] = []
    for c in commands:
        match c:
            case log.Ask():
                steps.append(
                    (
                        c.seat,
                        c.kind,
                        c.round,
                        bytes(c.brief).decode() if briefs else None,
                        c.sees,
                        c.own,
                        c.attempt,
                        c.error,
                    )
                )
            case log.Say(kind="stop"):
                steps.append(msgspec.json.decode(c.body)["reason"])
            case log.Say(kind="closed"):
                steps.append("closed")
            case log.Say():
                steps.append((c.channel, c.kind, c.round, bytes(c.body).decode(), c.seat))
            case _:
                pass
    return steps


def _parting(
    protocol: Protocol, n: int, mine: Session, theirs: Session, my_commands: Commands, their_commands: Commands
) -> Parting:
    this, recorded = _words(my_commands), _words(their_commands)
    how = parting_words(protocol, my_commands, their_commands)
    if mine.closed:
        how += "; this run ends here, and its result is complete"
    else:
        missing = "wording of its result" if mine.stopped else "answer to what it asks from here on"
        how += f"; the {missing} was not recorded: the record carries it no further"
    return Parting(n=n, how=how, recorded=recorded, this=this, stop=_reason(mine), result=_result(mine), carried=n + 1)


def parting_words(protocol: Protocol, my_commands: Commands, their_commands: Commands) -> str:
    """The first difference between two runs that were the same so far."""
    this, recorded = _words(my_commands), _words(their_commands)
    where = _where(protocol, their_commands)
    if this == recorded:
        unlike = _words(_unlike(my_commands, their_commands))
        return f"{where}both runs take the same steps, but do not show or say the same: {_joined(unlike, ())}"
    return f"{where}recorded run {_joined(recorded, this)}, this one {_joined(this, recorded)}"


def _unlike(mine: Commands, theirs: Commands) -> Commands:
    """Commands of one run that the other does not have in the same place; all of them, if their numbers differ."""
    own = [c for c in mine if course((c,))]
    other = [c for c in theirs if course((c,))]
    if len(own) != len(other):
        return mine
    return tuple(a for a, b in zip(own, other, strict=True) if course((a,)) != course((b,)))


def _where(protocol: Protocol, commands: Commands) -> str:
    """`after round 2 (score 72): `, if the transition ended a round."""
    posts = (c for c in commands if isinstance(c, log.Say))
    ends = ((post.round, protocol.ends_round(post)) for post in posts)
    return next((f"after round {round_} ({words}): " for round_, words in ends if words), "")


def _words(commands: Commands) -> tuple[str, ...]:
    """The commands that others see, in words."""
    words: dict[str, None] = {}
    for c in commands:
        match c:
            case log.Say(kind="stop"):
                words[f"stops: {msgspec.json.decode(c.body)['reason']}"] = None
            case log.Say(kind="closed"):
                words["gives its result"] = None
            case log.Say():
                words[f"posts {c.kind} on {c.channel}"] = None
            case log.Ask():
                again = " again" if c.attempt > 1 else ""
                words[f"asks round {c.round} ({c.kind}){again}"] = None
            case _:
                pass
    return tuple(words)


def _joined(words: tuple[str, ...], other: tuple[str, ...]) -> str:
    own = [w for w in words if w not in other] or list(words)
    return " and ".join([*([", ".join(own[:-1])] if own[1:] else []), *own[-1:]]) or "does nothing"


def _reason(session: Session) -> str | None:
    return session.stopped.reason if session.stopped else None


def _result(session: Session) -> Result | None:
    return decode(session.closing.body, Result) if session.closed else None


def _decode_entry(n: int, stored: bytes) -> log.Entry:
    try:
        return decode(stored, log.Entry)
    except SchemaError as error:
        raise Diverged(n, f"it cannot be read: {error}") from error


def _opening(lookup: Lookup, entry: log.Entry) -> tuple[log.Opened, Protocol]:
    if not isinstance(entry.event, log.Opened):
        raise Diverged(0, f"the record begins with {type(entry.event).__name__}, not with an opening")
    protocol = lookup(entry.event.protocol)
    if protocol is None:
        raise Diverged(0, f"no protocol is named {entry.event.protocol}")
    if not protocol.steps(entry.event.version):
        raise Diverged(
            0, f"written by version {entry.event.version} of {protocol.name}, this is version {protocol.version}"
        )
    return entry.event, protocol


def _difference(stored: log.Entry, redone: log.Entry) -> str:
    for field in ("n", "at_ns", "commands", "digest"):
        if encode(getattr(stored, field)) != encode(getattr(redone, field)):
            return f"{field} is not what the event leads to"
    return "its bytes are not those that the event leads to"
