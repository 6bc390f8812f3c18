"""The keys of a table of users on disk: one credentials file a user, the moderators' key, all of mode 600."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from parley.bus import accounts, subjects
from parley.coordinator.sessions import token_keys
from parley.schemas.expert import QUEUE
from parley.schemas.session import is_variant

TOKEN_KEY = "token.key"


def ensure(folder: Path, users: Iterable[accounts.User]) -> dict[str, accounts.Credentials]:
    """Credentials by user. Those on disk stay as they are; what is missing is made, the moderators' key too. Raises
    parley.bus.errors.BadKeyFile: a file that is there cannot be used."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    wanted = tuple(users)
    credentials: dict[str, accounts.Credentials] = {}
    for user in wanted:
        path = file(folder, user.name)
        if path.exists():
            old = accounts.load_credentials(path)
            is_its = (old.user, old.kind, old.account, old.queue) == (user.name, user.kind, user.account, user.queue)
            if is_its and old.pin == user.pin:  # one who is pinned anew gets a new key, so that the old one is out
                credentials[user.name] = msgspec.structs.replace(old, reads=user.reads)
                if old.reads != user.reads:  # what it may read is decided by the server: the key stays
                    credentials[user.name].save(path)
    for name, new in accounts.mint(u for u in wanted if u.name not in credentials).items():
        new.save(file(folder, name))
        credentials[name] = new
    if (folder / TOKEN_KEY).exists():
        token_keys.TokenKeys(folder / TOKEN_KEY)
    else:
        token_keys.make(folder / TOKEN_KEY)
    return credentials


def everybody(folder: Path) -> dict[str, accounts.Credentials]:
    """All credentials in a folder, by user. Raises parley.bus.errors.BadKeyFile."""
    return {c.user: c for c in map(accounts.load_credentials, sorted(folder.glob("*.json")))}


def load_enrolled_experts(folder: Path) -> dict[str, accounts.Credentials]:
    """Credentials of the experts in a folder, by queue. Raises parley.bus.errors.BadKeyFile."""
    credentials = map(accounts.load_credentials, sorted(folder.glob(f"{QUEUE}*.json")))
    return {c.queue: c for c in credentials if c.pin and not is_variant(c.queue)}


def load_added_users(folder: Path) -> dict[str, accounts.Credentials]:
    """Credentials of those in a folder who are users of a stack beside its own: experts that were enrolled, and
    clients, viewers and probes. Raises parley.bus.errors.BadKeyFile."""
    kinds = (accounts.CLIENT, accounts.VIEWER, accounts.PROBE)
    people = {name: c for name, c in everybody(folder).items() if c.kind in kinds}
    return people | load_enrolled_experts(folder)


def file(folder: Path, user: str) -> Path:
    """Where a user's credentials lie."""
    return folder / f"{subjects.escape(user)}.json"
