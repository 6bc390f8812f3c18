"""A session that carries another's record on: what it says of that one."""

from typing import Any

import msgspec

FORK = "fork"
"""Kind of the post that says so, on `control`, behind what was carried."""
CAUSE = "fork:"
"""What the cause of a carried entry begins with; the transition of the record follows."""


class Paid(msgspec.Struct, frozen=True, kw_only=True):
    """What the carried turns used. The session that asked them paid it; the fork books nothing of it."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    unpriced: bool | msgspec.UnsetType = msgspec.UNSET
    """Of some of it no price is known, and the cost is without that."""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What a fork has otherwise than the session whose record it carries."""

    what: str
    """A setting (`consensus.threshold`), or a seat's model (`model of panelist_1`)."""
    before: Any
    after: Any


class Fork(msgspec.Struct, frozen=True, kw_only=True):
    """Where a session comes from."""

    parent: str
    """The session whose record it carries."""
    round: int
    """The round after whose end the record was cut."""
    position: int
    """The transition of the record with which that round ended."""
    carried: int
    """The last entry of this session's log that repeats an event of the record; the ones before it do too."""
    entries: int
    """The last entry that was appended with the opening."""
    parted: int | None = None
    """The transition of the record at which this session did something else; None: it carries it whole."""
    how: str = ""
    """In words, where it did."""
    reworded: int = 0
    """Carried turns that would be told something else now, such as another last round; their answers stand."""
    changes: tuple[Change, ...] = ()
    paid: Paid = Paid()
    limits: dict[str, float | None] = {}
    """The budget of the record's session. It holds for what is carried, the fork's own for what it does itself."""
    seconds: float = 0.0
    """What the carried part took. The budget's seconds and the session's duration begin behind it."""
    shift_ns: int = 0
    """Times of the carried entries are those of the record plus so much: its last one is the time of the fork."""


def fork_words(fork: Fork) -> str:
    """Where a session comes from, on one line."""
    changed = "with nothing changed"
    if fork.changes:
        changed = "with " + ", ".join(f"{c.what} {_value(c.before)} -> {_value(c.after)}" for c in fork.changes)
    return f"forked from {fork.parent} after round {fork.round}, {changed}"


def carried_words(fork: Fork) -> list[str]:
    """What it carries and what that cost, a line each."""
    paid = fork.paid
    tokens, calls = paid.input_tokens + paid.output_tokens, paid.calls
    apart = " and what has no known price" if paid.unpriced else ""
    lines = [
        f"{fork.carried:,} of {fork.position:,} recorded events carried it; session {fork.parent} paid for them:"
        f" {calls:,} calls, {tokens:,} tokens, {paid.cost_usd:.4f} USD{apart}"
    ]
    if fork.reworded:
        lines.append(f"{fork.reworded:,} of the carried turns would be told something else now; their answers stand")
    if fork.parted is not None:
        lines.append(f"it parts from the record at transition {fork.parted}: {fork.how}")
    elif fork.how:
        lines.append(fork.how)
    return lines


def _value(value: Any) -> str:
    text = str(value) if value not in (None, "") else "none"
    return text if len(text) <= 80 else text[:77] + "..."
