"""`parley bus restore`: puts the store of a backup in the place of what a running bus has.

The server goes on; only moderators must have ended, since they alone write. Sessions that were erased since the backup
are known from the bus that still runs, and from lists of sessions. They are erased in the backup first: so no text of
them comes back, and a restore that was interrupted may be repeated.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from parley.bus import accounts, subjects
from parley.bus.accounts import Credentials
from parley.bus.channels import CORE
from parley.bus.cluster import servers
from parley.bus.connection import Connection, connect
from parley.bus.errors import BusError
from parley.bus.log import LOG, Log
from parley.bus.storage.index import INDEX, OVER, Index
from parley.bus_admin import move
from parley.bus_admin.check import load
from parley.bus_admin.replicas import stream_names
from parley.bus_admin.users import every_server
from parley.client.errors import BadInput, Unreachable
from parley.coordinator.sessions.tombstone import lay_to_rest
from parley.schemas import log
from parley.schemas.post import SessionRow
from parley.schemas.stops import STOPS
from parley.schemas.wire import encode

_ME = "parley bus restore"
_ASK_S = 2.0
_PAGE = 500


def restore(
    store: Path, url: str, folder: Path, listed: tuple[SessionRow, ...], sure: Callable[[int], None]
) -> dict[str, Any]:
    """Bring back the streams of a backup; what was restored and erased, as JSON values.

    Parameters
    ----------
    store
        The folder that holds the `jetstream` of a server that had stopped.
    folder
        Everybody's keys.
    listed
        Sessions of a list; those that it has as erased are erased, too.
    sure
        Called with the number of sessions that the bus has now, which go; raises where that is not wanted.

    Raises
    ------
    BadInput
        There is no store, or nothing in it; a key is missing, or moderators run.
    Unreachable, StackFailed
        As parley.bus_admin.move.move.
    """
    store = move.store_in(store)
    users = load(folder)
    by_kind = {c.kind: c for c in users.values()}
    if not {accounts.MODERATOR, accounts.OPERATOR} <= by_kind.keys():
        raise BadInput("dir", f"{folder} holds no moderator's credentials, or no operator's")
    moderator = by_kind[accounts.MODERATOR]
    try:
        many = asyncio.run(_check(url, users, by_kind[accounts.OPERATOR]))
        erased = {row.session: row for row in (*listed, *asyncio.run(_erased(url, moderator))) if row.erased_ns}
        sure(asyncio.run(_sessions(url, moderator)))
        with move.opened(store, moderator) as old:
            again = asyncio.run(_erase(old, moderator, erased))
            asyncio.run(_clear(url, moderator))
            rows = asyncio.run(move.copy(old, url, moderator, 3 if many >= min(servers.SIZES) else 1))
    except BusError as error:
        raise Unreachable(str(error)) from error
    return {"streams": rows, "erased": again}


async def _check(url: str, users: Mapping[str, Credentials], operator: Credentials) -> int:
    """How many servers there are. Raises BadInput where moderators are connected to one."""
    names = {c.public: c.user for c in users.values()}
    async with await connect(url, operator, name=_ME) as conn:
        found = await every_server(conn)
        there = set()
        for server in found:
            ask = json.dumps({"acc": CORE, "auth": True, "limit": 1_024}).encode()
            said = json.loads((await conn.request(f"$SYS.REQ.SERVER.{server}.CONNZ", ask, _ASK_S)).data)
            for one in said.get("data", {}).get("connections") or ():
                there.add(names.get(one.get("nkey", ""), one.get("name") or "a moderator"))
    if there:
        raise BadInput("nats", f"moderators run: {', '.join(sorted(there))}. End them first; nothing was done")
    return len(found)


async def _sessions(url: str, moderator: Credentials) -> int:
    async with await connect(url, moderator, name=_ME) as conn:
        if INDEX not in await stream_names(conn):
            return 0
        return int((await conn.api(f"STREAM.INFO.{INDEX}"))["state"]["messages"])


async def _erased(url: str, moderator: Credentials) -> list[SessionRow]:
    """The rows of sessions that the bus has as erased."""
    rows: list[SessionRow] = []
    async with await connect(url, moderator, name=_ME) as conn:
        if INDEX not in await stream_names(conn):
            return []
        before, more = None, True
        while more:
            page = await Index(conn).page(state=OVER, before=before, limit=_PAGE)
            rows += [row for row in page.rows if row.erased_ns]
            more = page.more
            before = page.rows[-1].seq if page.rows else None
    return rows


async def _erase(url: str, moderator: Credentials, erased: Mapping[str, SessionRow]) -> list[str]:
    """Erase in the backup what it still holds of these sessions; which it did."""
    async with await connect(url, moderator, name=_ME) as conn:
        if LOG not in await stream_names(conn):
            raise BadInput("store", "it holds no log of a bus; nothing was done")
        entries = Log(conn)
        return [sid for sid, row in erased.items() if await _erase_one(conn, entries, row)]


async def _erase_one(conn: Connection, entries: Log, row: SessionRow) -> bool:
    last = await entries.last(row.session)
    if last is None or last.kind == subjects.ERASED:
        return False
    opened = await entries.last(row.session, subjects.OPENED)
    closed = await entries.last(row.session, subjects.CLOSED)
    entry = log.Erased(
        at_ns=row.erased_ns or 0,
        author=row.erased_by,
        protocol=row.protocol,
        reason=row.reason,
        owner=row.owner,
        status=STOPS[row.reason].status if row.reason in STOPS else "finished",
        opened_ns=row.opened_ns,
        closed_ns=row.closed_ns,
        opened_seq=opened.seq if opened else msgspec.UNSET,
        closed_seq=closed.seq if closed else msgspec.UNSET,
    )
    seq = await entries.append(row.session, subjects.ERASED, encode(entry), last.seq, row)
    await lay_to_rest(conn, entries, Index(conn), row.session, seq)
    return True


async def _clear(url: str, moderator: Credentials) -> None:
    async with await connect(url, moderator, name=_ME) as conn:
        for name in await stream_names(conn):
            await conn.api(f"STREAM.DELETE.{name}")
