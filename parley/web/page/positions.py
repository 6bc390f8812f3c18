"""Positions of a stream: how many posts of each channel of each session were taken."""

import re
from collections.abc import Mapping, Sequence

from parley.client.errors import BadInput
from parley.schemas.session import SESSION_ID

Position = dict[str, int]
"""Channel -> posts that were taken."""
MOST = 8_000
"""Characters of a position."""
_PART = re.compile(r"([a-z_]{1,32}):(\d{1,9})")


def written(position: Mapping[str, int]) -> str:
    """`control:3,public:12`; empty at the beginning."""
    return ",".join(f"{channel}:{k}" for channel, k in sorted(position.items()) if k)


def all_written(positions: Mapping[str, Mapping[str, int]]) -> str:
    """The same of several sessions: `SID=control:3;SID=public:1`."""
    return ";".join(f"{sid}={written(position)}" for sid, position in positions.items())


def parse_position(text: str) -> Position:
    """A position from its words. Raises BadInput."""
    position: Position = {}
    for part in text.split(",") if text else ():
        match = _PART.fullmatch(part)
        if match is None:
            raise BadInput("from", f"got {part[:40]!r}, wanted is a position such as control:3,public:12")
        position[match[1]] = int(match[2])
    return position


def parse_positions(text: str, sids: Sequence[str]) -> dict[str, Position]:
    """Positions of these sessions; one that is not named is at its beginning. Of one session its position may stand
    alone. Raises BadInput."""
    if len(text) > MOST:
        raise BadInput("from", f"{len(text):,} characters, allowed are {MOST:,}")
    positions: dict[str, Position] = {sid: {} for sid in sids}
    if text and "=" not in text:
        if len(sids) != 1:
            raise BadInput("from", "of several sessions each needs its own position: SID=control:3;SID=public:1")
        return {sids[0]: parse_position(text)}
    for part in text.split(";") if text else ():
        sid, _, position = part.partition("=")
        if not SESSION_ID.fullmatch(sid):
            raise BadInput("from", f"{sid[:40]!r} is not a session's id")
        parsed = parse_position(position)
        if sid in positions:
            positions[sid] = parsed
    return positions
