"""The accounts' table of a bus, changed while it runs: users let in, put out, and given fresh keys. One way for all.

The table is a folder: each credentials file is a row. A change writes files and the server's configuration, has the
server read it, and knocks with each key until it is taken, or taken no more. Whoever was to come and is not taken is
taken back. Who is to go stays out of the configuration, and his file stays until his key is refused, so that the
command may be repeated. An embedded stack's supervisor writes its server's configuration itself.
"""

import asyncio
import json
import os
import signal
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from parley.bus import accounts, rendered
from parley.bus.accounts import Credentials, User
from parley.bus.channels import CLIENTS, OBSERVERS
from parley.bus.connection import Connection, connect
from parley.bus.embedded import RELOADS, forbid
from parley.bus.errors import BadKeyFile, BadTable, BusError, Closed, NoAnswer, WrongCredentials, addresses
from parley.bus.errors import Unreachable as Silent
from parley.bus_admin import cluster
from parley.bus_admin.check import load
from parley.bus_admin.cluster import CONFIGURATION
from parley.client.errors import BadInput, StackFailed, Unreachable, bad_input
from parley.coordinator.sessions import token_keys
from parley.stack import keys
from parley.stack.lease import read_running

WITHIN_S = 180.0 if "KUBERNETES_SERVICE_HOST" in os.environ else 15.0
"""Seconds that a server has to read its configuration. Kubernetes shows a pod a changed secret within some 90 s."""
_SERVERS_S = 0.3
_TAKES_S = 2.0
_AGAIN_S = 2.0
"""So often the server is asked to read its configuration again: what it reads may reach it late."""
_KNOCK_S = 0.05
_TRIES = 6


def person(name: str, kind: str, reads: tuple[str, ...]) -> User:
    """The row of a user who is no agent. Raises BadInput."""
    accounts_of = {
        accounts.CLIENT: CLIENTS,
        accounts.VIEWER: CLIENTS,
        accounts.OWNER: CLIENTS,
        accounts.PROBE: OBSERVERS,
    }
    if kind not in accounts_of:
        raise BadInput("kind", f"got {kind!r}, expected one of {', '.join(accounts_of)}")
    with bad_input("name", BadTable):
        return User(name=name, kind=kind, account=accounts_of[kind], reads=reads)


def add(folder: Path, url: str | None, user: User, within_s: float = WITHIN_S) -> dict[str, Any]:
    """Let a user in, with a key of his own; one who is there keeps his. What was done, as JSON values.

    Raises
    ------
    BadInput
        Somebody else has the name; a client whose sessions he is to read is not there; a folder without keys or
        configuration.
    Unreachable, StackFailed
        As `change`.
    """
    there = load(folder)
    clients = {name for name, c in there.items() if c.kind in (accounts.CLIENT, accounts.OWNER)}
    if unknown := sorted(set(user.reads) - clients - {accounts.EVERYBODY}):
        raise BadInput("reads", f"there is no client {unknown[0]!r}; there are {', '.join(sorted(clients))}")
    known = there.get(user.name)
    if known is not None and known.row != user:
        raise BadInput("name", f"there is a user {user.name!r} already, of kind {known.kind}")
    done = change(folder, url, {user.name: known or accounts.mint((user,))[user.name]}, within_s=within_s)
    return {"user": user.name, "credentials": str(keys.file(folder, user.name)), **done}


def rotate(folder: Path, url: str | None, name: str, within_s: float = WITHIN_S) -> dict[str, Any]:
    """Give a user a fresh key: whoever uses the old one is out. Or the moderators, who go on with both
    (parley.coordinator.sessions.token_keys). Raises as `add`."""
    if name == keys.TOKEN_KEY:
        with bad_input("name", BadKeyFile, OSError):
            signs_at = token_keys.rotate(folder / name)
        return {"user": name, "credentials": str(folder / name), "signs_at": signs_at}
    before = _known(load(folder), name)
    done = change(folder, url, {name: accounts.mint((before.row,))[name]}, within_s=within_s)
    return {"user": name, "credentials": str(keys.file(folder, name)), **done}


def revoke(folder: Path, url: str | None, name: str, within_s: float = WITHIN_S) -> dict[str, Any]:
    """Put a user out. Repeating it after a failure is fine. Raises as `add`."""
    if _known(load(folder), name).kind == accounts.OPERATOR:
        raise BadInput("name", "without the operator's key the server cannot be told to read its configuration again")
    return {"user": name, **change(folder, url, {}, (name,), within_s=within_s)}


