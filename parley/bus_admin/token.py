"""`parley bus token`: a token with which a user of the bus signs in at the gateway."""

from pathlib import Path

from parley.bus.accounts import write_private
from parley.client.errors import BadInput, bad_input
from parley.stack import keys
from parley.web.principals import new_token


def token_for(folder: Path, name: str, into: Path | None = None) -> dict[str, str]:
    """Make a token: it, whose it is, and the file that holds its digest.

    Parameters
    ----------
    into
        A folder for the gateway alone: the user's credentials are copied there, and the digest is kept there. None: the
        digest is kept beside the credentials.

    Raises
    ------
    BadInput
        There are no keys of that user, the gateway does not serve such a user, or the folder cannot be written.
    """
    path = keys.file(folder, name)
    if not path.is_file():
        there = sorted(p.stem for p in folder.glob("*.json"))
        known = f"there are {', '.join(there[:20])}" if there else "there are no keys at all"
        raise BadInput("name", f"got {name!r}, and {folder} holds no {path.name}; {known}")
    with bad_input("dir", OSError, what=f"cannot write into {into or folder}"):
        if into is not None:
            into.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_private(into / path.name, path.read_bytes())
            path = into / path.name
        return {"name": name, "token": new_token(path), "kept": str(path.with_suffix(".token"))}
