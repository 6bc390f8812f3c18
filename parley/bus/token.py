"""`parley bus token`: a token for a user of the bus, with which it comes through the gateway."""

from pathlib import Path

from client.errors import BadInput
from gateway.principals import new_token
from parley.bus import keys


def token_for(folder: Path, name: str) -> dict[str, str]:
    """Make a token: it, whose it is, and the file that holds its digest.

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
    try:
        return {"name": name, "token": new_token(path), "kept": str(path.with_suffix(".token"))}
    except OSError as error:
        raise BadInput("dir", f"cannot write into {folder}: {error.strerror}") from error
