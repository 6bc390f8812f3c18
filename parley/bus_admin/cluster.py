"""The files of a cluster beside a bus's keys: `servers/parley-1/` and so on, each ready to be copied to its machine.

| file | what |
|---|---|
| `nats-server.conf` beside the keys | the bus: accounts, limits; what one server would read |
| `servers/NAME/nats-server.conf` | the same accounts, with the server's name, address and routes |
| `servers/NAME/route.pem`, `route.key`, `routes-ca.pem` | by which the servers know each other |
| `routes-ca.key` beside the keys | signs certificates; no server needs it |
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from parley.bus import accounts
from parley.bus.cluster import WHY_ODD, certificates
from parley.bus.cluster.servers import SIZES, ClusterServer, clustered, parse_server
from parley.bus.errors import BadKeyFile, BadTable
from parley.bus.rendered import in_text
from parley.client.errors import BadInput, bad_input

SERVERS = "servers"
FOLDER = "/etc/nats"
"""Where a server finds its files, unless it is said."""
NAME = "{name}"
"""Stands for the server's name in a folder that is given for all."""
CONFIGURATION = "nats-server.conf"
_ANEW = "Bring it back from a backup, or write all servers anew: parley bus config --cluster N, with --server for each"


def folders(keys: Path) -> list[Path]:
    """Those of the cluster's servers; none: the bus is one server."""
    return sorted(path.parent for path in (keys / SERVERS).glob(f"*/{CONFIGURATION}"))


def members_of(
    size: int | None, hosts: Sequence[str], folder: str | None, store: str | None, *, keys: Path
) -> list[ClusterServer]:
    """The servers of the cluster that is to be written; none: it is not said how many, or they are there already and
    nothing about them is to change. Writes nothing. Raises BadInput: a size or a host that cannot be, or what only a
    cluster has where none is wanted."""
    if size is None:
        if hosts or folder:
            raise BadInput("cluster", "--server and --server-dir are for a cluster; say how many servers: --cluster 3")
        if store and NAME in store:
            raise BadInput("store-dir", f"got {store!r}; {NAME} is for a cluster; say how many servers: --cluster 3")
        return []
    if size not in SIZES:
        raise BadInput("cluster", f"got {size}, expected " + " or ".join(map(str, SIZES)) + f". {WHY_ODD}")
    there = sorted(path.name for path in (keys / SERVERS).glob("*/"))
    if there and len(there) != size:
        raise BadInput(
            "cluster",
            f"got {size}; {keys / SERVERS} has {len(there)} servers ({', '.join(there)}); move them away first",
        )
    if there and not hosts:
        if folder or store:
            raise BadInput("server", "the servers are there already; to write them anew, name them with --server")
        return []
    named = list(hosts) or [f"nats-{i + 1}" for i in range(size)]
    if len(named) != size:
        raise BadInput("server", f"got {len(named)} of them for a cluster of {size}")
    with bad_input("server", BadTable):
        members = [parse_server(text, i + 1) for i, text in enumerate(named)]
    if len({(m.host, m.port) for m in members}) < size:
        raise BadInput("server", "two servers have one address")
    return members


def write(keys: Path, bus: Mapping[str, Any], members: Sequence[ClusterServer], folder: str | None) -> dict[str, str]:
    """Write every server's configuration, and the certificates of those that have none; server -> path.

    Where no members are given, only the accounts of the servers that are there are written anew.

    Parameters
    ----------
    bus
        The configuration of the bus, with its accounts; `{name}` in its store's folder stands for the server's name.
    members
        As `members_of` says.
    folder
        Where a server finds its own files; `{name}` in it stands for the server's name.

    Raises
    ------
    BadInput
        The authority's files cannot be used.
    """
    if not members:
        follow(keys)
        return {path.name: str(path / CONFIGURATION) for path in folders(keys)}
    with bad_input("server", BadTable), bad_input("dir", BadKeyFile):
        certificates.authority(keys)
        written = {}
        for member in members:
            inside = keys / SERVERS / member.name
            inside.mkdir(parents=True, exist_ok=True, mode=0o700)
            routes = [other.route for other in members if other != member]
            seen = (folder or FOLDER).replace(NAME, member.name)
            storage = {**bus["jetstream"], "store_dir": bus["jetstream"]["store_dir"].replace(NAME, member.name)}
            config = clustered({**bus, "jetstream": storage}, member, routes, tls_folder=seen, listen=str(bus["host"]))
            accounts.rewrite_private(inside / CONFIGURATION, _text(config))
            certificates.issue(keys, inside, member.name, (member.host,))
            written[member.name] = str(inside / CONFIGURATION)
    return written


def follow(keys: Path) -> list[Path]:
    """Give every server of a cluster the accounts of the bus's own configuration; the files that were written. Raises
    OSError, ValueError."""
    paths = [inside / CONFIGURATION for inside in folders(keys)]
    if paths:
        bus = configuration(keys)
        for path, config in [(path, configuration(path.parent)) for path in paths]:
            accounts.rewrite_private(path, _text({**config, "accounts": bus["accounts"]}))
    return paths


def configuration(inside: Path) -> dict[str, Any]:
    """A server's configuration, from its folder. Raises BadInput where it is none that Parley wrote; OSError."""
    path = inside / CONFIGURATION
    try:
        config = json.loads(path.read_bytes())
    except ValueError as error:
        raise BadInput("dir", f"{path} is not JSON ({error}). {_ANEW}") from None
    if not isinstance(config, dict) or "accounts" not in config:
        raise BadInput("dir", f"{path} is no configuration that Parley wrote. {_ANEW}")
    return config


def renew(keys: Path) -> list[dict[str, str]]:
    """Give every server of a cluster a fresh certificate: server, the day on which it ends, file. Raises BadInput:
    there is none such, or its authority cannot be used."""
    inside = folders(keys)
    if bare := sorted(path for path in (keys / SERVERS).glob("*/") if path not in inside):
        raise BadInput("dir", f"{bare[0]} has no {CONFIGURATION}. {_ANEW}")
    if not inside:
        raise BadInput("dir", f"no cluster's servers in {keys / SERVERS}; parley bus config --cluster 3 writes them")
    rows = []
    with bad_input("dir", BadKeyFile, OSError):
        certificates.authority(keys)
        for path in inside:
            host = str(configuration(path).get("client_advertise", "")).rpartition(":")[0].strip("[]") or "localhost"
            until = certificates.issue(keys, path, path.name, (host,))
            rows.append({"server": path.name, "until": f"{until:%Y-%m-%d}", "file": str(path)})
    return rows


def _text(config: Mapping[str, Any]) -> bytes:
    return in_text(config).encode()
