"""`parley bus restore`: puts the store of a backup, or of a single server, in the place of what a running bus has.

The server goes on; only moderators must have ended, since they alone write. Sessions that were erased since the backup
are known from the bus that still runs, and from lists of sessions. They are erased in the backup first: so no text of
them comes back, and a restore that was interrupted may be repeated.

Each stream is read out of the folder as a snapshot and restored into the bus: so it may also be a cluster, which would
not know the streams of a server that joins it. The folder is read by a nats-server of this process, of which nobody
else has a key.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import msgspec

from parley.bus import accounts, streams, subjects
from parley.bus.accounts import Credentials
from parley.bus.channels import CORE
from parley.bus.connection import Connection, connect
from parley.bus.embedded import EmbeddedServer
from parley.bus.errors import ApiError, BusError, NoModerator
from parley.bus.log import LOG, Log
from parley.bus.storage.index import INDEX, OVER, Index
from parley.bus_admin.check import load
from parley.bus_admin.streams import stream_names
from parley.bus_admin.users import every_server
from parley.client.errors import BadInput, StackFailed, Unreachable
from parley.coordinator.sessions.rows import lay_to_rest
from parley.schemas import log
from parley.schemas.post import SessionRow
from parley.schemas.stops import STOPS
from parley.schemas.wire import encode

_ME = "parley bus restore"
_ASK_S = 2.0
_PAGE = 500
_CHUNK = 131_072
_CHUNK_S = 30.0
_READY_S = 60.0
_PAUSE_S = 0.25
_STORE = "jetstream"
_NO_PEERS = 10005
"""JetStream's error where a server knows too few others to place a stream on."""
T = TypeVar("T")


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
    Unreachable
        The bus or the store cannot be read.
    StackFailed
        A stream was refused, or came out with other messages than it had.
    """
    store = _store_in(store)
    users = load(folder)
    by_kind = {c.kind: c for c in users.values()}
    if not {accounts.MODERATOR, accounts.OPERATOR} <= by_kind.keys():
        raise BadInput("dir", f"{folder} holds no moderator's credentials, or no operator's")
    moderator = by_kind[accounts.MODERATOR]
    try:
        sessions, erased = asyncio.run(_there(url, moderator))
        asyncio.run(_check(url, users, by_kind[accounts.OPERATOR]))
        sure(sessions)
        rows = {row.session: row for row in (*listed, *erased) if row.erased_ns}
        with _opened(store, moderator) as old:
            return asyncio.run(_replace(old, url, moderator, rows))
    except BusError as error:
        raise Unreachable(str(error)) from error


async def _check(url: str, users: Mapping[str, Credentials], operator: Credentials) -> None:
    names = {c.public: c.user for c in users.values()}
    async with await connect(url, operator, name=_ME) as conn:
        there = set()
        for server in await every_server(conn):
            ask = json.dumps({"acc": CORE, "auth": True, "limit": 1_024}).encode()
            said = json.loads((await conn.request(f"$SYS.REQ.SERVER.{server}.CONNZ", ask, _ASK_S)).data)
            for one in said.get("data", {}).get("connections") or ():
                if one.get("name") == _ME:  # a connection of this command that has just been closed
                    continue
                there.add(names.get(one.get("nkey", ""), one.get("name") or "a moderator"))
    if there:
        raise BadInput("nats", f"moderators run: {', '.join(sorted(there))}. End them first; nothing was done")


async def _there(url: str, moderator: Credentials) -> tuple[int, list[SessionRow]]:
    """How many sessions the bus has, and the rows of those that it has as erased."""
    rows: list[SessionRow] = []
    async with await connect(url, moderator, name=_ME) as conn:
        await _settled(lambda: conn.api("STREAM.NAMES", timeout_s=2.0), lambda error: True)
        if INDEX not in await stream_names(conn):
            return 0, []
        before, more = None, True
        while more:
            page = await Index(conn).page(state=OVER, before=before, limit=_PAGE)
            rows += [row for row in page.rows if row.erased_ns]
            more = page.more
            before = page.rows[-1].seq if page.rows else None
        return int((await conn.api(f"STREAM.INFO.{INDEX}"))["state"]["messages"]), rows


async def _replace(old: str, url: str, moderator: Credentials, erased: Mapping[str, SessionRow]) -> dict[str, Any]:
    """Erase in the backup what it still holds of these sessions, and bring each of its streams into the bus, in the
    place of those that are there; what was done, as JSON values."""
    async with (
        await connect(old, moderator, name=f"{_ME}: from") as source,
        await connect(url, moderator, name=f"{_ME}: to") as target,
    ):
        names = await stream_names(source)
        if LOG not in names:
            raise BadInput("store", "it holds no log of a bus; nothing was done")
        entries = Log(source)
        again = [sid for sid, row in erased.items() if await _erase_one(source, entries, row)]
        for name in await stream_names(target):
            await target.api(f"STREAM.DELETE.{name}")
        replicas = streams.REPLICAS if target.clustered else 1
        in_order = sorted(names, key=lambda n: (n == streams.IN, n))  # IN takes from TIMER, which is there by then
        return {"streams": [await _one(source, target, name, replicas) for name in in_order], "erased": again}


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


def _store_in(folder: Path) -> Path:
    """The folder that holds a server's `jetstream`: this one, or its own folder of that name, as `store_dir` may be
    called so too. Raises BadInput where there is none."""
    if not (folder / _STORE).is_dir():
        raise BadInput("store", f"{folder} holds no folder {_STORE}")
    return folder / _STORE if (folder / _STORE / _STORE).is_dir() else folder


@contextmanager
def _opened(store: Path, moderator: Credentials) -> Iterator[str]:
    """The store behind a server that only this moderator's key opens; its address. The server's own files lie
    elsewhere."""
    with TemporaryDirectory(prefix="parley-restore-") as own:
        extra = {"jetstream": {"store_dir": str(store.resolve())}}
        users = (moderator.row,)
        with EmbeddedServer(Path(own), users, accounts.publics({moderator.user: moderator}), extra=extra) as server:
            yield server.url


async def _one(source: Connection, target: Connection, name: str, replicas: int) -> dict[str, Any]:
    chunks: asyncio.Queue[Any] = asyncio.Queue()
    inbox = source.nc.new_inbox()
    heard = await source.subscribe(inbox, chunks.put_nowait)
    try:
        asked = {"deliver_subject": inbox, "no_consumers": False, "chunk_size": _CHUNK, "jsck": True}
        began = await source.api(f"STREAM.SNAPSHOT.{name}", asked)
        config = {**began["config"], "num_replicas": replicas}
        try:
            to = await _settled(
                lambda: target.api(f"STREAM.RESTORE.{name}", {"config": config, "state": began["state"]}, _CHUNK_S)
            )
        except ApiError as error:
            raise StackFailed(f"stream {name} is not taken: {error.text}") from error
        while True:
            async with asyncio.timeout(_CHUNK_S):
                chunk = await chunks.get()
            said = await _settled(partial(target.request, to["deliver_subject"], chunk.data, _CHUNK_S))
            if not chunk.data:
                break
            if said.data:
                raise StackFailed(f"stream {name} is not taken: {said.data.decode(errors='replace')[:300]}")
            if chunk.reply:
                await source.publish(chunk.reply, b"")
    except TimeoutError:
        raise StackFailed(f"the snapshot of stream {name} came to no end within {_CHUNK_S:g} s") from None
    finally:
        await heard.unsubscribe()
    if refused := json.loads(said.data or b"{}").get("error"):
        raise StackFailed(f"stream {name} is not taken: {refused.get('description', '')}")
    return await _checked(target, name, began["state"])


def _meets(error: BusError) -> bool:
    """Whether servers have not met yet: one knows no peers, or not who takes the stream. Nothing was carried out."""
    return isinstance(error, NoModerator) or (isinstance(error, ApiError) and error.err_code == _NO_PEERS)


async def _settled(call: Callable[[], Awaitable[T]], soon: Callable[[BusError], bool] = _meets) -> T:
    """What a call comes to once the servers have settled. `soon`: whether an error may be gone soon."""
    deadline = asyncio.get_running_loop().time() + _READY_S
    while True:
        try:
            return await call()
        except BusError as error:
            if not soon(error) or asyncio.get_running_loop().time() > deadline:
                raise
        await asyncio.sleep(_PAUSE_S)


async def _checked(target: Connection, name: str, before: dict[str, Any]) -> dict[str, Any]:
    """The stream as it came out, once it says the same as before. Raises StackFailed."""

    async def state() -> dict[str, Any]:
        found: dict[str, Any] = (await target.api(f"STREAM.INFO.{name}"))["state"]
        if any(found.get(key) != before.get(key) for key in ("messages", "last_seq")):
            raise BusError(f"{found.get('messages')} messages, and had {before.get('messages')}")
        return found

    try:
        found = await _settled(state, lambda error: True)  # it may have no leader yet
    except BusError as error:
        raise StackFailed(f"stream {name} has {error}") from error
    return {"stream": name, "messages": found["messages"], "consumers": found["consumer_count"]}
