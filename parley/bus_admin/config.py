"""`parley bus config`: a server configuration and everybody's credentials, for the seats of every protocol."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from parley.agents.specs import load
from parley.bus import accounts, channels, rendered
from parley.bus.channels import CLIENTS
from parley.bus.errors import BadKeyFile, BadTable
from parley.bus_admin import cluster as of_cluster
from parley.client.errors import BadInput, bad_input
from parley.client.protocols import all_setups
from parley.schemas import registry
from parley.schemas.session import METRICS
from parley.stack import keys
from parley.stack.rows import people


def bus_config(
    folder: Path,
    *,
    seats: Mapping[str, Any],
    moderators: int,
    clients: tuple[str, ...],
    humans: tuple[str, ...] = (),
    readers: Mapping[str, tuple[str, ...]] | None = None,
    viewers: Mapping[str, tuple[str, ...]] | None = None,
    probes: tuple[str, ...] = (),
    host: str | None = None,
    port: int | None = None,
    store: str | None = None,
    monitor: str | None = None,
    cluster: int | None = None,
    servers: tuple[str, ...] = (),
    server_folder: str | None = None,
) -> dict[str, str]:
    """Write a server configuration and everybody's credentials, for the seats of every protocol; what was written,
    name -> path.

    Running it again adds and changes what is said, and nothing else: whoever has a key in the folder stays a user, with
    what he was granted, and the server's settings, an operator's own among them, stay as they were. `revoke` takes a
    user out.

    Parameters
    ----------
    seats
        How many there are, as the protocols' options say it (parley.client.setup.setup.Setup.keyed).
    clients
        None and nobody there: one that is called client.
    readers
        Client -> the clients whose sessions it reads beside its own; `*`: all clients'; none: no grant any more.
    viewers
        Who submits nothing -> the clients whose sessions it reads; `*`: all clients'.
    probes
        Who may ask which workers are alive, and nothing else.
    host, port, store, monitor
        None: as in the configuration that is there, else 0.0.0.0, 4222, /data/jetstream and 127.0.0.1:8222.

    cluster, servers, server_folder
        How many servers the bus has, where they are, and where each finds its files
        (parley.bus_admin.cluster.members_of).

    Raises
    ------
    BadInput
        A seat or client that is not there, a folder that cannot be written to, keys that cannot be used.
    """
    of_them = of_cluster.members_of(cluster, servers, server_folder, store, keys=folder)
    readers = dict(readers or {})
    specs = {queue: load(queue) for setup in all_setups() for queue in setup.keyed(seats)}
    queues = {queue: spec.roles[0] for queue, spec in specs.items()}
    if humans:
        queues |= people(humans, dict(queues))
    names = tuple(f"moderator-{i}" for i in range(1, moderators + 1))
    with bad_input("bus", BadTable, BadKeyFile), bad_input("dir", OSError, what=f"cannot write to {folder}"):
        known = keys.load_enrolled_experts(folder)
        pins = {queue: spec.pin for queue, spec in specs.items()} | {queue: c.pin for queue, c in known.items()}
        queues |= {queue: c.role for queue, c in known.items()}
        there = keys.everybody(folder)
        if not clients and not any(c.kind == accounts.CLIENT for c in there.values()):
            clients = ("client",)
        users = accounts.table(
            queues,
            moderators=names,
            clients=clients,
            owners=("owner",),
            observers=(METRICS,),
            pins=pins,
            readers=readers,
            viewers=viewers,
            probes=probes,
        )
        users = _with_those_before(users, there, readers)
        _verify(readers, users, "reader")
        _verify(viewers or {}, users, "viewer")
        credentials = keys.ensure(folder, users)
        if not (folder / accounts.LIMITS).exists():
            accounts.write_private(folder / accounts.LIMITS, b"{}\n")
        path = folder / "nats-server.conf"
        config = _config(path, users, accounts.publics(credentials))
        said = {"host": host, "port": port, "http": monitor}
        config |= {name: value for name, value in said.items() if value is not None}
        if store is not None:
            config["jetstream"] = {**config["jetstream"], "store_dir": store}
        if not config.get("http"):
            config.pop("http", None)
        accounts.rewrite_private(path, rendered.in_text(config).encode())
        members = of_cluster.write(folder, config, of_them, server_folder)
    written = {"server": str(path), "token-key": str(folder / keys.TOKEN_KEY)}
    written |= members
    return {**written, **{name: str(keys.file(folder, name)) for name in credentials}}


def of_packages() -> tuple[str, ...]:
    """What allowed packages add to the accounts' table, a line a role."""
    lines = []
    for name, part in registry.entries(registry.ROWS).items():
        for role in part.load().roles if name in registry.usable(registry.ROWS) else ():
            account = channels.ACCOUNT_OF_ROLE[role]
            writes = [c.name for c in channels.CHANNELS.values() if c.is_written_by(account)]
            reads = ", ".join(channels.readable_by(account))
            lines.append(f"{part.brought.package} adds {role}: it reads {reads}; it writes {', '.join(writes)}")
    return tuple(lines)


