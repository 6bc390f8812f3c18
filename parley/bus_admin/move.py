"""`parley bus move`: copies the store of one server into a cluster: every message, its place, and whether it was taken.

A nats-server that joins a cluster does not bring its own streams along: the cluster would not know them. So each stream
is read out of the folder as a snapshot and restored into the cluster. The folder is read by a nats-server of this
process, of which nobody else has a key, and is left as it is. What is sent to the old server waits meanwhile: it is not
running.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from parley.bus import accounts, streams
from parley.bus.accounts import Credentials
from parley.bus.connection import Connection, connect
from parley.bus.embedded import EmbeddedServer
from parley.bus.errors import ApiError, BusError, NoModerator
from parley.bus_admin.check import load
from parley.bus_admin.replicas import stream_names
from parley.client.errors import BadInput, StackFailed, Unreachable

_CHUNK = 131_072
_CHUNK_S = 30.0
_READY_S = 60.0
_PAUSE_S = 0.25
_STORE = "jetstream"
_NO_PEERS = 10005
"""JetStream's error where a server knows too few others to place a stream on."""
T = TypeVar("T")


def move(store: Path, url: str, folder: Path, replicas: int = streams.REPLICAS) -> list[dict[str, Any]]:
    """Bring every stream of a store into a running cluster: a row for each, its messages and its consumers.

    Parameters
    ----------
    store
        The folder that holds the old server's `jetstream`; that server must not run.
    url
        The cluster, which has no streams yet.
    folder
        Everybody's keys, the same for both.

    Raises
    ------
    BadInput
        There is no store, no moderator's credentials, or the cluster has streams already.
    Unreachable
        The cluster or the store cannot be read.
    StackFailed
        A stream was refused, or came out with other messages than it had.
    """
    store = store_in(store)
    moderator = next((c for c in load(folder).values() if c.kind == accounts.MODERATOR), None)
    if moderator is None:
        raise BadInput("dir", f"{folder} holds no moderator's credentials")
    try:
        with opened(store, moderator) as old:
            return asyncio.run(copy(old, url, moderator, replicas))
    except BusError as error:
        raise Unreachable(str(error)) from error


def store_in(folder: Path) -> Path:
    """The folder that holds a server's `jetstream`: this one, or its own folder of that name, as `store_dir` may be
    called so too. Raises BadInput where there is none."""
    if not (folder / _STORE).is_dir():
        raise BadInput("store", f"{folder} holds no folder {_STORE}")
    return folder / _STORE if (folder / _STORE / _STORE).is_dir() else folder


@contextmanager
def opened(store: Path, moderator: Credentials) -> Iterator[str]:
    """The store behind a server that only this moderator's key opens; its address. The server's own files lie
    elsewhere."""
    with TemporaryDirectory(prefix="parley-move-") as own:
        extra = {"jetstream": {"store_dir": str(store.resolve())}}
        users = (moderator.row,)
        with EmbeddedServer(Path(own), users, accounts.publics({moderator.user: moderator}), extra=extra) as server:
            yield server.url


async def copy(old: str, url: str, moderator: Credentials, replicas: int) -> list[dict[str, Any]]:
    """Bring every stream of one bus into another one, which has none."""
    async with (
        await connect(old, moderator, name="parley bus move: from") as source,
        await connect(url, moderator, name="parley bus move: to") as target,
    ):
        await _ready(target)
        if there := await stream_names(target):
            raise BadInput("nats", f"the cluster has streams already: {', '.join(there)}")
        rows = []
        names = await stream_names(source)
        for name in sorted(names, key=lambda n: (n == streams.IN, n)):  # IN takes from TIMER, which is there by then
            rows.append(await _one(source, target, name, replicas))
        return rows


async def _ready(target: Connection) -> None:
    """Wait until the cluster can make streams. Raises the last BusError."""
    deadline = asyncio.get_running_loop().time() + _READY_S
    while True:
        try:
            await target.api("STREAM.NAMES", timeout_s=2.0)
            return
        except BusError:
            if asyncio.get_running_loop().time() > deadline:
                raise
            await asyncio.sleep(_PAUSE_S)


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


async def _settled(call: Callable[[], Awaitable[T]]) -> T:
    """What a call comes to once the servers have met: before that one knows no peers, or not who takes the stream. What
    nobody heard was not carried out."""
    deadline = asyncio.get_running_loop().time() + _READY_S
    while True:
        try:
            return await call()
        except (ApiError, NoModerator) as error:
            meets = isinstance(error, NoModerator) or error.err_code == _NO_PEERS
            if not meets or asyncio.get_running_loop().time() > deadline:
                raise
        await asyncio.sleep(_PAUSE_S)


async def _checked(target: Connection, name: str, before: dict[str, Any]) -> dict[str, Any]:
    """The stream as it came out, once it says the same as before. Raises StackFailed."""
    deadline = asyncio.get_running_loop().time() + _READY_S
    while True:
        state: dict[str, Any] = {}
        try:
            state = (await target.api(f"STREAM.INFO.{name}"))["state"]
        except BusError:
            pass  # it has no leader yet
        same = state and all(state.get(key) == before.get(key) for key in ("messages", "last_seq"))
        if same:
            return {"stream": name, "messages": state["messages"], "consumers": state["consumer_count"]}
        if asyncio.get_running_loop().time() > deadline:
            raise StackFailed(f"stream {name} has {state.get('messages')} messages, and had {before.get('messages')}")
        await asyncio.sleep(_PAUSE_S)
