"""The command line's `bus` group: each command parses, calls one function, prints."""

from pathlib import Path
from typing import Annotated

import typer

from parley.cli import options
from parley.cli.options import CommandGroup, Humans, Json
from parley.cli.output import confirm
from parley.cli.protocol_options import NOTHING, Flags, ProtocolCommand, takes
from parley.client.show.printing import give, say, say_all, warn

app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Configure a bus, check it with attacks, and revoke users.",
)

Keys = Annotated[
    Path, typer.Option("--dir", help="Folder with the keys of all users: that of parley bus config, or STATE/keys.")
]
Address = Annotated[
    str | None,
    typer.Option("--nats", "--url", help="Address of the bus (default: the embedded stack that has these keys)."),
]


@app.command("config", cls=ProtocolCommand)
@takes("key_options")
def bus_config(
    folder: Annotated[Path, typer.Option("--dir", help="Folder to write into; existing keys are kept.")],
    given: Flags = NOTHING,
    moderators: Annotated[int, typer.Option(help="Moderators.", min=1, max=16)] = 1,
    clients: Annotated[
        list[str] | None, typer.Option("--client", help="Client credentials by name; repeatable.")
    ] = None,
    readers: Annotated[
        list[str] | None,
        typer.Option(
            "--reader",
            help="NAME=CLIENT: NAME also reads CLIENT's sessions; NAME=*: all clients'; NAME=: its own; repeatable.",
        ),
    ] = None,
    viewers: Annotated[
        list[str] | None,
        typer.Option(
            "--viewer",
            metavar="NAME[=CLIENT]",
            help="NAME may only read: the sessions of all clients, or of CLIENT; repeatable.",
        ),
    ] = None,
    probes: Annotated[
        list[str] | None,
        typer.Option("--probe", metavar="NAME", help="NAME may ask who is alive, for health checks; repeatable."),
    ] = None,
    humans: Humans = None,
    host: Annotated[
        str | None, typer.Option(help="Where the server listens (default: as before, else 0.0.0.0).")
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="The server's port (default: as before, else 4222).", min=1, max=65_535)
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            "--store-dir",
            help="JetStream's folder, as the server sees it; {name}: the server's name in a cluster "
            "(default: as before, else /data/jetstream).",
        ),
    ] = None,
    monitor: Annotated[
        str | None,
        typer.Option(
            help="Address of the server's own health pages, which only this machine should reach; empty: none "
            "(default: as before, else 127.0.0.1:8222)."
        ),
    ] = None,
    cluster: Annotated[
        int | None,
        typer.Option(metavar="3|5", help="Number of servers of the bus. Each gets a folder, DIR/servers/NAME."),
    ] = None,
    servers: Annotated[
        list[str] | None,
        typer.Option(
            "--server",
            metavar="HOST[:PORT]",
            help="One server of the cluster; repeatable (default: nats-1, nats-2, ...).",
        ),
    ] = None,
    server_folder: Annotated[
        str | None,
        typer.Option("--server-dir", help="Where a server finds its files; {name}: its name (default: /etc/nats)."),
    ] = None,
    json: Json = False,
) -> None:
    """Write a nats-server configuration, and credentials.

    Each user gets its own credentials (mode 600).

    \b
    Example:
      parley bus config --dir deploy/keys --moderators 2 --cluster 3
      parley bus config --dir deploy/keys --client alice --client bob --reader audit=alice
      parley bus config --dir deploy/keys --viewer wall --probe gateway
    """
    with options.errors(json):
        from parley.bus_admin import config

        written = config.bus_config(
            folder,
            seats=given,
            moderators=moderators,
            clients=tuple(clients or ()),
            humans=tuple(humans or ()),
            readers=_readers(readers or []),
            viewers=_readers([text if "=" in text else f"{text}=*" for text in viewers or []]),
            probes=tuple(probes or ()),
            host=host,
            port=port,
            store=store,
            monitor=monitor,
            cluster=cluster,
            servers=tuple(servers or ()),
            server_folder=server_folder,
        )
        if json:
            options.print_json(written)
        else:
            say_all((f"{name:14} {path}" for name, path in written.items()))


def _readers(texts: list[str]) -> dict[str, tuple[str, ...]]:
    """NAME=CLIENT texts -> NAME: its clients. Raises BadInput."""
    from parley.client.errors import BadInput

    granted: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, sign, owner = text.partition("=")
        if not name or not sign:
            raise BadInput("reader", f"got {text!r}, expected NAME=CLIENT, or NAME=* for all clients")
        granted[name] = (*granted.get(name, ()), *([owner] if owner else []))
    return granted


