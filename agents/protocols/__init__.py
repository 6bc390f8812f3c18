"""What agents know of each kind of turn: (protocol, kind) -> types of its brief, its reply and the posts shown."""

from collections.abc import Mapping
from typing import Any

import msgspec

from agents.protocols.competition import kinds as competition
from agents.protocols.consensus import kinds as consensus
from agents.protocols.critic import kinds as critic
from agents.protocols.kind import Kind
from agents.protocols.maci import kinds as maci
from agents.protocols.madp import kinds as madp


class UnknownKind(Exception):
    """A turn of a kind that this agent does not know: its software is older or newer than the moderator's."""

    def __init__(self, protocol: str, kind: str) -> None:
        self.protocol = protocol
        self.kind = kind
        known = ", ".join(sorted(k for p, k in KINDS if p == protocol))
        super().__init__(
            f"protocol {protocol}: no kind of turn {kind!r} is known here; known are {known}"
            if known
            else f"protocol {protocol} is not known here, and so no kind of turn {kind!r}"
        )


KINDS: dict[tuple[str, str], Kind] = {
    (protocol, name): kind
    for protocol, kinds in (
        ("competition", competition.KINDS),
        ("consensus", consensus.KINDS),
        ("critic", critic.KINDS),
        ("maci", maci.KINDS),
        ("madp", madp.KINDS),
    )
    for name, kind in kinds.items()
}


def register(protocol: str, kinds: Mapping[str, Kind]) -> None:
    """Add a protocol's kinds of turns (a protocol from outside this package, such as a benchmark's)."""
    for name, kind in kinds.items():
        KINDS[protocol, name] = kind


def kind_of(protocol: str, kind: str) -> Kind:
    """The row of one kind of turn.

    Raises
    ------
    UnknownKind
        There is none.
    """
    row = KINDS.get((protocol, kind))
    if row is None:
        raise UnknownKind(protocol, kind)
    return row


def reply_schema(protocol: str, kind: str) -> dict[str, Any]:
    """JSON Schema of the reply."""
    return msgspec.json.schema(kind_of(protocol, kind).reply)


__all__ = ["KINDS", "Kind", "UnknownKind", "kind_of", "register", "reply_schema"]