def user_words(done: Mapping[str, Any]) -> str:
    """Where a user's key lies, and what the bus did with the change, in a line."""
    if "signs_at" in done:
        at = time.strftime("%H:%M:%S", time.gmtime(done["signs_at"]))
        return f"{done['user']}: {done['credentials']} has a new key, which signs from {at} UTC on"
    key = f"the key is {done['credentials']}" if "credentials" in done else "its key is removed"
    return f"{done['user']}: {key}; {done_words(done)}"


def done_words(done: Mapping[str, Any]) -> str:
    """What the bus did with a change, in a line."""
    return {
        "read again": f"the bus has read it: {done['configuration']}",
        "written": f"{done['configuration']} is written; have its server read it again (SIGHUP twice, or --nats URL)",
        "at its start": "no stack runs there: parley up has them as users, and does not start them",
    }[done["bus"]]


def _known(there: Mapping[str, Credentials], name: str) -> Credentials:
    if name not in there:
        raise BadInput("name", f"no credentials of {name!r} are there; there are {', '.join(sorted(there))}")
    return there[name]


def change(
    folder: Path, url: str | None, come: Mapping[str, Credentials], go: Iterable[str] = (), within_s: float = WITHIN_S
) -> dict[str, str]:
    """Have these users in and those out; what the bus did, and where its configuration lies.

    Parameters
    ----------
    url
        Of a running server that reads a configuration of `parley bus config`; None: it is told by somebody else.

    Raises
    ------
    BadInput
        There is no configuration, or it cannot be read or written.
    Unreachable, StackFailed
        The running bus did not take it; the message says what is so now.
    """
    with bad_input("dir", OSError), bad_input("dir", BadKeyFile, BadTable, ValueError, what=str(folder)):
        return _Change(folder, url, come, tuple(go), within_s).carry_out()


