"""Mint the keys of a deployment and render its nats-server configuration.

    python -m deploy.keys deploy/keys

writes, readable by their owner only: nats.conf (public keys, no secret), <user>.creds for each process, and token.key
for the moderators. It refuses a folder that already has keys: what runs with them would be locked out.
"""

import sys
from pathlib import Path

from bus import accounts

QUEUES = {"panelist_1": "panelist", "panelist_2": "panelist", "panelist_3": "panelist", "analyst": "analyst"}
"""One credential a queue: copies of a service share it."""


def write(folder: Path) -> None:
    """Fill the folder, and make the server's beside it. Raises FileExistsError when keys are there."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    (folder.parent / "data").mkdir(exist_ok=True, mode=0o700)
    if (folder / "nats.conf").exists():
        raise FileExistsError(f"{folder} has keys already; remove it to make new ones")
    users = accounts.table(QUEUES)
    keys = accounts.mint(users)
    for name, credentials in keys.items():
        credentials.save(folder / f"{name}.creds")
    accounts.new_token_key(folder / "token.key")
    public = accounts.publics(keys)
    conf = accounts.render(users, public, store_dir="/data", host="0.0.0.0", extra={"http": "127.0.0.1:8222"})
    accounts.write_private(folder / "nats.conf", conf.encode())


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: python -m deploy.keys FOLDER", file=sys.stderr)
        return 2
    try:
        write(Path(sys.argv[1]))
    except OSError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
