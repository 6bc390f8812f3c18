"""A configuration that `bus.accounts.render` made, changed: a user less, or other users."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from bus.accounts import SYS, User, render
from bus.channels import CORE
from bus.errors import BadTable


def nkeys(config: Mapping[str, Any]) -> frozenset[str]:
    """The public keys of everybody whom a configuration lets in."""
    return frozenset(user["nkey"] for account in config["accounts"].values() for user in account["users"])


def renewed(config: Mapping[str, Any], users: Iterable[User], keys: Mapping[str, str]) -> dict[str, Any]:
    """The configuration for these users (keys: user -> public key), all else as it is.

    Raises
    ------
    BadTable
        Two users of one name, or a user without a key.
    """
    accounts = json.loads(render(users, keys, store_dir=""))["accounts"]
    return {**config, "accounts": accounts}


def without(config: Mapping[str, Any], public: str) -> dict[str, Any]:
    """A rendered configuration without the user of this public key; an account that is empty then goes too, with all
    that it gave and took.

    Raises
    ------
    BadTable
        No user has this key.
    """
    kept = {
        name: {**account, "users": [u for u in account["users"] if u["nkey"] != public]}
        for name, account in config["accounts"].items()
    }
    if kept == config["accounts"]:
        raise BadTable("no user of the configuration has this key")
    gone = {name for name, account in kept.items() if not account["users"] and name not in (CORE, SYS)}
    for name in gone:
        del kept[name]
    for account in kept.values():
        exports = [{**e, "accounts": [a for a in e["accounts"] if a not in gone]} for e in account["exports"]]
        account["exports"] = [e for e in exports if e["accounts"]]
        account["imports"] = [
            i for i in account["imports"] if (i.get("service") or i.get("stream"))["account"] not in gone
        ]
    return {**config, "accounts": kept}
