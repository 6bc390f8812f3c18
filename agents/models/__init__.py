"""Models by name: `extractive`, `openai`, `command`, `recorded`, one that an installed package brings, or a path.

The path, `module:attribute`, names a factory `options -> Model`, or an agent that is a function
(parley.agents.models.function).
"""

from collections.abc import Mapping
from typing import Any

from parley.agents.model.base import (
    Completion,
    Emit,
    Model,
    ModelError,
    ModelMisconfigured,
    ModelRefused,
    ModelUnavailable,
    NotRecorded,
)
from parley.schemas import registry

PARTS = ("name", "family", "metered", "usd_per_million_input", "usd_per_million_output", "reply")
"""What a model has (parley.agents.model.base.Model)."""
BROUGHT = "parley.models"
"""Entry points of models."""
NAMES = ("extractive", "openai", "command", "recorded")
"""Of Parley's own."""

__all__ = [
    "Completion",
    "Emit",
    "Model",
    "ModelError",
    "ModelMisconfigured",
    "ModelRefused",
    "ModelUnavailable",
    "NotRecorded",
    "make_model",
]


def make_model(name: str, options: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None) -> Model:
    """The model that an operator named.

    Parameters
    ----------
    name
        `extractive`; `openai` (any compatible server; docs/models.md); `command` (a program that takes a prompt);
        `recorded` (option `path`); a name of the entry points `parley.models`; or `module:attribute`. The last two are
        a callable that takes the options as one mapping, or an agent that is a function. It comes from the operator's
        configuration and never from the bus.
    environ
        Where `openai` looks for a key that the options do not bring; None: the process's environment.

    Raises
    ------
    ModelMisconfigured
        No such model, or an option that it does not take.
    """
    settings = dict(options or {})
    if name == "extractive":
        from parley.agents.models.extractive import make as make_extractive

        return make_extractive(settings)
    if name == "openai":
        from parley.agents.openai.model import make as make_openai

        return make_openai(settings, environ)
    if name == "command":
        from parley.agents.command.model import make as make_command

        return make_command(settings)
    if name == "recorded":
        from parley.agents.models import recorded

        return recorded.make(settings)
    from parley.agents.models.function import Agent, imported  # prompts: for who names such a model alone

    factory = _brought(name) if ":" not in name else imported("model", name)

    if not callable(factory):
        raise ModelMisconfigured(
            f"model: {name!r} is of class {type(factory).__name__}, expected a function of options"
        )
    model: Model = factory.model() if isinstance(factory, Agent) else factory(settings)
    if lacking := [attribute for attribute in PARTS if not hasattr(model, attribute)]:
        raise ModelMisconfigured(f"model: {name!r} made a {type(model).__name__}, which has no {', '.join(lacking)}")
    return model


def _brought(name: str) -> Any:
    """What an installed package brings under this name. Raises ModelMisconfigured."""
    try:
        return registry.load(BROUGHT, name)
    except registry.NotUsable as error:
        raise ModelMisconfigured(f"model: {error}") from error
    except KeyError:
        known = ", ".join((*NAMES, *registry.entries(BROUGHT)))
        raise ModelMisconfigured(f"model: got {name!r}, allowed are {known} and module:attribute") from None
