"""The protocols of the moderator, a package each: PROTOCOLS by name. None imports another.

Each is read in when it is first asked for: most commands need one, and what some of them count with takes longer to
read in than the command itself."""

from parley.coordinator.table import Protocol
from parley.schemas.registry import Rooms

__all__ = ["DEFAULT", "PROTOCOLS", "STANDING"]

PROTOCOLS: Rooms[Protocol] = Rooms("parley.coordinator.protocols", "protocol:PROTOCOL", "parley.protocols")
DEFAULT = "madp"
"""The protocol where none is named: whoever a task calls for."""
STANDING: dict[str, Protocol] = {p.standing: p for p in (PROTOCOLS["breaker"],)}
"""Well-known sessions that moderators open by themselves, one each on a bus. Whoever looks here reads in no other
protocol."""
