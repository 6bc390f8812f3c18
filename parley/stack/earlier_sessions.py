"""Sessions of an earlier stack in the same state directory: they go on with the next stack there."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from coordinator.protocols import STANDING

if TYPE_CHECKING:
    from client.client import Client

_NAMED = 5
"""Sessions that one line names."""


async def open_sessions(client: "Client", but: str = "") -> list[str]:
    """Those among the newest that go on; standing ones, which nobody waits for, left out."""
    standing = {protocol.name for protocol in STANDING.values()}
    rows = await client.sessions(200)
    return [r.session for r in rows if r.status == "open" and r.session != but and r.protocol not in standing]


def earlier_words(sids: Sequence[str], options: str) -> str:
    """One line on sessions that go on; empty for none. `options`: as `where` gives them."""
    if not sids:
        return ""
    which = f"{len(sids)} earlier sessions go on" if len(sids) > 1 else "1 earlier session goes on"
    more = f" and {len(sids) - _NAMED} more" if len(sids) > _NAMED else ""
    return f"{which}: {', '.join(sids[:_NAMED])}{more}; parley sessions cancel {sids[0]}{options}"