def _leaves(texts: list[str]) -> dict[str, str]:
    """QUEUE=URL texts -> queue: address. Raises BadInput."""
    from parley.client.errors import BadInput

    pairs = [text.partition("=") for text in texts]
    if wrong := next((text for text, (queue, _, url) in zip(texts, pairs, strict=True) if not queue or not url), None):
        raise BadInput("leaf", f"got {wrong!r}, expected QUEUE=URL")
    return {queue: url for queue, _, url in pairs}


def _address(nats: str | None, folder: Path) -> str:
    if nats:
        return nats
    from parley.client.errors import BadInput
    from parley.stack.lease import read_running

    if not folder.is_dir():
        raise BadInput("dir", f"{folder} is no folder; expected that of parley bus config --dir, or STATE/keys")
    running = read_running(folder.absolute().parent)
    if running is None:
        raise BadInput("nats", f"no address given, and no embedded stack runs in {folder.absolute().parent}")
    return running.url


@app.command("check")
def bus_check(
    folder: Keys,
    nats: Address = None,
    leaves: Annotated[
        list[str] | None,
        typer.Option("--leaf", metavar="QUEUE=URL", help="Attack as this queue through a leaf node; repeatable."),
    ] = None,
    json: Json = False,
) -> None:
    """Try whether the server of a running bus enforces the accounts' table.

    Each user tries what it may not. With --leaf some queues do so through their leaf node. Nothing is left behind.

    Exit status: 0 every attack was refused, 1 otherwise.

    \b
    Examples:
      parley bus check --nats nats://127.0.0.1:4222 --dir deploy/keys
      parley bus check --nats nats://bus.example.org:4222 --dir deploy/keys --leaf panelist_1=nats://127.0.0.1:4222
    """
    with options.errors(json):
        from parley.bus_admin import check

        url = _address(nats, folder)
        rows = check.run(url, folder, _leaves(leaves or []))
        if json:
            options.print_json(check.document(url, rows))
        else:
            say_all(check.table(rows))
        if not check.good(rows):
            raise typer.Exit(1)


@app.command("certificates")
def bus_certificates(folder: Keys, json: Json = False) -> None:
    """Give every server of a cluster a fresh certificate.

    Copy each folder to its server. Then let one server after another read its configuration again (SIGHUP).

    \b
    Example:
      parley bus certificates --dir deploy/keys
    """
    with options.errors(json):
        from parley.bus_admin import cluster

        rows = cluster.renew(folder)
        if json:
            options.print_json(rows)
        else:
            say_all(f"{r['server']:12} until {r['until']}  {r['file']}" for r in rows)


@app.command("replicas")
def bus_replicas(
    folder: Keys,
    wanted: Annotated[
        int | None, typer.Argument(metavar="[N]", help="Number of servers that should hold each stream.", min=1, max=5)
    ] = None,
    spread: Annotated[bool, typer.Option("--spread", help="Spread the leaders of the log's partitions.")] = False,
    nats: Address = None,
    json: Json = False,
) -> None:
    """Show or change how many servers hold each stream.

    The bus runs, and sessions go on meanwhile.

    \b
    Examples:
      parley bus replicas --dir deploy/keys --nats nats://nats-1:4222,nats://nats-2:4222
      parley bus replicas 3 --dir deploy/keys --nats nats://nats-1:4222
      parley bus replicas --spread --dir deploy/keys --nats nats://nats-1:4222
    """
    with options.errors(json):
        from parley.bus_admin.replicas import replicas

        rows = replicas(_address(nats, folder), folder, wanted, spread=spread)
        if not rows:
            warn("parley: the bus has no streams yet; the first moderator that starts makes them")
        if json:
            options.print_json(rows)
        else:
            say_all(
                (f"{r['stream']:10} {r['current']} of {r['replicas']} complete  {r['leader'] or '-'}" for r in rows),
            )