def tenant(folder: Path, name: str, *, port: int | None, monitor: str | None) -> dict[str, str]:
    """Write the keys and the configuration of one more bus, with the users of this one; what was written, name -> path.

    Its folder `NAME/keys` lies beside this one, and so does `NAME/data`, which Compose mounts for the store. `store` is
    where its server has the store, as the configuration says it. Raises BadInput: a name that is no folder's, a tenant
    that is there, a bus of several servers, or one that was never configured.
    """
    home = folder.absolute().parent / name
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,40}", name) or home == folder.absolute():
        raise BadInput("name", f"got {name!r}, expected at most 41 of a-z, 0-9 and -")
    if (home / "keys").exists():
        raise BadInput("name", f"there is a tenant {name!r} already: {home / 'keys'}")
    if of_cluster.folders(folder):
        raise BadInput(
            "dir", f"{folder} is of a bus of several servers; write the tenant's: parley bus config --cluster"
        )
    with bad_input("dir", BadTable, BadKeyFile, OSError):
        config = of_cluster.configuration(folder)
        users = tuple(c.row for c in keys.everybody(folder).values())
        credentials = keys.ensure(home / "keys", users)
        config = rendered.replace_users(config, users, accounts.publics(credentials))
        config["jetstream"] = {**config["jetstream"], "store_dir": f"{config['jetstream']['store_dir']}-{name}"}
        config |= {key: value for key, value in {"port": port, "http": monitor}.items() if value is not None}
        path = home / "keys" / "nats-server.conf"
        accounts.rewrite_private(path, rendered.in_text(config).encode())
        accounts.write_private(home / "keys" / accounts.LIMITS, b"{}\n")
        (home / "data").mkdir(exist_ok=True)
    return {"server": str(path), "keys": str(home / "keys"), "store": str(config["jetstream"]["store_dir"])}


def _with_those_before(
    users: tuple[accounts.User, ...], there: Mapping[str, accounts.Credentials], readers: Mapping[str, tuple[str, ...]]
) -> tuple[accounts.User, ...]:
    """The rows, those of everybody else who has a key, and of a client whose grants are not said those that it has."""
    said = {
        user.name: msgspec.structs.replace(user, reads=there[user.name].reads)
        if user.kind == accounts.CLIENT and user.name in there and user.name not in readers
        else user
        for user in users
    }
    return (*said.values(), *(c.row for name, c in there.items() if name not in said))


def _verify(readers: Mapping[str, tuple[str, ...]], users: tuple[accounts.User, ...], field: str) -> None:
    known = {u.name for u in users if u.account == CLIENTS and u.kind != accounts.VIEWER}
    for name, owners in readers.items():
        for owner in owners:
            if owner != accounts.EVERYBODY and (owner not in known or owner == name):
                others = ", ".join(sorted(known - {name}))
                raise BadInput(field, f"{name}: there is no other client {owner!r}; there are {others}")


def _config(path: Path, users: tuple[accounts.User, ...], public: Mapping[str, str]) -> dict[str, Any]:
    """For these users (public: user -> public key) the configuration that is there already, or else a fresh one."""
    try:
        before = json.loads(path.read_text())
    except (OSError, ValueError):  # there is none, or it is not one of ours
        before = None
    if isinstance(before, dict) and "jetstream" in before:
        return rendered.replace_users(before, users, public)
    monitor = {"http": "127.0.0.1:8222"}
    fresh = rendered.render(users, public, store_dir="/data/jetstream", host="0.0.0.0", extra=monitor)
    config: dict[str, Any] = json.loads(fresh)
    return config
