"""`parley bus revoke`: removes a user from a running bus, while sessions go on.

The user leaves the server's configuration and the server reads it again: it closes his connections and knows his key no
more. His credentials file goes too, so that `parley bus config` (or the embedded stack's next start) would make a fresh
key for him; the old one stays worthless.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

from parley.bus import accounts, rendered
from parley.bus.accounts import Credentials
from parley.bus.connection import Connection, connect
from parley.bus.embedded import forbid
from parley.bus.errors import BadTable, BusError, WrongCredentials, addresses
from parley.bus.errors import Unreachable as Silent
from parley.bus_admin import cluster
from parley.bus_admin.check import load
from parley.client.errors import BadInput, StackFailed, Unreachable
from parley.stack import keys

CONFIGURATION = "nats-server.conf"
_SERVERS_S = 0.3
_TAKES_S = 2.0


def configuration(folder: Path) -> tuple[Path, bool]:
    """Where the server's configuration for these keys lies, and whether it is an embedded stack's.

    Raises
    ------
    BadInput
        There is none, neither beside the keys nor beside the folder.
    """
    beside, embedded = folder / CONFIGURATION, folder.parent / "bus" / "server.conf"
    if (of_several := folder.parent / "cluster" / "server-1" / "server.conf").is_file():
        embedded = of_several
    if beside.is_file():
        return beside, False
    if embedded.is_file():
        return embedded, True
    raise BadInput("dir", f"no server's configuration at {beside}, nor an embedded stack's at {embedded}")


def revoke(url: str, folder: Path, name: str) -> dict[str, Any]:
    """Revoke one user; what was done, as JSON values. Repeating it after a failure is fine.

    Raises
    ------
    BadInput
        No such user in the folder, or the operator; no configuration; one that cannot be read or written.
    Unreachable
        No server at the address, or not with the operator's key.
    StackFailed
        The server refused the new configuration, or still takes the user's key.
    """
    users = load(folder)
    revoked = users.get(name)
    if revoked is None:
        raise BadInput("name", f"no credentials of {name!r} in {folder}; there are {', '.join(sorted(users))}")
    operators = [c for c in users.values() if c.kind == accounts.OPERATOR]
    if revoked.kind == accounts.OPERATOR or not operators:
        raise BadInput("name", "without the operator's key the server cannot be told to read its configuration again")
    path, embedded = configuration(folder)
    try:
        return asyncio.run(_revoke(url, folder, revoked, operators[0], path, embedded))
    except (OSError, ValueError) as error:
        raise BadInput("dir", f"{path}: {error}") from error
    except BusError as error:
        raise Unreachable(str(error)) from error


async def _revoke(
    url: str, folder: Path, user: Credentials, operator: Credentials, path: Path, embedded: bool
) -> dict[str, Any]:
    async with await connect(url, operator, name="parley bus revoke") as conn:
        before = path.read_bytes()
        try:
            after = rendered.in_text(rendered.without(json.loads(before), user.public))
        except BadTable:
            after = ""  # it was taken out before
        if embedded:
            for other in (path, *_beside(path)):
                forbid(other.parent, user.public)
        if after:
            _write(folder, path, after.encode(), embedded)
        try:
            servers = await reload(conn)
        except StackFailed:
            _write(folder, path, before, embedded)
            raise
    await _is_out(url, user, path)
    keys.file(folder, user.user).unlink(missing_ok=True)
    return {"revoked": user.user, "servers": servers, "configuration": str(path)}


def _beside(path: Path) -> list[Path]:
    """The configurations of the other servers of an embedded cluster."""
    return [p for p in sorted(path.parent.parent.glob("server-*/server.conf")) if p != path]


def _write(folder: Path, path: Path, text: bytes, embedded: bool) -> None:
    """One configuration, and its accounts into those of the cluster's other servers."""
    accounts.rewrite_private(path, text)
    if not embedded:
        cluster.follow(folder)
        return
    own = json.loads(text)["accounts"]
    for other in _beside(path):
        config = {**json.loads(other.read_bytes()), "accounts": own}
        accounts.rewrite_private(other, rendered.in_text(config).encode())


async def reload(conn: Connection) -> list[str]:
    """Have every server read its configuration again, as the operator; their names. Raises StackFailed.

    Leaf nodes connect again, where their keys are still known: by itself a server would keep those that are not.
    """
    inbox = conn.nc.new_inbox()
    answers: list[dict[str, Any]] = []
    sub = await conn.subscribe(inbox, lambda msg: answers.append(json.loads(msg.data)))
    await conn.publish("$SYS.REQ.SERVER.PING", b"", reply=inbox, confirm=True)
    await asyncio.sleep(_SERVERS_S)
    await sub.unsubscribe()
    servers = {a["server"]["id"]: a["server"]["name"] for a in answers}
    for server in servers:
        said = json.loads((await conn.request(f"$SYS.REQ.SERVER.{server}.RELOAD", b"", _TAKES_S)).data)
        if "error" in said:
            raise StackFailed(f"the server {servers[server]} refused it: {said['error'].get('description', '')}")
        await _close_leaves(conn, server)
    if not servers:
        raise StackFailed("no server answered the operator")
    return sorted(servers.values())


async def _close_leaves(conn: Connection, server: str) -> None:
    """Close the connections of leaf nodes to one server."""
    said = json.loads((await conn.request(f"$SYS.REQ.SERVER.{server}.LEAFZ", b"", _TAKES_S)).data)
    for connection in said.get("data", {}).get("leafs") or ():
        close = json.dumps({"cid": connection["id"]}).encode()
        await conn.request(f"$SYS.REQ.SERVER.{server}.KICK", close, _TAKES_S)


async def _is_out(url: str, user: Credentials, path: Path) -> None:
    """Knock with the key until it is refused."""
    deadline = asyncio.get_running_loop().time() + _TAKES_S
    while asyncio.get_running_loop().time() < deadline:
        knocked = [await _knock(one, user) for one in addresses(url)]
        if "taken" not in knocked and "refused" in knocked:
            return
        await asyncio.sleep(0.05)
    raise StackFailed(f"the server at {url} still takes the key of {user.user!r}: does it read {path}?")


async def _knock(url: str, user: Credentials) -> str:
    """What one server does with the key; one that is down reads its configuration when it comes."""
    try:
        await (await connect(url, user, name="parley bus revoke")).close()
    except WrongCredentials:
        return "refused"
    except Silent:
        return "silent"
    return "taken"
