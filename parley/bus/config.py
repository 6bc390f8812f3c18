"""`parley bus config`: a server configuration and everybody's credentials, for the seats of every protocol."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agents.specs import load
from bus import accounts, rendered
from bus.errors import BadKeyFile, BadTable
from client.errors import BadInput
from client.protocols import all_setups
from parley.bus import keys
from parley.stack.people import people


def bus_config(
    folder: Path,
    *,
    seats: Mapping[str, Any],
    moderators: int,
    clients: tuple[str, ...],
    humans: tuple[str, ...] = (),
    readers: Mapping[str, tuple[str, ...]] | None = None,
    host: str,
    port: int,
    store: str,
    monitor: str,
) -> dict[str, str]:
    """Write a server configuration and everybody's credentials, for the seats of every protocol; what was written,
    name -> path.

    Keys that are there already stay as they are, so that running it again adds users without changing the others, and
    who was enrolled stays enrolled.

    Parameters
    ----------
    seats
        How many there are, as the protocols' options say it (client.protocols.setup.Setup.keyed).
    readers
        Client -> the clients whose sessions it reads beside its own; `*`: all clients'.

    Raises
    ------
    BadInput
        A seat that is not there, a folder that cannot be written to, keys that cannot be used.
    """
    extra = {"http": monitor} if monitor else {}
    specs = {queue: load(queue) for setup in all_setups() for queue in setup.keyed(seats)}
    queues = {queue: spec.roles[0] for queue, spec in specs.items()}
    if humans:
        queues |= people(humans, dict(queues))
    names = tuple(f"moderator-{i}" for i in range(1, moderators + 1))
    try:
        known = keys.enrolled(folder)
        pins = {queue: spec.pin for queue, spec in specs.items()} | {queue: c.pin for queue, c in known.items()}
        queues |= {queue: c.role for queue, c in known.items()}
        users = accounts.table(queues, moderators=names, clients=clients, owners=("owner",), pins=pins, readers=readers)
        credentials, _ = keys.ensure(folder, users)
        text = rendered.render(users, accounts.publics(credentials), store_dir=store, host=host, port=port, extra=extra)
        accounts.rewrite_private(folder / "nats-server.conf", text.encode())
    except (BadTable, BadKeyFile) as error:
        raise BadInput("bus", str(error)) from error
    except OSError as error:
        raise BadInput("dir", f"cannot write to {folder}: {error.strerror}") from error
    written = {"server": str(folder / "nats-server.conf"), "token-key": str(folder / keys.TOKEN_KEY)}
    return {**written, **{name: str(keys.file(folder, name)) for name in credentials}}
