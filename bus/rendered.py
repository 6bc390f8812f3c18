"""The server's configuration: rendered from the accounts' table, and changed (a user less, or other users)."""

import contextlib
import itertools
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from parley.bus import channels, subjects
from parley.bus.accounts import MAX_PAYLOAD, SYS, User
from parley.bus.channels import CORE
from parley.bus.errors import BadTable
from parley.bus.rights import broker_account, grants, permissions


def nkeys(config: Mapping[str, Any]) -> frozenset[str]:
    """The public keys of everybody whom a configuration lets in."""
    return frozenset(user["nkey"] for account in config["accounts"].values() for user in account["users"])


def replace_users(config: Mapping[str, Any], users: Iterable[User], keys: Mapping[str, str]) -> dict[str, Any]:
    """The configuration for these users (keys: user -> public key), all else as it is. Raises BadTable: two users of
    one name, or a user without a key."""
    accounts = json.loads(render(users, keys, store_dir=""))["accounts"]
    return {**config, "accounts": accounts}


def without(config: Mapping[str, Any], public: str) -> dict[str, Any]:
    """A rendered configuration without the user of this public key; an account that is empty then goes too, with all
    that it gave and took. Raises BadTable: no user has this key."""
    accounts = {
        name: {**account, "users": [u for u in account["users"] if u["nkey"] != public]}
        for name, account in config["accounts"].items()
    }
    if accounts == config["accounts"]:
        raise BadTable("no user of the configuration has this key")
    gone = {name for name, account in accounts.items() if not account["users"] and name not in (CORE, SYS)}
    for name in gone:
        del accounts[name]
    for account in accounts.values():
        exports = [{**e, "accounts": [a for a in e["accounts"] if a not in gone]} for e in account["exports"]]
        account["exports"] = [e for e in exports if e["accounts"]]
        account["imports"] = [
            i for i in account["imports"] if (i.get("service") or i.get("stream"))["account"] not in gone
        ]
    return {**config, "accounts": accounts}


def _check(users: tuple[User, ...], keys: Mapping[str, str]) -> None:
    seen: set[str] = set()
    for user in users:
        if user.name in seen:
            raise BadTable(f"two users are called {user.name!r}")
        if user.name not in keys:
            raise BadTable(f"user {user.name!r} has no key")
        seen.add(user.name)


_TOLD = tuple(subject.removesuffix("*.*") for subject in (subjects.read.each, subjects.doc.each, subjects.get.each))
"""History, documents and artifacts name no author: there the server tells moderators who asks (`rights.asker`)."""


def _is_told(subject: str) -> bool:
    with contextlib.suppress(subjects.BadSubject):
        subject = subjects.parse_owned(subject)[1]
    return subject.startswith(_TOLD)


def _renamed(local: str) -> str:
    """What a stream's import renames to: each `*` by its number."""
    places = itertools.count(1)
    return re.sub(r"\*", lambda _: f"${next(places)}", local)


def _accounts(users: tuple[User, ...], keys: Mapping[str, str]) -> dict[str, Any]:
    named = sorted({channels.CORE, SYS, *map(broker_account, users)})
    accounts: dict[str, Any] = {name: {"users": [], "exports": [], "imports": []} for name in named}
    accounts[channels.CORE]["jetstream"] = "enabled"
    for user in users:
        row = {"nkey": keys[user.name], "permissions": permissions(user, users)}
        accounts[broker_account(user)]["users"].append(row)
    for (exporter, kind, subject), importers in sorted(grants(users).items()):
        sort = "stream" if kind == "heard" else "service"
        export: dict[str, Any] = {sort: subject, "accounts": sorted(importers)}
        if sort == "service":
            export["response_type"] = kind
        accounts[exporter]["exports"].append(export)
        for account, crossings in sorted(importers.items()):
            for taken, local in dict.fromkeys(crossings):
                import_: dict[str, Any] = {sort: {"account": exporter, "subject": taken}}
                if local != taken:
                    import_["to"] = _renamed(local) if sort == "stream" else local
                if sort == "service" and _is_told(taken):
                    import_["share"] = True
                accounts[account]["imports"].append(import_)
    # Moderators hear from the server itself that a worker's connection ended.
    accounts[SYS]["exports"].append({"stream": subjects.ENDED, "accounts": [CORE]})
    heard = {"account": SYS, "subject": subjects.ENDED}
    accounts[CORE]["imports"].append({"stream": heard, "to": subjects.LEFT_TO_CORE})
    return accounts


def in_text(config: Mapping[str, Any]) -> str:
    """A configuration as a nats-server reads it: JSON, but without escapes such as \\u00e9, which it does not know."""
    return json.dumps(config, indent=2, ensure_ascii=False) + "\n"


def render(
    users: Iterable[User],
    keys: Mapping[str, str],
    *,
    store_dir: Path | str,
    host: str = "127.0.0.1",
    port: int = 4222,
    max_payload: int = MAX_PAYLOAD,
    sync_always: bool = False,
    max_file_store: int | None = None,
    extra: Mapping[str, Any] | None = None,
) -> str:
    """The nats-server configuration for these users (JSON, which nats-server reads).

    Parameters
    ----------
    keys
        User -> public key; no secret stands in a server's configuration.
    store_dir
        JetStream's folder.
    port
        -1: the server picks one.
    max_payload
        Bytes.
    sync_always
        Every write reaches the disk before it is acknowledged: survives power loss, about 40 times slower.
    max_file_store
        Bytes that JetStream may store in files; None: as much as the server thinks, three quarters of what is free.
    extra
        Further top-level settings.

    Raises
    ------
    BadTable
        Two users of one name, or a user without a key.
    """
    rows = tuple(users)
    _check(rows, keys)
    jetstream: dict[str, Any] = {"store_dir": str(store_dir)}
    if sync_always:
        jetstream["sync_interval"] = "always"
    if max_file_store is not None:
        jetstream["max_file_store"] = max_file_store
    config: dict[str, Any] = {
        "server_name": "parley",
        "host": host,
        "port": port,
        "max_payload": max_payload,
        "max_pending": max(64 * 1024 * 1024, 2 * max_payload),
        "jetstream": jetstream,
        "system_account": SYS,
        "accounts": _accounts(rows, keys),
        **(extra or {}),
    }
    return in_text(config)
