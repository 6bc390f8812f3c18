"""Files that people write in YAML: one mapping each, read strictly."""

from pathlib import Path
from typing import Any

from parley.agents import strict_yaml
from parley.client.errors import BadInput
from parley.observability.plain_files import read_plain

MAX_FILE = 1_000_000
"""Bytes of a file."""


def read_file(path: Path) -> dict[str, Any]:
    """One settings file. Raises BadInput if it is missing, too large, no YAML mapping, or says a key twice."""
    try:
        text = read_plain(path, MAX_FILE)
        if len(text) > MAX_FILE:
            raise BadInput("config", f"{path} has more than the {MAX_FILE:,} bytes that are allowed")
        data = strict_yaml.load(text.decode())
    except OSError as error:
        raise BadInput("config", f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadInput("config", f"{path} is not UTF-8 text (byte {error.start})") from error
    except strict_yaml.BadYaml as error:
        comma = "," if error.why.startswith("line") else ""
        raise BadInput("config", f"{path}{comma} {error.why}") from error
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise BadInput("config", f"{path} holds a {type(data).__name__}, expected keys with values")
    return data
