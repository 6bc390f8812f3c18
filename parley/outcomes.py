"""What `--outcomes` names: the answers between which a MACI session may choose."""

import json
from pathlib import Path

from parley.errors import BadInput

MAX_BYTES = 1_000_000
_FIELD = "outcomes"


def read(given: str) -> list[str]:
    """The lines of a file that is there (or the texts of its JSON array; empty lines and those that begin with `#` are
    passed over), else what stands between commas.

    Raises
    ------
    BadInput
        A file that cannot be read or holds fewer than two; one word that is no file. Whether two are the same is for
        the protocol to say.
    """
    path = Path(given)
    try:
        there = path.is_file()
    except OSError:  # too long for a path, and so a list
        there = False
    if there:
        found = _of_file(path)
    elif "," in given:
        found = [part.strip() for part in given.split(",")]
        if not all(found):
            raise BadInput(_FIELD, f"got {given!r}: nothing stands between two of the commas")
    else:
        raise BadInput(_FIELD, f"got {given!r}: no such file, and no list of outcomes between commas")
    if len(found) < 2:
        raise BadInput(_FIELD, f"{given} names {len(found)}, wanted are two or more")
    return found


def _of_file(path: Path) -> list[str]:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise BadInput(_FIELD, f"{path} has {path.stat().st_size:,} bytes, allowed are {MAX_BYTES:,}")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise BadInput(_FIELD, f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadInput(_FIELD, f"{path} is not UTF-8 text (byte {error.start})") from error
    if text.lstrip().startswith("["):
        try:
            items = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise BadInput(_FIELD, f"{path} begins like a JSON array and is none: {error}") from error
        for item in items:
            if not isinstance(item, str) or not item.strip():
                raise BadInput(_FIELD, f"{path} holds {item!r}, wanted are texts")
        return [item.strip() for item in items]
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]
