"""`parley bus replicas`: on how many servers the streams of a running bus lie, and changing that while it runs."""

import asyncio
import time
from pathlib import Path
from typing import Any

from parley.bus import accounts, streams
from parley.bus.cluster import WHY_ODD
from parley.bus.connection import Connection, connect
from parley.bus.errors import ApiError, BusError
from parley.bus_admin.check import load
from parley.client.errors import BadInput, StackFailed, Unreachable

_WITHIN_S = 120.0
_PAUSE_S = 0.25
_UPDATE_S = 30.0


def replicas(url: str, folder: Path, wanted: int | None) -> list[dict[str, Any]]:
    """A row for each stream: its name, its replicas, how many of them have all of it, and who leads it.

    Parameters
    ----------
    wanted
        On how many servers each is to lie; None: only look.

    Raises
    ------
    BadInput
        An even number; no moderator's credentials in the folder.
    Unreachable
        No server answers, or it has no leader.
    StackFailed
        The servers refused it, or the copies were not complete within two minutes; those go on being made.
    """
    if wanted is not None and wanted % 2 == 0:
        raise BadInput("replicas", f"got {wanted}, expected 1, 3 or 5. {WHY_ODD}")
    users = load(folder)
    moderator = next((c for c in users.values() if c.kind == accounts.MODERATOR), None)
    if moderator is None:
        raise BadInput("dir", f"{folder} holds no moderator's credentials")
    try:
        return asyncio.run(_replicas(url, moderator, wanted))
    except BusError as error:
        raise Unreachable(str(error)) from error


async def _replicas(url: str, user: accounts.Credentials, wanted: int | None) -> list[dict[str, Any]]:
    async with await connect(url, user, name="parley bus replicas") as conn:
        try:
            return await _rows(conn, wanted)
        except BusError as error:
            if conn.nc.alone or (isinstance(error, ApiError) and error.err_code == streams.UNAVAILABLE):
                raise Unreachable(_without_majority(conn)) from error
            raise


def _without_majority(conn: Connection) -> str:
    what = conn.nc.lacking or "the cluster has no majority, or its servers still choose who leads"
    return f"{what}; start the missing servers, then look again"


async def _rows(conn: Connection, wanted: int | None) -> list[dict[str, Any]]:
    names = await stream_names(conn)
    if wanted is not None:
        for name in names:
            await _change(conn, name, wanted)
    deadline = time.monotonic() + _WITHIN_S
    while True:
        rows = [await row(conn, name) for name in names]
        if wanted is None or all(r["current"] == r["replicas"] == wanted for r in rows):
            return rows
        if time.monotonic() > deadline:
            behind = ", ".join(r["stream"] for r in rows if r["current"] < r["replicas"])
            raise StackFailed(f"not all copies are complete within {_WITHIN_S:g} s: {behind}; look again later")
        await asyncio.sleep(_PAUSE_S)


async def stream_names(conn: Connection) -> list[str]:
    """The streams of Parley that the bus has. Raises BusError."""
    reply = await conn.api("STREAM.NAMES")
    mine = tuple(streams.STREAMS)
    return [name for name in reply.get("streams") or () if name.startswith(mine)]


async def _change(conn: Connection, name: str, wanted: int) -> None:
    config = (await conn.api(f"STREAM.INFO.{name}"))["config"]
    if config["num_replicas"] == wanted:
        return
    try:
        await conn.api(f"STREAM.UPDATE.{name}", {**config, "num_replicas": wanted}, _UPDATE_S)
    except ApiError as error:
        raise StackFailed(f"stream {name} cannot lie on {wanted} servers: {error.text}") from error


async def row(conn: Connection, name: str) -> dict[str, Any]:
    """One stream's. Raises BusError."""
    info = await conn.api(f"STREAM.INFO.{name}")
    cluster = info.get("cluster") or {}
    others = cluster.get("replicas") or []
    led = bool(cluster.get("leader")) or not conn.clustered
    whole = sum(bool(r.get("current")) and not r.get("offline") for r in others)
    return {
        "stream": name,
        "replicas": int(info["config"]["num_replicas"]),
        "current": int(led) + whole,
        "leader": str(cluster.get("leader", "")),
    }
