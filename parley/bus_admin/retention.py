"""`parley bus retention`: how long a running bus keeps sessions, and changing that."""

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from parley.bus import accounts, streams
from parley.bus.connection import Connection, connect
from parley.bus.errors import BusError
from parley.bus.log import LOG
from parley.bus.storage.index import INDEX
from parley.bus_admin.check import load
from parley.client.errors import BadInput, Unreachable


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """How long sessions are kept."""

    days: float
    """0: for ever."""
    removes: int = 0
    """Sessions that a shorter limit removes."""


def retention(url: str, folder: Path, days: float | None, sure: Callable[[Kept], None]) -> Kept:
    """How long sessions are kept, after the change if one is wanted.

    Parameters
    ----------
    days
        From a session's last change on; 0 keeps them for ever; None: only look.
    sure
        Asked before a limit is made shorter, with what that removes. It raises where the answer is no.

    Raises
    ------
    BadInput
        A negative number; no moderator's credentials in the folder; a bus without streams.
    Unreachable
        No server answers.
    """
    if days is not None and days < 0:
        raise BadInput("days", f"got {days:g}, expected 0 or more")
    moderator = next((c for c in load(folder).values() if c.kind == accounts.MODERATOR), None)
    if moderator is None:
        raise BadInput("dir", f"{folder} holds no moderator's credentials")

    async def main() -> Kept:
        async with await connect(url, moderator, name="parley bus retention") as conn:
            return await change(conn, days, sure)

    try:
        return asyncio.run(main())
    except BusError as error:
        raise Unreachable(str(error)) from error


async def change(conn: Connection, days: float | None, sure: Callable[[Kept], None]) -> Kept:
    """As `retention`, over a moderator's connection."""
    configs: dict[str, dict[str, Any]] = {}
    for name in (LOG, streams.ARTIFACTS, INDEX):
        if (info := await streams.described(conn, name)) is None:
            raise BadInput("nats", "the bus has no streams yet; the first moderator that starts makes them")
        configs[name] = info["config"]
    existing = int(configs[INDEX].get("max_age", 0))
    if days is None:
        return Kept(days=existing / 1e9 / streams.DAY_S)
    wanted = round(days * streams.DAY_S * 1e9)
    if wanted and (not existing or wanted < existing):
        sure(Kept(days=days, removes=await _older(conn, days)))
    for name, config in configs.items():
        window = min(config["duplicate_window"], wanted or config["duplicate_window"])
        await conn.api(f"STREAM.UPDATE.{name}", {**config, "max_age": wanted, "duplicate_window": window})
    return Kept(days=days)


async def _older(conn: Connection, days: float) -> int:
    """Sessions that changed last before that many days."""
    start = datetime.fromtimestamp(time.time() - days * streams.DAY_S, UTC).isoformat().replace("+00:00", "Z")
    config = {"deliver_policy": "by_start_time", "opt_start_time": start, "ack_policy": "none"}
    made = await conn.api(f"CONSUMER.CREATE.{INDEX}", {"stream_name": INDEX, "config": config})
    await conn.api(f"CONSUMER.DELETE.{INDEX}.{made['name']}")
    return int((await conn.api(f"STREAM.INFO.{INDEX}"))["state"]["messages"]) - int(made["num_pending"])
