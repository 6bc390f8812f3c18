"""The command line's `bus` group: each command parses, calls one function, prints."""

from pathlib import Path
from typing import Annotated, Any

import typer

from parley.cli import options
from parley.cli.options import Answer, Humans, Json, Yes, command, confirm
from parley.cli.protocol_options import NOTHING, Flags, ProtocolCommand, takes
from parley.client.show.printing import give, say_all, warn

app = options.group("Configure a bus, check it with attacks, change its users, restore it.")
users = options.group("Change the users of a bus.")
tenants = options.group("Add tenants.")
app.add_typer(users, name="user")
app.add_typer(tenants, name="tenant")

Keys = Annotated[
    Path,
    typer.Option(
        "--dir",
        envvar="PARLEY_KEYS",
        help="Folder with the keys of all users: that of parley bus config, or STATE/keys.",
    ),
]


def _nats(help_: str) -> Any:
    return typer.Option("--nats", "--url", envvar="PARLEY__NATS__URL", help=f"Address of the bus{help_}.")


Address = Annotated[str | None, _nats(" (default: the embedded stack that has these keys)")]
UserAddress = Annotated[
    str | None,
    _nats(
        ", whose servers then read the change (default: files are written, and the embedded stack that has these keys"
        " is told)"
    ),
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
            say_all(config.of_packages())


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


@command(app, "check", "json")
def bus_check(folder: Keys, nats: Address = None) -> Answer:
    """Try whether the server of a running bus enforces the accounts' table.

    Each user whose key is in the folder tries what it may not, against each other user whose key is there. Nothing is
    left on the bus; the server's log gets a line for each refusal: about 1 MB for 20 users, 5 MB for 50.

    Exit status: 0 every attack was tried and refused, 1 one was not refused or could not run, 3 none went through,
    and some were not tried, since keys are not there.

    \b
    Example:
      parley bus check --nats nats://127.0.0.1:4222 --dir deploy/keys
    """
    from parley.bus_admin import check

    url = _address(nats, folder)
    rows = check.run(url, folder)
    return Answer(check.document(url, rows), check.table(rows), check.status(rows))


@command(app, "certificates", "json")
def bus_certificates(folder: Keys) -> Answer:
    """Give every server of a cluster a fresh certificate.

    Copy each folder to its server. Then let one server after another read its configuration again (SIGHUP).

    \b
    Example:
      parley bus certificates --dir deploy/keys
    """
    from parley.bus_admin import cluster

    rows = cluster.renew(folder)
    return Answer(rows, (f"{r['server']:12} until {r['until']}  {r['file']}" for r in rows))


@command(app, "replicas", "json")
def bus_replicas(
    folder: Keys,
    wanted: Annotated[
        int | None, typer.Argument(metavar="[N]", help="Number of servers that should hold each stream.", min=1, max=5)
    ] = None,
    yes: Yes = False,
    nats: Address = None,
    json: Json = False,
) -> Answer:
    """Show or change how many servers hold each stream.

    The bus runs, and sessions go on meanwhile. It asks before it makes the number smaller.

    \b
    Examples:
      parley bus replicas --dir deploy/keys --nats nats://nats-1:4222,nats://nats-2:4222
      parley bus replicas 3 --dir deploy/keys --nats nats://nats-1:4222
    """
    from parley.bus_admin.streams import replicas

    url = _address(nats, folder)
    if wanted is not None and not yes:
        have = max((r["replicas"] for r in replicas(url, folder, None)), default=0)
        if wanted < have:
            confirm(f"Keep each stream on {wanted} servers, not {have}? The other copies are removed.", json=json)
    rows = replicas(url, folder, wanted)
    if not rows:
        warn("parley: the bus has no streams yet; the first moderator that starts makes them")
    return Answer(
        rows, (f"{r['stream']:10} {r['current']} of {r['replicas']} complete  {r['leader'] or '-'}" for r in rows)
    )


@command(app, "retention", "json")
def bus_retention(
    folder: Keys,
    days: Annotated[
        float | None, typer.Argument(metavar="[DAYS]", help="Days that sessions are kept; 0 for ever.", min=0)
    ] = None,
    yes: Yes = False,
    nats: Address = None,
    json: Json = False,
) -> Answer:
    """Show or change how long sessions are kept.

    Moderators make the limit longer when they start. Only this command makes it shorter, since that removes sessions.

    \b
    Examples:
      parley bus retention --dir deploy/keys --nats nats://nats-1:4222
      parley bus retention 30 --dir deploy/keys --nats nats://nats-1:4222
    """
    from parley.bus_admin.streams import Kept, retention

    def sure(shorter: Kept) -> None:
        if not yes:
            many = f"{shorter.removes:,} session{'s' * (shorter.removes != 1)}"
            confirm(f"Keep sessions for {shorter.days:g} days? This removes {many}, for good.", json=json)

    kept = retention(_address(nats, folder), folder, days, sure)
    return Answer(kept, f"sessions are kept {f'for {kept.days:g} days' if kept.days else 'for ever'}")


@command(users, "add", "json")
def user_add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The new user.")],
    folder: Keys,
    kind: Annotated[
        str, typer.Option(help="client, viewer (reads only), owner, or probe (for health checks).")
    ] = "client",
    reads: Annotated[
        list[str] | None,
        typer.Option(metavar="CLIENT", help="A client whose sessions NAME reads too; *: all clients'; repeatable."),
    ] = None,
    nats: UserAddress = None,
) -> Answer:
    """Let a user in, with a key of its own. Agents come in by parley bus config, experts by parley experts enroll.

    \b
    Examples:
      parley bus user add alice --dir deploy/keys --nats nats://127.0.0.1:4222
      parley bus user add wall --kind viewer --reads '*' --dir deploy/keys --nats nats://127.0.0.1:4222
    """
    from parley.bus_admin import users as admin

    return _changed(admin.add(folder, nats, admin.person(name, kind, tuple(reads or ()))))


