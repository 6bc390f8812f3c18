"""Agents of other houses in a seat: a turn's prompt goes to them as a message, and what they say is the reply.

A panel file names one by its path, `model: "parley.agents.remote.a2a:make"`, with options that say where it is. It is
asked as any language model is, its reply is checked as any reply, and it is cancelled with its turn.
"""

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from parley.agents.model.base import Model, ModelMisconfigured
from parley.agents.models.function import Agent, FunctionModel, Turn

_ROOM = 4
"""Turns at once."""


def seat(name: str, ask: Callable[[str, Turn], Awaitable[str]]) -> Model:
    """The model of a seat that `ask` answers: the prompt in one text, and the turn."""

    async def answer(turn: Turn) -> str:
        return await ask("\n\n".join(str(message["content"]) for message in turn.prompt()), turn)

    return FunctionModel(Agent(answer, "", "", name, True, _ROOM, (0.0, 0.0)))


def options_of(given: Mapping[str, Any], **known: str) -> dict[str, str]:
    """Options, each a text; of those that are not given the default. `?` stands for one that must be given. Raises
    ModelMisconfigured."""
    for option, value in given.items():
        if option not in known:
            raise ModelMisconfigured(f"options.{option}: no such option; known are {', '.join(known)}")
        if not isinstance(value, str):
            raise ModelMisconfigured(f"options.{option}: got {value!r}, expected a text")
    options = {**known, **given}
    if lacking := [option for option, value in options.items() if value == "?"]:
        raise ModelMisconfigured(f"options.{lacking[0]}: it says where the agent is, and is missing")
    return options


def key_of(options: Mapping[str, str]) -> str:
    """The key in the variable that `key_variable` names; empty: none is named. Raises ModelMisconfigured."""
    variable = options["key_variable"]
    if variable and not os.environ.get(variable):
        raise ModelMisconfigured(f"options.key_variable: {variable} is not set")
    return os.environ.get(variable, "")


def missing_extra_text(extra: str, error: ModuleNotFoundError) -> ModelMisconfigured:
    """What is told where the extra is not installed."""
    return ModelMisconfigured(f"it is an extra, and {error.name} is not installed: pip install 'parley[{extra}]'")