@app.command("retention")
def bus_retention(
    folder: Keys,
    days: Annotated[
        float | None, typer.Argument(metavar="[DAYS]", help="Days that sessions are kept; 0 for ever.", min=0)
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    nats: Address = None,
    json: Json = False,
) -> None:
    """Show or change how long sessions are kept.

    Moderators make the limit longer when they start. Only this command makes it shorter, since that removes sessions.

    \b
    Examples:
      parley bus retention --dir deploy/keys --nats nats://nats-1:4222
      parley bus retention 30 --dir deploy/keys --nats nats://nats-1:4222
    """
    with options.errors(json):
        from parley.bus_admin.retention import Kept, retention

        def sure(shorter: Kept) -> None:
            if not yes:
                many = f"{shorter.removes:,} session{'s' * (shorter.removes != 1)}"
                confirm(f"Keep sessions for {shorter.days:g} days? This removes {many}, for good.", json=json)

        kept = retention(_address(nats, folder), folder, days, sure)
        if json:
            options.print_json(kept)
        else:
            say(f"sessions are kept {f'for {kept.days:g} days' if kept.days else 'for ever'}")


@app.command("leaf")
def bus_leaf(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The leaf node's name.")],
    folder: Keys,
    queues: Annotated[
        list[str] | None, typer.Option("--queue", help="A queue whose agents connect to it; repeatable.")
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(metavar="HOST[:PORT]", help="The server of the bus (default: as before; a cluster's are known)."),
    ] = None,
    server_folder: Annotated[
        str | None,
        typer.Option("--server-dir", help="Where a server finds its files; {name}: its name (default: /etc/nats)."),
    ] = None,
    host: Annotated[str, typer.Option(help="Where the leaf node listens for agents.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The leaf node's port for agents.", min=1, max=65_535)] = 4222,
    json: Json = False,
) -> None:
    """Configure a leaf node, a server for agents at another site.

    Its agents share its connection to the bus. From then on the servers of the bus listen for leaf nodes too. Start
    them again with their new configuration (docs/scale.md).

    \b
    Example:
      parley bus leaf berlin --dir deploy/keys --queue panelist_1 --queue panelist_2 --server bus.example.org
    """
    with options.errors(json):
        from parley.bus_admin.leaf import leaf_node

        written = leaf_node(
            folder, name, queues or [], server=server, server_folder=server_folder, host=host, port=port
        )
        if json:
            options.print_json(written)
        else:
            say_all((f"{what:14} {path}" for what, path in written.items()))


@app.command("move")
def bus_move(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="JetStream folder of a server that has stopped.")],
    folder: Keys,
    nats: Address = None,
    json: Json = False,
) -> None:
    """Copy the store of a single server into a new cluster.

    The cluster must have no streams yet. The store stays as it is. Sessions go on in the cluster
    (docs/operations/cluster.md).

    \b
    Example:
      parley bus move deploy/data --dir deploy/keys --nats nats://nats-1:4222,nats://nats-2:4222,nats://nats-3:4222
    """
    with options.errors(json):
        from parley.bus_admin.move import move

        rows = move(store, _address(nats, folder), folder)
        if json:
            options.print_json(rows)
        else:
            say_all(f"{r['stream']:10} {r['messages']} messages, {r['consumers']} consumers" for r in rows)


@app.command("revoke")
def bus_revoke(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The user: a queue, a client, a moderator.")],
    folder: Keys,
    nats: Address = None,
    json: Json = False,
) -> None:
    """Remove a user from a running bus; sessions go on without it.

    \b
    Example:
      parley bus revoke con_2 --nats nats://127.0.0.1:4222 --dir deploy/keys
    """
    with options.errors(json):
        from parley.bus_admin.revoke import revoke

        done = revoke(_address(nats, folder), folder, name)
        if json:
            options.print_json(done)
        else:
            say(f"{done['revoked']} is out: {done['configuration']}, read again by {', '.join(done['servers'])}")


@app.command("token")
def bus_token(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The user: a client, or an owner.")],
    folder: Keys,
    into: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for the gateway (--keys): NAME.json is copied there, with its token."),
    ] = None,
    json: Json = False,
) -> None:
    """Make a token with which a user signs in at the gateway.

    The token is printed once and stored nowhere: NAME.token holds only its digest. Whoever has the token has the
    user's rights on the bus. A new token makes the former one and its cookies invalid. To withdraw a token, remove
    NAME.token.

    \b
    Examples:
      parley bus token alice --dir web-keys
      parley bus token alice --dir deploy/keys --into web-keys
    """
    with options.errors(json):
        from parley.bus_admin.token import token_for

        token = token_for(folder, name, into)
        if json:
            options.print_json(token)
        else:
            give(token["token"])
            warn(f"parley: the token of {name}, shown this once; its digest is in {token['kept']}")
