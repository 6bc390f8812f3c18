"""`parley bus replicas` and `parley bus retention`: on how many servers the streams of a running bus lie, and how long
sessions are kept; and changing that while it runs."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from parley.bus import accounts, streams
from parley.bus.cluster import WHY_ODD
from parley.bus.connection import Connection, connect
from parley.bus.errors import ApiError, BusError
from parley.bus.log import LOG
from parley.bus.storage.index import INDEX
from parley.bus_admin.check import load
from parley.client.errors import BadInput, StackFailed, Unreachable

_WITHIN_S = 120.0
_PAUSE_S = 0.25
_UPDATE_S = 30.0
T = TypeVar("T")


def _as_moderator(url: str, folder: Path, what: Callable[[Connection], Awaitable[T]]) -> T:
    """Do something over a moderator's connection. Raises BadInput where the folder has no moderator's credentials;
    Unreachable."""
    moderator = next((c for c in load(folder).values() if c.kind == accounts.MODERATOR), None)
    if moderator is None:
        raise BadInput("dir", f"{folder} holds no moderator's credentials")

    async def main() -> T:
        async with await connect(url, moderator, name="parley bus") as conn:
            return await what(conn)

    try:
        return asyncio.run(main())
    except BusError as error:
        raise Unreachable(str(error)) from error


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

    async def main(conn: Connection) -> list[dict[str, Any]]:
        try:
            return await _rows(conn, wanted)
        except BusError as error:
            if conn.nc.alone or (isinstance(error, ApiError) and error.err_code == streams.UNAVAILABLE):
                raise Unreachable(_without_majority(conn)) from error
            raise

    return _as_moderator(url, folder, main)


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


# ---------------------------------------------------------------- retention


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
    return _as_moderator(url, folder, lambda conn: change(conn, days, sure))


async def change(conn: Connection, days: float | None, sure: Callable[[Kept], None]) -> Kept:
    """As `retention`, over a moderator's connection."""
    configs: dict[str, dict[str, Any]] = {}
    for name in (LOG, streams.ARTIFACTS, INDEX):
        if (info := await streams.stream_info(conn, name)) is None:
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
    start = datetime.fromtimestamp(time.time() - days * streams.DAY_S, UTC).isoformat().replace("+00:00", "Z")
    config = {"deliver_policy": "by_start_time", "opt_start_time": start, "ack_policy": "none"}
    made = await conn.api(f"CONSUMER.CREATE.{INDEX}", {"stream_name": INDEX, "config": config})
    await conn.api(f"CONSUMER.DELETE.{INDEX}.{made['name']}")
    return int((await conn.api(f"STREAM.INFO.{INDEX}"))["state"]["messages"]) - int(made["num_pending"])