@command(users, "revoke", "json")
def user_revoke(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The user: a queue, a client, a moderator.")],
    folder: Keys,
    nats: UserAddress = None,
) -> Answer:
    """Put a user out; sessions go on without it.

    \b
    Example:
      parley bus user revoke con_2 --nats nats://127.0.0.1:4222 --dir deploy/keys
    """
    from parley.bus_admin import users as admin

    return _changed(admin.revoke(folder, nats, name))


@command(users, "rotate", "json")
def user_rotate(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The user, or token.key: the key of all moderators.")],
    folder: Keys,
    nats: UserAddress = None,
) -> Answer:
    """Give a user a fresh key. The old one is refused from then on: start its service again.

    The token key needs no new start: moderators sign with the new one after three minutes, and take both for a day.

    \b
    Examples:
      parley bus user rotate panelist_1 --nats nats://127.0.0.1:4222 --dir deploy/keys
      parley bus user rotate token.key --dir deploy/keys
    """
    from parley.bus_admin import users as admin

    return _changed(admin.rotate(folder, nats, name))


def _changed(done: dict[str, Any]) -> Answer:
    from parley.bus_admin.users import user_words

    return Answer(done, user_words(done))


@command(tenants, "add", "json")
def tenant_add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The tenant; its folder lies beside that of --dir.")],
    folder: Keys,
    port: Annotated[int | None, typer.Option(help="Its server's port (default: the same).", min=1, max=65_535)] = None,
    monitor: Annotated[str | None, typer.Option(help="As for parley bus config (default: the same).")] = None,
) -> Answer:
    """Write the keys and the configuration of one more bus, for a tenant of its own.

    It has the same users, with keys of their own. Tenants share nothing.

    \b
    Example:
      parley bus tenant add acme --dir deploy/keys --port 4223
    """
    from parley.bus_admin import config

    written = config.tenant(folder, name, port=port, monitor=monitor)
    return Answer(written, (f"{what:14} {path}" for what, path in written.items()))


@command(app, "restore", "json")
def bus_restore(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="The backup: a folder that holds jetstream.")],
    folder: Keys,
    again: Annotated[
        Path | None,
        typer.Option(
            "--erased",
            metavar="FILE",
            help="Sessions that were erased: what parley sessions list --json printed (default: as the bus has it).",
        ),
    ] = None,
    yes: Yes = False,
    nats: Address = None,
    json: Json = False,
) -> Answer:
    """Put a backup of the store in the place of what a running bus has.

    Moderators must have ended; the server goes on. Sessions that were erased since are erased in the backup first.

    \b
    Example:
      parley bus restore backup/data --dir deploy/keys --nats nats://127.0.0.1:4222
    """
    from parley.bus_admin.restore import restore
    from parley.sessions import read_list

    def sure(many: int) -> None:
        if not yes:
            confirm(f"Put {store} in the place of what the bus has ({many:,} sessions), for good?", json=json)

    done = restore(store, _address(nats, folder), folder, read_list(again) if again else (), sure)
    restored = [f"{r['stream']:10} {r['messages']} messages, {r['consumers']} consumers" for r in done["streams"]]
    erased = f"{len(done['erased'])} sessions were erased since; they are erased in the backup too"
    return Answer(done, [*restored, erased])


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
