"""Sessions of an earlier stack in the same state directory: they go on with the next stack there."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parley.coordinator.protocols import STANDING
from parley.stack.followed import is_followed, left_behind

if TYPE_CHECKING:
    from parley.client.client import Client

_NAMED = 5
"""Sessions that one line names."""


async def open_sessions(client: "Client", state: Path, *, only_left: bool = False) -> list[str]:
    """Those among the newest that go on; left out are standing ones, which nobody waits for, and those that a terminal
    follows (parley.stack.followed), this one included. `only_left`: those whose command was killed, each of them
    once."""
    left = left_behind(state) if only_left else ()
    if only_left and not left:
        return []
    standing = {protocol.name for protocol in STANDING.values()}
    rows = await client.sessions(200, only_open=True)
    mine = [r.session for r in rows if r.protocol not in standing]
    return [sid for sid in mine if (sid in left if only_left else not is_followed(state, sid))]


def earlier_words(sids: Sequence[str], options: str) -> str:
    """One line on sessions that go on; empty for none. `options`: as `where` gives them."""
    from parley.client.show.session_list import ways_on

    if not sids:
        return ""
    which = f"{len(sids)} earlier sessions go on" if len(sids) > 1 else "1 earlier session goes on"
    more = f" and {len(sids) - _NAMED} more" if len(sids) > _NAMED else ""
    return f"{which}: {', '.join(sids[:_NAMED])}{more}; {ways_on(sids, options)}"