class _Change:
    """One change of the table."""

    def __init__(
        self, folder: Path, url: str | None, come: Mapping[str, Credentials], go: tuple[str, ...], within_s: float
    ) -> None:
        self._folder, self._within_s = folder, within_s
        self._come = come
        self._there = keys.everybody(folder) if folder.is_dir() else {}
        self._fresh = {name: c for name, c in come.items() if self._there.get(name) != c}
        self._go = [self._there[name] for name in go]
        self._old = [self._there[name] for name in self._fresh if name in self._there]
        conf = folder / CONFIGURATION
        if not conf.is_file() and folder.name != "keys":
            raise BadInput("dir", f"no server's configuration at {conf}; parley bus config writes one")
        self._before = conf.read_bytes() if conf.is_file() else b""
        self._running = None if self._before else read_running(folder.absolute().parent)
        self._where = conf if self._before else folder.absolute().parent
        self._url = self._running.url if self._running is not None else url if self._before else None

    def carry_out(self) -> dict[str, str]:
        """Write, tell, knock."""
        after = self._rendered() if self._before else b""
        if self._url is not None and self._running is None:
            self._reach()
        try:
            self._write(after)
        except OSError:
            self._take_back()
            raise
        if self._url is not None:
            try:
                asyncio.run(self._told(self._url, self._come.values(), (*self._go, *self._old)))
            except (BusError, StackFailed, OSError) as error:
                kind = StackFailed if isinstance(error, StackFailed) else Unreachable
                raise kind(f"{error}; {self._undone(self._url)}" if self._fresh else str(error)) from error
        for gone in self._go:
            keys.file(self._folder, gone.user).unlink(missing_ok=True)
        bus = "read again" if self._url is not None else "written" if self._before else "at its start"
        return {"bus": bus, "configuration": str(self._where)}

    def _rendered(self) -> bytes:
        """The configuration with this change. Raises BadInput where somebody of it has no key beside it, and others
        come: he would be out."""
        config: dict[str, Any] = json.loads(self._before)
        admitted = rendered.nkeys(config)
        for gone in self._go:
            if gone.public in admitted:  # it may have been taken out before
                config = rendered.without(config, gone.public)
        if self._come:
            missing = admitted - {c.public for c in self._there.values()}
            if missing:
                why = f"{len(missing)} users of {self._where} have no credentials beside it, and would be put out"
                raise BadInput("dir", f"{why}: put their files back, or take them out with parley bus user revoke")
            users = {name: c for name, c in self._there.items() if c.public in admitted} | dict(self._come)
            config = rendered.replace_users(config, [c.row for c in users.values()], accounts.publics(users))
        return rendered.in_text(config).encode()

    def _write(self, after: bytes) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name, credentials in self._fresh.items():
            credentials.save(keys.file(self._folder, name))
        if self._before:
            accounts.rewrite_private(self._folder / CONFIGURATION, after)
            cluster.follow(self._folder)
            return
        server = self._folder.absolute().parent / "bus"
        for gone in (*self._go, *self._old) if server.is_dir() else ():
            forbid(server, gone.public)

    def _take_back(self) -> None:
        for name in self._fresh:
            if name in self._there:
                self._there[name].save(keys.file(self._folder, name))
            else:
                keys.file(self._folder, name).unlink(missing_ok=True)
        if self._before:
            accounts.rewrite_private(self._folder / CONFIGURATION, self._before)
            cluster.follow(self._folder)

    def _undone(self, url: str) -> str:
        """Have the server read what was there before; what is so now, in words."""
        self._take_back()
        try:
            asyncio.run(self._told(url, (), self._fresh.values()))
        except (BusError, StackFailed, OSError) as error:
            return (
                f"the files are as they were, but the server may still have the change ({error}): "
                f"have it read {self._where} again (SIGHUP twice), or start it anew"
            )
        return "nothing was changed: the server has read the former configuration again"

    def _reach(self) -> None:
        async def knock() -> None:
            await (await connect(self._url or "", self._operator(), name="parley bus")).close()

        try:
            asyncio.run(knock())
        except BusError as error:
            raise Unreachable(str(error)) from error

    def _operator(self) -> Credentials:
        operators = [c for c in self._there.values() if c.kind == accounts.OPERATOR]
        if not operators:
            raise StackFailed(
                "there is no operator's key; without it the server cannot be told to read its configuration again"
            )
        return operators[0]

    async def _read_again(self, url: str) -> None:
        """Reading it may break the connection, so that it is tried again."""
        if self._running is not None:
            os.kill(self._running.supervisor, signal.SIGHUP)
            return
        before = self._operator()
        keys_of = (before, self._fresh.get(before.user, before))  # his own may be the one that changes
        for left in reversed(range(_TRIES)):
            try:
                async with await connect(url, keys_of[left % 2], name="parley bus") as conn:
                    for _ in range(RELOADS):
                        await reload(conn)
                return
            except (NoAnswer, Closed, Silent, WrongCredentials):
                if not left:
                    raise
            await asyncio.sleep(_SERVERS_S)

    async def _told(self, url: str, come: Iterable[Credentials], go: Iterable[Credentials]) -> None:
        """Have the server read its configuration, and knock until every key is taken, or refused. Raises StackFailed,
        BusError."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + self._within_s
        waiting = [(c, "taken") for c in come] + [(c, "refused") for c in go]
        asked_at = float("-inf")
        while waiting or asked_at == float("-inf"):
            if clock() - asked_at > _AGAIN_S:
                await self._read_again(url)
                asked_at = clock()
            credentials, wanted = waiting[0]
            if await _met(url, credentials) == {wanted}:
                del waiting[0]
            elif clock() > deadline:
                does = "does not take" if wanted == "taken" else "still takes"
                why = f"the server at {url} {does} the key of {credentials.user!r} after {self._within_s:g} s"
                raise StackFailed(f"{why}: does it read {self._where}?")
            else:
                await asyncio.sleep(_KNOCK_S)


async def _met(url: str, credentials: Credentials) -> set[str]:
    """What the servers do with a key; one that is down reads its configuration when it comes."""
    met = set()
    for address in addresses(url):
        try:
            await (await connect(address, credentials, name="parley bus")).close()
            met.add("taken")
        except WrongCredentials:
            met.add("refused")
        except (NoAnswer, Closed, Silent):
            pass
    return met


async def reload(conn: Connection) -> list[str]:
    """Have every server read its configuration again, as the operator; their names. Raises StackFailed."""
    servers = await every_server(conn)
    for server in servers:
        said = json.loads((await conn.request(f"$SYS.REQ.SERVER.{server}.RELOAD", b"", _TAKES_S)).data)
        if "error" in said:
            raise StackFailed(f"the server {servers[server]} refused it: {said['error'].get('description', '')}")
    if not servers:
        raise StackFailed("no server answered the operator")
    return sorted(servers.values())


async def every_server(conn: Connection) -> dict[str, str]:
    """The servers that answer the operator: id -> name."""
    inbox = conn.nc.new_inbox()
    answers: list[dict[str, Any]] = []
    sub = await conn.subscribe(inbox, lambda msg: answers.append(json.loads(msg.data)))
    await conn.publish("$SYS.REQ.SERVER.PING", b"", reply=inbox, confirm=True)
    await asyncio.sleep(_SERVERS_S)
    await sub.unsubscribe()
    return {a["server"]["id"]: a["server"]["name"] for a in answers}
