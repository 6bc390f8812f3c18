"""The error of moderators if the log has another number of partitions than the settings."""

import asyncio
from pathlib import Path

from parley.bus import accounts, streams
from parley.bus.connection import connect
from parley.bus.errors import BusError, WrongPartitions

_WITHIN_S = 3.0


async def wrong(url: str, keys: Path, asked: int) -> WrongPartitions | None:
    """What moderators with this setting say of a bus that runs; None: it has that number, or it cannot be known.

    Parameters
    ----------
    keys
        A folder of keys. It takes a moderator's, `moderator-1.json`.
    asked
        The setting `bus.partitions`.
    """
    try:
        moderator = accounts.load_credentials(keys / "moderator-1.json")
        async with asyncio.timeout(_WITHIN_S):
            async with await connect(url, moderator, name="parley doctor") as conn:
                there = (await streams.partitions_of(conn)).count
    except (BusError, TimeoutError, OSError):
        return None
    return WrongPartitions(there, asked) if there != asked else None
