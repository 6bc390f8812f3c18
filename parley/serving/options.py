"""The operator's options of the interfaces for programs, checked before anything starts."""

from collections.abc import Mapping
from pathlib import Path
from typing import get_args

from parley.client.errors import BadInput
from parley.web.openai.background import TaskModel
from parley.web.openai.running import OnDisconnect

TASK_BASE_URL, TASK_API_KEY = "PARLEY_TASK_BASE_URL", "PARLEY_TASK_API_KEY"
"""Where the model for jobs of chat front ends is, and its key."""


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


def task_model_of(model: str, environment: Mapping[str, str]) -> TaskModel | None:
    """The model for jobs of chat front ends; None where none is named. Raises BadInput."""
    if not model:
        return None
    url = environment.get(TASK_BASE_URL, "")
    if not url.startswith(("http://", "https://")):
        raise BadInput("task-model", f"{model!r} needs {TASK_BASE_URL}, such as http://127.0.0.1:11434/v1; got {url!r}")
    return TaskModel(model=model, base_url=url, key=environment.get(TASK_API_KEY, ""))
