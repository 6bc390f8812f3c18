"""What agents do in each protocol, a package each: KITS by the protocol's name."""

from parley.agents.turn_kinds.kit import Kind, Kit
from parley.schemas.registry import Rooms

__all__ = ["KITS", "Kind", "Kit", "UnknownKind", "kind_of"]

KITS: Rooms[Kit] = Rooms("parley.agents.protocols", "kit:KIT", "parley.kits")


class UnknownKind(Exception):
    """A turn of a kind that this agent does not know: its software is older or newer than the moderator's."""

    def __init__(self, protocol: str, kind: str) -> None:
        self.protocol = protocol
        self.kind = kind
        kit = KITS.get(protocol)
        if kit is None:
            super().__init__(f"protocol {protocol} is not known here, and so no kind of turn {kind!r}")
        else:
            known = ", ".join(sorted(kit.kinds))
            super().__init__(f"protocol {protocol}: no kind of turn {kind!r} is known here; known: {known}")


def kind_of(protocol: str, kind: str) -> Kind:
    """The row of one kind of turn. Raises UnknownKind: there is none."""
    try:
        kit = KITS[protocol]
        return kit.parts[kind] if kind in kit.parts else kit.kinds[kind]
    except KeyError:
        raise UnknownKind(protocol, kind) from None
