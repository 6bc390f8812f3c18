"""One server's configuration made another's of the same cluster: what differs is its name, its routes, its ports.

Accounts, users and limits are those of the bus, the same on every server: NATS does not pass them on.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from parley.bus.cluster.certificates import AUTHORITY, CERTIFICATE, KEY
from parley.bus.errors import BadTable

NAME = "parley"
"""Of the cluster."""
SIZES = (3, 5)
"""Numbers of servers that make sense: odd ones, of which the larger half must be there."""
PORT = 4222
ROUTES = 2_000
"""A server's port for the others is its port for clients plus this, unless it is given."""
ROUTE_PING_S = 2
"""A server pings the others this often, and gives up a route after `ROUTE_PINGS` silences: a frozen or cut-off server
is noticed within some six seconds. The server's own settings take two minutes."""
ROUTE_PINGS = 2
LEAVE_S = 3
"""A server that is to stop (SIGUSR2, lame duck mode) hands over what it leads and tells its clients. It closes their
connections after so many seconds."""


_HOST = re.compile(r"[A-Za-z0-9_.-]+")
_V6 = re.compile(r"[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*")


class ClusterServer(msgspec.Struct, frozen=True, kw_only=True):
    """One server of a cluster, as the others and clients reach it."""

    name: str
    host: str
    port: int = PORT
    """The clients' port; 0: the server picks one, and only it tells which."""
    route_port: int = PORT + ROUTES

    @property
    def url(self) -> str:
        """For clients."""
        return f"nats://{bracketed(self.host)}:{self.port}"

    @property
    def route(self) -> str:
        """For the other servers."""
        return f"nats-route://{bracketed(self.host)}:{self.route_port}"


def parse_server(text: str, number: int) -> ClusterServer:
    """HOST or HOST:PORT as the server of this number, from 1; an address of IPv6 in brackets. Raises BadTable."""
    host, sign, port = text.strip("[]").rpartition(":") if not text.startswith("[") else text[1:].rpartition("]:")
    if not sign:
        host, port = text.strip("[]"), str(PORT)
    bracketed = text.startswith("[")
    if not (_V6 if bracketed else _HOST).fullmatch(host) or not port.isdecimal() or not 0 < int(port) < 65_536 - ROUTES:
        raise BadTable(f"server {text!r}: expected HOST or HOST:PORT, with a port below {65_536 - ROUTES:,}")
    return ClusterServer(name=f"parley-{number}", host=host, port=int(port), route_port=int(port) + ROUTES)


def clustered(
    config: Mapping[str, Any],
    server: ClusterServer,
    routes: Sequence[str],
    *,
    tls_folder: str,
    listen: str = "0.0.0.0",
    advertise: str = "",
) -> dict[str, Any]:
    """The configuration of one server of a cluster.

    Parameters
    ----------
    config
        The bus's, as `parley.bus.rendered.render` makes it; its `host` and `jetstream` stay.
    routes
        The addresses of the other servers.
    tls_folder
        Where the server finds its certificate, as it sees the folder itself.
    listen
        Where it listens for routes.
    advertise
        The address at which it tells the others to reach it; empty: its own.
    """
    cluster: dict[str, Any] = {
        "name": NAME,
        "listen": f"{listen}:{server.route_port}",
        "routes": list(routes),
        "ping_interval": f"{ROUTE_PING_S}s",
        "ping_max": ROUTE_PINGS,
        "tls": {
            "cert_file": f"{tls_folder}/{CERTIFICATE}",
            "key_file": f"{tls_folder}/{KEY}",
            "ca_file": f"{tls_folder}/{AUTHORITY}",
            "verify": True,
            "timeout": 5,
        },
    }
    if advertise:
        cluster["advertise"] = advertise
    rendered = {
        **config,
        "server_name": server.name,
        "cluster": cluster,
        "lame_duck_grace_period": f"{LEAVE_S}s",
        "lame_duck_duration": "30s",
    }
    if server.port:
        rendered |= {"port": server.port, "client_advertise": f"{bracketed(server.host)}:{server.port}"}
    return rendered


def bracketed(host: str) -> str:
    """A host as it stands before a port: an address of IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host
