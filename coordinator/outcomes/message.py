"""What one message of LOG adds to the totals. Pure."""

import contextlib
from collections.abc import Sequence

import msgspec

from parley.bus import subjects
from parley.bus.channels import INBOX
from parley.bus.log import Stored
from parley.coordinator.outcomes import session
from parley.coordinator.outcomes.fold import Fold
from parley.coordinator.outcomes.session import Protocols
from parley.coordinator.protocols import STANDING
from parley.coordinator.sessions import lost
from parley.coordinator.table import Sample
from parley.schemas import log
from parley.schemas.past_sessions.fork import CAUSE
from parley.schemas.result import UnansweredItem
from parley.schemas.session import is_synthetic
from parley.schemas.wire import SchemaError, decode

_ITEM, _ANSWERED = b'"kind":"item"', b'"kind":"answered"'
_CARRIED = f'"{CAUSE}'.encode()
_SEATS = (b'"t":"opened"', b'"t":"invite"')


class _Item(msgspec.Struct, frozen=True):
    id: str = ""
    kind: str = "other"
    deadline_ns: int = 0
    author: str = ""
    """Of an answer; empty: nobody answered, and the default holds."""


def count(
    fold: Fold, protocols: Protocols, sid: str, kind: str, entries: Sequence[bytes], history: Sequence[bytes] = ()
) -> None:
    """Add what this message says.

    Parameters
    ----------
    kind
        Of its subject.
    entries
        Those that it holds.
    history
        Where it closes its session, or lies behind its end: all entries of that up to its own.
    """
    if kind == subjects.REFUSED or is_synthetic(sid):
        return
    if sid in STANDING:
        for entry in entries:
            with contextlib.suppress(SchemaError):  # of another release
                fold.add(STANDING[sid].counted.live(decode(entry, log.Entry)))
        return
    if kind == subjects.OPENED:
        opening = lost.read_opening(Stored(0, kind, entries[0]))
        fold.add([Sample("sessions_opened_total", {"protocol": opening[0].protocol if opening else ""})])
    for entry in entries:
        if _CARRIED in entry and session.is_carried(entry):
            continue  # counted where it happened
        if any(mark in entry for mark in _SEATS):
            fold.add(session.expected(entry))
        if _ITEM in entry or _ANSWERED in entry:
            _items(fold, sid, entry)
    if kind == subjects.FEEDBACK:
        session.count_feedback(fold, protocols, sid, history, len(entries))
    elif history:
        session.count(fold, protocols, sid, history)


def _items(fold: Fold, sid: str, entry: bytes) -> None:
    """Questions to a human that this entry opened and closed."""
    with contextlib.suppress(SchemaError):
        decoded = decode(entry, log.Entry)
        for command in decoded.commands:
            if isinstance(command, log.Say) and command.channel == INBOX:
                item = decode(command.body, _Item)
                if command.kind == "item":
                    fold.item_opened(sid, item.id, item.kind, UnansweredItem(decoded.at_ns, item.deadline_ns))
                elif command.kind == "answered":
                    fold.item_closed(sid, item.id, "human" if item.author else "default")
