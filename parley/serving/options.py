"""The operator's options of the interfaces for programs, checked before anything starts."""

from pathlib import Path
from typing import get_args

from parley.client.errors import BadInput
from parley.web.openai.running import OnDisconnect


def root_of(path: Path) -> Path:
    """A folder under which a projectPath may lie, without links. Raises BadInput where it is none."""
    if not path.is_dir():
        raise BadInput("root", f"{path} is not a folder")
    return path.resolve()


def on_disconnect_of(word: str) -> OnDisconnect:
    """What becomes of a session whose client goes away. Raises BadInput."""
    for choice in get_args(OnDisconnect):
        if word == choice:
            on_disconnect: OnDisconnect = choice
            return on_disconnect
    raise BadInput("on-disconnect", f"got {word!r}, allowed are {' and '.join(get_args(OnDisconnect))}")
