"""A stack to attack: ours, ours with one permission more, or a naive one."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from parley.bus import streams
from parley.bus.accounts import User, mint, publics, table, write_private
from parley.bus.embedded import EmbeddedServer
from parley.bus.rendered import replace_users
from parley.stack import keys
from tests.support.engine import Engine

QUEUES = {
    "pro_1": "pro", "pro_2": "pro", "con_1": "con", "judge": "judge", "helper": "helper", "panelist_1": "panelist",
    "debater_1": "debater", "expert_sre": "expert", "pro_1_human": "pro",
}  # fmt: skip
PINS = {"expert_sre": "5e" * 16}
READERS = {"audit": ("client",), "auditor": ("*",)}
"""Who reads whose sessions; `*`: everybody's."""
VIEWERS = {"viewer": ("*",), "viewer_2": ("client_2",)}
Change = Callable[[dict[str, Any]], None]


def unchanged(config: dict[str, Any]) -> None:
    """As it was rendered."""


class _Changed(EmbeddedServer):
    change: Change

    def _write_config(self) -> None:
        super()._write_config()
        config = json.loads(self.config_path.read_text())
        self.change(config)
        write_private(self.config_path, json.dumps(config).encode())


class Target(Engine):
    """An engine with the users of a competition."""

    def __init__(
        self,
        folder: Path,
        change: Change = unchanged,
        queues: Mapping[str, str] = QUEUES,
        clients: tuple[str, ...] = ("client", "client_2"),
        readers: Mapping[str, tuple[str, ...]] = READERS,
    ) -> None:
        super().__init__(folder, queues, pins=PINS)
        self._clients = clients
        self.users = self._table(readers)
        self.credentials = mint(self.users)
        self._changed = _Changed(folder, self.users, publics(self.credentials))
        self._changed.change = change
        self.server = self._changed

    def _table(self, readers: Mapping[str, tuple[str, ...]]) -> tuple[User, ...]:
        return table(
            self.queues, clients=self._clients, observers=("metrics",), pins=PINS, readers=readers, viewers=VIEWERS,
            probes=("gateway",),
        )  # fmt: skip

    def loosen(self) -> None:
        """The broker grants `client` the sessions of `client_2`; its credentials do not say so."""
        looser, public = self._table({**READERS, "client": ("client_2",)}), publics(self.credentials)
        self.change(lambda config: config.update(replace_users(config, looser, public)))

    def change(self, change: Change) -> None:
        """Another change of the configuration, which the running server reads."""
        self._changed.change = change
        self.server.reload()

    def save(self, folder: Path, *names: str) -> None:
        """These users' credentials, or everybody's, as files."""
        folder.mkdir()
        for name in names or self.credentials:
            self.credentials[name].save(keys.file(folder, name))

    async def up(self, **options: Any) -> None:
        """A moderator, and every queue's consumer."""
        moderator = await self.moderator(**options)
        assert moderator.ready is None
        connection = await self.connect("moderator")
        for queue in self.queues:
            await streams.ensure_queue(connection, queue)


def naive(config: dict[str, Any]) -> None:
    """What one would set up first: one account for everybody, nobody restricted, JetStream open to all, and the
    server's own events and requests let in for a dashboard."""
    everybody = [user for name, a in config["accounts"].items() if name != "SYS" for user in a["users"]]
    for user in everybody:
        user.pop("permissions")
    system = {**config["accounts"]["SYS"], "exports": [{"stream": "$SYS.ACCOUNT.>"}, {"service": "$SYS.REQ.>"}]}
    config["accounts"] = {
        "SYS": {**system, "imports": []},
        "ALL": {
            "users": everybody,
            "jetstream": "enabled",
            "imports": [
                {"stream": {"account": "SYS", "subject": "$SYS.ACCOUNT.>"}},
                {"service": {"account": "SYS", "subject": "$SYS.REQ.>"}},
            ],
        },
    }


def allowed(user: str, side: str, subject: str, keys: Mapping[str, str]) -> Change:
    """One more permission for one user."""

    def change(config: dict[str, Any]) -> None:
        for account in config["accounts"].values():
            for row in account["users"]:
                if row["nkey"] == keys[user]:
                    row["permissions"][side]["allow"].append(subject)

    return change
