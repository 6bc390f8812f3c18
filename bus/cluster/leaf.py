"""A leaf node: a nats-server at the site of some agents, which keeps a connection to the bus for each of their queues.

Such a connection is made with the queue's own key and is bound to its account. The bus holds it to the same allow lists
as the queue's own connection, so whoever runs the leaf node may do what the queue may do, and nothing else. The leaf
node has no JetStream: no stream and no consumer of the bus can be named there, and a pull crosses under its own name
(`parley.bus.subjects.next_turns`).

A server that reads its configuration again closes the connections of clients whose key is gone, but not those of leaf
nodes (nats-server 2.15.1, measured): they still hear what they heard. So `parley.bus_admin.users` closes these itself.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from parley.bus.accounts import Credentials
from parley.bus.cluster.certificates import AUTHORITY, CERTIFICATE, KEY
from parley.bus.cluster.servers import PORT, ClusterServer, bracketed
from parley.bus.errors import BadTable
from parley.bus.rights import broker_account

PORTS = 3_200
"""So much beyond its clients' port is a server's port for leaf nodes: 7422 beside 4222, as NATS has it."""
RECONNECT_S = 1
PING_S = 5
"""A leaf node asks the bus so often whether it is there, and gives up a connection after `PINGS` silences."""
PINGS = 2


def address(server: ClusterServer) -> str:
    """HOST:PORT at which leaf nodes reach a server of the bus. Raises BadTable where there is no such port."""
    if server.port + PORTS > 65_535:
        raise BadTable(f"server {server.host}:{server.port}: its port for leaf nodes is {PORTS:,} higher: too high")
    return f"{bracketed(server.host)}:{server.port + PORTS}"


def listening(server: ClusterServer, *, tls_folder: str, listen: str = "0.0.0.0") -> dict[str, Any]:
    """The setting `leafnodes` of a server of the bus: TLS with the server's certificate
    (parley.bus.cluster.certificates), and the users that the server has anyway.

    Parameters
    ----------
    tls_folder
        Where the server finds its certificate, as it sees the folder itself.
    listen
        The address on which it listens, without a port.
    """
    port = address(server).rpartition(":")[2]
    tls = {"cert_file": f"{tls_folder}/{CERTIFICATE}", "key_file": f"{tls_folder}/{KEY}", "timeout": 5}
    return {"listen": f"{bracketed(listen)}:{port}", "advertise": address(server), "tls": tls}


def configuration(
    bus: Mapping[str, Any],
    queues: Iterable[Credentials],
    hubs: Sequence[str],
    *,
    name: str,
    tls_folder: str,
    host: str = "127.0.0.1",
    port: int = PORT,
) -> dict[str, Any]:
    """The configuration of a leaf node. It holds the keys of its queues.

    Parameters
    ----------
    bus
        The configuration of the bus, with its accounts (`parley.bus.rendered.render`).
    queues
        Credentials of those whose agents connect to the leaf node. They connect with the same ones.
    hubs
        HOST:PORT of the servers of the bus, for leaf nodes.
    tls_folder
        Where the leaf node finds the certificate of the bus's authority.
    host, port
        Where agents reach it.

    Raises
    ------
    BadTable
        A user that has no queue, or that the configuration does not know.
    """
    accounts: dict[str, Any] = {}
    remotes = []
    for queue in queues:
        if not queue.queue:
            raise BadTable(f"{queue.user!r} is no agent: only agents connect to a leaf node")
        account = broker_account(queue.row)
        known = bus["accounts"].get(account, {"users": []})
        rows = [user for user in known["users"] if user["nkey"] == queue.public]
        if not rows:
            raise BadTable(f"the bus's configuration does not know the key of {queue.user!r}")
        accounts[account] = {"users": rows}
        remotes.append(
            {
                "urls": [f"tls://{hub}" for hub in hubs],
                "account": account,
                "nkey": queue.seed,
                "tls": {"ca_file": f"{tls_folder}/{AUTHORITY}", "timeout": 5},
            }
        )
    return {
        "server_name": f"parley-leaf-{name}",
        "host": host,
        "port": port,
        "max_payload": bus["max_payload"],
        "max_pending": bus["max_pending"],
        "ping_interval": f"{PING_S}s",
        "ping_max": PINGS,
        "accounts": accounts,
        "leafnodes": {"reconnect": f"{RECONNECT_S}s", "remotes": remotes},
    }
