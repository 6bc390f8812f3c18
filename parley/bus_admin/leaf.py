"""`parley bus leaf`: the configuration of a leaf node, and the bus's own listener for leaf nodes.

| file | what |
|---|---|
| `leaves/NAME/nats-server.conf` beside the bus's keys | the leaf node: who may connect to it, its keys for the bus |
| `leaves/NAME/routes-ca.pem` | by which the leaf node knows the bus |
| `nats-server.conf`, `servers/*/nats-server.conf` | the bus: each server listens for leaf nodes from now on |
| `hub/route.pem`, `hub/route.key` | the certificate of a bus of one server; those of a cluster have theirs |
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from parley.bus import accounts
from parley.bus.cluster import certificates, leaf
from parley.bus.cluster.servers import ClusterServer, parsed
from parley.bus.errors import BadKeyFile, BadTable
from parley.bus.rendered import in_text
from parley.bus_admin.cluster import CONFIGURATION, FOLDER, NAME, configuration, folders, hub, member_of
from parley.client.errors import BadInput
from parley.stack import keys

LEAVES = "leaves"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def leaf_node(
    folder: Path,
    name: str,
    queues: Sequence[str],
    *,
    server: str | None = None,
    server_folder: str | None = None,
    host: str = "127.0.0.1",
    port: int = 4222,
) -> dict[str, str]:
    """Write a leaf node's configuration, and have the bus listen for leaf nodes; what was written, name -> path.

    Running it again writes the leaf node anew: with the queues, keys and rights of now.

    Parameters
    ----------
    name
        Of the leaf node: letters, digits, `-` and `_`.
    queues
        Those whose agents connect to it.
    server
        HOST or HOST:PORT of a bus of one server, as the leaf node reaches it; PORT is that for clients. None: as
        before. A cluster's configuration says where its servers are.
    server_folder
        Where the servers, and the leaf node, find their files.
    host, port
        Where agents reach the leaf node.

    Raises
    ------
    BadInput
        A name or server that cannot be, a queue that is not there, a folder without a configuration or of an earlier
        release, keys that cannot be used.
    """
    if not _NAME.fullmatch(name):
        raise BadInput("name", f"got {name!r}, expected letters, digits, - and _")
    if not queues:
        raise BadInput("queue", "a leaf node serves at least one queue: --queue NAME")
    conf = folder / CONFIGURATION
    if not conf.is_file():
        raise BadInput("dir", f"no server's configuration at {conf}; parley bus config writes it")
    try:
        bus = configuration(folder)
        credentials = [_credentials(folder, queue) for queue in dict.fromkeys(queues)]
        seen = (server_folder or FOLDER).replace(NAME, f"parley-leaf-{name}")
        servers = _servers(folder, bus, server)
        addresses = [leaf.address(s) for s in servers]
        config = leaf.configuration(bus, credentials, addresses, name=name, tls_folder=seen, host=host, port=port)
        written = _listening(folder, bus, servers, server_folder)
        inside = folder / LEAVES / name
        inside.mkdir(parents=True, exist_ok=True, mode=0o700)
        accounts.rewrite_private(inside / certificates.AUTHORITY, (folder / certificates.AUTHORITY).read_bytes())
        accounts.rewrite_private(inside / CONFIGURATION, _text(config))
    except (BadTable, BadKeyFile) as error:
        raise BadInput("bus", str(error)) from error
    except (OSError, ValueError, KeyError) as error:
        raise BadInput("dir", f"{folder}: {error}") from error
    return {f"leaf {name}": str(inside / CONFIGURATION), **written}


def _credentials(folder: Path, queue: str) -> accounts.Credentials:
    path = keys.file(folder, queue)
    if not path.is_file():
        there = ", ".join(sorted(c.queue for c in keys.everybody(folder).values() if c.queue))
        raise BadInput("queue", f"no credentials of {queue!r} in {folder}; there are {there}")
    return accounts.load_credentials(path)


def _servers(folder: Path, bus: dict[str, Any], server: str | None) -> list[ClusterServer]:
    """Those of the bus, as they are reached."""
    of_cluster = [member_of(inside) for inside in folders(folder)]
    if of_cluster and server:
        raise BadInput("server", "the bus is a cluster, whose configuration says where its servers are")
    if of_cluster:
        return of_cluster
    if server:
        return [parsed(server, 1)]
    if one := hub(bus):
        return [one]
    raise BadInput("server", "say how the leaf node reaches the server of the bus: --server HOST")


def _listening(
    folder: Path, bus: dict[str, Any], servers: Sequence[ClusterServer], server_folder: str | None
) -> dict[str, str]:
    """Have each server listen for leaf nodes, with a certificate; what was written, name -> path."""
    inside = folders(folder)
    if not inside:  # the servers of a cluster have their certificates
        certificates.authority(folder)
    tls = (server_folder or FOLDER).replace(NAME, "hub")
    bus["leafnodes"] = leaf.listening(servers[0], tls_folder=tls, listen=str(bus["host"]))
    accounts.rewrite_private(folder / CONFIGURATION, _text(bus))
    for one, server in zip(inside, servers, strict=False):
        config = configuration(one)
        tls = str(Path(config["cluster"]["tls"]["cert_file"]).parent)
        config["leafnodes"] = leaf.listening(server, tls_folder=tls, listen=str(config["host"]))
        accounts.rewrite_private(one / CONFIGURATION, _text(config))
    if inside:
        return {one.name: str(one / CONFIGURATION) for one in inside}
    own = folder / certificates.HUB
    own.mkdir(exist_ok=True, mode=0o700)
    certificates.issue(folder, own, "hub", (servers[0].host,))
    return {"server": str(folder / CONFIGURATION), "certificate": str(own / certificates.CERTIFICATE)}


def _text(config: dict[str, Any]) -> bytes:
    return in_text(config).encode()
